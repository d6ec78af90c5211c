// Chooses the set of loops for the machine the program runs on, or the one that PYPGM_ISA names.
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/simd/code_kernels.hpp"
#include "core/simd/contract_kernels.hpp"
#include "core/simd/dot_kernels.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/logistic_kernels.hpp"
#include "core/simd/message_kernels.hpp"
#include "core/simd/path_kernels.hpp"
#include "core/simd/record_kernels.hpp"
#include "core/simd/sign_kernels.hpp"
#include "core/simd/spin_kernels.hpp"

#if defined(PYPGM_X86) && defined(_MSC_VER)
#include <immintrin.h>
#include <intrin.h>
#endif

namespace pypgm {

namespace {

enum class Isa : unsigned char { baseline, avx2, avx512 };

#if !defined(PYPGM_X86)
Isa best_isa() { return Isa::baseline; }
#elif defined(_MSC_VER)
/// From the bits of leaf 1, of leaf 7, and of the state the operating system saves.
Isa best_isa() {
  int leaf1[4];
  int leaf7[4];
  __cpuid(leaf1, 1);
  __cpuidex(leaf7, 7, 0);
  const bool saves_state = (leaf1[2] >> 27 & 1) != 0;
  const unsigned long long state = saves_state ? _xgetbv(0) : 0;
  const bool avx2 = (state & 6) == 6 && (leaf1[2] >> 12 & 1) != 0 && (leaf7[1] >> 5 & 1) != 0;
  const bool avx512 = (state & 0xe6) == 0xe6 && (leaf7[1] >> 16 & 1) != 0 && (leaf7[1] >> 17 & 1) != 0 &&
                      (leaf7[1] >> 31 & 1) != 0;
  if (!avx2) return Isa::baseline;
  return avx512 ? Isa::avx512 : Isa::avx2;
}
#else
Isa best_isa() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return Isa::baseline;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx512 ? Isa::avx512 : Isa::avx2;
}
#endif

Isa choose_isa() {
  const Isa best = best_isa();
  const char* wanted = std::getenv("PYPGM_ISA");
  if (wanted == nullptr || *wanted == '\0') return best;
  constexpr std::string_view kNames[] = {"baseline", "avx2", "avx512"};
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512}) {
    if (wanted == kNames[static_cast<std::size_t>(isa)] && isa <= best) return isa;
  }
  throw std::runtime_error("PYPGM_ISA needs to be an instruction set of this machine, up to " +
                           std::string(kNames[static_cast<std::size_t>(best)]) + ", got " + wanted);
}

template <class Set>
const Set& chosen(const Set& baseline, const Set& avx2, const Set& avx512) {
  static const Isa isa = choose_isa();
  if (isa == Isa::baseline) return baseline;
  return isa == Isa::avx2 ? avx2 : avx512;
}

}  // namespace

// One set a folder of instructions: `name_baseline` and, on x86, `name_avx2` and `name_avx512`.
#ifdef PYPGM_X86
#define PYPGM_DISPATCH(Set, name)   \
  extern const Set name##_baseline; \
  extern const Set name##_avx2;     \
  extern const Set name##_avx512;   \
  const Set& name() { return chosen(name##_baseline, name##_avx2, name##_avx512); }
#else
#define PYPGM_DISPATCH(Set, name)   \
  extern const Set name##_baseline; \
  const Set& name() { return chosen(name##_baseline, name##_baseline, name##_baseline); }
#endif

PYPGM_DISPATCH(Kernels, kernels)
PYPGM_DISPATCH(CodeKernels, code_kernels)
PYPGM_DISPATCH(ContractKernels, contract_kernels)
PYPGM_DISPATCH(DotKernels, dot_kernels)
PYPGM_DISPATCH(MessageKernels, message_kernels)
PYPGM_DISPATCH(PathKernels, path_kernels)
PYPGM_DISPATCH(ExtendedKernels, extended_kernels)
PYPGM_DISPATCH(LogisticKernels, logistic_kernels)
PYPGM_DISPATCH(SignKernels, sign_kernels)
PYPGM_DISPATCH(SpinKernels, spin_kernels)
PYPGM_DISPATCH(RecordKernels, record_kernels)

}  // namespace pypgm
