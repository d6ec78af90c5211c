#pragma once
// Exponentials and logarithms of eight doubles at a time. For kernels only: nothing here may have external
// linkage.
#include <cstdint>

#include "core/base/numbers.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

constexpr double kLn2High = 6.93147180369123816490e-01;  // the two sum up to ln 2
constexpr double kLn2Low = 1.90821492927058770002e-10;

/// Adding 1.5 * 2^52 rounds to an integer n; with the 1023, the low bits are the exponent of 2^n at once.
constexpr double kRound = 6755399441055744.0 + 1023.0;
constexpr double kWhole = 4503599627370496.0;  // 2^52: its sum with a whole number ends in its bits
constexpr std::uint64_t kFraction = (std::uint64_t{1} << 52) - 1;

/// exp(x) for x <= 709, 0 below -708 (where results leave the normal range); NaN stays. x = n ln 2 + r, a
/// polynomial for exp(r), and 2^n put together from its exponent.
inline Lanes exp_lanes(Lanes x) {
  const Lanes shifted = x * fill(kLog2e) + fill(kRound);
  const Lanes n = shifted - fill(kRound);
  const Lanes r = (x - n * fill(kLn2High)) - n * fill(kLn2Low);
  // The polynomial of degree 11 with the least relative error, 3.1e-18, for |r| <= ln(2)/2.
  Lanes p = fill(2.499431505732594e-08) * r + fill(2.7632308621611045e-07);
  p = p * r + fill(2.755762257459199e-06);
  p = p * r + fill(2.4801486480130036e-05);
  p = p * r + fill(0.00019841269432538557);
  p = p * r + fill(0.0013888888951262375);
  p = p * r + fill(0.008333333333559387);
  p = p * r + fill(0.04166666666649262);
  p = p * r + fill(0.1666666666666617);
  p = p * r + fill(0.5000000000000018);
  p = p * r + fill(1.0);
  p = p * r + fill(1.0);
  return zero_below(x, -708.0, p * numbers(bits(shifted) << 52));
}

/// log(x) for normal x > 0: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1))
/// by its series, of which eleven terms leave less than 1e-17.
inline Lanes log_lanes(Lanes x) {
  constexpr double kRootHalf = 0.70710678118654757;
  const Bits from = bits(x) - bits(fill(kRootHalf));
  // Adding the exponent of 1 makes it non-negative.
  const Bits exponent = (from + bits(fill(1.0))) >> 52;
  const Lanes n = numbers(exponent | bits(fill(kWhole))) - fill(kWhole + 1023.0);
  const Lanes m = numbers((from & bits(fill(__builtin_bit_cast(double, kFraction)))) + bits(fill(kRootHalf)));
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
