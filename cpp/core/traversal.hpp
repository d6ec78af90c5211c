#pragma once
// How the nodes of a tree, and the blocks of a node, are gone through by several threads. The way is the
// tree's own: how many threads there are changes when something is done, never what is added to what.
#include <algorithm>
#include <span>
#include <vector>

#include "core/junction_tree.hpp"
#include "core/kernels.hpp"
#include "core/threads.hpp"

namespace pypgm {

/// Calls body(node, threads inside it) for a level: large tables one after the other with all threads inside,
/// the others beside each other.
template <class Body>
void for_level(const JunctionTree& tree, const std::vector<int>& level, int n_threads, const Body& body) {
  std::size_t cells = 0;
  std::size_t small = 0;
  for (const int i : level) {
    if (tree.nodes[static_cast<std::size_t>(i)].blocks.pieces > 1) continue;
    cells += tree.nodes[static_cast<std::size_t>(i)].cells;
    ++small;
  }
  const int beside = threads_for(cells, n_threads);
  if (small > 0) {
    parallel_for(level.size(), beside, [&](std::size_t k) {
      if (tree.nodes[static_cast<std::size_t>(level[k])].blocks.pieces == 1) body(level[k], 1);
    });
  }
  if (small == level.size()) return;
  for (const int i : level) {
    const TreeNode& node = tree.nodes[static_cast<std::size_t>(i)];
    if (node.blocks.pieces > 1) body(i, threads_for(node.cells, n_threads));
  }
}

/// Calls body(piece, block, room for its cells) for all blocks of a node.
template <class Body>
void for_blocks(const TreeNode& node, int threads, const Body& body) {
  const Blocks& blocks = node.blocks;
  parallel_for(blocks.pieces, threads, [&](std::size_t piece) {
    alignas(64) double room[2 * kBlockCells];
    const std::size_t end = blocks.first_of_piece(piece + 1);
    for (std::size_t b = blocks.first_of_piece(piece); b < end; ++b)
      body(piece, b, block_at(blocks, b), room);
  });
}

/// Where the pieces of a node sum something up: all in one place where they meet different cells of it, else
/// each in its own.
struct Target {
  double* sums;
  double* partials;
  std::size_t cells;
  bool shared;

  double* of(std::size_t piece) const { return piece == 0 || shared ? sums : partials + (piece - 1) * cells; }
};

class Targets {
 public:
  Targets(const TreeNode& node, std::span<double> partials, double start)
      : pieces_(node.blocks.pieces), free_(partials.data()), start_(start) {}

  Target make(const BlockView& view, double* sums) {
    const Target target{sums, free_, view.cells, view.leads || pieces_ == 1};
    std::fill_n(sums, view.cells, start_);
    if (!target.shared) {
      std::fill_n(free_, (pieces_ - 1) * view.cells, start_);
      free_ += (pieces_ - 1) * view.cells;
    }
    return target;
  }
  /// Brings the pieces together, in their order.
  template <class Op>
  void gather(const Target& target, Op op) const {
    for (std::size_t piece = 1; !target.shared && piece < pieces_; ++piece) {
      const double* from = target.of(piece);
      for (std::size_t j = 0; j < target.cells; ++j) target.sums[j] = op(target.sums[j], from[j]);
    }
  }

 private:
  std::size_t pieces_;
  double* free_;
  double start_;
};

inline constexpr auto kPlus = [](double a, double b) { return a + b; };
inline constexpr auto kLarger = [](double a, double b) { return b > a ? b : a; };

/// Adds the cells of a block onto a sum of the node they belong to.
inline void add_onto(const BlockView& view, const Target& target, std::size_t piece, const Block& block,
                     const double* cells) {
  const Layout& layout = layout_of(view, block);
  kernels().reduce_sum(cells, target.of(piece) + offset_of(view, block), layout.axes.data(),
                       layout.axes.size());
}

/// Room the pieces of a node need for what they sum up on their own: on the way up, and on the way down.
std::size_t partial_cells(const JunctionTree& tree);

}  // namespace pypgm
