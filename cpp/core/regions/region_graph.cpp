// Compiles region graphs: offsets, stages by greedy colouring, blocks of regions.
#include "core/regions/region_graph.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

namespace {

using Lists = std::vector<std::vector<int>>;

/// Regions with parents, by number of attributes; those with the same number are coloured greedily, so that
/// two with a common parent get different colours.
Lists stages_of(const std::vector<Region>& regions, const Lists& parents) {
  std::vector<int> order;
  for (int r = 0; at(r) < regions.size(); ++r) {
    if (!parents[at(r)].empty()) order.push_back(r);
  }
  const auto width = [&](int r) { return regions[at(r)].attributes.size(); };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return width(a) > width(b); });
  Lists stages;
  std::vector<std::vector<std::size_t>> taken(regions.size());  // stages of a parent's children
  std::vector<int> refused;  // by stage: the last region that could not join it
  std::size_t base = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    leave_if_abandoned();
    const int r = order[i];
    if (i > 0 && width(order[i - 1]) != width(r)) base = stages.size();
    for (const int parent : parents[at(r)]) {
      for (const std::size_t stage : taken[at(parent)]) refused[stage] = r;
    }
    std::size_t stage = base;
    while (stage < stages.size() && refused[stage] == r) ++stage;
    if (stage == stages.size()) {
      stages.emplace_back();
      refused.push_back(-1);
    }
    stages[stage].push_back(r);
    for (const int parent : parents[at(r)]) taken[at(parent)].push_back(stage);
  }
  return stages;
}

/// Fills edges by child, stage by stage, with offsets of their messages. Each child's edges keep their order.
void add_edges(RegionGraph& graph, const Lists& parents) {
  std::map<std::vector<std::size_t>, int> known;  // by the numbers of their axes
  for (const auto& stage : graph.stages) {
    for (const int child : stage) {
      leave_if_abandoned();
      Region& small = graph.regions[at(child)];
      small.first_up = static_cast<std::uint32_t>(graph.edges.size());
      small.n_up = static_cast<std::uint32_t>(parents[at(child)].size());
      graph.largest_cells = std::max(graph.largest_cells, small.cells);
      for (const int parent : parents[at(child)]) {
        const Region& large = graph.regions[at(parent)];
        Layout layout = nested_layout(graph.sizes, large.attributes, small.attributes);
        std::vector<std::size_t> key;
        for (const Axis& axis : layout.axes) key.insert(key.end(), {axis.size, axis.large, axis.small});
        const auto [found, added] = known.try_emplace(std::move(key), static_cast<int>(known.size()));
        if (added) graph.layouts.push_back(std::move(layout));
        graph.edges.push_back({parent, child, found->second, large.offset, graph.message_cells});
        graph.message_cells = add_cells(graph.message_cells, small.cells);
      }
    }
  }
}

/// Fills the edges by parent, each parent's in the order given.
void add_by_parent(RegionGraph& graph, std::span<const std::pair<int, int>> edges) {
  std::vector<std::uint32_t> next;  // by child
  for (const Region& region : graph.regions) next.push_back(region.first_up);
  Lists down(graph.regions.size());
  for (const auto& [parent, child] : edges) down[at(parent)].push_back(static_cast<int>(next[at(child)]++));
  for (std::size_t r = 0; r < down.size(); ++r) {
    graph.regions[r].first_down = static_cast<std::uint32_t>(graph.by_parent.size());
    graph.regions[r].n_down = static_cast<std::uint32_t>(down[r].size());
    for (const int e : down[r]) graph.by_parent.push_back(graph.edges[at(e)]);
  }
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
  graph.regions_with.resize(sizes.size());
  for (const Scope& scope : regions) {
    Region region;
    region.attributes = scope;
    region.offset = graph.cells;
    region.cells = cells_of(sizes, scope);
    graph.cells = add_cells(graph.cells, region.cells);
    for (const std::int32_t a : scope)
      graph.regions_with[at(a)].push_back(static_cast<int>(graph.regions.size()));
    graph.regions.push_back(std::move(region));
  }
  Lists parents(regions.size());
  for (const auto& [parent, child] : edges) parents[at(child)].push_back(parent);
  graph.stages = stages_of(graph.regions, parents);
  graph.blocks = blocks_of(graph.regions);
  add_edges(graph, parents);
  add_by_parent(graph, edges);
  return graph;
}

}  // namespace pypgm
