#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/tables/layout.hpp"
#include "core/tables/strides.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

/// Every (place in the large table, place in the small one) a layout visits.
void visit(const Layout& layout, std::size_t depth, std::size_t large, std::size_t small,
           std::vector<std::size_t>& place) {
  if (depth == layout.axes.size()) {
    CHECK(place[large] == std::numeric_limits<std::size_t>::max());
    place[large] = small;
    return;
  }
  const Axis& axis = layout.axes[depth];
  for (std::size_t i = 0; i < axis.size; ++i) {
    visit(layout, depth + 1, large + i * axis.large, small + i * axis.small, place);
  }
}

TEST_CASE("a layout puts each cell of the large table at its place in the small one") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::size_t> sizes(test::below(random, 6));
    std::vector<std::uint8_t> kept(sizes.size());
    Scope all;
    Scope inner;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      sizes[i] = 1 + test::below(random, 4);
      kept[i] = static_cast<std::uint8_t>(test::below(random, 2));
      all.push_back(static_cast<std::int32_t>(i));
      if (kept[i] != 0) inner.push_back(static_cast<std::int32_t>(i));
    }
    const Layout layout = make_layout(sizes, kept);
    REQUIRE(layout.large == test::cells_of(sizes, all));
    REQUIRE(layout.small == test::cells_of(sizes, inner));
    std::vector<std::size_t> place(layout.large, std::numeric_limits<std::size_t>::max());
    visit(layout, 0, 0, 0, place);
    test::for_assignments(sizes, [&](const auto& values) {
      CHECK(place[test::cell_of(sizes, all, values)] == test::cell_of(sizes, inner, values));
    });
    for (std::size_t i = 0; i < layout.axes.size(); ++i) {
      CHECK(layout.axes[i].size > 1);
      if (i > 0) CHECK((layout.axes[i].small == 0) != (layout.axes[i - 1].small == 0));
    }
    if (!layout.axes.empty()) CHECK(layout.axes.back().large == 1);
  }
}

TEST_CASE("neighbouring axes merge and axes of one entry vanish") {
  const std::vector<std::size_t> sizes{2, 1, 3, 4, 1, 5};
  const Layout all = make_layout(sizes, std::vector<std::uint8_t>(6, 1));
  REQUIRE(all.axes.size() == 1);
  CHECK(all.axes[0].size == 120);
  CHECK(make_layout(sizes, std::vector<std::uint8_t>(6, 0)).axes.size() == 1);
  CHECK(make_layout(sizes, std::vector<std::uint8_t>{1, 0, 1, 0, 1, 0}).axes.size() == 2);
  CHECK(make_layout({}, {}).axes.empty());
  CHECK(make_layout({}, {}).large == 1);
}

TEST_CASE("products of sizes stop where they no longer fit") {
  CHECK(multiply_cells(6, 7) == 42);
  CHECK(multiply_cells(0, kTooManyCells) == 0);
  CHECK(multiply_cells(kTooManyCells, 0) == 0);
  CHECK(multiply_cells(kTooManyCells, 1) == kTooManyCells);
  CHECK(multiply_cells(kTooManyCells, 2) == kTooManyCells);
  CHECK(multiply_cells(std::size_t{1} << 40, std::size_t{1} << 40) == kTooManyCells);
  const Layout huge = make_layout(std::vector<std::size_t>(40, 1000), std::vector<std::uint8_t>(40, 1));
  CHECK(huge.large == kTooManyCells);
  CHECK(huge.small == kTooManyCells);
}

TEST_CASE("sums of sizes, and sizes that are no integers, stop there as well") {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  CHECK(add_cells(2, 3) == 5);
  CHECK(add_cells(kTooManyCells - 2, 1) == kTooManyCells - 1);
  for (const std::size_t size : {kTooManyCells - 2, kTooManyCells, most - 1, most}) {
    CHECK(add_cells(size, 2) == kTooManyCells);
    CHECK(add_cells(2, size) == kTooManyCells);
    CHECK(add_cells(size, most) == kTooManyCells);
  }
  CHECK(whole_cells(12.0) == 12);
  CHECK(whole_cells(1e300) == kTooManyCells);
  CHECK(whole_cells(std::numeric_limits<double>::infinity()) == kTooManyCells);
}

TEST_CASE("copied with its axes ascending, a table has each cell where its values are") {
  const std::vector<std::size_t> sizes{2, 3, 1, 4};
  const std::vector<double> table{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};  // [d, c, b] of sizes 4, 1, 3
  std::vector<double> out(table.size());
  copy_ascending(sizes, {3, 2, 1}, table, out);
  for (std::size_t b = 0; b < 3; ++b) {
    for (std::size_t d = 0; d < 4; ++d) CHECK(out[b * 4 + d] == table[d * 3 + b]);
  }
  copy_ascending(sizes, {1, 3}, table, out);
  CHECK(out == table);
}

}  // namespace
}  // namespace pypgm
