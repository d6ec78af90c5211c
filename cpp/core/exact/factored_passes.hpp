#pragma once
// What the forward and the backward pass over factored cliques share.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/extended_contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"

// Tables are weights, not logarithms. Of each is known that its positive entries lie in [2^low, 2^high]:
// bounds follow from those of the factors, and only where they leave 2^±kWidest is the table looked at and
// scaled by a power of two (which rounds nothing). If what is then still below 2^-kWidest of its largest
// entry is set to zero, no product ever underflows unnoticed, and what is set to zero is accounted for:
// `loss` bounds what any entry of a table may lack.
//   a sum of k products loses at most k (loss_a 2^high_b + loss_b 2^high_a + loss_a loss_b);
// Where the bound exceeds kTolerated of a marginal's sum, or of Z, the run is lost. It is then done
// again with extended tables: each cell of a table that is too wide has an exponent of its own, until a table
// computed from it is narrow enough again.

namespace pypgm::passes {

inline constexpr double kWidest = 400;
inline constexpr double kOne = 1.0;

using Range = WeightRange;

inline std::span<double> cells_of(const FactoredTree& factored, FactoredWork& work, int value) {
  const Value& v = factored.values[at(value)];
  return {work.cells.get() + v.offset, v.cells};
}

inline Range product(const Range& a, const Range& b, const Loops& loops) {
  const double terms = std::log2(static_cast<double>(loops.work / std::max<std::size_t>(1, loops.cells)));
  return {a.low + b.low, a.high + b.high + terms, terms + loss_of_product(a, b)};
}

/// A table of weights with its range or its cell exponents.
struct Weights {
  std::span<double> cells;
  double* exponents;  ///< as many; they mean something where the table is extended
  Range range = {};   ///< of a table that is not
  bool extended = false;

  ExtendedTable operand() const { return {cells.data(), extended ? exponents : nullptr, range.high}; }
};

inline Weights weights_of(const FactoredTree& factored, FactoredWork& work, int value) {
  const Value& v = factored.values[at(value)];
  return {{work.cells.get() + v.offset, v.cells},
          work.exponents.get() + v.offset,
          work.ranges[at(value)],
          work.extended[at(value)] != 0};
}

inline void keep_known(FactoredWork& work, int value, const Weights& weights) {
  work.ranges[at(value)] = weights.range;
  work.extended[at(value)] = weights.extended ? 1 : 0;
}

/// Turns an extended table into scaled weights if these lie close enough together; returns the power of two
/// taken out.
double narrow(Weights& table);

/// Scales weights back into the range where products cannot overflow or underflow, or extends the table;
/// returns the power of two taken out.
double rescale(Weights& table, bool may_extend);

/// out = sum of a * b, with its range or cell exponents; returns the power of two taken out.
double multiply(const PairProduct& by, const Weights& a, const Weights& b, Weights& out,
                const FactoredStep& step, FactoredWork& work, int n_threads);

/// Calls body(step, threads inside it) for a level: steps beside each other, or, where one outweighs the
/// rest, one after the other with all threads inside.
template <class Body>
void for_level(const FactoredTree& factored, const std::vector<int>& level, int n_threads, const Body& body) {
  std::size_t total = 0;
  std::size_t largest = 0;
  for (const int s : level) {
    const std::size_t work = factored.steps[at(s)].forward.loops.effort;
    total += work;
    largest = std::max(largest, work);
  }
  const int threads = threads_for(kEffortWork * total, n_threads);
  if (threads > 1 && 2 * largest <= total) {
    parallel_for(level.size(), threads, [&](std::size_t k) { body(factored.steps[at(level[k])], 1); });
  } else {
    for (const int s : level) body(factored.steps[at(s)], threads);
  }
}

}  // namespace pypgm::passes
