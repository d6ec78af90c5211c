#pragma once
// Region graphs compiled for belief propagation: regions, edges, offsets of tables and messages, stages.
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/scope.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// One edge of a region graph; its message has as many cells as the child.
struct RegionEdge {
  int parent = 0;
  int child = 0;
  int layout = 0;           ///< of the child inside the parent's table: an index
  std::size_t table = 0;    ///< offset of the parent's table in the buffer of all tables
  std::size_t message = 0;  ///< offset of the message in the buffer of all messages
};

struct Region {
  Scope attributes;
  std::size_t offset = 0;  ///< of its table in the buffer of all tables
  std::size_t cells = 1;
  std::uint32_t first_up = 0;  ///< index of the first edge to a parent
  std::uint32_t n_up = 0;
  std::uint32_t first_down = 0;  ///< the same for its children, among edges by parent
  std::uint32_t n_down = 0;
};

/// A region graph compiled for sweeps. Immutable after it is built. What a sweep reads lies in the order in
/// which it is read: edges of a child, and their messages, beside each other.
struct RegionGraph {
  std::vector<std::size_t> sizes;
  std::vector<Region> regions;
  std::vector<Layout> layouts;                 ///< the different ones
  std::vector<RegionEdge> edges;               ///< by child, stage by stage
  std::vector<RegionEdge> by_parent;           ///< the same edges
  std::vector<std::vector<int>> regions_with;  ///< by attribute
  /// Regions that have parents, larger ones first. Regions of one stage share no parent, so a sweep can
  /// update them in parallel.
  std::vector<std::vector<int>> stages;
  std::vector<std::pair<int, int>> blocks;  ///< runs of regions [first, last) with about equally many cells
  std::size_t cells = 0;                    ///< of the tables of all regions
  std::size_t message_cells = 0;            ///< of the messages of all edges
  std::size_t largest_cells = 0;            ///< of the largest child

  /// Edges of a region to its parents, and to its children.
  std::span<const RegionEdge> up(int region) const {
    const Region& r = regions[static_cast<std::size_t>(region)];
    return std::span(edges).subspan(r.first_up, r.n_up);
  }
  std::span<const RegionEdge> down(int region) const {
    const Region& r = regions[static_cast<std::size_t>(region)];
    return std::span(by_parent).subspan(r.first_down, r.n_down);
  }
  const Layout& layout(const RegionEdge& edge) const {
    return layouts[static_cast<std::size_t>(edge.layout)];
  }
};

/// Compiles regions and edges (parent, child). Requires that each child is a proper subset of its parent (so
/// there is no cycle) and that edges are distinct.
RegionGraph build_region_graph(std::span<const std::size_t> sizes, std::span<const Scope> regions,
                               std::span<const std::pair<int, int>> edges);

/// The part of a buffer of all regions' tables that holds one region's.
template <class Buffer>
auto slice(const RegionGraph& graph, Buffer&& buffer, int region) {
  const Region& r = graph.regions[static_cast<std::size_t>(region)];
  return std::span(buffer).subspan(r.offset, r.cells);
}

}  // namespace pypgm
