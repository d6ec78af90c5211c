#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/scope.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// Most cells of a block: two tables of that size stay in the nearest cache.
inline constexpr std::size_t kBlockCells = 2048;

/// A table cut into blocks, runs of neighbouring cells that are worked on while they are in cache: all of the
/// inner axes, a stretch of one axis, one value of each outer axis.
struct Blocks {
  std::size_t axis = 0;        ///< which is cut
  std::size_t n_outer = 1;     ///< combinations of the outer axes
  std::size_t n_chunks = 1;    ///< stretches the cut axis falls into
  std::size_t cells = 1;       ///< of a block
  std::size_t last_cells = 1;  ///< of the last stretch's blocks
  std::size_t units = 1;       ///< values, or stretches, of the leading axis
  std::size_t pieces = 1;      ///< groups of units that may be worked on at the same time

  std::size_t count() const { return n_outer * n_chunks; }
  /// Blocks of different pieces differ in the leading axis.
  std::size_t first_of_piece(std::size_t piece) const { return units * piece / pieces * (count() / units); }
};

/// How a small table lies in the blocks of a large one.
struct BlockView {
  Layout block;             ///< in a block
  Layout last;              ///< in the last stretch's blocks
  std::vector<Axis> outer;  ///< steps over the outer combinations and over the small table
  std::size_t chunk = 0;    ///< step from stretch to stretch in the small table
  std::size_t cells = 1;    ///< of the small table
  bool fills = false;       ///< whether it has all cells of the large one
  std::size_t pattern = 0;  ///< which of the block's axes it has: views of one pattern lie alike in a block
  bool leads = false;       ///< whether it has the leading axis, so that pieces meet different cells of it
};

/// One block: which it is, where its cells begin in the large table, and how many there are.
struct Block {
  std::size_t outer;
  std::size_t chunk;
  std::size_t begin;
  std::size_t cells;
  bool last;
};

Blocks make_blocks(std::span<const std::size_t> sizes);

/// The layout of the table over `inner` inside the table over `outer`; scopes ascending, one in the other.
Layout nested_layout(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner);

/// How the table over `inner` lies in the blocks of the table over `outer`; scopes ascending, one in the
/// other.
BlockView make_view(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner);

Block block_at(const Blocks& blocks, std::size_t index);

/// Where the cells of a block lie in the small table, and how.
inline const Layout& layout_of(const BlockView& view, const Block& block) {
  return block.last ? view.last : view.block;
}
std::size_t offset_of(const BlockView& view, const Block& block);

}  // namespace pypgm
