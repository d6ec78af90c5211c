// Makes potentials conditional from the leaves up where the tables fill the tree, else levels attribute by
// attribute.
#include "core/fit/reparameterise.hpp"

#include <algorithm>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

constexpr double kWide = 100.0;      // between the largest and the least: below it no weight gets lost
constexpr double kNothing = -600.0;  // as low as a conditional probability's logarithm is kept

/// Whether all that potentials and messages go through is filled.
bool is_filled(const JunctionTree& tree) {
  return std::all_of(tree.nodes.begin(), tree.nodes.end(), [&](const TreeNode& node) {
    if (node.filler >= 0) return node.edge.separator.empty() || tree.nodes[at(node.parent)].filler >= 0;
    return node.factors.empty() && node.edge.separator.empty();
  });
}

/// Makes the tables that fill the nodes of a tree conditional, from the leaves up.
void make_conditional(const JunctionTree& tree, std::span<double> potentials) {
  std::vector<double> sums;
  std::vector<double> scratch;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    leave_if_abandoned();
    const TreeNode& node = tree.nodes[i];
    if (node.filler < 0) continue;
    const auto table = slice(tree, potentials, node.filler);
    for (const int f : node.factors) {
      if (f == node.filler) continue;
      const auto small = slice(tree, potentials, f);
      expand(Expand::add, table, tree.factors[at(f)].layout, small, 1);
      std::fill(small.begin(), small.end(), 0.0);
    }
    sums.resize(node.edge.cells);
    scratch.resize(node.edge.cells);
    reduce_logsumexp(table, node.edge.in_child, sums, scratch, 1);
    std::replace(sums.begin(), sums.end(), -kInfinity, 0.0);  // no weight for a code
    if (!node.edge.separator.empty()) {
      const TreeNode& parent = tree.nodes[at(node.parent)];
      expand(Expand::add, slice(tree, potentials, parent.filler), node.edge.in_parent, sums, 1);
    }
    for (double& sum : sums) sum = -sum;
    expand(Expand::add, table, node.edge.in_child, sums, 1);
    for (double& cell : table) {
      if (cell < kNothing && cell != -kInfinity) cell = kNothing;
    }
  }
}

/// Shares out evenly, between the tables that hold an attribute, what each of its values has at most in each.
void even_out(const JunctionTree& tree, std::span<double> potentials, std::int32_t attribute) {
  struct Holder {
    std::span<double> table;
    Layout layout;  ///< the attribute inside it
    std::vector<double> levels;
  };
  std::vector<Holder> holders;
  std::vector<double> mean(tree.sizes[at(attribute)], 0.0);
  for (int f = 0; at(f) < tree.scopes.size(); ++f) {
    const Scope& scope = tree.scopes[at(f)];
    if (!contains(scope, attribute)) continue;
    leave_if_abandoned();
    Holder holder{slice(tree, potentials, f), nested_layout(tree.sizes, scope, {attribute}),
                  std::vector<double>(mean.size())};
    reduce_max(holder.table, holder.layout, holder.levels, 1);
    std::replace(holder.levels.begin(), holder.levels.end(), -kInfinity, 0.0);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += holder.levels[j];
    holders.push_back(std::move(holder));
  }
  for (Holder& h : holders) {
    const double n = static_cast<double>(holders.size());
    for (std::size_t j = 0; j < mean.size(); ++j) h.levels[j] = mean[j] / n - h.levels[j];
    expand(Expand::add, h.table, h.layout, h.levels, 1);
  }
}

}  // namespace

void level_potentials(const JunctionTree& tree, std::span<double> potentials) {
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  if (!(extent.largest - extent.least >= kWide)) return;
  if (is_filled(tree)) return make_conditional(tree, potentials);
  for (int a = 0; at(a) < tree.sizes.size(); ++a) even_out(tree, potentials, a);
}

}  // namespace pypgm
