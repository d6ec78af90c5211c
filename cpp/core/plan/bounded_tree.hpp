#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/plan/elimination.hpp"

namespace pypgm {

/// Chooses, greedily in the order given, the pairs of attributes whose junction tree stays within a number of
/// cells (of the tables of its cliques). The first `forced` are always taken. Ends early after `patience`
/// refusals in a row, or when the watch is over. Returns 1 for each pair taken, 0 for the others. Pairs that
/// fit together are taken together, so that the work is an elimination for each pair refused and some more,
/// twice the logarithm of the pairs at most, for each run of pairs taken; a step is an elimination. Depends
/// on the input alone.
std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch);

}  // namespace pypgm
