#pragma once
#include <cstddef>
#include <span>
#include <vector>

namespace pypgm {

struct TreeNode;

/// How the nodes of a tree are shared out among threads: whole branches beside each other, and the trunk they
/// hang from one node after the other, large tables with all threads inside. It is the tree's own, whatever
/// the number of threads.
struct Branches {
  std::vector<int> nodes;          ///< the trunk, then branch after branch; parents before children
  std::vector<std::size_t> first;  ///< where in `nodes` each branch begins; the end of the last one
  std::size_t cells = 0;           ///< tables of all branches

  std::size_t count() const { return first.size() - 1; }
  std::span<const int> trunk() const { return std::span(nodes).first(first.front()); }
  std::span<const int> branch(std::size_t b) const {
    return std::span(nodes).subspan(first[b], first[b + 1] - first[b]);
  }
};

/// Requires parents before children.
Branches make_branches(std::span<const TreeNode> nodes);

}  // namespace pypgm
