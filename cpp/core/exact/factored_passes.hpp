#pragma once
// What the forward and the backward pass over factored cliques share.
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/factored_inference.hpp"

namespace pypgm::passes {

/// Calls body(step, threads inside it) for the steps of a level.
template <class Body>
void for_steps(const FactoredTree& factored, const std::vector<int>& level, int n_threads, const Body& body) {
  for_level(
      level, n_threads, [&](int s) { return kEffortWork * factored.steps[at(s)].forward.effort; },
      [&](int s, int threads) { body(factored.steps[at(s)], threads); });
}

}  // namespace pypgm::passes
