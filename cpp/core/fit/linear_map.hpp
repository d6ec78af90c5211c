#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace pypgm {

/// answers = Q cells, column by column: what a measurement asks of the cells of a table. Immutable.
struct LinearMap {
  std::size_t cells = 0;
  std::size_t answers = 0;
  std::vector<std::int32_t> rows;  ///< of the entries of each column
  std::vector<std::int64_t>
      starts;  ///< column i has the entries [starts[i], starts[i + 1]); empty: one each, of 1
  std::vector<double> coefficients;  ///< of the entries, where there are starts
  bool cumulative = false;           ///< whether answers are the cumulative sums of what the entries give
  /// Shape of the answers, where along every axis of n values each answer is n times what the entries give,
  /// minus the sum along the axis; else empty.
  std::vector<std::size_t> axes = {};

  /// Of a table whose rows of `width` cells are asked alike: cell (a, b) counts in answer first[kind[a]] +
  /// rows[b], times sign[a] and, where there are starts, coefficients[b]; else width is 0. See find_rows.
  std::size_t width = 0;
  std::vector<std::int32_t> kind = {};
  std::vector<double> sign = {};
  std::vector<std::int32_t> first = {};

  bool is_cellwise = false;  ///< whether each cell counts in the answer of its own number, once

  /// Finds out whether that is so, or else whether rows of so many cells count in answers in few ways.
  void find_rows(std::size_t cells_of_row);

  /// Whether each cell counts in one answer, once.
  bool is_partition() const { return starts.empty() && !cumulative && axes.empty(); }

  void apply(std::span<const double> table, std::span<double> out) const;
  /// table += Q' y; y is used up.
  void add_transpose(std::span<double> y, std::span<double> table) const;
};

/// A map many measurements share; null: every cell is its own answer.
using SharedMap = std::shared_ptr<const LinearMap>;

}  // namespace pypgm
