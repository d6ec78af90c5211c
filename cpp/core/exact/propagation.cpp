#include "core/exact/propagation.hpp"

#include <algorithm>
#include <utility>

#include "core/exact/propagation_passes.hpp"

namespace pypgm {

namespace {

using namespace propagation;

std::vector<Observed> observe(const JunctionTree& tree, std::span<const Evidence> evidence) {
  std::vector<Observed> all;
  for (const Evidence& e : evidence) {
    const Placement& place = tree.attributes[static_cast<std::size_t>(e.attribute)];
    Observed o{place.node, &place.view, e.log_likelihood, std::vector<double>(e.log_likelihood.size()), {}};
    o.scaling = scaled_exp(o.logarithms, o.weights, 1);
    all.push_back(std::move(o));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Observed& a, const Observed& b) { return a.node < b.node; });
  return all;
}

}  // namespace

Workspace::Workspace(const JunctionTree& tree)
    : scalings(tree.factors.size()),
      peaks(tree.nodes.size()),
      log_scale(tree.nodes.size()),
      ranges(tree.nodes.size()) {
  const TreeNode& last = tree.nodes.back();
  messages.resize(last.separator_offset + last.separator_cells);
  ratios.resize(messages.size());
  answers.resize(messages.size());
  std::size_t given = 0;
  std::size_t summed = 0;
  for (const Placement& p : tree.factors) {
    given = std::max(given, p.offset + p.layout.small);
    if (!p.view.fills) summed = std::max(summed, p.offset + p.layout.small);
  }
  weights.resize(given);
  sums.resize(summed);
  partials.resize(tree.partial_cells);
}

Outcome propagate(const JunctionTree& tree, std::span<const double> potentials,
                  std::span<const Evidence> evidence, double total, Workspace& work, double& log_z,
                  int n_threads, const NodeHooks& hooks) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const Pass pass{tree, potentials, observed, work, hooks, total};
  const Outcome outcome = collect(pass, log_z, n_threads);
  if (outcome == Outcome::exact) distribute(pass, n_threads);
  return outcome;
}

Outcome log_partition(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, double& log_z, int n_threads) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const NodeHooks none;
  return collect(Pass{tree, potentials, observed, work, none, 1.0}, log_z, n_threads);
}

}  // namespace pypgm
