#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/xoshiro.hpp"

namespace pypgm {

/// A two-way table of records to be rounded: rows by new values in C order. Several new values may count in
/// one column.
struct TwoWayTable {
  std::span<const std::uint32_t> column_of;  ///< of each new value
  std::size_t n_columns = 0;
  std::vector<std::int64_t> row_counts;  ///< the records each row must have
  std::vector<double> row_means;         ///< expected records of each row as rounded, within 1 of row_counts
  std::vector<double> column_means;      ///< expected records of each column
  std::vector<double> weights;           ///< of each cell, in any unit; 0: structural zero
  std::vector<double> weight_sums;       ///< of each row, > 0
  std::vector<std::int32_t> counts;      ///< of each cell: its mean rounded down or up, so that row sums are

  std::size_t n_rows() const { return row_counts.size(); }
  std::size_t n_new() const { return column_of.size(); }
  double share(std::size_t row, std::size_t value) const {
    return weights[row * n_new() + value] / weight_sums[row];
  }
  double mean(std::size_t row, std::size_t value) const { return row_means[row] * share(row, value); }
};

/// Changes counts so that each row sums to its row count, moving as little as possible.
///
/// Rows that lack a record are paired at random with rows that have one too many, and one unit of one new
/// value moves from the second row to the first: column sums stay. The value is drawn among those where the
/// first row stands below its mean and the second above it, so that both cells still are a mean rounded down
/// or up; if there is none, among all that both rows admit. Where no value is common to both, a chain of such
/// moves over other rows is sought, which may also use the room that columns have between the floor and the
/// ceiling of their means. Where zeros leave no chain, or the missing records do not cancel, rows take and
/// give by themselves, if they can in columns that have room.
///
/// Bound: with x the mean of a cell, n the count of its row, m the mean of its row and p = x / m, a cell
/// comes less than 1 from x. A row that lacks a record has n > m, so adding 1 leaves the cell less than 2
/// above x and n p >= x, and not below; likewise for a row with one too many; cells not touched are less than
/// 1 + |n - m| p <= 2 from n p. A row is off by at most one and a direct move touches it once; a chain uses a
/// cell only where it stays less than 2 from both x and n p. Zeros get nothing. Row sums are exact always.
void repair_rows(TwoWayTable& table, Xoshiro& random);

}  // namespace pypgm
