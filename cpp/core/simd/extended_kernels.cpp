// Compiled once for each instruction set, with PYPGM_ISA its name; see kernels.cpp. Plain loops over integers
// and doubles, which compilers turn into vector ones.
#include "core/simd/extended_kernels.hpp"

#include <cstdint>

#include "core/base/numbers.hpp"
#include "core/simd/exp_log.hpp"
#include "core/simd/kernel_set.hpp"

namespace pypgm {

namespace {

constexpr std::uint64_t kSign = std::uint64_t{1} << 63;

void weigh(const double* weights, const double* exponents, std::size_t n, double* out) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) {
    const double e = exponents[i];
    const std::uint64_t power = __builtin_bit_cast(std::uint64_t, e + kRound) << 52;
    const double weight = weights[i];
    const double weighed = weight * __builtin_bit_cast(double, power);
    const double nothing = weight == weight ? 0.0 : weight;
    out[i] = e < kLeastPower ? nothing : weighed;
  }
}

void split(double* weights, double* exponents, std::size_t n) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) {
    const double weight = weights[i];
    const std::uint64_t bits = __builtin_bit_cast(std::uint64_t, weight);
    const std::uint64_t whole = (bits & ~kSign) >> 52 | __builtin_bit_cast(std::uint64_t, kWhole);
    const std::uint64_t unit = (bits & (kSign | kFraction)) | __builtin_bit_cast(std::uint64_t, 1.0);
    const double exponent = exponents[i] + (__builtin_bit_cast(double, whole) - (kWhole + 1023.0));
    const bool number = (weight > 0) | (weight < 0);
    const double nothing = weight == 0 ? -kInfinity : 0.0;
    weights[i] = number ? __builtin_bit_cast(double, unit) : weight;
    exponents[i] = number ? exponent : nothing;
  }
}

void raise(const Terms& a, const Terms& b, std::size_t n, double* tops) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at_a = a.one ? 0 : i;  // compilers make a loop for each case
    const std::size_t at_b = b.one ? 0 : i;
    const double exponent = a.exponents[at_a] + b.exponents[at_b];
    const bool nothing = a.weights[at_a] * b.weights[at_b] == 0;
    const double top = tops[i];
    const double larger = exponent > top ? exponent : top;
    tops[i] = nothing ? top : larger;
  }
}

void add(const Terms& a, const Terms& b, std::size_t n, const double* tops, double* sums) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at_a = a.one ? 0 : i;
    const std::size_t at_b = b.one ? 0 : i;
    const double e = a.exponents[at_a] + b.exponents[at_b] - tops[i];
    const std::uint64_t power = __builtin_bit_cast(std::uint64_t, e + kRound) << 52;
    const double weight = a.weights[at_a] * b.weights[at_b];
    const double term = weight * __builtin_bit_cast(double, power);
    const double nothing = weight == weight ? 0.0 : weight;
    // The exponent of a term that is nothing may lie far above the largest of the others.
    sums[i] += ((e < kLeastPower) | (weight == 0)) ? nothing : term;
  }
}

bool any_below(const double* weights, double least, std::size_t n) {
  std::uint64_t found = 0;
  for (std::size_t i = 0; i < n; ++i) found |= weights[i] < least && weights[i] > -least ? 1U : 0U;
  return found != 0;
}

}  // namespace

PYPGM_KERNEL_SET(ExtendedKernels, extended_kernels) = {weigh, split, raise, add, any_below};

}  // namespace pypgm
