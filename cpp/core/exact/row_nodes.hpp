#pragma once
#include <cstddef>
#include <vector>

#include "core/plan/junction_tree.hpp"
#include "core/simd/row_kernels.hpp"

namespace pypgm {

/// A node of a junction tree that one given clique fills, as rows of its cells: all else that comes in or is
/// summed up lies along the rows, and is the same for many of them, or across, one number for a row. The
/// nodes of chains and of trees of overlapping cliques are of this kind.
struct RowNode {
  /// A factor, or a child as -1 - c, and how its table, or message, lies in the table along or across.
  struct Input {
    int input;
    Layout layout;
  };
  /// The smallest table all inputs, and sums, of a kind fit into.
  struct Table {
    BlockView view;  ///< in the blocks of the node
    std::vector<Input> inputs;
  };

  int factor = -1;  ///< the clique that fills the node; -1 if the node is of another kind
  Table along, across;
  bool own_along = false;   ///< whether the separator lies along
  Layout own;               ///< how it lies there
  RowGrid rows, last_rows;  ///< of a block, and of a last stretch's block

  bool suits() const { return factor >= 0; }
  const RowGrid& rows_of(const Block& at) const { return at.last ? last_rows : rows; }
  /// The tables at a block.
  RowTables tables_at(const RowTables& tables, const Block& at) const;
};

/// One for each node. Those of another kind, those of large tables or of very short rows do not suit.
std::vector<RowNode> make_row_nodes(const JunctionTree& tree);

}  // namespace pypgm
