// Applies a sparse query to the cells of a table, and its transpose to answers.
#include "core/fit/linear_map.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// Calls body(cell, entry) for all entries, cell by cell.
template <class Body>
void for_entries(const LinearMap& map, const Body& body) {
  for (std::size_t i = 0; i < map.cells; ++i) {
    for (auto e = at(map.starts[i]); e < at(map.starts[i + 1]); ++e) body(i, e);
  }
}

constexpr std::size_t kColumns = 128;  // of a table, beside each other: their sums stay in the nearest cache

/// n times each of n rows of so many cells, minus the sum of all of them.
void centre_rows(double* rows, std::size_t n, std::size_t width) {
  const auto factor = static_cast<double>(n);
  for (std::size_t begin = 0; begin < width; begin += kColumns) {
    const std::size_t columns = std::min(kColumns, width - begin);
    std::array<double, kColumns> minus = {};  // the sums
    for (std::size_t c = 0; c < n; ++c) {
      kernels().add_scaled(minus.data(), rows + c * width + begin, -1.0, columns, minus.data());
    }
    for (std::size_t c = 0; c < n; ++c) {
      double* const row = rows + c * width + begin;
      kernels().add_scaled(minus.data(), row, factor, columns, row);
    }
  }
}

/// Along every axis of a table: n times each entry, minus the sum along the axis. Its own transpose.
void centre(const std::vector<std::size_t>& axes, std::span<double> table) {
  std::size_t after = table.size();
  for (const std::size_t n : axes) {
    const std::size_t block = after;
    after /= n;
    for (std::size_t first = 0; first < table.size(); first += block) {
      double* const rows = table.data() + first;
      if (after > 1) {
        centre_rows(rows, n, after);
        continue;
      }
      const double sum = kernels().sum(rows, n);
      for (std::size_t c = 0; c < n; ++c) rows[c] = static_cast<double>(n) * rows[c] - sum;
    }
  }
}

constexpr std::size_t kLeastWidth = 8;  // cells of a row below which nothing is gained

}  // namespace

void LinearMap::find_rows(std::size_t cells_of_row) {
  is_cellwise = starts.empty() && cells == answers && rows.size() == cells;
  for (std::size_t i = 0; i < cells && is_cellwise; ++i) is_cellwise = at(rows[i]) == i;
  if (is_cellwise) return;
  if (cells_of_row < kLeastWidth || rows.size() != cells || cells % cells_of_row != 0) return;
  const std::size_t n = cells / cells_of_row;
  std::vector<std::int32_t> kinds(n), firsts;
  std::vector<double> signs(n, 1.0);
  for (std::size_t a = 0; a < n; ++a) {
    const std::size_t begin = a * cells_of_row;
    const std::int32_t shift = rows[begin] - rows[0];
    if (!starts.empty()) signs[a] = coefficients[begin] == coefficients[0] ? 1.0 : -1.0;
    for (std::size_t b = 0; b < cells_of_row; ++b) {
      if (rows[begin + b] != rows[b] + shift) return;
      if (starts.empty()) continue;
      if (starts[begin + b + 1] != static_cast<std::int64_t>(begin + b + 1)) return;
      if (coefficients[begin + b] != signs[a] * coefficients[b]) return;
    }
    const auto found = std::ranges::find(firsts, shift);
    kinds[a] = static_cast<std::int32_t>(found - firsts.begin());
    if (found == firsts.end()) firsts.push_back(shift);
    if (2 * firsts.size() > n) return;
  }
  width = cells_of_row;
  kind = std::move(kinds);
  sign = std::move(signs);
  first = std::move(firsts);
}

void LinearMap::apply(std::span<const double> table, std::span<double> out) const {
  if (!is_cellwise) std::fill(out.begin(), out.end(), 0.0);
  if (is_cellwise) {
    std::ranges::copy(table, out.begin());
  } else if (width > 0) {
    std::vector<double> sums(first.size() * width);
    for (std::size_t a = 0; a < kind.size(); ++a) {
      double* const sum = sums.data() + at(kind[a]) * width;
      kernels().add_scaled(sum, table.data() + a * width, sign[a], width, sum);
    }
    for (std::size_t k = 0; k < first.size(); ++k) {
      for (std::size_t b = 0; b < width; ++b) {
        out[at(first[k] + rows[b])] += (starts.empty() ? 1.0 : coefficients[b]) * sums[k * width + b];
      }
    }
  } else if (starts.empty()) {
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
  if (is_cellwise) {
    kernels().add_scaled(table.data(), y.data(), 1.0, cells, table.data());
  } else if (width > 0) {
    std::vector<double> parts(first.size() * width);
    for (std::size_t k = 0; k < first.size(); ++k) {
      for (std::size_t b = 0; b < width; ++b) {
        parts[k * width + b] = (starts.empty() ? 1.0 : coefficients[b]) * y[at(first[k] + rows[b])];
      }
    }
    for (std::size_t a = 0; a < kind.size(); ++a) {
      double* const row = table.data() + a * width;
      kernels().add_scaled(row, parts.data() + at(kind[a]) * width, sign[a], width, row);
    }
  } else if (starts.empty()) {
    for (std::size_t i = 0; i < cells; ++i) table[i] += y[at(rows[i])];
  } else {
    for_entries(*this, [&](std::size_t i, std::size_t e) { table[i] += coefficients[e] * y[at(rows[e])]; });
  }
}

}  // namespace pypgm
