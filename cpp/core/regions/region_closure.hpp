#pragma once
// Region graphs from cliques: closure under intersection, and the edges that suffice.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/scope.hpp"

namespace pypgm {

/// Regions and the edges between them, (parent, child) by index.
struct RegionLinks {
  std::vector<Scope> regions;
  std::vector<std::pair<int, int>> edges;
};

/// The closure of cliques under intersection without the empty set, larger regions first and regions of one
/// size by their attributes, with the edges of the covering relation: each parent contains its child and no
/// region lies between them. Requires ascending scopes. Returns without edges once there are more than
/// max_regions regions. O(sum of 2^width) for narrow cliques; pairs of regions that share an attribute are
/// intersected only where a clique is wide.
RegionLinks saturate(std::span<const Scope> cliques, std::size_t max_regions);

/// Removes edges that add no constraint: of the parents of a region that are connected through common
/// ancestors only the one with the smallest table is kept. The local polytope stays the same.
RegionLinks minimal_edges(std::span<const std::size_t> sizes, const RegionLinks& links);

}  // namespace pypgm
