#pragma once
// Layout: where the cells of a small table lie inside a larger one. Every loop over two tables runs on it.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/base/scope.hpp"

namespace pypgm {

/// One loop over a run of neighbouring axes of a large table that a small table either all has or all lacks.
struct Axis {
  std::size_t size;   ///< entries of the run
  std::size_t large;  ///< step in the large table
  std::size_t small;  ///< step in the small table; 0 if it lacks the run
};

/// Axes of a Layout, outermost first, as kernels take them.
struct AxisRange {
  const Axis* first;
  std::size_t n;
};

/// How a small table lies inside a large one, both in C order with axes in the same order. Axes of size 1
/// are dropped and neighbours merged, so that present and absent runs alternate; the last run is contiguous.
struct Layout {
  std::vector<Axis> axes;
  std::size_t large = 1;  ///< cells of the large table
  std::size_t small = 1;  ///< cells of the small table

  operator AxisRange() const { return {axes.data(), axes.size()}; }
};

/// Builds the layout of the table over the kept axes inside the table over all of them.
/// Requires kept.size() == sizes.size(), sizes >= 1.
Layout make_layout(std::span<const std::size_t> sizes, std::span<const std::uint8_t> kept);

/// Upper limit of every cell count: products saturate here. No table of that size is ever allocated.
inline constexpr std::size_t kTooManyCells = std::numeric_limits<std::size_t>::max() / 64;

/// a * b, saturated at kTooManyCells.
[[nodiscard]] constexpr std::size_t multiply_cells(std::size_t a, std::size_t b) {
  return (a != 0 && b > kTooManyCells / a) ? kTooManyCells : a * b;
}

/// a + b, saturated at kTooManyCells.
[[nodiscard]] constexpr std::size_t add_cells(std::size_t a, std::size_t b) {
  return a < kTooManyCells && b < kTooManyCells - a ? a + b : kTooManyCells;
}

/// A count that may exceed every integer, saturated at kTooManyCells.
[[nodiscard]] constexpr std::size_t whole_cells(double cells) {
  return cells < static_cast<double>(kTooManyCells) ? static_cast<std::size_t>(cells) : kTooManyCells;
}

/// Cells of a table over a scope, saturated at kTooManyCells.
[[nodiscard]] std::size_t cells_of(std::span<const std::size_t> sizes, const Scope& scope);

/// The same where sizes may exceed every integer.
[[nodiscard]] double count_cells(std::span<const std::size_t> sizes, std::span<const std::int32_t> scope);

/// Step from a value of an attribute to the next one in a table of these axes, outermost first; the whole
/// table if it lacks the attribute.
std::size_t stride_of(std::span<const std::size_t> sizes, std::span<const std::int32_t> axes,
                      std::int32_t attribute);

/// The sizes of the attributes of a scope.
std::vector<std::size_t> sizes_of(std::span<const std::size_t> sizes, std::span<const std::int32_t> scope);

}  // namespace pypgm
