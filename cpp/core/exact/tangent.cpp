#include "core/exact/tangent.hpp"

#include <cmath>
#include <limits>
#include <vector>

#include "core/exact/propagation.hpp"
#include "core/plan/traversal.hpp"
#include "core/simd/kernels.hpp"

// The joint weight is exp(sum of theta); its logarithm changes at the rate sum of d. Let D be that rate for
// one cell of a node: the sum of the directions of its factors and of what its children report, E[D of the
// child's part | separator]. Then the node's marginal changes as mu' = mu (D + R), with R, for each cell of
// the separator, the rate at which the parent's marginal changes there less what the node reports itself; at
// the root minus the mean of D.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Rates {
  const JunctionTree& tree;
  std::vector<double> direction;  ///< of the potentials, 0 where these are -inf
  std::vector<double> tables;     ///< marginals of the tree's cliques
  std::vector<double> mass;       ///< a separator: its marginal
  std::vector<double> reports;    ///< a separator: what the node below reports
  std::vector<double> changes;    ///< a separator: how its marginal changes, then R
  std::vector<double> partials;

  std::span<double> of(std::vector<double>& buffer, const TreeNode& node) const {
    return std::span<double>(buffer).subspan(node.separator_offset, node.separator_cells);
  }
};

/// Makes D in a block.
void sum_rates(Rates& rates, const TreeNode& node, BlockProduct& sum) {
  // What a child of its own, which shares nothing, reports is a constant: it changes no marginal but through
  // its norm.
  for (const int input : node.inputs) {
    if (input >= 0) {
      const Placement& place = rates.tree.factors[at(input)];
      sum.take(place.view, rates.direction.data() + place.offset);
    } else {
      const TreeNode& child = rates.tree.nodes[at(-1 - input)];
      sum.take(child.in_parent, rates.of(rates.reports, child).data());
    }
  }
}

/// cells *= the block's marginal
void times_marginal(const Rates& rates, const TreeNode& node, const Block& block, const double* cells,
                    double* out) {
  const Axis run{block.cells, 1, 1};
  kernels().multiply(out, cells, rates.tables.data() + node.offset + block.begin, &run, 1);
}

void report(Rates& rates, const TreeNode& node, int threads) {
  const auto mass = rates.of(rates.mass, node);
  const auto reports = rates.of(rates.reports, node);
  Targets targets(node, rates.partials, 0.0);
  const Target mean = targets.make(node.own, reports.data());
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct sum(Space::log, block, room);
    sum_rates(rates, node, sum);
    times_marginal(rates, node, block, sum.cells(), room);
    add_onto(node.own, mean, piece, block, room);
  });
  targets.gather(mean, kPlus);
  Targets again(node, rates.partials, 0.0);
  const Target whole = again.make(node.own, mass.data());
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double*) {
    add_onto(node.own, whole, piece, block, rates.tables.data() + node.offset + block.begin);
  });
  again.gather(whole, kPlus);
  for (std::size_t j = 0; j < mass.size(); ++j) reports[j] = mass[j] > 0 ? reports[j] / mass[j] : 0.0;
}

void change(Rates& rates, const TreeNode& node, std::span<double> tangent, int threads) {
  const auto mass = rates.of(rates.mass, node);
  const auto reports = rates.of(rates.reports, node);
  const auto changes = rates.of(rates.changes, node);
  for (std::size_t j = 0; j < mass.size(); ++j) {
    const double above = node.separator_cells > 1 && mass[j] > 0 ? changes[j] / mass[j] : 0.0;
    changes[j] = above - reports[j];
  }
  Targets targets(node, rates.partials, 0.0);
  std::vector<Target> made;
  for (const int c : node.children) {
    const TreeNode& child = rates.tree.nodes[at(c)];
    made.push_back(targets.make(child.in_parent, rates.of(rates.changes, child).data()));
  }
  for (const int f : node.factors) {
    made.push_back(targets.make(rates.tree.factors[at(f)].view, slice(rates.tree, tangent, f).data()));
  }
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct sum(Space::log, block, room);
    sum_rates(rates, node, sum);
    sum.take(node.own, changes.data());
    times_marginal(rates, node, block, sum.cells(), room);
    std::size_t t = 0;
    for (const int c : node.children)
      add_onto(rates.tree.nodes[at(c)].in_parent, made[t++], piece, block, room);
    for (const int f : node.factors) add_onto(rates.tree.factors[at(f)].view, made[t++], piece, block, room);
  });
  for (const Target& target : made) targets.gather(target, kPlus);
}

}  // namespace

double tangent(const JunctionTree& tree, std::span<const double> potentials,
               std::span<const double> direction, double total, std::span<double> marginals,
               std::span<double> tangent, int n_threads) {
  const TreeNode& last = tree.nodes.back();
  Rates rates{tree, {direction.begin(), direction.end()}, {}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (potentials[i] == -kInfinity) rates.direction[i] = 0.0;
  }
  rates.tables.resize(last.offset + last.cells);
  NodeHooks hooks;
  hooks.marginal = [&](int f, std::size_t, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), slice(tree, marginals, f).data() + begin);
  };
  hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), rates.tables.data() + node.offset + block.begin);
  };
  {
    Workspace work(tree);
    const double log_z = propagate(tree, potentials, {}, total, work, n_threads, hooks);
    if (log_z == -kInfinity) return log_z;
    rates.mass.resize(work.messages.size());
    rates.reports.resize(work.messages.size());
    rates.changes.resize(work.messages.size());
    rates.partials = std::move(work.partials);
    go_up(tree, n_threads, [&](int i, int threads) { report(rates, tree.nodes[at(i)], threads); });
    go_down(tree, n_threads, [&](int i, int threads) { change(rates, tree.nodes[at(i)], tangent, threads); });
    return log_z;
  }
}

}  // namespace pypgm
