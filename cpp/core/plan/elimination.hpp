#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/scope.hpp"

namespace pypgm {

/// A table of more cells than any machine holds: no order that makes one is followed to its end.
inline constexpr double kHopelessCells = 0x1p50;

/// Every order makes a table of more than kHopelessCells.
class HopelessElimination : public std::length_error {
 public:
  explicit HopelessElimination(Scope clique)
      : std::length_error("every elimination order makes a table too large for any memory"),
        clique_(std::move(clique)) {}

  /// One whose table is too large, among the smallest of those met; ascending.
  const Scope& clique() const { return clique_; }

 private:
  Scope clique_;
};

/// What a greedy elimination prefers next: the fewest missing edges between the neighbours, the smallest
/// table, or the fewest missing edges weighted by the sizes at their ends.
enum class Rule { fill, weight, weighted_fill };

/// An elimination order and the cells of the tables it makes.
struct Elimination {
  std::vector<std::int32_t> order;
  std::vector<Scope> bags;  ///< bags[i]: order[i] and its neighbours when it goes, ascending
  double cells = 0;         ///< sum of the tables over the bags no other bag contains
};

/// Eliminates attributes whose neighbours all know each other as long as there are any, and then greedily by
/// a rule. Ties go to the smaller attribute. Where that makes a table of more than kHopelessCells the order
/// is empty, and cells infinite.
Elimination eliminate_greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques, Rule rule);

/// The order of fewest cells that a greedy rule finds, of at most so many; else it is empty, and cells
/// infinite. None is followed further than the tables so far allow.
Elimination eliminate_by_best_rule(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                                   double max_cells);

/// Eliminates in the order given, a permutation of the attributes. Throws HopelessElimination where that
/// makes a table too large for any memory.
Elimination eliminate_in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               std::span<const std::int32_t> order);

/// The best of all rules, then of restarts with permuted ties: until planning has taken as many operations as
/// one propagation on the best order so far, or ten rounds have found nothing better; `exhaustive`, for at
/// least 30 restarts and as many more as come cheap (in both cases not for much longer than some tenths of a
/// second). Operations are counted, never timed: the answer depends on the input alone. Memory is linear in
/// the edges.
Elimination eliminate(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive);

}  // namespace pypgm
