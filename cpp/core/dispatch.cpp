// Chooses the set of kernels for the machine the program runs on.
#include "core/contraction_kernels.hpp"
#include "core/kernels.hpp"
#include "core/message_kernels.hpp"
#include "core/path_kernels.hpp"
#include "core/row_kernels.hpp"
#include "core/spread_kernels.hpp"

#if defined(PYPGM_X86) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace pypgm {

extern const Kernels kernels_baseline;
extern const ContractionKernels contraction_kernels_baseline;
extern const MessageKernels message_kernels_baseline;
extern const PathKernels path_kernels_baseline;
extern const RowKernels row_kernels_baseline;
extern const SpreadKernels spread_baseline;

#ifdef PYPGM_X86
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
extern const ContractionKernels contraction_kernels_avx2;
extern const ContractionKernels contraction_kernels_avx512;
extern const MessageKernels message_kernels_avx2;
extern const MessageKernels message_kernels_avx512;
extern const PathKernels path_kernels_avx2;
extern const PathKernels path_kernels_avx512;
extern const RowKernels row_kernels_avx2;
extern const RowKernels row_kernels_avx512;
extern const SpreadKernels spread_avx2;
extern const SpreadKernels spread_avx512;

namespace {

#ifdef _MSC_VER
/// Bits of leaf 7 / leaf 1 and of the state the operating system saves.
bool machine_has(bool avx512) {
  int leaf1[4];
  int leaf7[4];
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  const bool saves_state = (leaf1[2] >> 27 & 1) != 0;
  const unsigned long long state = saves_state ? _xgetbv(0) : 0;
  const bool avx2 = (state & 6) == 6 && (leaf1[2] >> 12 & 1) != 0 && (leaf7[1] >> 5 & 1) != 0;
  if (!avx512) return avx2;
  return avx2 && (state & 0xe6) == 0xe6 && (leaf7[1] >> 16 & 1) != 0 && (leaf7[1] >> 17 & 1) != 0 &&
         (leaf7[1] >> 31 & 1) != 0;
}
#else
bool machine_has(bool avx512) {
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (!avx512) return avx2;
  return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

template <class Set>
const Set& fastest(const Set& baseline, const Set& avx2, const Set& avx512) {
  return machine_has(true) ? avx512 : (machine_has(false) ? avx2 : baseline);
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = fastest(kernels_baseline, kernels_avx2, kernels_avx512);
  return chosen;
}

const ContractionKernels& contraction_kernels() {
  static const ContractionKernels& chosen =
      fastest(contraction_kernels_baseline, contraction_kernels_avx2, contraction_kernels_avx512);
  return chosen;
}

const MessageKernels& message_kernels() {
  static const MessageKernels& chosen =
      fastest(message_kernels_baseline, message_kernels_avx2, message_kernels_avx512);
  return chosen;
}

const PathKernels& path_kernels() {
  static const PathKernels& chosen = fastest(path_kernels_baseline, path_kernels_avx2, path_kernels_avx512);
  return chosen;
}

const RowKernels& row_kernels() {
  static const RowKernels& chosen = fastest(row_kernels_baseline, row_kernels_avx2, row_kernels_avx512);
  return chosen;
}

const SpreadKernels& spread_kernels() {
  static const SpreadKernels& chosen = fastest(spread_baseline, spread_avx2, spread_avx512);
  return chosen;
}

#else

const Kernels& kernels() { return kernels_baseline; }
const ContractionKernels& contraction_kernels() { return contraction_kernels_baseline; }
const MessageKernels& message_kernels() { return message_kernels_baseline; }
const PathKernels& path_kernels() { return path_kernels_baseline; }
const RowKernels& row_kernels() { return row_kernels_baseline; }
const SpreadKernels& spread_kernels() { return spread_baseline; }

#endif

}  // namespace pypgm
