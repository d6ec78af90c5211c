#include <doctest/doctest.h>

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
    CHECK(edge.layout.large == graph.regions[static_cast<std::size_t>(edge.parent)].cells);
    CHECK(edge.layout.small == graph.regions[static_cast<std::size_t>(edge.child)].cells);
  }
  CHECK(graph.stages.size() == 3);  // the two single attributes share a parent
  CHECK(graph.blocks.front().first == 0);
  CHECK(graph.blocks.back().second == 6);
}
