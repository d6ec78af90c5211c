#pragma once
#include <span>

#include "core/base/watch.hpp"
#include "core/plan/junction_tree.hpp"
#include "core/queries/pair_marginals.hpp"

namespace pypgm {

/// Marginals of pairs that no clique of the tree holds, from the marginals of the cliques: a row of the
/// values of the second attribute for each value of the first, whose conditional probabilities are carried
/// outwards, once over each edge for all pairs that follow each other and have the same first. Separators of
/// at most `negligible` do not count. One thread; a step is a clique that is visited.
void carried_pairs(const JunctionTree& tree, std::span<const std::span<const double>> cliques,
                   double negligible, std::span<const Pair> pairs, std::span<const std::span<double>> out,
                   Watch& watch);

/// About how many multiplications and additions that takes.
double operations_in_turn(const JunctionTree& tree, std::span<const Pair> pairs);

}  // namespace pypgm
