#pragma once
// Blocks: a large table cut into runs of cells that stay in cache, and where smaller tables lie in them.
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/scope.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// Largest number of cells of a block: two tables of that size (32 KiB) stay in the first-level cache.
inline constexpr std::size_t kBlockCells = 2048;

/// A table cut into blocks, runs of neighbouring cells that are processed while they are in cache: all of the
/// inner axes, a chunk of the values of one axis, one value of each outer axis.
struct Blocks {
  std::size_t n_outer = 1;     ///< combinations of the outer axes
  std::size_t n_chunks = 1;    ///< chunks of the cut axis
  std::size_t cells = 1;       ///< of a block, but in the last chunk
  std::size_t last_cells = 1;  ///< of a block in the last chunk
  std::size_t units = 1;       ///< values, or chunks, of the leading axis
  std::size_t pieces = 1;      ///< groups of units that may be processed in parallel

  std::size_t count() const { return n_outer * n_chunks; }
  /// Blocks of different pieces differ in the leading axis.
  std::size_t first_of_piece(std::size_t piece) const { return units * piece / pieces * (count() / units); }
};

/// How a small table lies in the blocks of a large one.
struct BlockView {
  Layout block;             ///< in a block
  Layout last;              ///< in a block of the last of several chunks
  std::vector<Axis> outer;  ///< steps over the outer combinations and over the small table
  std::size_t chunk = 0;    ///< step from chunk to chunk in the small table
  std::size_t cells = 1;    ///< of the small table
  bool fills = false;       ///< whether it has all cells of the large table
  std::size_t pattern = 0;  ///< bit i: it has the block's axis i; equal patterns, equal layouts
  bool leads = false;       ///< whether it has the leading axis, so that pieces touch disjoint cells of it
};

/// One block: its position, the offset of its cells in the large table, and their number.
struct Block {
  std::size_t outer;
  std::size_t chunk;
  std::size_t begin;
  std::size_t cells;
  bool last;
};

Blocks make_blocks(std::span<const std::size_t> sizes);

/// The layout of the table over `inner` inside the table over `outer`. Requires ascending scopes, inner a
/// subset of outer.
Layout nested_layout(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner);

/// How a small table lies in a large one, and in its blocks.
struct Nesting {
  Layout layout;
  BlockView view;
};

/// The same with the view of the table over `inner` in the blocks of that over `outer`.
Nesting nest(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner);

Block block_at(const Blocks& blocks, std::size_t index);

/// The layout and the offset in the small table of the cells that a block meets.
inline const Layout& layout_of(const BlockView& view, const Block& block) {
  return block.last ? view.last : view.block;
}
std::size_t offset_of(const BlockView& view, const Block& block);

}  // namespace pypgm
