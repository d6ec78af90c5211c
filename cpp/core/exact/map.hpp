#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/exact/observation.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The joint assignment of largest weight.
struct MostProbable {
  std::vector<std::int32_t> codes;  ///< by attribute
  double log_weight;  ///< the sum of its potentials and log-likelihoods; -inf if nothing has weight
};

/// Max-product on the factored tree. The weight of an assignment is the sum of its potentials and
/// log-likelihoods, rounded as the plan adds them; rounding is monotone, so that one pass finds the largest
/// such sum exactly. Of several assignments that reach it, without any tolerance, the answer is the one found
/// from the root down, which takes the smallest codes at each step: always the same of a tree. One pass up
/// and one down. Requires tree.factored. Once the watch is abandoned, the answer means nothing.
MostProbable most_probable(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, const Watch* watch = nullptr);

}  // namespace pypgm
