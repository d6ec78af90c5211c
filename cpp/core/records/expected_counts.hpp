#pragma once
// Expected counts of new values given the records of each separator value, with the model's column sums.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/xoshiro.hpp"

namespace pypgm {

/// The sums of a two-way table of records to be drawn: rows are separator values that have records, cells of
/// a row new values in C order. Several new values may share a column.
struct TwoWayTable {
  std::span<const std::uint32_t> column_of;  ///< of each new value
  std::vector<double> row_counts;            ///< the records of each row, > 0
  std::vector<double> row_means;             ///< those the model expects, moved to within 1 of row_counts
  std::vector<double> column_means;          ///< the records the model expects in each column

  std::size_t n_rows() const { return row_counts.size(); }
  std::size_t n_new() const { return column_of.size(); }
};

/// Returns an expected count for each cell, row after row, given each cell's share in its row (0: structural
/// zero). Rows sum to their counts. Columns sum to their means, or, where the total of the rows differs from
/// that of the columns, to numbers between the floors and ceilings of their means; to 1e-4 of a record,
/// wherever the bound and the zeros admit it. (To some hundredths where zeros let records move only through
/// dozens of rows, one after the other.)
///
/// The counts start from row count times share. Then records move within one row after the other, from
/// columns that are further above their means to columns less so, which lowers the sum of squared differences
/// each time. Without zeros a few rows settle it; rows are visited in random order so that none is favoured.
///
/// Bound: each count is at most 1 from row count times share, and at most 1 from row mean times share.
std::vector<double> expected_counts(TwoWayTable table, std::vector<double> shares, Xoshiro& random);

}  // namespace pypgm
