#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/branches.hpp"
#include "core/plan/elimination.hpp"
#include "core/tables/blocks.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// The edge of a clique to its parent, over which messages go.
struct TreeEdge {
  Scope separator;         ///< attributes shared with the parent; empty for the root
  std::size_t offset = 0;  ///< of the message in the buffer of all messages
  std::size_t cells = 1;
  std::size_t partial_offset = 0;  ///< of the sums of its pieces, in the buffer of partial sums
  Layout in_child;                 ///< separator inside the clique's table
  Layout in_parent;                ///< separator inside the parent's table
  BlockView child_view;            ///< separator in the clique's blocks
  BlockView parent_view;           ///< separator in the parent's blocks
};

/// A clique of the junction tree.
struct TreeNode {
  Scope attributes;           ///< ascending
  int parent = -1;            ///< index of the parent, always smaller than one's own; -1 for the root
  TreeEdge edge;              ///< to the parent; of the root an empty separator
  std::vector<int> children;  ///< ascending
  std::vector<int> factors;   ///< the given cliques whose potentials enter here
  std::size_t offset = 0;     ///< of the table in the buffer of all tables
  std::size_t cells = 1;
  Blocks blocks;            ///< what the table is worked on in
  int filler = -1;          ///< the first given clique that has all its cells; -1 if there is none
  std::vector<int> inputs;  ///< factors f, and children c as -1 - c, by how they lie in a block
};

/// Where a given clique lies.
struct Placement {
  int node = 0;            ///< the smallest tree clique that holds it
  Layout layout;           ///< its table inside that of the node
  BlockView view;          ///< the same in the node's blocks
  std::size_t offset = 0;  ///< of its table in the buffer of all given tables
};

/// What a tree costs, known before any table is made. Doubles: sizes may exceed every integer.
struct TreeCost {
  std::size_t width = 0;  ///< attributes of the widest clique, less one
  int largest = 0;        ///< index of the clique with the largest table
  double largest_cells = 0;
  double cells = 0;         ///< tables of the tree cliques
  double factor_cells = 0;  ///< tables of the given cliques
  double separator_cells = 0;
  double operations = 0;   ///< reads and writes of a cell in one propagation
  double bytes = 0;        ///< of the buffers and answers of one call, the given tables not counted
  double table_bytes = 0;  ///< the same where the tables of all tree cliques are brought back
};

class LastObserved;
struct FactoredTree;

/// A rooted junction tree over all attributes, compiled for message passing. Parts that share no attribute
/// are joined by empty separators, so that there is one root. Immutable after it is built, but for a kept
/// plan.
struct JunctionTree {
  std::vector<std::size_t> sizes;
  std::vector<std::int32_t> order;  ///< the elimination order it came from
  std::vector<TreeNode> nodes;      ///< parents before children
  Branches branches;                ///< how threads go through them
  std::vector<Scope> scopes;        ///< the given cliques
  std::vector<Placement> factors;   ///< one for each of them
  std::vector<int> node_of;         ///< by attribute: the smallest tree clique that holds it
  std::size_t partial_cells = 0;    ///< of the buffer for what pieces of large tables sum up
  TreeCost cost;
  /// Null where a clique is beyond every integer: such a tree can never run.
  std::shared_ptr<const FactoredTree> factored;
  std::shared_ptr<LastObserved> last_observed;  ///< as long as there is `factored`
};

/// Builds the tree from an elimination. Requires ascending scopes inside [0, sizes.size()).
JunctionTree build_junction_tree(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                                 const Elimination& elimination);

/// The part of a buffer of all given tables that holds one clique's.
template <class Buffer>
auto slice(const JunctionTree& tree, Buffer&& buffer, int factor) {
  const Placement& place = tree.factors[static_cast<std::size_t>(factor)];
  return std::span(buffer).subspan(place.offset, place.layout.small);
}

}  // namespace pypgm
