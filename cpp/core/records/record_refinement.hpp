#pragma once
// Refinement: single values of records changed where that brings their counts nearer to targets.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/watch.hpp"

namespace pypgm {

/// The counts that records should have over some attributes.
struct RecordTarget {
  std::vector<std::size_t> attributes;  ///< columns, in the order of the axes
  std::span<const double> values;       ///< C order, in counts of records; a 0 is a structural zero
};

/// Changes values of records so that their counts come nearer to the targets: a record changes its value of
/// one attribute if that lowers the sum of squared differences over all targets. Each sweep considers, for
/// every record and attribute, the best of a few values: the one that a target drawn at random lacks most,
/// and some drawn at random. No record moves into a structural zero. `columns`: one array of values for each
/// attribute, `sizes` their numbers of values. Returns the final sum over the targets of the L1 distances.
/// Ends where that is at most `enough`, looked at some times in a sweep, or after a sweep that lowers it by
/// less than 4e-2 of itself. One thread; the result depends on the seed and the input alone. Steps of the
/// watch are records visited; once it is over the records are left as they are by then.
double refine_records(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, double enough, std::uint64_t seed,
                      Watch& watch);

}  // namespace pypgm
