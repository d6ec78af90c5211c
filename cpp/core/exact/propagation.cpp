#include "core/exact/propagation.hpp"

#include <algorithm>
#include <utility>

#include "core/base/threads.hpp"
#include "core/exact/propagation_passes.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm {

namespace {

using namespace propagation;

std::vector<Observed> observe(const JunctionTree& tree, std::span<const Evidence> evidence) {
  std::vector<Observed> all;
  for (const Evidence& e : evidence) {
    const Placement& place = tree.attributes[static_cast<std::size_t>(e.attribute)];
    Observed o{place.node, &place.view, e.log_likelihood, std::vector<double>(e.log_likelihood.size()), {}};
    const Extent extent = kernels().extent(o.logarithms.data(), o.logarithms.size());
    o.scaling = scaled_exp(o.logarithms, extent, o.weights, 1);
    all.push_back(std::move(o));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Observed& a, const Observed& b) { return a.node < b.node; });
  return all;
}

}  // namespace

Scaling scaled_exp(std::span<const double> potentials, const Extent& extent, std::span<double> weights,
                   int threads) {
  const bool empty = extent.largest == -kInfinity;
  const double shift = empty ? 0.0 : extent.largest;
  const std::size_t step = threads > 1 ? kPiece : potentials.size();
  const std::size_t chunks = (potentials.size() + step - 1) / step;
  parallel_for(chunks, threads, [&](std::size_t c) {
    const std::size_t cells = std::min(step, potentials.size() - c * step);
    kernels().exp_shifted(potentials.data() + c * step, cells, shift, weights.data() + c * step);
  });
  return {shift, empty ? 0.0 : extent.least - shift, 0.0};
}

Workspace::Workspace(const JunctionTree& tree)
    : scalings(tree.factors.size()),
      spaces(tree.nodes.size()),
      peak(tree.nodes.size()),
      low(tree.nodes.size()),
      log_scale(tree.nodes.size()),
      table_loss(tree.nodes.size()),
      loss(tree.nodes.size()) {
  const TreeNode& last = tree.nodes.back();
  messages.resize(last.separator_offset + last.separator_cells);
  log_messages.resize(messages.size());
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

double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, int n_threads,
                 const NodeHooks& hooks) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const Pass pass{tree, potentials, observed, work, hooks, total};
  const double log_z = pass_up(pass, n_threads);
  if (log_z > -kInfinity) pass_down(pass, n_threads);
  return log_z;
}

double marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, Workspace& work,
                    std::span<double> marginals, int n_threads) {
  NodeHooks hooks;
  hooks.marginal = [&](int factor, std::size_t, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(),
              slice(tree, marginals, factor).begin() + static_cast<std::ptrdiff_t>(begin));
  };
  return propagate(tree, potentials, evidence, total, work, n_threads, hooks);
}

double tables_of(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, std::span<double> tables,
                 int n_threads) {
  NodeHooks hooks;
  hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), tables.data() + node.offset + block.begin);
  };
  return propagate(tree, potentials, evidence, total, work, n_threads, hooks);
}

double attribute_marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                              std::span<const Evidence> evidence, double total, Workspace& work,
                              std::span<double> marginals) {
  // Where each attribute's sums are, by the node they are taken from.
  std::vector<std::vector<std::pair<const BlockView*, double*>>> wanted(tree.nodes.size());
  double* next = marginals.data();
  for (const Placement& place : tree.attributes) {
    wanted[at(place.node)].emplace_back(&place.view, next);
    next += place.layout.small;
  }
  std::fill(marginals.begin(), marginals.end(), 0.0);
  NodeHooks hooks;
  hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
    for (const auto& [view, sums] : wanted[static_cast<std::size_t>(&node - tree.nodes.data())]) {
      add_onto(*view, {sums, nullptr, view->cells, true}, 0, block, cells.data());
    }
  };
  return propagate(tree, potentials, evidence, total, work, 1, hooks);
}

double log_partition(const JunctionTree& tree, std::span<const double> potentials,
                     std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const NodeHooks none;
  return pass_up(Pass{tree, potentials, observed, work, none, 1.0}, n_threads);
}

double max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const NodeHooks none;
  const Pass pass{tree, potentials, observed, work, none, 1.0};
  go_up(tree, n_threads, [&](int i, int threads) {
    const auto message = pass.of(work.log_messages, i);
    reduce_node(pass, i, Space::log, kernels().reduce_max, -kInfinity, message.data(), threads);
    work.log_scale[at(i)] = scale_below(pass, i) + normalise_logarithms(message);
  });
  return work.log_scale[0];
}

}  // namespace pypgm
