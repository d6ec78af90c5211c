#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/watch.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Two attributes, the smaller one first.
using Pair = std::pair<std::int32_t, std::int32_t>;

/// What the marginals of all pairs take, known before any table is made.
struct PairCost {
  double operations = 0;  ///< multiplications
  double bytes = 0;       ///< the most that live at one time, given and returned tables not counted
};

PairCost cost_of_pairs(const JunctionTree& tree);

/// 1 for each pair that a clique of the tree holds, 0 for the others.
std::vector<std::uint8_t> held_pairs(const JunctionTree& tree, std::span<const Pair> pairs);

/// Marginals of pairs from the marginals of the cliques of a tree, none of which holds both: many at once. An
/// edge carries the conditional probabilities of all attributes below it in one table, and where two edges
/// meet all pairs of what they carry are one product. Requires different pairs, and a table of each clique.
/// Separators of at most `negligible` do not count. One thread; a step is a clique.
void pair_marginals(const JunctionTree& tree, std::span<const std::span<const double>> cliques,
                    double negligible, std::span<const Pair> pairs, std::span<const std::span<double>> out,
                    Watch& watch);

}  // namespace pypgm
