// Highway's re-inclusion, set up for Weir's paths. A kernel file reads:
//
//   #undef HWY_TARGET_INCLUDE
//   #define HWY_TARGET_INCLUDE "attn/kernels.cc"    // this very file
//   #include "simd/foreach_isa-inl.h"               // compiles the file once more for each path
//   #include "hwy/highway.h"
//   #include "simd/math-inl.h"                      // per-path helpers, if wanted
//
//   #if WEIR_VECTOR_ISA                             // not for Highway's baseline: it cannot fuse
//   WEIR_BEFORE_VECTOR_NAMESPACE();
//   namespace weir::HWY_NAMESPACE { ... namespace hn = hwy::HWY_NAMESPACE; ... void Kernel(...) }
//   WEIR_AFTER_VECTOR_NAMESPACE();
//   #endif
//
//   #if HWY_ONCE
//   namespace weir { void Run(...) { WEIR_CHOOSE(ScalarKernel, Kernel)(...); } }
//   #endif
//
// Files are compiled for plain x86-64 or ARMv8; only code between the two macros uses AVX or NEON's
// dot product. Everything scalar, and every include, stays outside of them.

// No include guard: HWY_TARGET_INCLUDE names another file each time.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_SVE | HWY_SVE_256 | HWY_SVE2 | HWY_SVE2_128)
#endif
#include "hwy/detect_targets.h"

#ifdef HWY_TARGET_INCLUDE
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#endif

#ifndef WEIR_SIMD_FOREACH_ISA_ONCE_
#define WEIR_SIMD_FOREACH_ISA_ONCE_

// NEON: where the compiler has target regions.
#if HWY_ARCH_ARM_A64 && HWY_HAVE_RUNTIME_DISPATCH
#define WEIR_HAS_NEON 1
#else
#define WEIR_HAS_NEON 0
#endif

#define WEIR_VECTOR_ISA \
  (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || (HWY_TARGET == HWY_NEON && WEIR_HAS_NEON))

#define WEIR_BEFORE_VECTOR_NAMESPACE() \
  HWY_PUSH_ATTRIBUTES(WEIR_TARGET_STR) \
  static_assert(true, "For requiring trailing semicolon")
#define WEIR_AFTER_VECTOR_NAMESPACE() \
  HWY_POP_ATTRIBUTES                  \
  static_assert(true, "For requiring trailing semicolon")

// For a lambda in such a namespace, after its parameters: clang gives it no attributes by itself.
#define WEIR_VECTOR_ATTR __attribute__((target(WEIR_TARGET_STR)))

// Chooses among a scalar function or table and its namesake in the vector namespaces: of path
// `isa`, or of the chosen one. Needs simd/isa.h.
#if defined(__x86_64__)
#define WEIR_CHOOSE_OF(isa, scalar, vector) \
  ::weir::ChooseByIsa(isa, &(scalar), &N_AVX2::vector, &N_AVX3::vector)
#elif WEIR_HAS_NEON
#define WEIR_CHOOSE_OF(isa, scalar, vector) ::weir::ChooseByIsa(isa, &(scalar), &N_NEON::vector)
#else
#define WEIR_CHOOSE_OF(isa, scalar, vector) ((void)(isa), &(scalar))
#endif
#define WEIR_CHOOSE(scalar, vector) WEIR_CHOOSE_OF(::weir::ChosenIsa(), scalar, vector)

#endif  // WEIR_SIMD_FOREACH_ISA_ONCE_

// Highway 1.0.3 has VNNI only in a target that also wants AVX-VNNI, which Zen 4 lacks; so the
// avx512 path is its AVX3 with VNNI added. Its NEON has no dot product at all.
#undef WEIR_TARGET_STR
#if HWY_TARGET == HWY_AVX3
#define WEIR_TARGET_STR HWY_TARGET_STR ",avx512vnni"
#elif HWY_TARGET == HWY_NEON
#define WEIR_TARGET_STR "arch=armv8.2-a+crypto+dotprod"
#else
#define WEIR_TARGET_STR HWY_TARGET_STR
#endif
