#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/plan/elimination.hpp"

namespace pypgm {

/// Chooses, greedily in the order given, the pairs of attributes whose junction tree stays within a number of
/// cells (of the tables of its cliques). The first `forced` are always taken. Ends early after `patience`
/// refusals in a row, or when the watch is over. Returns 1 for each pair taken, 0 for the others. A pair is
/// tried in an elimination order that is kept, along which its edge spreads through few bags. Where that
/// refuses it a new order is sought of what was taken, if that has grown; of few pairs with each of them. A
/// step is a search of an order. Depends on the input alone.
std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch);

}  // namespace pypgm
