#pragma once
#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"

namespace pypgm {

/// What is known of the magnitudes in a table of weights, as logarithms to base 2. Exact inference multiplies
/// and adds weights; all that it can lose is what underflows, and a bound on that is carried along.
struct WeightRange {
  double low = 0;            ///< magnitudes above 0 are at least 2^low
  double high = 0;           ///< and at most 2^high
  double loss = -kInfinity;  ///< any entry lacks at most 2^loss
  bool signs = false;        ///< whether entries may be negative
};

/// Loss, as a part of what the numbers sum to, from which on they are not trusted: 7e-18, far below what
/// rounding does.
inline constexpr double kTolerated = -57;

/// How a run of exact inference ended: with numbers that can be trusted, without any weight, or with losses
/// by underflow that matter. A run of the factored tree whose tables have cell exponents is never lost.
enum class Outcome { exact, impossible, lost };

/// log2(2^a + 2^b)
inline double add_powers(double a, double b) {
  const double top = std::max(a, b);
  return std::isinf(top) ? top : top + std::log2(1 + std::exp2(std::min(a, b) - top));
}

/// What a product of two entries lacks: loss_a 2^high_b + loss_b 2^high_a + loss_a loss_b.
inline double loss_of_product(const WeightRange& a, const WeightRange& b) {
  if (std::max(a.loss, b.loss) == -kInfinity) return a.loss;
  return add_powers(add_powers(a.loss + b.high, b.loss + a.high), a.loss + b.loss);
}

}  // namespace pypgm
