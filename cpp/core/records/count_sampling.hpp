#pragma once
// Counts of a table that records are drawn from: expected counts, rounded under control to the records that
// each separator value has.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/base/xoshiro.hpp"

namespace pypgm {

/// One step of sampling: draw some attributes given attributes that have been drawn.
struct SamplingStep {
  std::span<const double> table;           ///< C order over the attributes: non-negative, finite positive sum
  std::vector<std::size_t> attributes;     ///< column index of each axis
  std::vector<std::size_t> sizes;          ///< entries of each axis
  std::vector<std::uint8_t> in_separator;  ///< of each axis: 1 if it has been drawn
  std::vector<std::uint8_t> in_margin;     ///< of each axis: 1 if in the margin (kept closest)
};

/// Receives the counts of the new values of a separator value, both in C order.
using TakeCounts = std::function<void(std::uint32_t separator, std::span<const std::int32_t> counts)>;

/// Draws the counts of a step's table, one block of separator values after the other, and calls take once for
/// each separator value that has a row. `present`: the records of each separator value, in C order, `rows` in
/// all. RecordSampler::draw says how near counts are to their expectations, and what is refused. Ends early
/// if abandoned.
void sample_counts(const SamplingStep& step, std::span<const std::int64_t> present, std::size_t rows,
                   Xoshiro& random, const Watch& watch, const TakeCounts& take);

/// The same counts, for a seed: C order over the axes of the table. Zeros if abandoned.
std::vector<std::int32_t> draw_counts(const SamplingStep& step, std::span<const std::int64_t> present,
                                      std::size_t rows, std::uint64_t seed, const Watch& watch = {});

}  // namespace pypgm
