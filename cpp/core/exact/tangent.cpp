// The derivative of the marginals in a direction of the potentials: rates go up the tree and down again,
// beside the messages.
#include "core/exact/tangent.hpp"

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

  std::span<double> of(std::vector<double>& buffer, const TreeNode& node) const {
    return std::span<double>(buffer).subspan(node.edge.offset, node.edge.cells);
  }
  std::span<const double> marginal(const TreeNode& node) const {
    return std::span<const double>(tables).subspan(node.offset, node.cells);
  }
};

/// D, plus a number for each cell of the node's separator, times the node's marginal.
std::vector<double> weighted_rates(Rates& rates, const TreeNode& node, std::span<const double> above,
                                   int threads) {
  std::vector<double> sum(node.cells);
  expand(Expand::assign, sum, node.edge.in_child, above, threads);
  // A child that shares no attribute reports a constant, which changes no marginal.
  for (const int input : node.inputs) {
    if (input >= 0) {
      expand(Expand::add, sum, rates.tree.factors[at(input)].layout,
             slice(rates.tree, rates.direction, input), threads);
    } else {
      const TreeNode& child = rates.tree.nodes[at(-1 - input)];
      expand(Expand::add, sum, child.edge.in_parent, rates.of(rates.reports, child), threads);
    }
  }
  const Axis run{node.cells, 1, 1};
  kernels().multiply(sum.data(), sum.data(), rates.marginal(node).data(), {&run, 1});
  return sum;
}

void report(Rates& rates, const TreeNode& node, int threads) {
  const auto mass = rates.of(rates.mass, node);
  const auto reports = rates.of(rates.reports, node);
  const std::vector<double> nothing(reports.size());
  reduce_sum(weighted_rates(rates, node, nothing, threads), node.edge.in_child, reports, threads);
  reduce_sum(rates.marginal(node), node.edge.in_child, mass, threads);
  for (std::size_t j = 0; j < mass.size(); ++j) reports[j] = mass[j] > 0 ? reports[j] / mass[j] : 0.0;
}

void change(Rates& rates, const TreeNode& node, std::span<double> tangent, int threads) {
  const auto mass = rates.of(rates.mass, node);
  const auto reports = rates.of(rates.reports, node);
  const auto changes = rates.of(rates.changes, node);
  for (std::size_t j = 0; j < mass.size(); ++j) {
    const double above = node.edge.cells > 1 && mass[j] > 0 ? changes[j] / mass[j] : 0.0;
    changes[j] = above - reports[j];
  }
  const std::vector<double> changed = weighted_rates(rates, node, changes, threads);
  for (const int c : node.children) {
    const TreeNode& child = rates.tree.nodes[at(c)];
    reduce_sum(changed, child.edge.in_parent, rates.of(rates.changes, child), threads);
  }
  for (const int f : node.factors) {
    reduce_sum(changed, rates.tree.factors[at(f)].layout, slice(rates.tree, tangent, f), threads);
  }
}

}  // namespace

double tangent(const JunctionTree& tree, std::span<const double> potentials,
               std::span<const double> direction, double total, std::span<double> marginals,
               std::span<double> tangent, int n_threads) {
  const TreeNode& last = tree.nodes.back();
  Rates rates{tree, {direction.begin(), direction.end()}, {}, {}, {}, {}};
  for (std::size_t i = 0; i < direction.size(); ++i) {
    if (potentials[i] == -kInfinity) rates.direction[i] = 0.0;
  }
  rates.tables.resize(last.offset + last.cells);
  const double log_z = exact_tables(tree, potentials, {}, total, rates.tables, n_threads);
  if (log_z == -kInfinity) return log_z;
  for (std::vector<double>* buffer : {&rates.mass, &rates.reports, &rates.changes}) {
    buffer->resize(last.edge.offset + last.edge.cells);
  }
  visit_upward(tree, n_threads, [&](int i, int threads) { report(rates, tree.nodes[at(i)], threads); });
  visit_downward(tree, n_threads,
                 [&](int i, int threads) { change(rates, tree.nodes[at(i)], tangent, threads); });
  for (std::size_t f = 0; f < tree.factors.size(); ++f) {
    const Placement& place = tree.factors[f];
    reduce_sum(rates.marginal(tree.nodes[at(place.node)]), place.layout,
               slice(tree, marginals, static_cast<int>(f)), n_threads);
  }
  return log_z;
}

}  // namespace pypgm
