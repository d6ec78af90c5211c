// Compiles region graphs: offsets, stages by greedy colouring, blocks of regions.
#include "core/regions/region_graph.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

namespace {

/// Regions with parents, by number of attributes; those with the same number are coloured greedily, so that
/// two with a common parent get different colours.
std::vector<std::vector<int>> stages_of(const RegionGraph& graph) {
  std::vector<int> order;
  for (int r = 0; r < static_cast<int>(graph.regions.size()); ++r) {
    if (!graph.regions[at(r)].up.empty()) order.push_back(r);
  }
  const auto width = [&](int r) { return graph.regions[at(r)].attributes.size(); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return width(a) > width(b); });
  std::vector<std::vector<int>> stages;
  std::vector<std::vector<std::size_t>> taken(graph.regions.size());  // stages of a parent's children
  std::vector<int> refused;  // by stage: the last region that could not join it
  std::size_t base = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    leave_if_abandoned();
    const int r = order[i];
    if (i > 0 && width(order[i - 1]) != width(r)) base = stages.size();
    for (const int e : graph.regions[at(r)].up) {
      for (const std::size_t stage : taken[at(graph.edges[at(e)].parent)]) refused[stage] = r;
    }
    std::size_t stage = base;
    while (stage < stages.size() && refused[stage] == r) ++stage;
    if (stage == stages.size()) {
      stages.emplace_back();
      refused.push_back(-1);
    }
    stages[stage].push_back(r);
    for (const int e : graph.regions[at(r)].up) taken[at(graph.edges[at(e)].parent)].push_back(stage);
  }
  return stages;
}

constexpr std::size_t kRegionRunCells = 16384;  // cells of a run of regions that is one unit of work

std::vector<std::pair<int, int>> blocks_of(const std::vector<Region>& regions) {
  std::vector<std::pair<int, int>> blocks;
  std::size_t cells = kRegionRunCells;
  for (int r = 0; r < static_cast<int>(regions.size()); ++r) {
    if (cells >= kRegionRunCells) {
      blocks.emplace_back(r, r);
      cells = 0;
    }
    blocks.back().second = r + 1;
    cells += regions[at(r)].cells;
  }
  return blocks;
}

}  // namespace

RegionGraph build_region_graph(std::span<const std::size_t> sizes, std::span<const Scope> regions,
                               std::span<const std::pair<int, int>> edges) {
  RegionGraph graph;
  graph.sizes.assign(sizes.begin(), sizes.end());
  for (const Scope& scope : regions) {
    Region region;
    region.attributes = scope;
    region.offset = graph.cells;
    region.cells = cells_of(sizes, scope);
    graph.cells = add_cells(graph.cells, region.cells);
    graph.regions.push_back(std::move(region));
  }
  for (const auto& [parent, child] : edges) {
    Region& small = graph.regions[at(child)];
    const int e = static_cast<int>(graph.edges.size());
    graph.edges.push_back({parent, child,
                           nested_layout(sizes, graph.regions[at(parent)].attributes, small.attributes),
                           graph.message_cells});
    graph.message_cells = add_cells(graph.message_cells, small.cells);
    graph.largest_cells = std::max(graph.largest_cells, small.cells);
    graph.regions[at(parent)].down.push_back(e);
    small.up.push_back(e);
  }
  graph.stages = stages_of(graph);
  graph.blocks = blocks_of(graph.regions);
  return graph;
}

}  // namespace pypgm
