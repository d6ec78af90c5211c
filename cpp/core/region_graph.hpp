#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/elimination.hpp"
#include "core/layout.hpp"

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

/// One edge of a region graph; its message has as many cells as the child.
struct RegionEdge {
  int parent = 0;
  int child = 0;
  Layout layout;           ///< the child inside the parent's table
  std::size_t offset = 0;  ///< of the message in the buffer of all messages
};

struct Region {
  Scope attributes;
  std::vector<int> up;     ///< edges to its parents, ascending
  std::vector<int> down;   ///< edges to its children, ascending
  std::size_t offset = 0;  ///< of its table in the buffer of all tables
  std::size_t cells = 1;
};

/// A region graph compiled for sweeps. Immutable after it is built.
struct RegionGraph {
  std::vector<std::size_t> sizes;
  std::vector<Region> regions;
  std::vector<RegionEdge> edges;
  /// Regions that have parents, larger ones first; those of one stage share no parent.
  std::vector<std::vector<int>> stages;
  std::vector<std::pair<int, int>> blocks;  ///< runs of regions [first, last) of about as many cells
  std::size_t cells = 0;                    ///< of the tables of all regions
  std::size_t message_cells = 0;            ///< of the messages of all edges
  std::size_t largest_cells = 0;            ///< of the largest child
};

/// Compiles regions and edges. Requires that each child is a proper part of its parent, so that there is no
/// cycle, and that no edge comes twice.
RegionGraph build_region_graph(std::span<const std::size_t> sizes, const RegionLinks& links);

}  // namespace pypgm
