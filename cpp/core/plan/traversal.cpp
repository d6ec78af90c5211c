// Levels of nodes that can be worked on at the same time, and offsets of what their pieces sum up.
#include "core/plan/traversal.hpp"

#include "core/tables/layout.hpp"

namespace pypgm {

namespace {

/// Numbers the pieces of a node need: in the collect pass, and in the distribute pass.
std::size_t partial_cells(const JunctionTree& tree, const TreeNode& node) {
  const auto own = [](const BlockView& view) { return view.leads ? 0 : view.cells; };
  std::size_t down = 0;
  for (const int c : node.children)
    down = add_cells(down, own(tree.nodes[static_cast<std::size_t>(c)].edge.parent_view));
  for (const int f : node.factors)
    down = add_cells(down, own(tree.factors[static_cast<std::size_t>(f)].view));
  return multiply_cells(node.blocks.pieces - 1, std::max(own(node.edge.child_view), down));
}

}  // namespace

void place_partials(JunctionTree& tree) {
  const auto place = [&](std::span<const int> nodes, std::size_t begin) {
    std::size_t most = 0;
    for (const int i : nodes) {
      TreeNode& node = tree.nodes[static_cast<std::size_t>(i)];
      node.edge.partial_offset = begin;
      most = std::max(most, partial_cells(tree, node));
    }
    return add_cells(begin, most);
  };
  const std::size_t trunk = place(tree.branches.trunk(), 0);
  std::size_t end = 0;
  for (std::size_t b = 0; b < tree.branches.count(); ++b) end = place(tree.branches.branch(b), end);
  tree.partial_cells = std::max(trunk, end);
}

}  // namespace pypgm
