#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/xoshiro.hpp"

namespace pypgm {

/// The largest number of records, and of cells of one table.
inline constexpr std::size_t kMaxRecords = 0x7fffffff;

/// What to draw next: some attributes given some that are drawn already.
struct SamplingStep {
  std::span<const double> table;           ///< C order over the attributes: non-negative, finite positive sum
  std::vector<std::size_t> attributes;     ///< column of each axis
  std::vector<std::size_t> sizes;          ///< entries of each axis
  std::vector<std::uint8_t> in_separator;  ///< of each axis: 1 if it is drawn already
  std::vector<std::uint8_t> in_margin;     ///< of each axis: 1 if it belongs to the margin that is kept close
};

/// Draws the columns of a table of records attribute by attribute from conditional distributions, by
/// randomised rounding: the counts come as near to the tables as integers can, and which record gets which
/// value is random. One thread; the records depend on the seed and the steps alone.
class RecordSampler {
 public:
  /// Requires rows <= kMaxRecords.
  RecordSampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed);

  /// Draws the attributes of a table that are not in its separator, given the separator.
  ///
  /// With n_s the records that have the separator's value s, p the normalised table and N the rows, counts of
  /// (s, new) are rounded by round_controlled and always sum to n_s:
  /// - margin without separator attributes: where n_s is the floor or ceiling of N p(s), as it is after such
  ///   a step over the separator, the count is less than 2 from N p(s, new), and so from n_s p(new | s);
  ///   counts of the margin are the floor or ceiling of N p(margin) unless zeros of the table prevent it;
  /// - otherwise: less than 1 from n_s p(new | s); counts of the margin are the floor or ceiling of
  ///   sum over s of n_s p(margin | s).
  /// (To 2^-32 of a record, in which fractions are counted.) Cells of p below 1e-280 count as zero, since
  /// they may underflow to zero in the next table; zeros get no record.
  ///
  /// O(rows) time plus O(cells): of all s in the first case, of those with n_s > 0 in the second.
  /// Throws std::invalid_argument where n_s > 0 and p(s) = 0.
  void draw(const SamplingStep& step);

  std::size_t n_attributes() const { return columns_.size(); }
  /// Whether an attribute has been drawn, with values below this size.
  bool is_drawn(std::size_t attribute, std::size_t size) const { return drawn_[attribute] == size; }
  /// The values drawn of an attribute, one a record; empty if it has not been drawn.
  std::span<const std::int32_t> column(std::size_t attribute) const { return columns_[attribute]; }

 private:
  std::size_t rows_;
  Xoshiro random_;
  std::vector<std::vector<std::int32_t>> columns_;
  std::vector<std::size_t> drawn_;  ///< size of each attribute that has been drawn, 0 of the others
};

}  // namespace pypgm
