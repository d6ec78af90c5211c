// Cuts the tree into branches that run beside each other, and a trunk of nodes that follow one by one.
#include "core/plan/branches.hpp"

#include <algorithm>
#include <cstdint>
#include <queue>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

namespace {

constexpr double kTeam = 8;  // threads the trunk is chosen for; what suits them suits fewer

struct Subtree {
  double cells;
  int root;

  /// The largest comes first, of equals the first.
  bool operator<(const Subtree& other) const {
    return cells != other.cells ? cells < other.cells : root > other.root;
  }
};

using Subtrees = std::priority_queue<Subtree>;

std::vector<double> subtree_cells(std::span<const TreeNode> nodes) {
  std::vector<double> cells(nodes.size());
  for (std::size_t i = nodes.size(); i-- > 0;) {
    cells[i] += static_cast<double>(nodes[i].cells);
    if (nodes[i].parent >= 0) cells[at(nodes[i].parent)] += cells[i];
  }
  return cells;
}

/// Moves the root of the largest branch to the trunk; its children are branches then.
int split(std::span<const TreeNode> nodes, const std::vector<double>& cells, Subtrees& branches) {
  const int root = branches.top().root;
  branches.pop();
  for (const int c : nodes[at(root)].children) branches.push({cells[at(c)], c});
  return root;
}

/// The length of the trunk that leaves a team the least to do one after the other.
std::size_t trunk_length(std::span<const TreeNode> nodes, const std::vector<double>& cells) {
  Subtrees branches;
  branches.push({cells[0], 0});
  double trunk = 0;
  double rest = cells[0];
  double least = rest;
  std::size_t length = 0;
  for (std::size_t k = 1; k <= nodes.size() && trunk < least; ++k) {
    const TreeNode& node = nodes[at(split(nodes, cells, branches))];
    const auto size = static_cast<double>(node.cells);
    trunk += node.blocks.pieces > 1 ? size / kTeam : size;
    rest -= size;
    const double cost = trunk + std::max(branches.empty() ? 0.0 : branches.top().cells, rest / kTeam);
    if (cost < least) {
      least = cost;
      length = k;
    }
  }
  return length;
}

}  // namespace

Branches make_branches(std::span<const TreeNode> nodes) {
  const std::vector<double> cells = subtree_cells(nodes);
  const std::size_t length = trunk_length(nodes, cells);
  Subtrees roots;
  roots.push({cells[0], 0});
  Branches branches;
  while (branches.nodes.size() < length) branches.nodes.push_back(split(nodes, cells, roots));
  branches.first.push_back(length);
  double rest = 0;
  for (; !roots.empty(); roots.pop()) {
    std::vector<int> open{roots.top().root};
    rest += roots.top().cells;
    while (!open.empty()) {
      const int i = open.back();
      open.pop_back();
      branches.nodes.push_back(i);
      open.insert(open.end(), nodes[at(i)].children.rbegin(), nodes[at(i)].children.rend());
    }
    branches.first.push_back(branches.nodes.size());
  }
  branches.cells = static_cast<std::size_t>(std::min(rest, static_cast<double>(kTooManyCells)));
  return branches;
}

}  // namespace pypgm
