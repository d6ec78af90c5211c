// The upward (collect) and the downward (distribute) pass over the tables of a tree.
//
// Messages are logarithms, scaled to a largest entry of 0. What enters a node is added up, and the sums are
// exponentiated less the largest of their row, the cells that share a cell of the node's separator. A row
// with any weight then has an entry of 1, and what underflows in it is below e^-708 of that. Where all
// logarithms of a node lie close together, one number does for all rows. On the way down each row is
// multiplied by the parent's marginal over its sum. So however far potentials lie apart, whatever zeros they
// have, no marginal lacks more than that.
#include "core/exact/propagation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/block_sums.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm {

namespace {

/// Logarithms that lie this close together are exponentiated less one number for all rows: none underflows.
constexpr double kLevel = 500.0;

struct Pass {
  const JunctionTree& tree;
  std::span<const double> potentials;
  const DenseMarginals& out;
  Workspace& work;
  const CliqueHooks& hooks;

  const TreeNode& node(int i) const { return tree.nodes[at(i)]; }
  std::span<double> of(std::vector<double>& buffer, int i) const {
    return std::span<double>(buffer).subspan(node(i).edge.offset, node(i).edge.cells);
  }
  /// A node's cells: where its marginal is wanted, or spare ones.
  double* cells(const TreeNode& node) const {
    if (!out.tables.empty()) return out.tables.data() + node.offset;
    if (node.filler >= 0 && !out.factors.empty()) return slice(tree, out.factors, node.filler).data();
    return work.cells.get() + node.offset;
  }
};

/// The logarithms of the clique that fills a node, in a block; null without one.
const double* filler_of(const Pass& pass, const TreeNode& node, const Block& block) {
  return node.filler < 0 ? nullptr : slice(pass.tree, pass.potentials, node.filler).data() + block.begin;
}

/// Writes the sums of all logarithms that enter a node in a block of its cells.
void add_inputs(const Pass& pass, const TreeNode& node, const Block& block, double* cells, double* scratch) {
  BlockTotal total(block, filler_of(pass, node, block), cells, scratch);
  for (const int input : node.inputs) {
    if (input == node.filler) continue;
    if (input >= 0) {
      total.take(pass.tree.factors[at(input)].view, slice(pass.tree, pass.potentials, input).data());
    } else {
      total.take(pass.node(-1 - input).edge.parent_view, pass.of(pass.work.messages, -1 - input).data());
    }
  }
  total.finish();
}

/// The logarithms that a node's weights are the exponentials of, from a block on.
const double* logs_of(const Pass& pass, const TreeNode& node, const Block& block) {
  // Where nothing comes to the clique that fills the node, its logarithms are the sums.
  if (node.filler >= 0 && node.inputs.size() == 1) return filler_of(pass, node, block);
  return pass.cells(node) + block.begin;
}

/// Adds up what enters a node, and returns between what the sums lie.
Extent add_up(const Pass& pass, const TreeNode& node, int threads) {
  std::vector<Extent> extents(node.blocks.pieces, Extent{kInfinity, -kInfinity});
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double* scratch) {
    if (is_abandoned(pass.work.watch)) return;
    double* const cells = pass.cells(node) + block.begin;
    const double* const logs = logs_of(pass, node, block);
    if (logs == cells) add_inputs(pass, node, block, cells, scratch);
    const Extent extent = kernels().extent(logs, block.cells);
    extents[piece].least = std::min(extents[piece].least, extent.least);
    extents[piece].largest = std::max(extents[piece].largest, extent.largest);
  });
  Extent all = extents[0];
  for (const Extent& extent : extents) {
    all = {std::min(all.least, extent.least), std::max(all.largest, extent.largest)};
  }
  return all;
}

/// Writes the largest logarithm of each row.
void find_tops(const Pass& pass, const TreeNode& node, double* tops, int threads) {
  const BlockView& view = node.edge.child_view;
  Targets targets(node, pass.work.partials);
  const Target target = targets.make(view, tops, std::numeric_limits<double>::lowest());
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double*) {
    if (is_abandoned(pass.work.watch)) return;
    kernels().reduce_max(logs_of(pass, node, block), target.of(piece) + offset_of(view, block),
                         layout_of(view, block));
  });
  targets.gather(target, [](double a, double b) { return std::max(a, b); });
}

