#include <doctest/doctest.h>

#include <algorithm>

#include "core/base/numbers.hpp"
#include "region_graphs.hpp"

using namespace pypgm;

TEST_CASE("a compiled graph lays out tables, messages and stages") {
  const std::vector<Scope> cliques{{0, 1, 2}, {1, 2, 3}, {0, 3}};
  const std::vector<std::size_t> sizes{2, 3, 4, 5};
  const RegionGraph graph = test::closed_graph(sizes, cliques);
  CHECK(graph.cells == 24 + 60 + 10 + 12 + 2 + 5);
  CHECK(graph.edges.size() == 6);
  CHECK(graph.message_cells == 2 * 12 + 2 * 2 + 2 * 5);
  CHECK(graph.largest_cells == 12);
  for (const RegionEdge& edge : graph.edges) {
    CHECK(graph.layout(edge).large == graph.regions[static_cast<std::size_t>(edge.parent)].cells);
    CHECK(graph.layout(edge).small == graph.regions[static_cast<std::size_t>(edge.child)].cells);
  }
  CHECK(graph.stages.size() == 3);  // the two single attributes share a parent
  CHECK(graph.blocks.front().first == 0);
  CHECK(graph.blocks.back().second == 6);
}

TEST_CASE("edges of a child lie beside each other, stage by stage, and so do their messages") {
  const std::vector<Scope> cliques{{0, 1, 2}, {1, 2, 3}, {0, 3}, {0, 1, 4}, {2, 4}, {3, 4}};
  const std::vector<std::size_t> sizes{2, 3, 4, 5, 2};
  const RegionGraph graph = test::closed_graph(sizes, cliques);
  std::size_t edge = 0;
  std::size_t message = 0;
  for (const auto& stage : graph.stages) {
    for (const int child : stage) {
      CHECK(graph.up(child).data() == graph.edges.data() + edge);
      for (const RegionEdge& e : graph.up(child)) {
        CHECK(e.child == child);
        CHECK(e.message == message);
        CHECK(e.table == graph.regions[at(e.parent)].offset);
        message += graph.regions[at(child)].cells;
      }
      edge += graph.up(child).size();
    }
  }
  CHECK(edge == graph.edges.size());
  CHECK(message == graph.message_cells);
  std::size_t below = 0;
  for (int r = 0; at(r) < graph.regions.size(); ++r) {
    for (const RegionEdge& e : graph.down(r)) {
      CHECK(e.parent == r);
      const auto up = graph.up(e.child);
      CHECK(std::count_if(up.begin(), up.end(),
                          [&](const RegionEdge& u) { return u.message == e.message; }) == 1);
    }
    below += graph.down(r).size();
  }
  CHECK(below == edge);
  for (std::int32_t a = 0; at(a) < sizes.size(); ++a) {
    std::vector<int> with;
    for (int r = 0; at(r) < graph.regions.size(); ++r) {
      if (contains(graph.regions[at(r)].attributes, a)) with.push_back(r);
    }
    CHECK(graph.regions_with[at(a)] == with);
  }
}

TEST_CASE("equal layouts are kept once") {
  std::vector<Scope> pairs;
  for (std::int32_t a = 0; a < 40; ++a) pairs.push_back({a, a + 1});
  const RegionGraph graph = test::closed_graph(std::vector<std::size_t>(41, 3), pairs);
  CHECK(graph.edges.size() == 78);
  CHECK(graph.layouts.size() == 2);
}
