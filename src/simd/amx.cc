#include "simd/amx.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csetjmp>
#include <csignal>
#include <cstdint>

namespace weir {
namespace {

bool IsAnnounced() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  constexpr uint32_t kTileAndInt8 = 3U << 24U;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d & kTileAndInt8) == kTileAndInt8;
}

bool SystemAllows() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

sigjmp_buf after_fault;
void JumpBack(int) { siglongjmp(after_fault, 1); }

constexpr TileConfig kTileConfig{.row_bytes = {4}, .rows = {1}};

__attribute__((target("amx-tile,amx-int8"))) void UseTiles() {
  _tile_loadconfig(&kTileConfig);
  _tile_zero(0);
  _tile_release();
}

bool Works() {
  struct sigaction jump = {};
  struct sigaction before = {};
  jump.sa_handler = JumpBack;
  if (sigaction(SIGILL, &jump, &before) != 0) return false;
  volatile bool works = false;
  if (sigsetjmp(after_fault, 1) == 0) {
    UseTiles();
    works = true;
  }
  sigaction(SIGILL, &before, nullptr);
  return works;
}

}  // namespace

bool EnableAmx() {
  static const bool enabled = IsAnnounced() && SystemAllows() && Works();
  return enabled;
}

}  // namespace weir
#else
namespace weir {
bool EnableAmx() { return false; }
}  // namespace weir
#endif
