#include "base/aligned.h"

#include <sys/mman.h>

#include "base/check.h"

namespace weir {
namespace {

constexpr size_t kHugePageBytes = size_t{2} << 20;

}  // namespace

AlignedBytes::AlignedBytes(size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  WEIR_CHECK(memory != MAP_FAILED);
  if (bytes >= kHugePageBytes) madvise(memory, bytes, MADV_HUGEPAGE);  // a wish: failing is fine
  data_ = static_cast<std::byte*>(memory);
}

AlignedBytes::~AlignedBytes() {
  if (data_ != nullptr) munmap(data_, bytes_);
}

AlignedBytes& AlignedBytes::operator=(AlignedBytes&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace weir
