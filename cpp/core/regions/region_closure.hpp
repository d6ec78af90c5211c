#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/scope.hpp"

namespace pypgm {

/// Regions and the edges between them, (parent, child) by position.
struct RegionLinks {
  std::vector<Scope> regions;
  std::vector<std::pair<int, int>> edges;
};

/// The closure of cliques under intersection, empty sets left out, larger regions first and equal ones by
/// their attributes, with the edges of the covering relation: each parent holds its child and no region lies
/// between them. Requires ascending scopes. Stops once there are more than max_regions regions, without
/// edges. O(sum of 2^width) for narrow cliques; pairs of regions that share an attribute are intersected only
/// where a clique is wide.
RegionLinks saturate(std::span<const Scope> cliques, std::size_t max_regions);

/// Leaves out edges that add no constraint: of the parents of a region that hang together through common
/// ancestors one is kept, the one with the smallest table. The local polytope stays the same.
RegionLinks minimal_edges(std::span<const std::size_t> sizes, const RegionLinks& links);

}  // namespace pypgm
