// Builds layouts: merges neighbouring axes and multiplies sizes without overflow.
#include "core/tables/layout.hpp"

#include <algorithm>
#include <cassert>

#include "core/base/numbers.hpp"

namespace pypgm {

Layout make_layout(std::span<const std::size_t> sizes, std::span<const std::uint8_t> kept) {
  assert(sizes.size() == kept.size());
  Layout layout;
  layout.axes.reserve(sizes.size());
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::size_t size = sizes[i];
    const bool present = kept[i] != 0;
    if (size > 1) {
      if (!layout.axes.empty() && (layout.axes.back().small != 0) == present) {
        layout.axes.back().size = multiply_cells(layout.axes.back().size, size);
      } else {
        layout.axes.push_back({size, layout.large, present ? layout.small : 0});
      }
    }
    layout.large = multiply_cells(layout.large, size);
    if (present) layout.small = multiply_cells(layout.small, size);
  }
  std::reverse(layout.axes.begin(), layout.axes.end());
  return layout;
}

std::size_t cells_of(std::span<const std::size_t> sizes, const Scope& scope) {
  std::size_t cells = 1;
  for (const std::int32_t a : scope) cells = multiply_cells(cells, sizes[at(a)]);
  return cells;
}

double count_cells(std::span<const std::size_t> sizes, std::span<const std::int32_t> scope) {
  double cells = 1;
  for (const std::int32_t a : scope) cells *= static_cast<double>(sizes[at(a)]);
  return cells;
}

std::size_t stride_of(std::span<const std::size_t> sizes, std::span<const std::int32_t> axes,
                      std::int32_t attribute) {
  std::size_t step = 1;
  for (std::size_t i = axes.size(); i-- > 0 && axes[i] != attribute;) step *= sizes[at(axes[i])];
  return step;
}

std::vector<std::size_t> sizes_of(std::span<const std::size_t> sizes, std::span<const std::int32_t> scope) {
  std::vector<std::size_t> own(scope.size());
  std::ranges::transform(scope, own.begin(), [&](std::int32_t a) { return sizes[at(a)]; });
  return own;
}

}  // namespace pypgm
