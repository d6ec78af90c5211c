#pragma once
// Weights times the exponentials of small numbers, for the loops of the kernels alone: nothing here may have
// external linkage.
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

// w + w (exp(x) - 1) by Taylor's series, as far as its terms are seen: what is left out is below 1e-16.
constexpr double kTinyMoves = 0x1p-13;  // below it grown_by_tiny serves
constexpr double kSmallMoves = 0x1p-6;  // below it grown_by_small does

template <class Some>
inline Some constant(double number) {
  Some x;
  set(x, number);
  return x;
}

template <class Some>
inline Some grown_by_tiny(Some w, Some x) {
  const Some p = (x * constant<Some>(1.0 / 6) + constant<Some>(0.5)) * x + constant<Some>(1.0);
  return w + w * (x * p);
}

template <class Some>
inline Some grown_by_small(Some w, Some x) {
  Some p = x * constant<Some>(1.0 / 720) + constant<Some>(1.0 / 120);
  p = p * x + constant<Some>(1.0 / 24);
  p = p * x + constant<Some>(1.0 / 6);
  p = p * x + constant<Some>(0.5);
  p = p * x + constant<Some>(1.0);
  return w + w * (x * p);
}

}  // namespace

}  // namespace pypgm
