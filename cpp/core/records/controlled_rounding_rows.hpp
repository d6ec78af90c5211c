#pragma once
// Row counts: single units moved between rows of a rounded table until each row has its count.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/xoshiro.hpp"

namespace pypgm {

/// A two-way table of records to be rounded: rows by new values in C order. Several new values may share a
/// column.
struct TwoWayTable {
  std::span<const std::uint32_t> column_of;  ///< of each new value
  std::size_t n_columns = 0;
  std::vector<std::int64_t> row_counts;  ///< the records each row must have
  std::vector<double> row_means;         ///< expected records of each row as rounded, within 1 of row_counts
  std::vector<double> column_means;      ///< expected records of each column
  std::vector<double> weights;           ///< of each cell, in any unit; 0: structural zero
  std::vector<double> weight_sums;       ///< of each row, > 0
  std::vector<std::int32_t> counts;  ///< of each cell: the floor or ceiling of its mean; row sums likewise

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
/// first row's cell is below its mean and the second's above, so that both stay the floor or ceiling of their
/// means; if there is none, among all that both rows admit. If no value is common to both, a chain of such
/// moves over other rows is searched, which may also use the slack of columns between the floor and the
/// ceiling of their means. If zeros leave no chain, or missing and surplus records do not cancel, rows gain
/// and lose single records, in columns with slack if there are any.
///
/// Bound: let x be the mean of a cell, n the count of its row, m the mean of its row and p = x / m. After
/// rounding a cell is less than 1 from x. A row that lacks a record has n > m, so adding 1 leaves the cell
/// less than 2 above x and n p >= x, and not below; likewise for a row with one too many; cells not touched
/// are less than 1 + |n - m| p <= 2 from n p. A row is off by at most one and a direct move touches it once;
/// a chain uses a cell only where it stays less than 2 from both x and n p. Zeros get nothing. Row sums are
/// exact always.
void set_row_counts(TwoWayTable& table, Xoshiro& random);

}  // namespace pypgm
