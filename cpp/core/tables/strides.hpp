#pragma once
// Strides: the cells of a table where they lie in another one, axes in any order.
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/scope.hpp"
#include "core/base/watch.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// Loops over the cells of a table in C order, with the step of each loop in another table.
class Strides {
 public:
  /// Adds a loop outside those added so far; one that goes on where the last one ends becomes a part of it.
  void add_outer(std::size_t size, std::size_t step) {
    if (size == 1) return;
    if (n_ > 0 && loops_[n_ - 1].step * loops_[n_ - 1].size == step) {
      loops_[n_ - 1].size *= size;
      return;
    }
    assert(n_ < loops_.size());
    loops_[n_++] = {size, step};
  }

  /// Calls body(cell, cell of the other table) for all cells, the first of which lies at `begin` there.
  template <class Body>
  void for_cells(std::size_t begin, const Body& body) const {
    const Loop inner = n_ == 0 ? Loop{1, 0} : loops_[0];
    std::array<std::size_t, 64> counts{};
    const Watch* const watch = thread_watch;
    for (std::size_t cell = 0;;) {
      leave_if_abandoned(watch);
      for (std::size_t i = 0; i < inner.size; ++i) body(cell++, begin + i * inner.step);
      std::size_t k = 1;
      for (; k < n_; ++k) {
        begin += loops_[k].step;
        if (++counts[k] < loops_[k].size) break;
        begin -= loops_[k].size * loops_[k].step;
        counts[k] = 0;
      }
      if (k >= n_) return;
    }
  }

 private:
  struct Loop {
    std::size_t size, step;
  };
  std::array<Loop, 64> loops_;  // innermost first
  std::size_t n_ = 0;
};

/// Copies a table with its axes brought into ascending order of their attributes. Requires axes all
/// different, and as many cells in both tables as they have.
inline void copy_ascending(std::span<const std::size_t> sizes, const std::vector<std::int32_t>& axes,
                           std::span<const double> table, std::span<double> out) {
  Scope descending = axes;
  std::ranges::sort(descending, std::greater());
  Strides strides;
  for (const std::int32_t a : descending) strides.add_outer(sizes[at(a)], stride_of(sizes, axes, a));
  strides.for_cells(0, [&](std::size_t cell, std::size_t from) { out[cell] = table[from]; });
}

}  // namespace pypgm
