// Chooses where a table is cut into blocks, and finds blocks and offsets by index.
#include "core/tables/blocks.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kMaxPieces = 16;  // each may keep its own copy of the sums

/// Where the axes of a table are cut: `chunk` values of `axis` and all axes after it make a block.
struct Cut {
  std::size_t axis = 0;
  std::size_t chunk = 1;
  std::size_t inner = 1;  ///< cells of the axes after it
};

Cut find_cut(std::span<const std::size_t> sizes) {
  Cut cut;
  if (sizes.empty()) return cut;
  cut.axis = sizes.size() - 1;
  while (cut.axis > 0 && cut.inner * sizes[cut.axis] <= kBlockCells && cut.inner * sizes[cut.axis] > 0) {
    cut.inner *= sizes[cut.axis];
    --cut.axis;
  }
  // Chunks of nearly equal length.
  const std::size_t most = std::max<std::size_t>(1, kBlockCells / cut.inner);
  const std::size_t size = sizes[cut.axis];
  const std::size_t chunks = (size + most - 1) / most;
  cut.chunk = (size + chunks - 1) / chunks;
  return cut;
}

std::size_t product(std::span<const std::size_t> sizes) {
  std::size_t cells = 1;
  for (const std::size_t size : sizes) cells = multiply_cells(cells, size);
  return cells;
}

/// The first axis of more than one value; the last one if there is none.
std::size_t leading_axis(std::span<const std::size_t> sizes) {
  std::size_t axis = 0;
  while (axis + 1 < sizes.size() && sizes[axis] == 1) ++axis;
  return axis;
}

/// Of each attribute of `outer`: whether `inner` has it.
std::vector<std::uint8_t> kept_in(const Scope& inner, const Scope& outer) {
  std::vector<std::uint8_t> kept(outer.size());
  std::ranges::transform(outer, kept.begin(), [&](std::int32_t a) { return contains(inner, a) ? 1 : 0; });
  return kept;
}

/// The view of the table over the kept axes in the blocks of that over all of them.
BlockView make_view(std::span<std::size_t> axes, std::span<const std::uint8_t> kept) {
  BlockView view;
  if (axes.empty()) {
    view.block = make_layout(axes, kept);
    view.fills = true;
    return view;
  }
  view.leads = kept[leading_axis(axes)] != 0;
  const Cut cut = find_cut(axes);
  const std::size_t size = axes[cut.axis];
  for (std::size_t a = cut.axis, bit = 1; a < axes.size(); ++a) {
    if (axes[a] == 1) continue;
    if (kept[a] != 0) view.pattern |= bit;
    bit <<= 1;  // at most eleven axes of size > 1: 2^11 cells fill a block
  }
  const std::span<std::size_t> inner_axes = axes.subspan(cut.axis);
  const auto tail = [&](std::size_t length) {
    inner_axes[0] = length;
    return make_layout(inner_axes, kept.subspan(cut.axis));
  };
  view.block = tail(cut.chunk);
  if (cut.chunk < size) view.last = tail(size - (size - 1) / cut.chunk * cut.chunk);
  inner_axes[0] = size;
  view.chunk = kept[cut.axis] != 0 ? view.block.small : 0;
  const std::size_t below =
      kept[cut.axis] != 0 ? multiply_cells(size, view.block.small / cut.chunk) : view.block.small;
  const Layout outside = make_layout(axes.first(cut.axis), kept.first(cut.axis));
  view.outer = outside.axes;
  for (Axis& axis : view.outer) axis.small = multiply_cells(axis.small, below);
  view.cells = multiply_cells(outside.small, below);
  view.fills = view.cells == product(axes);
  return view;
}

}  // namespace

Blocks make_blocks(std::span<const std::size_t> sizes) {
  Blocks blocks;
  if (sizes.empty()) return blocks;
  const Cut cut = find_cut(sizes);
  const std::size_t size = sizes[cut.axis];
  blocks.n_outer = product(sizes.first(cut.axis));
  blocks.n_chunks = (size + cut.chunk - 1) / cut.chunk;
  blocks.cells = cut.chunk * cut.inner;
  blocks.last_cells = (size - (blocks.n_chunks - 1) * cut.chunk) * cut.inner;
  const std::size_t leading = leading_axis(sizes);
  blocks.units = leading < cut.axis ? sizes[leading] : blocks.n_chunks;
  // Each piece has its own copy of sums that lack the leading axis; at an eighth of the units these copies
  // stay far smaller than the table.
  const std::size_t most =
      std::clamp<std::size_t>(blocks.units / 8, std::min<std::size_t>(4, blocks.units), kMaxPieces);
  blocks.pieces = std::clamp<std::size_t>(product(sizes) / kPiece, 1, most);
  return blocks;
}

Layout nested_layout(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner) {
  return make_layout(sizes_of(sizes, outer), kept_in(inner, outer));
}

Nesting nest(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner) {
  std::vector<std::size_t> axes = sizes_of(sizes, outer);
  const std::vector<std::uint8_t> kept = kept_in(inner, outer);
  Layout layout = make_layout(axes, kept);
  return {std::move(layout), make_view(axes, kept)};
}

Block block_at(const Blocks& blocks, std::size_t index) {
  const std::size_t outer = blocks.n_chunks == 1 ? index : index / blocks.n_chunks;
  const std::size_t chunk = index - outer * blocks.n_chunks;
  const bool last = chunk > 0 && chunk + 1 == blocks.n_chunks;
  const std::size_t row = (blocks.n_chunks - 1) * blocks.cells + blocks.last_cells;
  return {outer, chunk, outer * row + chunk * blocks.cells, last ? blocks.last_cells : blocks.cells, last};
}

std::size_t offset_of(const BlockView& view, const Block& block) {
  std::size_t offset = block.chunk * view.chunk;
  std::size_t rest = block.outer;
  for (const Axis& axis : view.outer) {
    const std::size_t i = rest / axis.large;
    rest -= i * axis.large;
    offset += i * axis.small;
  }
  return offset;
}

}  // namespace pypgm
