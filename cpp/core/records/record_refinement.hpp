#pragma once
// Refinement: values of records changed where that brings their counts nearer to targets.
#include <cstdint>
#include <span>

#include "core/base/watch.hpp"
#include "core/records/excess_tables.hpp"

namespace pypgm {

/// Changes values of records so that their counts come nearer to the targets: a record changes its value of
/// one attribute, or of several of which one nearly determines the others, if that lowers the sum of squared
/// differences over all targets. Each sweep considers, for every record and attribute, all values, or a part
/// of them where there are many. No record moves into a structural zero. `columns`: the values of each
/// attribute, changed in place, `sizes` their numbers of values. Returns the final sum over the targets of
/// the L1 distances. Ends where that is at most `enough`, looked at many times in a sweep, or after a sweep
/// that lowers it by less than a tenth of itself.
///
/// Many records are refined in blocks, some of them beside each other, each towards its share of the
/// differences that all had when they began: the result depends on the seed and the input, never on
/// `n_threads`. Memory: a float for each cell and attribute of a target, five where blocks are beside each
/// other, and some megabytes a block. Steps of the watch are records visited; once it is over the records are
/// left as they are by then.
double refine_records(std::span<const CodeColumn> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, double enough, std::uint64_t seed,
                      int n_threads, Watch& watch);

}  // namespace pypgm
