#pragma once
// Loops over the nodes of a tree and the blocks of a node, by several threads. The tree alone fixes the order
// of every sum: the number of threads changes when something is done, never what is added to what.
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/threads.hpp"
#include "core/plan/junction_tree.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

/// Calls body(node, threads inside it) for a node of the trunk.
template <class Body>
void on_trunk(const JunctionTree& tree, int i, int n_threads, const Body& body) {
  const TreeNode& node = tree.nodes[static_cast<std::size_t>(i)];
  body(i, node.blocks.pieces > 1 ? threads_for(kEffortWork * node.cells, n_threads) : 1);
}

/// Calls body(node, threads inside it) for all nodes, children after their parent.
template <class Body>
void visit_downward(const JunctionTree& tree, int n_threads, const Body& body) {
  const Branches& branches = tree.branches;
  for (const int i : branches.trunk()) on_trunk(tree, i, n_threads, body);
  parallel_for(branches.count(), threads_for(kEffortWork * branches.cells, n_threads), [&](std::size_t b) {
    for (const int i : branches.branch(b)) body(i, 1);
  });
}

/// Calls body(node, threads inside it) for all nodes, children before their parent.
template <class Body>
void visit_upward(const JunctionTree& tree, int n_threads, const Body& body) {
  const Branches& branches = tree.branches;
  parallel_for(branches.count(), threads_for(kEffortWork * branches.cells, n_threads), [&](std::size_t b) {
    const std::span<const int> nodes = branches.branch(b);
    for (auto i = nodes.rbegin(); i != nodes.rend(); ++i) body(*i, 1);
  });
  const std::span<const int> trunk = branches.trunk();
  for (auto i = trunk.rbegin(); i != trunk.rend(); ++i) on_trunk(tree, *i, n_threads, body);
}

/// Calls body(piece, block, scratch buffer of its cells) for all blocks of a node.
template <class Body>
void for_blocks(const TreeNode& node, int threads, const Body& body) {
  const Blocks& blocks = node.blocks;
  parallel_for(blocks.pieces, threads, [&](std::size_t piece) {
    alignas(64) double scratch[kBlockCells];
    const std::size_t end = blocks.first_of_piece(piece + 1);
    for (std::size_t b = blocks.first_of_piece(piece); b < end; ++b)
      body(piece, block_at(blocks, b), scratch);
  });
}

/// Where the pieces of a node reduce its cells: all in one place where they meet different cells of it, else
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
  Targets(const TreeNode& node, std::span<double> partials)
      : pieces_(node.blocks.pieces), free_(partials.data() + node.edge.partial_offset) {}

  Target make(const BlockView& view, double* sums, double start = 0.0) {
    const Target target{sums, free_, view.cells, view.leads || pieces_ == 1};
    std::fill_n(sums, view.cells, start);
    if (!target.shared) {
      std::fill_n(free_, (pieces_ - 1) * view.cells, start);
      free_ += (pieces_ - 1) * view.cells;
    }
    return target;
  }
  /// Brings the pieces together, in their order.
  template <class Op>
  void gather(const Target& target, const Op& op) const {
    for (std::size_t piece = 1; !target.shared && piece < pieces_; ++piece) {
      const double* from = target.of(piece);
      for (std::size_t j = 0; j < target.cells; ++j) target.sums[j] = op(target.sums[j], from[j]);
    }
  }

 private:
  std::size_t pieces_;
  double* free_;
};

/// Gives the nodes room for what their pieces sum up on their own: those that may be gone through at the same
/// time do not share it.
void place_partials(JunctionTree& tree);

}  // namespace pypgm
