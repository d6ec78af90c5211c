// Applies a sparse query to the cells of a table, and its transpose to answers.
#include "core/fit/linear_map.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

/// Calls body(cell, entry) for all entries, cell by cell.
template <class Body>
void for_entries(const LinearMap& map, const Body& body) {
  for (std::size_t i = 0; i < map.cells; ++i) {
    for (auto e = at(map.starts[i]); e < at(map.starts[i + 1]); ++e) body(i, e);
  }
}

/// Along every axis of a table: n times each entry, minus the sum along the axis. Its own transpose.
void centre(const std::vector<std::size_t>& axes, std::span<double> table) {
  std::size_t after = table.size();
  for (const std::size_t n : axes) {
    const std::size_t block = after;
    after /= n;
    for (std::size_t first = 0; first < table.size(); first += block) {
      for (std::size_t i = 0; i < after; ++i) {
        double sum = 0.0;
        for (std::size_t c = 0; c < n; ++c) sum += table[first + c * after + i];
        for (std::size_t c = 0; c < n; ++c) {
          double& entry = table[first + c * after + i];
          entry = static_cast<double>(n) * entry - sum;
        }
      }
    }
  }
}

}  // namespace

void LinearMap::apply(std::span<const double> table, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  if (starts.empty()) {
    for (std::size_t i = 0; i < cells; ++i) out[at(rows[i])] += table[i];
  } else {
    for_entries(*this, [&](std::size_t i, std::size_t e) { out[at(rows[e])] += coefficients[e] * table[i]; });
  }
  if (cumulative) std::partial_sum(out.begin(), out.end(), out.begin());
  centre(axes, out);
}

void LinearMap::add_transpose(std::span<double> y, std::span<double> table) const {
  centre(axes, y);
  if (cumulative) std::partial_sum(y.rbegin(), y.rend(), y.rbegin());
  if (starts.empty()) {
    for (std::size_t i = 0; i < cells; ++i) table[i] += y[at(rows[i])];
  } else {
    for_entries(*this, [&](std::size_t i, std::size_t e) { table[i] += coefficients[e] * y[at(rows[e])]; });
  }
}

}  // namespace pypgm
