#pragma once
#include <algorithm>
#include <iterator>
#include <span>

#include "core/elimination.hpp"
#include "core/layout.hpp"

namespace pypgm {

inline Scope scope_union(const Scope& a, const Scope& b) {
  Scope both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

inline Scope scope_intersection(const Scope& a, const Scope& b) {
  Scope both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

inline Scope scope_difference(const Scope& a, const Scope& b) {
  Scope rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

inline bool scope_holds(const Scope& outer, const Scope& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

/// Cells of the table over a scope, cut to kTooManyCells.
inline std::size_t scope_cells(std::span<const std::size_t> sizes, const Scope& scope) {
  std::size_t cells = 1;
  for (const std::int32_t a : scope) cells = multiply_cells(cells, sizes[static_cast<std::size_t>(a)]);
  return cells;
}

/// The layout of the table over `inner` inside the table over `outer`, which holds it.
inline Layout scope_layout(std::span<const std::size_t> sizes, const Scope& outer, const Scope& inner) {
  std::vector<std::size_t> outer_sizes;
  std::vector<std::uint8_t> kept;
  for (const std::int32_t a : outer) {
    outer_sizes.push_back(sizes[static_cast<std::size_t>(a)]);
    kept.push_back(std::binary_search(inner.begin(), inner.end(), a) ? 1 : 0);
  }
  return make_layout(outer_sizes, kept);
}

}  // namespace pypgm
