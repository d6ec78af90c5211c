#pragma once
// Synthetic records: columns drawn clique by clique, with counts as near to the model as integers can be.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/watch.hpp"
#include "core/base/xoshiro.hpp"
#include "core/records/count_sampling.hpp"

namespace pypgm {

/// Upper limit of the number of records, and of the cells of one table.
inline constexpr std::size_t kMaxRecords = 0x7fffffff;

/// Values of an attribute, one a record, in the smallest type that holds them all.
using Codes = std::variant<std::vector<std::int8_t>, std::vector<std::int16_t>, std::vector<std::int32_t>>;

/// A table of counts of records, as a list of its cells that are not 0.
struct CountTable {
  std::span<const std::int64_t> cells;   ///< ascending: joint value of the separator * new values + new value
  std::span<const std::int32_t> counts;  ///< of each cell, > 0
};

/// Draws the columns of a table of records from conditional distributions by controlled rounding: the counts
/// are the expected counts rounded at random, and which record gets which value is random. The records
/// depend on the seed and the steps alone. Counts and the order of new values are one thread's, what is done
/// record by record is all threads'.
class RecordSampler {
 public:
  /// Requires rows <= kMaxRecords.
  RecordSampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed, int n_threads = 1);

  /// Draws the attributes of a table that are not in its separator, given the separator.
  ///
  /// With n_s the records that have the separator's value s, p the normalised table and N the rows, the
  /// counts of (s, new) are rounded by round_controlled and brought to the sum n_s by set_row_counts:
  /// - each count is less than 2 from n_s p(new | s), and less than 2 from N p(s, new) if n_s is less than 1
  ///   from N p(s); if most separator values have no record (and the margin has attributes of the separator),
  ///   each is less than 1 from n_s p(new | s);
  /// - a count of the margin is the floor or ceiling of N p(margin) wherever the separator's counts and the
  ///   zeros of the table admit it; if the margin has no attribute of the separator, all n_s are less than 1
  ///   from N p(s) and the table has no zeros, always.
  /// This holds to 2^-32 of a record, the unit of fractions. Cells below 1e-280 of the table's sum
  /// count as zeros, since they may underflow in the next table; zeros get no record.
  ///
  /// O(rows) time plus O(cells), or O(cells of the s with n_s > 0) where most separator values have no
  /// record. Throws std::invalid_argument where n_s > 0 and p(s) = 0, and for a table that is none. Draws
  /// nothing if abandoned.
  void draw(const SamplingStep& step, const Watch& watch = {});

  /// Deals the new values of a table with given counts to the records, in random order among those that share
  /// a separator value. The table of the step is not read, and its margin neither.
  ///
  /// Throws std::invalid_argument unless the counts of each separator value sum to the records that have it.
  void deal(const SamplingStep& step, const CountTable& table);

  std::size_t rows() const { return rows_; }
  std::size_t n_attributes() const { return columns_.size(); }
  /// Whether an attribute has been drawn with this size.
  bool is_drawn(std::size_t attribute, std::size_t size) const { return drawn_[attribute] == size; }
  /// The values drawn of an attribute, one a record; empty if it has not been drawn.
  const Codes& column(std::size_t attribute) const { return columns_[attribute]; }
  /// The same, out of the sampler: all columns need not be held twice. The attribute is then not drawn.
  Codes take_column(std::size_t attribute) {
    drawn_[attribute] = 0;
    return std::exchange(columns_[attribute], {});
  }

 private:
  template <class Fill>
  void draw_by(const SamplingStep& step, const Fill& fill);

  std::size_t rows_;
  Xoshiro random_;
  int n_threads_;
  std::vector<Codes> columns_;
  std::vector<std::size_t> drawn_;  ///< size of each attribute that has been drawn, 0 of the others
};

}  // namespace pypgm
