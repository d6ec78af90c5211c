#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "core/tables/layout.hpp"

namespace pypgm {

/// Marginals of one table that are fitted together. A large table is summed onto a smaller one that holds
/// many of the marginals, these are fitted there, and the large table is scaled once, by what that changed:
/// the same numbers as when each of them were fitted in the large table.
struct FittingGroup {
  struct Goal {
    int factor;    ///< which of the given cliques
    Layout place;  ///< of its marginal in the table of the group
  };
  Layout place;                     ///< of the group's table in the one around it
  std::size_t cells = 1;            ///< of its table
  std::vector<Goal> goals;          ///< fitted in the table itself
  std::vector<Goal> around;         ///< all its marginals, in the table around it
  std::vector<FittingGroup> parts;  ///< fitted in smaller ones
};

/// Groups the given factors of a table over `scope`, by their own scopes, so that few cells are visited.
FittingGroup group_factors(std::span<const std::size_t> sizes, const Scope& scope,
                           std::span<const Scope> scopes, std::span<const int> factors);

/// Cells of the tables that are in use at a time beside the outermost one.
std::size_t nested_cells(const FittingGroup& group);

}  // namespace pypgm
