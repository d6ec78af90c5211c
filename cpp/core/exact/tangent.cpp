#include "core/exact/tangent.hpp"

#include <cmath>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/exact/inference.hpp"
#include "core/plan/traversal.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"

// The joint weight is exp(sum of theta); its logarithm changes at the rate sum of d. Let D be that rate for
// one cell of a node: the sum of the directions of its factors and of what its children report, E[D of the
// child's part | separator]. Then the node's marginal changes as mu' = mu (D + R), with R, for each cell of
// the separator, the rate at which the parent's marginal changes there less what the node reports itself; at
// the root minus the mean of D.

namespace pypgm {

namespace {

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
  Targets targets(node, rates.partials);
  const Target mean = targets.make(node.own, reports.data());
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct sum(Join::add, block, room);
    sum_rates(rates, node, sum);
    times_marginal(rates, node, block, sum.cells(), room);
    add_onto(node.own, mean, piece, block, room);
  });
  targets.gather(mean);
  Targets again(node, rates.partials);
  const Target whole = again.make(node.own, mass.data());
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double*) {
    add_onto(node.own, whole, piece, block, rates.tables.data() + node.offset + block.begin);
  });
  again.gather(whole);
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
  Targets targets(node, rates.partials);
  std::vector<Target> made;
  for (const int c : node.children) {
    const TreeNode& child = rates.tree.nodes[at(c)];
    made.push_back(targets.make(child.in_parent, rates.of(rates.changes, child).data()));
  }
  for (const int f : node.factors) {
    made.push_back(targets.make(rates.tree.factors[at(f)].view, slice(rates.tree, tangent, f).data()));
  }
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct sum(Join::add, block, room);
    sum_rates(rates, node, sum);
    sum.take(node.own, changes.data());
    times_marginal(rates, node, block, sum.cells(), room);
    std::size_t t = 0;
    for (const int c : node.children)
      add_onto(rates.tree.nodes[at(c)].in_parent, made[t++], piece, block, room);
    for (const int f : node.factors) add_onto(rates.tree.factors[at(f)].view, made[t++], piece, block, room);
  });
  for (const Target& target : made) targets.gather(target);
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
  const double log_z = exact_tables(tree, potentials, {}, total, rates.tables, n_threads);
  if (log_z == -kInfinity) return log_z;
  for (std::size_t f = 0; f < tree.factors.size(); ++f) {
    const Placement& place = tree.factors[f];
    const TreeNode& node = tree.nodes[at(place.node)];
    reduce_sum(std::span<const double>(rates.tables).subspan(node.offset, node.cells), place.layout,
               slice(tree, marginals, static_cast<int>(f)), n_threads);
  }
  for (std::vector<double>* buffer : {&rates.mass, &rates.reports, &rates.changes}) {
    buffer->resize(last.separator_offset + last.separator_cells);
  }
  rates.partials.resize(tree.partial_cells);
  visit_upward(tree, n_threads, [&](int i, int threads) { report(rates, tree.nodes[at(i)], threads); });
  visit_downward(tree, n_threads,
                 [&](int i, int threads) { change(rates, tree.nodes[at(i)], tangent, threads); });
  return log_z;
}

}  // namespace pypgm
