#pragma once
// Sums over records that Frank-Wolfe steps of many logistic regressions need, in integers.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pypgm {

/// A feature of a record with values -1, 0 and +1: whether one attribute has a code, or, where code is
/// negative, the product of the signs (-1 of code 0, +1 of any other) of attributes; 1 if there are none.
struct RecordFeature {
  std::vector<std::size_t> attributes;
  int code;
};

/// A regression of the label +1 where an attribute has the code `positive`, -1 where `negative`; records with
/// other codes take no part.
struct RecordLabel {
  std::size_t attribute;
  int positive;
  int negative;
};

/// Regressions on the same records and features. A regression's weights are a sum of steps, each an integer
/// times one feature; its margins z, one a record, are kept in 32 bits. All is exact: what a record adds to a
/// sum depends on that record alone, and sums do not depend on order, threads or instruction set.
/// Memory: 4 bytes a record and regression, beside the codes.
class LogisticSums {
 public:
  /// codes[a * n_records + m] is attribute a's code of record m; borrowed. `table` gives the response of
  /// position -kLogisticBins .. kLogisticBins, at least 0. Requires attributes below n_attributes, and
  /// indicators of exactly one attribute.
  LogisticSums(std::span<const std::uint8_t> codes, std::size_t n_attributes,
               std::vector<RecordFeature> features, std::vector<RecordLabel> labels,
               std::vector<std::int16_t> table);

  std::size_t n_features() const { return features_.size(); }
  std::size_t n_labels() const { return labels_.size(); }

  /// Adds amounts[r] times feature chosen[r] to the margins of each regression r; then
  /// sums[r * n_features + f] = sum over records of y x_f response(-y z scale / 2^32), y the label.
  /// Requires |z| scale / 2^32 <= kLogisticBins for every record, sums.size() == n_labels * n_features.
  void step(std::span<const std::uint32_t> chosen, std::span<const std::int32_t> amounts, std::int64_t scale,
            std::span<std::int64_t> sums, int n_threads);

 private:
  void expand(std::size_t first, std::size_t size, std::int16_t* features) const;
  void label(const RecordLabel& label, std::size_t first, std::size_t size, std::int16_t* out) const;
  void rows(std::size_t begin, std::size_t end, std::span<const std::uint32_t> chosen,
            std::span<const std::int32_t> amounts, std::int64_t scale, std::span<std::int64_t> sums);

  std::span<const std::uint8_t> codes_;
  std::size_t n_records_;
  std::vector<RecordFeature> features_;
  std::vector<RecordLabel> labels_;
  std::vector<std::int16_t> table_;
  std::vector<std::int32_t> margins_;
};

}  // namespace pypgm
