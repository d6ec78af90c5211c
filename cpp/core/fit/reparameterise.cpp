#include "core/fit/reparameterise.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/exact/propagation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kWide = 100.0;      // between the largest and the least: below it no weight gets lost
constexpr double kNothing = -600.0;  // as low as a conditional probability's logarithm is kept

/// Whether all that potentials and messages go through is filled.
bool is_filled(const JunctionTree& tree) {
  return std::all_of(tree.nodes.begin(), tree.nodes.end(), [&](const TreeNode& node) {
    if (node.home >= 0) return node.separator.empty() || tree.nodes[at(node.parent)].home >= 0;
    return node.factors.empty() && node.separator.empty();
  });
}

/// Adds what a small table holds to the cells of a node's.
void add_expanded(const TreeNode& node, const BlockView& view, const double* small, double* table) {
  for (std::size_t k = 0; k < node.blocks.count(); ++k) {
    const Block block = block_at(node.blocks, k);
    double* const cells = table + block.begin;
    kernels().add(cells, cells, small + offset_of(view, block), layout_of(view, block));
  }
}

/// The logarithms of what the weights of a node sum to for each code of its separator; 0 where that is
/// nothing.
void log_sums(const TreeNode& node, const double* table, std::vector<double>& tops,
              std::vector<double>& sums) {
  tops.assign(node.separator_cells, -kInfinity);
  sums.assign(node.separator_cells, 0.0);
  const auto for_blocks_of = [&](const auto& body) {
    for (std::size_t k = 0; k < node.blocks.count(); ++k) {
      const Block block = block_at(node.blocks, k);
      body(table + block.begin, offset_of(node.own, block), layout_of(node.own, block));
    }
  };
  for_blocks_of([&](const double* cells, std::size_t offset, AxisRange axes) {
    kernels().reduce_max(cells, tops.data() + offset, axes);
  });
  // A row of -inf has no maximum to subtract.
  std::replace(tops.begin(), tops.end(), -kInfinity, 0.0);
  for_blocks_of([&](const double* cells, std::size_t offset, AxisRange axes) {
    kernels().reduce_exp(cells, tops.data() + offset, sums.data() + offset, axes);
  });
  for (std::size_t j = 0; j < sums.size(); ++j) sums[j] = sums[j] > 0 ? std::log(sums[j]) + tops[j] : 0.0;
}

/// Makes the tables that fill the nodes of a tree conditional, from the leaves up.
void make_conditional(const JunctionTree& tree, std::span<double> potentials) {
  std::vector<double> tops;
  std::vector<double> sums;
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    const TreeNode& node = tree.nodes[i];
    if (node.home < 0) continue;
    const auto table = slice(tree, potentials, node.home);
    for (const int f : node.factors) {
      if (f == node.home) continue;
      const auto small = slice(tree, potentials, f);
      add_expanded(node, tree.factors[at(f)].view, small.data(), table.data());
      std::fill(small.begin(), small.end(), 0.0);
    }
    log_sums(node, table.data(), tops, sums);
    if (!node.separator.empty()) {
      const TreeNode& parent = tree.nodes[at(node.parent)];
      const auto above = slice(tree, potentials, parent.home);
      add_expanded(parent, node.in_parent, sums.data(), above.data());
    }
    for (double& sum : sums) sum = -sum;
    add_expanded(node, node.own, sums.data(), table.data());
    for (double& cell : table) {
      if (cell < kNothing && cell != -kInfinity) cell = kNothing;
    }
  }
}

/// Shares out evenly, between the tables that hold an attribute, what each of its values has at most in each.
void even_out(const JunctionTree& tree, std::span<double> potentials, std::size_t attribute) {
  struct Holder {
    std::span<double> table;
    Layout layout;  ///< the attribute inside it
    std::vector<double> levels;
  };
  std::vector<Holder> holders;
  std::vector<double> mean(tree.sizes[attribute], 0.0);
  for (std::size_t f = 0; f < tree.scopes.size(); ++f) {
    if (!contains(tree.scopes[f], static_cast<std::int32_t>(attribute))) continue;
    Holder holder{slice(tree, potentials, static_cast<int>(f)),
                  nested_layout(tree.sizes, tree.scopes[f], {static_cast<std::int32_t>(attribute)}),
                  {}};
    holder.levels.assign(mean.size(), -kInfinity);
    kernels().reduce_max(holder.table.data(), holder.levels.data(), holder.layout);
    std::replace(holder.levels.begin(), holder.levels.end(), -kInfinity, 0.0);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += holder.levels[j];
    holders.push_back(std::move(holder));
  }
  for (Holder& h : holders) {
    const double n = static_cast<double>(holders.size());
    for (std::size_t j = 0; j < mean.size(); ++j) h.levels[j] = mean[j] / n - h.levels[j];
    kernels().add(h.table.data(), h.table.data(), h.levels.data(), h.layout);
  }
}

}  // namespace

void level_potentials(const JunctionTree& tree, std::span<double> potentials) {
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  if (!(extent.largest - extent.least >= kWide)) return;
  if (is_filled(tree)) return make_conditional(tree, potentials);
  for (std::size_t a = 0; a < tree.sizes.size(); ++a) even_out(tree, potentials, a);
}

}  // namespace pypgm
