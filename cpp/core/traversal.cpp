#include "core/traversal.hpp"

namespace pypgm {

std::size_t partial_cells(const JunctionTree& tree) {
  std::size_t most = 0;
  for (const TreeNode& node : tree.nodes) {
    std::size_t cells = node.own.leads ? 0 : node.own.cells;
    std::size_t down = 0;
    for (const int c : node.children)
      down += tree.nodes[static_cast<std::size_t>(c)].in_parent.leads
                  ? 0
                  : tree.nodes[static_cast<std::size_t>(c)].in_parent.cells;
    for (const int f : node.factors)
      down += tree.factors[static_cast<std::size_t>(f)].view.leads
                  ? 0
                  : tree.factors[static_cast<std::size_t>(f)].view.cells;
    most = std::max(most, (node.blocks.pieces - 1) * std::max(cells, down));
  }
  return most;
}

}  // namespace pypgm
