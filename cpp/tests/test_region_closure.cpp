#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

#include "core/regions/region_closure.hpp"

using namespace pypgm;

namespace {

bool inside(const Scope& small, const Scope& large) {
  return small.size() < large.size() && std::includes(large.begin(), large.end(), small.begin(), small.end());
}

std::vector<Scope> random_cliques(std::mt19937& rng, int n, int attributes, int widest) {
  std::vector<Scope> cliques;
  for (int i = 0; i < n; ++i) {
    std::set<int> scope;
    const int width = 1 + static_cast<int>(rng() % static_cast<unsigned>(widest));
    while (static_cast<int>(scope.size()) < width)
      scope.insert(static_cast<int>(rng() % static_cast<unsigned>(attributes)));
    cliques.emplace_back(scope.begin(), scope.end());
  }
  return cliques;
}

}  // namespace

TEST_CASE("saturate closes cliques under intersection and links covering pairs") {
  std::mt19937 rng(7);
  for (const int widest : {4, 12}) {
    for (int round = 0; round < 20; ++round) {
      const auto cliques = random_cliques(rng, 5, 14, widest);
      const RegionLinks links = saturate(cliques, 100000);
      const std::set<Scope> regions(links.regions.begin(), links.regions.end());
      CHECK(regions.size() == links.regions.size());
      for (const Scope& c : cliques) CHECK(regions.count(c) == 1);
      for (const Scope& a : regions) {
        for (const Scope& b : regions) {
          Scope both;
          std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
          CHECK((both.empty() || regions.count(both) == 1));
        }
      }
      const std::set<std::pair<int, int>> edges(links.edges.begin(), links.edges.end());
      for (std::size_t p = 0; p < links.regions.size(); ++p) {
        for (std::size_t c = 0; c < links.regions.size(); ++c) {
          const bool between = std::any_of(regions.begin(), regions.end(), [&](const Scope& m) {
            return inside(links.regions[c], m) && inside(m, links.regions[p]);
          });
          const bool covers = inside(links.regions[c], links.regions[p]) && !between;
          CHECK(edges.count({static_cast<int>(p), static_cast<int>(c)}) == (covers ? 1 : 0));
        }
      }
    }
  }
}

TEST_CASE("saturate stops at the limit and leaves out empty cliques") {
  const std::vector<Scope> cliques{{0, 1}, {1, 2}, {}};
  CHECK(saturate(cliques, 2).regions.size() == 3);
  CHECK(saturate(cliques, 2).edges.empty());
  CHECK(saturate(cliques, 3).edges.size() == 2);
}

TEST_CASE("minimal edges keep the parent with the smallest table") {
  const std::vector<Scope> cliques{{0, 1, 2}, {0, 1}, {1, 2}};
  const std::vector<std::size_t> sizes{5, 2, 3};
  const RegionLinks full = saturate(cliques, 100);
  const RegionLinks small = minimal_edges(sizes, full);
  CHECK(full.edges.size() == 4);
  CHECK(small.edges.size() == 3);
  // {1, 2} has 6 cells, {0, 1} has 10: {1} keeps the first.
  CHECK(std::count(small.edges.begin(), small.edges.end(), std::pair<int, int>(2, 3)) == 1);
}
