#pragma once
// What the forward and the backward pass over factored cliques share.
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/weights.hpp"

namespace pypgm::passes {

inline std::span<double> cells_of(const FactoredTree& factored, FactoredWork& work, int value) {
  const Value& v = factored.values[at(value)];
  return {work.cells + v.offset, v.cells};
}

inline Weights weights_of(const FactoredTree& factored, FactoredWork& work, int value) {
  const Value& v = factored.values[at(value)];
  return {{work.cells + v.offset, v.cells},
          work.exponents + v.offset,
          work.ranges[at(value)],
          work.extended[at(value)] != 0};
}

inline void keep_known(FactoredWork& work, int value, const Weights& weights) {
  work.ranges[at(value)] = weights.range;
  work.extended[at(value)] = weights.extended ? 1 : 0;
}

/// Calls body(step, threads inside it) for the steps of a level.
template <class Body>
void for_steps(const FactoredTree& factored, const std::vector<int>& level, int n_threads, const Body& body) {
  for_level(
      level, n_threads, [&](int s) { return kEffortWork * factored.steps[at(s)].forward.effort; },
      [&](int s, int threads) { body(factored.steps[at(s)], threads); });
}

}  // namespace pypgm::passes
