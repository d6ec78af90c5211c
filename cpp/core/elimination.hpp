#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace pypgm {

using Scope = std::vector<std::int32_t>;  ///< attribute indices, ascending

/// What a greedy elimination prefers next. Ties go to the smaller rank of a permutation of the attributes.
enum class Rule { fill, weight, weighted_fill, neighbours };

/// An elimination order and the cells of the tables it makes.
struct Elimination {
  std::vector<std::int32_t> order;
  std::vector<Scope> bags;  ///< bags[i]: order[i] and its neighbours when it goes, ascending
  double cells = 0;         ///< sum of the tables over the bags no other bag contains
  double work = 0;          ///< machine words touched while planning
};

/// Eliminates greedily by a rule. `ranks` breaks ties (a permutation of the attributes).
Elimination eliminate_greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques, Rule rule,
                               std::span<const std::int32_t> ranks);

/// Eliminates in the order given, a permutation of the attributes.
Elimination eliminate_in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               std::span<const std::int32_t> order);

/// The best of all rules, then of restarts with permuted ties: until the words touched while planning exceed
/// the cell operations one propagation on the best order so far needs, or, with `exhaustive`, for all
/// restarts. Work is counted, never timed: the answer depends on the input alone.
Elimination eliminate(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive);

}  // namespace pypgm
