#pragma once
// The number policy of exact inference: scaled weights, and a power of two for each cell where these cannot
// do.
#include <cmath>
#include <span>

#include "core/base/watch.hpp"
#include "core/exact/extended_contract.hpp"
#include "core/exact/weight_range.hpp"
#include "core/tables/loops.hpp"

// Tables are weights, not logarithms. Of each is known that the magnitudes of its entries, zeros apart, lie
// in [2^low, 2^high]: bounds follow from those of the factors, and only where they leave 2^±kWidest is the
// table looked at and scaled by a power of two (which rounds nothing). If what is then still below 2^-kWidest
// of its largest entry is set to zero, no product ever underflows unnoticed, and what is set to zero is
// accounted for: `loss` bounds what any entry of a table may lack.
//   a sum of k products loses at most k (loss_a 2^high_b + loss_b 2^high_a + loss_a loss_b);
// Where the bound exceeds kTolerated of an answer, the run is lost. It is then done again with extended
// tables: each cell of a table that is too wide has an exponent of its own, until a table computed from it is
// narrow enough again.

namespace pypgm {

inline constexpr double kWidest = 400;

/// A table of weights with its range or its cell exponents.
struct Weights {
  std::span<double> cells;
  double* exponents;       ///< as many; they mean something where the table is extended
  WeightRange range = {};  ///< of the numbers in `cells`
  bool extended = false;

  Operand operand() const { return {cells.data(), extended ? exponents : nullptr, range}; }
};

/// table = exp(logarithms), up to a factor whose natural log is returned; the logarithms may lie in the table
/// itself. A table that is too wide is extended if it may be.
double take_logarithms(std::span<const double> logarithms, Weights& table, bool may_extend);

/// Weights of either sign, in the table itself, that may leave the range of products: scales them, or extends
/// the table; returns the power of two taken out.
double take_weights(Weights& table, bool may_extend);

/// out = sum of a * b, with its range or cell exponents; returns the power of two taken out. Once the watch
/// is abandoned, all of it means nothing.
double multiply(const Loops& loops, const Operand& a, const Operand& b, Weights& out, bool may_extend,
                int n_threads, const Watch* watch = nullptr);

}  // namespace pypgm
