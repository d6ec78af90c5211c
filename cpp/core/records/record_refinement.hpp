#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace pypgm {

/// Counts that records should have over some attributes.
struct RecordTarget {
  std::vector<std::size_t> attributes;  ///< columns, in the order of the axes
  std::span<const double> values;       ///< C order, in counts of records; a 0 is a structural zero
};

/// Moves records' values so that their counts come nearer to the targets: a record takes another value of one
/// attribute where that lowers the weighted sum of squared differences over all targets. Each sweep offers
/// one other value, the best of a few drawn at random, to every record and attribute. No record is moved into
/// a structural zero. `columns`: one array of values for each attribute, `sizes` their numbers of values.
/// Returns the sum over the targets of the L1 distances at the end. Ends early once a sweep gains less than
/// 1e-2 of that. One thread; depends on the seed and its input alone.
double refine_records(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, std::uint64_t seed);

}  // namespace pypgm
