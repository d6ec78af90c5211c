#pragma once
// Logarithms of eight doubles at a time. For kernels only: nothing here may have external linkage.
#include <bit>
#include <cstdint>

#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

#if defined(__GNUC__)
using PartWords = std::uint64_t __attribute__((vector_size(kPartLanes * sizeof(double))));
inline PartBits shift_right(PartBits x, int n) {
  return reinterpret_cast<PartBits>(reinterpret_cast<PartWords>(x) >> n);
}
#else
inline PartBits shift_right(PartBits x, int n) {
  return static_cast<PartBits>(static_cast<std::uint64_t>(x) >> n);
}
#endif

template <class Half>
inline Pair<Half> shift_right(Pair<Half> x, int n) {
  return {shift_right(x.low, n), shift_right(x.high, n)};
}
template <class Half>
inline Pair<Half> operator/(Pair<Half> a, Pair<Half> b) {
  return {a.low / b.low, a.high / b.high};
}

/// log(x) for normal x > 0: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1))
/// by its series, of which eleven terms leave less than 1e-17.
inline Lanes log_lanes(Lanes x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRootHalf = 0.70710678118654757;
  constexpr double kFraction = std::bit_cast<double>(std::uint64_t{0x000fffffffffffff});
  constexpr double kInteger = 4503599627370496.0;  // 2^52: above it the low bits of a double are an integer
  const Bits from = bits(x) - bits(fill(kRootHalf));
  // Adding the exponent of 1 makes it non-negative.
  const Bits exponent = shift_right(from + bits(fill(1.0)), 52);
  const Lanes n = numbers(exponent | bits(fill(kInteger))) - fill(kInteger + 1023.0);
  const Lanes m = numbers((from & bits(fill(kFraction))) + bits(fill(kRootHalf)));
  const Lanes t = (m - fill(1.0)) / (m + fill(1.0));
  const Lanes z = t * t;
  Lanes p = fill(2.0 / 21) * z + fill(2.0 / 19);
  p = p * z + fill(2.0 / 17);
  p = p * z + fill(2.0 / 15);
  p = p * z + fill(2.0 / 13);
  p = p * z + fill(2.0 / 11);
  p = p * z + fill(2.0 / 9);
  p = p * z + fill(2.0 / 7);
  p = p * z + fill(2.0 / 5);
  p = p * z + fill(2.0 / 3);
  return n * fill(kLn2High) + (fill(2.0) * t + (t * z * p + n * fill(kLn2Low)));
}

}  // namespace

}  // namespace pypgm
