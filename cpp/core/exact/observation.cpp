// Splits evidence into what is observed and what is a likelihood, and enters both into the leaves of a plan.
#include "core/exact/observation.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/plan/last_observed.hpp"
#include "core/simd/kernels.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

std::vector<Evidence> enter_evidence(const JunctionTree& tree, std::span<const Evidence> evidence,
                                     std::vector<double>& potentials) {
  std::vector<Evidence> alone;
  for (const Evidence& e : evidence) {
    const auto leaf = at(tree.factored->leaf_of[at(e.attribute)]);
    if (leaf >= tree.factors.size()) {
      alone.push_back(e);
      continue;
    }
    double* const table = potentials.data() + tree.factors[leaf].offset;
    const Layout layout = nested_layout(tree.sizes, tree.scopes[leaf], {e.attribute});
    kernels().add(table, table, e.log_likelihood.data(), layout);
  }
  return alone;
}

Observation::Observation(const JunctionTree& junction_tree, std::span<const double> given,
                         std::span<const Evidence> evidence)
    : tree(junction_tree), observed(tree.sizes.size(), 0), codes(tree.sizes.size(), 0), potentials(given) {
  const auto possible = [](double x) { return x != -kInfinity; };
  for (const Evidence& e : evidence) {
    const auto& values = e.log_likelihood;
    if (observed[at(e.attribute)] != 0 || std::count_if(values.begin(), values.end(), possible) != 1)
      continue;
    any = true;
    observed[at(e.attribute)] = 1;
    const auto only = std::find_if(values.begin(), values.end(), possible);
    codes[at(e.attribute)] = static_cast<std::int32_t>(only - values.begin());
  }
  std::vector<Evidence> likelihoods;
  for (const Evidence& e : evidence) {
    if (observed[at(e.attribute)] != 0) {
      log_weight += e.log_likelihood[at(codes[at(e.attribute)])];
    } else {
      likelihoods.push_back(e);
    }
  }
  if (!likelihoods.empty()) {
    entered_.assign(given.begin(), given.end());
    alone = enter_evidence(tree, likelihoods, entered_);
    potentials = entered_;
  }
  if (any) own_ = tree.last_observed->factored(tree, observed);
}

bool lies_as_given(const Observation& observation, int leaf) {
  if (at(leaf) >= observation.tree.factors.size()) return false;
  const Scope& axes = observation.factored().values[at(leaf)].attributes;
  return std::ranges::is_sorted(axes) &&
         std::ranges::none_of(observation.tree.scopes[at(leaf)],
                              [&](std::int32_t a) { return observation.observed[at(a)] != 0; });
}

}  // namespace pypgm
