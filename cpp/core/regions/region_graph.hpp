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
  Layout layout;           ///< the child inside the parent's table
  std::size_t offset = 0;  ///< of the message in the buffer of all messages
};

struct Region {
  Scope attributes;
  std::vector<int> up;     ///< indices of the edges to its parents, ascending
  std::vector<int> down;   ///< indices of the edges to its children, ascending
  std::size_t offset = 0;  ///< of its table in the buffer of all tables
  std::size_t cells = 1;
};

/// A region graph compiled for sweeps. Immutable after it is built.
struct RegionGraph {
  std::vector<std::size_t> sizes;
  std::vector<Region> regions;
  std::vector<RegionEdge> edges;
  /// Regions that have parents, larger ones first. Regions of one stage share no parent, so a sweep can
  /// update them in parallel.
  std::vector<std::vector<int>> stages;
  std::vector<std::pair<int, int>> blocks;  ///< runs of regions [first, last) with about equally many cells
  std::size_t cells = 0;                    ///< of the tables of all regions
  std::size_t message_cells = 0;            ///< of the messages of all edges
  std::size_t largest_cells = 0;            ///< of the largest child
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
