#pragma once
#include <cstddef>
#include <span>

#include "core/plan/elimination.hpp"

namespace pypgm {

inline constexpr std::size_t kDense = 8192;  ///< attributes of the largest graph kept as bits: 8 MiB

/// Throws HopelessElimination where a bound says that every order makes a hopeless table: as long as each
/// attribute left has, with those of its neighbours that are left, a table of at least c cells, the first of
/// them to go makes a table of at least c. O(edges log n); weighted degeneracy.
void check_bound(std::span<const std::size_t> sizes, std::span<const Scope> cliques);

/// Throws HopelessElimination if the table over an attribute and its neighbours is hopeless.
void check_table(std::span<const std::size_t> sizes, std::int32_t attribute, const Scope& neighbours);

}  // namespace pypgm
