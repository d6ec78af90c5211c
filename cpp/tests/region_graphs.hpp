#pragma once
// Region graphs of a few cliques.
#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/regions/region_graph.hpp"

namespace pypgm::test {

/// The closure of cliques under intersection, larger regions first, with the edges of its covering relation.
inline RegionGraph closed_graph(std::span<const std::size_t> sizes, const std::vector<Scope>& cliques) {
  std::set<Scope> closed;
  for (const Scope& clique : cliques) {
    for (const Scope& region : std::set<Scope>(closed)) {
      Scope both;
      std::ranges::set_intersection(clique, region, std::back_inserter(both));
      if (!both.empty()) closed.insert(both);
    }
    closed.insert(clique);
  }
  std::vector<Scope> regions(closed.begin(), closed.end());
  std::ranges::stable_sort(regions, [](const Scope& a, const Scope& b) { return a.size() > b.size(); });
  const auto inside = [&](int small, int large) {
    return small != large && std::ranges::includes(regions[at(large)], regions[at(small)]);
  };
  std::vector<std::pair<int, int>> edges;
  const int n = static_cast<int>(regions.size());
  for (int p = 0; p < n; ++p) {
    for (int c = 0; c < n; ++c) {
      bool covers = inside(c, p);
      for (int between = 0; between < n; ++between) {
        covers = covers && !(inside(c, between) && inside(between, p));
      }
      if (covers) edges.emplace_back(p, c);
    }
  }
  return build_region_graph(sizes, regions, edges);
}

}  // namespace pypgm::test
