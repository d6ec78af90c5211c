#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/xoshiro.hpp"

namespace pypgm {

/// A rounded table whose row sums are to be changed. Cells are in C order, rows by n_new.
struct RowRepair {
  std::span<std::int32_t> counts;            ///< rounded, in and out
  std::span<const double> weights;           ///< probability of each cell in any unit; 0: structural zero
  std::span<const double> targets;           ///< of each row: expected number of records
  std::span<const std::uint32_t> column_of;  ///< of each new value: the column it counts in
  std::span<const double> column_sums;       ///< of each column: expected number of records
  std::size_t n_new = 0;
};

/// Changes counts so that row s sums to n[s], moving as little as possible. missing[s] is n[s] - row sum.
///
/// Rows that lack a record are paired at random with rows that have one too many, and one unit of one new
/// value moves from the second to the first, the value drawn with the first row's probabilities among those
/// both admit: column sums stay. Where no value is common to both, a chain of such moves over other rows is
/// sought, which may also use the room columns have between the floor and the ceiling of their sums. Where
/// structural zeros leave no chain, or the missing records do not cancel, rows take and give in columns of
/// their own.
///
/// Bound: a cell comes rounded to less than 1 from its expectation mu, and a row one record off is touched by
/// one direct move, which leaves its cells less than 2 from mu; a chain uses a cell only while that holds.
/// Structural zeros get nothing. Row sums are exact whatever happens.
void repair_rows(const RowRepair& table, std::span<const std::int64_t> missing, Xoshiro& random);

}  // namespace pypgm
