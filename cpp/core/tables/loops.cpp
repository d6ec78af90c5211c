// Orders the loops of a contraction: which one runs over lanes, rows, sums and batches.
#include "core/tables/loops.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace pypgm {

namespace {

constexpr std::size_t kCellEffort = 8;  // writing a cell takes as long as this many products

/// The axes of size > 1 that some table has, neighbours in the same tables merged, outermost first.
std::vector<LoopAxis> merged_axes(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b,
                                  std::uint64_t out) {
  std::vector<LoopAxis> axes;
  axes.reserve(sizes.size());
  std::size_t cells_a = 1;
  std::size_t cells_b = 1;
  std::size_t cells_out = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (((a | b | out) & bit) == 0 || sizes[i] == 1) continue;
    const bool in_a = (a & bit) != 0;
    const bool in_b = (b & bit) != 0;
    const bool in_out = (out & bit) != 0;
    const bool same = !axes.empty() && (axes.back().a != 0) == in_a && (axes.back().b != 0) == in_b &&
                      (axes.back().out != 0) == in_out;
    if (same) {
      axes.back().size = multiply_cells(axes.back().size, sizes[i]);
    } else {
      axes.push_back({sizes[i], in_a ? cells_a : 0, in_b ? cells_b : 0, in_out ? cells_out : 0});
    }
    if (in_a) cells_a = multiply_cells(cells_a, sizes[i]);
    if (in_b) cells_b = multiply_cells(cells_b, sizes[i]);
    if (in_out) cells_out = multiply_cells(cells_out, sizes[i]);
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

void swap_factors(std::vector<LoopAxis>& axes) {
  for (LoopAxis& axis : axes) std::swap(axis.a, axis.b);
}

/// Removes and returns the largest axis for which `fits` holds; an axis of size 1 if there is none.
template <class Fits>
LoopAxis take_largest(std::vector<LoopAxis>& axes, const Fits& fits) {
  auto best = axes.end();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (fits(*axis) && (best == axes.end() || axis->size > best->size)) best = axis;
  }
  if (best == axes.end()) return {};
  const LoopAxis taken = *best;
  axes.erase(best);
  return taken;
}

bool row_of_a(const LoopAxis& axis) { return axis.a != 0 && axis.b == 0 && axis.out != 0; }

}  // namespace

Loops make_loops(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b, std::uint64_t out) {
  assert(sizes.size() <= 64);
  Loops loops;
  std::vector<LoopAxis> axes = merged_axes(sizes, a, b, out);
  loops.cells = 1;
  loops.work = 1;
  for (const LoopAxis& axis : axes) {
    loops.work = multiply_cells(loops.work, axis.size);
    if (axis.out != 0) loops.cells = multiply_cells(loops.cells, axis.size);
  }
  if (!axes.empty()) {
    loops.lanes = axes.back();
    axes.pop_back();
    const bool only_a = loops.lanes.a != 0 && loops.lanes.b == 0;
    const bool in_both = (loops.lanes.a != 0) == (loops.lanes.b != 0);
    loops.swapped = only_a || (in_both && std::none_of(axes.begin(), axes.end(), row_of_a));
    if (loops.swapped) {
      swap_factors(axes);
      std::swap(loops.lanes.a, loops.lanes.b);
    }
  }
  loops.effort = loops.work + multiply_cells(kCellEffort, loops.cells);
  loops.rows = take_largest(axes, row_of_a);
  loops.sums = take_largest(axes, [](const LoopAxis& axis) { return axis.out == 0; });
  loops.outer = std::move(axes);
  loops.fresh =
      std::all_of(loops.outer.begin(), loops.outer.end(), [](const LoopAxis& x) { return x.out != 0; });
  // Outer loops over cells of `out` come first: those can be cut for threads.
  std::stable_partition(loops.outer.begin(), loops.outer.end(), [](const LoopAxis& x) { return x.out != 0; });
  if (!loops.outer.empty()) {
    loops.batch = loops.outer.back();
    loops.outer.pop_back();
  }
  return loops;
}

}  // namespace pypgm