/// Turns a node's cells into weights and sums its rows up, whose largest logarithms become its message.
/// Returns the largest of all.
double sum_rows(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  const BlockView& view = node.edge.child_view;
  const auto tops = pass.of(pass.work.messages, i);
  const Extent extent = add_up(pass, node, threads);
  const bool is_level = extent.largest - extent.least <= kLevel;
  if (is_level) {
    std::fill(tops.begin(), tops.end(), extent.largest);
  } else {
    find_tops(pass, node, tops.data(), threads);
  }
  Targets targets(node, pass.work.partials);
  const Target sums = targets.make(view, pass.of(pass.work.sums, i).data());
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double*) {
    if (is_abandoned(pass.work.watch)) return;
    double* const cells = pass.cells(node) + block.begin;
    const double* const logs = logs_of(pass, node, block);
    const std::size_t offset = offset_of(view, block);
    const Layout& layout = layout_of(view, block);
    if (is_level) {
      kernels().exp_shifted(logs, block.cells, extent.largest, cells);
      kernels().reduce_sum(cells, sums.of(piece) + offset, layout);
    } else {
      kernels().exp_rows(logs, tops.data() + offset, cells, sums.of(piece) + offset, layout);
    }
  });
  targets.gather(sums, [](double a, double b) { return a + b; });
  return extent.largest;
}

void collect_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  for (const int f : node.factors) {
    if (pass.hooks.before) pass.hooks.before(f);
  }
  double top = sum_rows(pass, i, threads);
  if (top < kInfinity) {  // else joint weights are beyond the range of numbers
    const auto message = pass.of(work.messages, i);
    top = kernels().add_logs(pass.of(work.sums, i).data(), message.size(), message.data());
  }
  work.log_scale[at(i)] = top;
  for (const int c : node.children) work.log_scale[at(i)] += work.log_scale[at(c)];
  if (work.watch != nullptr) work.watch->count();
}

/// Turns the parent's marginal into what the node's rows are multiplied by; returns it.
const double* answer_of(const Pass& pass, int i) {
  const auto answer = pass.of(pass.work.answers, i);
  if (answer.size() == 1) answer[0] = pass.out.total;
  kernels().divide(answer.data(), pass.of(pass.work.sums, i).data(), 1.0, answer.size(), answer.data());
  return answer.data();
}

/// Calls body(view, sums) for what a node's cells are summed onto, the same list every time, the largest
/// first: children with a separator, factors that do not fill the node.
template <class Body>
void for_targets(const Pass& pass, const TreeNode& node, const Body& body) {
  for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) {
    if (*input < 0) {
      body(pass.node(-1 - *input).edge.parent_view, pass.of(pass.work.answers, -1 - *input).data());
    } else if (*input != node.filler && !pass.out.factors.empty()) {
      body(pass.tree.factors[at(*input)].view, slice(pass.tree, pass.out.factors, *input).data());
    }
  }
}

/// Makes a node's weights its marginal, block by block, and sums it up.
void distribute_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  const BlockView& rows = node.edge.child_view;
  const double* const answer = answer_of(pass, i);
  Targets targets(node, pass.work.partials);
  constexpr std::size_t kFew = 16;
  Target few[kFew];
  std::vector<Target> many(node.inputs.size() > kFew ? node.inputs.size() : 0);
  Target* const made = many.empty() ? few : many.data();
  std::size_t n_targets = 0;
  for_targets(pass, node,
              [&](const BlockView& view, double* sums) { made[n_targets++] = targets.make(view, sums); });
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double* scratch) {
    if (is_abandoned(pass.work.watch)) return;
    double* const cells = pass.cells(node) + block.begin;
    kernels().multiply(cells, cells, answer + offset_of(rows, block), layout_of(rows, block));
    BlockSums sums(block, cells, scratch);
    std::size_t t = 0;
    for_targets(pass, node, [&](const BlockView& view, double*) { sums.add(view, made[t++].of(piece)); });
  });
  for (std::size_t t = 0; t < n_targets; ++t) {
    targets.gather(made[t], [](double a, double b) { return a + b; });
  }
  for (const int f : node.factors) {
    if (pass.hooks.after) pass.hooks.after(f);
  }
  if (pass.work.watch != nullptr) pass.work.watch->count();
}

}  // namespace

Workspace::Workspace(const JunctionTree& tree)
    : cells(std::make_unique_for_overwrite<double[]>(tree.nodes.back().offset + tree.nodes.back().cells)),
      messages(tree.nodes.back().edge.offset + tree.nodes.back().edge.cells),
      sums(messages.size()),
      answers(messages.size()),
      partials(tree.partial_cells),
      log_scale(tree.nodes.size()) {}

double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 const DenseMarginals& marginals, Workspace& work, int n_threads, const CliqueHooks& hooks) {
  const Pass pass{tree, potentials, marginals, work, hooks};
  visit_upward(tree, n_threads, [&](int i, int threads) { collect_node(pass, i, threads); });
  const bool is_beyond =
      std::find(work.log_scale.begin(), work.log_scale.end(), kInfinity) != work.log_scale.end();
  const double log_z = is_beyond ? kInfinity : work.log_scale[0];
  if (std::isfinite(log_z) && !(marginals.factors.empty() && marginals.tables.empty())) {
    visit_downward(tree, n_threads, [&](int i, int threads) { distribute_node(pass, i, threads); });
  }
  return log_z;
}

}  // namespace pypgm
