#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "core/plan/elimination.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

std::vector<std::int32_t> identity(std::size_t n) {
  std::vector<std::int32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// The bags of an order, with sets.
std::vector<Scope> bags_by_hand(const test::Structure& s, const std::vector<std::int32_t>& order) {
  std::vector<std::set<std::int32_t>> near(s.sizes.size());
  const auto join = [&](const auto& scope) {
    for (const std::int32_t a : scope) {
      for (const std::int32_t b : scope) {
        if (a != b) near[static_cast<std::size_t>(a)].insert(b);
      }
    }
  };
  for (const Scope& clique : s.cliques) join(clique);
  std::vector<Scope> bags;
  for (const std::int32_t v : order) {
    std::set<std::int32_t> bag = near[static_cast<std::size_t>(v)];
    join(bag);
    for (const std::int32_t u : bag) near[static_cast<std::size_t>(u)].erase(v);
    bag.insert(v);
    bags.emplace_back(bag.begin(), bag.end());
  }
  return bags;
}

double cells_by_hand(const test::Structure& s, const std::vector<Scope>& bags) {
  double cells = 0;
  for (std::size_t i = 0; i < bags.size(); ++i) {
    const bool inside = std::any_of(bags.begin(), bags.end(), [&](const Scope& other) {
      return other.size() > bags[i].size() &&
             std::includes(other.begin(), other.end(), bags[i].begin(), bags[i].end());
    });
    if (!inside) cells += static_cast<double>(test::cells_of(s.sizes, bags[i]));
  }
  return cells;
}

void check_elimination(const test::Structure& s, const Elimination& e) {
  std::vector<std::int32_t> sorted = e.order;
  std::sort(sorted.begin(), sorted.end());
  REQUIRE(sorted == identity(s.sizes.size()));
  const std::vector<Scope> bags = bags_by_hand(s, e.order);
  CHECK(e.bags == bags);
  CHECK(e.cells == cells_by_hand(s, bags));
}

TEST_CASE("orders are permutations, bags and cells those of the order") {
  std::mt19937_64 random(4);
  for (int round = 0; round < 100; ++round) {
    const test::Structure s = test::random_structure(random, 1 + test::below(random, 12), 5);
    for (const Rule rule : {Rule::fill, Rule::weight, Rule::weighted_fill}) {
      check_elimination(s, eliminate_greedily(s.sizes, s.cliques, rule));
    }
    std::vector<std::int32_t> order = identity(s.sizes.size());
    std::shuffle(order.begin(), order.end(), random);
    const Elimination given = eliminate_in_order(s.sizes, s.cliques, order);
    CHECK(given.order == order);
    check_elimination(s, given);
    const Elimination some = eliminate(s.sizes, s.cliques, false);
    const Elimination all = eliminate(s.sizes, s.cliques, true);
    check_elimination(s, some);
    check_elimination(s, all);
    CHECK(all.cells <= some.cells);
    CHECK(eliminate(s.sizes, s.cliques, true).order == all.order);
  }
}

/// Whether all others in a bag were beside each other before its attribute went.
bool complete(const test::Structure& s, const std::vector<std::int32_t>& order, std::size_t step) {
  std::vector<Scope> scopes = s.cliques;
  const std::vector<Scope> bags = bags_by_hand(s, order);
  scopes.insert(scopes.end(), bags.begin(), bags.begin() + static_cast<std::ptrdiff_t>(step));
  const Scope& bag = bags[step];
  for (const std::int32_t a : bag) {
    for (const std::int32_t b : bag) {
      const bool beside = a == b || std::any_of(scopes.begin(), scopes.end(), [&](const Scope& scope) {
                            return std::binary_search(scope.begin(), scope.end(), a) &&
                                   std::binary_search(scope.begin(), scope.end(), b);
                          });
      if (!beside) return false;
    }
  }
  return true;
}

TEST_CASE("once no neighbourhood is complete, the rule of weights takes the smallest table at every step") {
  std::mt19937_64 random(5);
  int greedy_steps = 0;
  for (int round = 0; round < 60; ++round) {
    const test::Structure s = test::random_structure(random, 8, 6);
    const Elimination e = eliminate_greedily(s.sizes, s.cliques, Rule::weight);
    std::size_t start = 0;
    while (start < 8 && complete(s, e.order, start)) ++start;
    for (std::size_t step = start; step < 8; ++step) {
      const std::size_t chosen = test::cells_of(s.sizes, e.bags[step]);
      for (std::size_t other = step + 1; other < 8; ++other) {
        std::vector<std::int32_t> order(e.order.begin(), e.order.begin() + static_cast<std::ptrdiff_t>(step));
        order.push_back(e.order[other]);
        for (std::size_t i = step; i < 8; ++i) {
          if (i != other) order.push_back(e.order[i]);
        }
        const std::size_t instead = test::cells_of(s.sizes, bags_by_hand(s, order)[step]);
        CHECK(chosen <= instead);
        if (chosen == instead) CHECK(e.order[step] < e.order[other]);
        ++greedy_steps;
      }
    }
  }
  CHECK(greedy_steps > 30);
}

TEST_CASE("a rule of fill takes an attribute with the fewest missing edges") {
  // A cycle of four and one of five that share an edge: whoever stands in both lacks more.
  test::Structure s;
  s.sizes = {2, 2, 2, 2, 2, 2, 2};
  s.cliques = {{0, 1}, {1, 2}, {2, 3}, {0, 3}, {2, 4}, {4, 5}, {5, 6}, {3, 6}};
  CHECK(eliminate_greedily(s.sizes, s.cliques, Rule::fill).order[0] == 0);
  s.sizes = {9, 9, 2, 2, 3, 2, 3};
  CHECK(eliminate_greedily(s.sizes, s.cliques, Rule::weighted_fill).order[0] == 4);
  CHECK(eliminate_greedily(s.sizes, s.cliques, Rule::weight).order[0] == 4);
}

TEST_CASE("long chains and stars are planned without a search, in memory linear in the edges") {
  test::Structure s;
  s.sizes.assign(20000, 3);
  for (std::int32_t a = 0; a + 1 < 20000; ++a) s.cliques.push_back({a, a + 1});
  CHECK(eliminate(s.sizes, s.cliques, true).cells == 9.0 * 19999);
  for (std::int32_t a = 0; a + 1 < 20000; ++a) s.cliques[static_cast<std::size_t>(a)] = {0, a + 1};
  CHECK(eliminate(s.sizes, s.cliques, false).cells == 9.0 * 19999);
}

TEST_CASE("a graph kept as lists gives the order of one kept as bits") {
  // The same cycles twice, once among so many isolated attributes that bits would take too much.
  test::Structure small;
  for (std::int32_t a = 0; a < 40; ++a) small.cliques.push_back({a, (a * 7 + 3) % 40});
  for (Scope& clique : small.cliques) std::sort(clique.begin(), clique.end());
  small.cliques.erase(
      std::remove_if(small.cliques.begin(), small.cliques.end(), [](const Scope& c) { return c[0] == c[1]; }),
      small.cliques.end());
  for (std::int32_t a = 0; a < 40; ++a)
    small.cliques.push_back({std::min(a, (a + 1) % 40), std::max(a, (a + 1) % 40)});
  small.sizes.assign(40, 3);
  test::Structure large = small;
  large.sizes.assign(9000, 3);
  for (const Rule rule : {Rule::fill, Rule::weight, Rule::weighted_fill}) {
    const Elimination few = eliminate_greedily(small.sizes, small.cliques, rule);
    const Elimination many = eliminate_greedily(large.sizes, large.cliques, rule);
    const std::size_t isolated = 9000 - 40;
    CHECK(std::equal(few.order.begin(), few.order.end(),
                     many.order.begin() + static_cast<std::ptrdiff_t>(isolated)));
    CHECK(many.cells == few.cells + 3.0 * isolated);
  }
}

TEST_CASE("where every order makes a table beyond all memory, one clique of such a table is named") {
  test::Structure bipartite;
  bipartite.sizes.assign(120, 1000000);
  for (std::int32_t a = 0; a < 60; ++a) {
    for (std::int32_t b = 60; b < 120; ++b) bipartite.cliques.push_back({a, b});
  }
  const auto clique_of = [&](const auto& plan) {
    Scope clique;
    try {
      plan();
    } catch (const HopelessElimination& error) {
      clique = error.clique();
    }
    return clique;
  };
  // By the bound: each attribute has sixty neighbours.
  CHECK(clique_of([&] { eliminate(bipartite.sizes, bipartite.cliques, false); }).size() == 61);
  CHECK(clique_of([&] { eliminate(bipartite.sizes, bipartite.cliques, true); }).size() == 61);
  std::vector<std::int32_t> order(120);
  std::iota(order.begin(), order.end(), 0);
  CHECK(clique_of([&] { eliminate_in_order(bipartite.sizes, bipartite.cliques, order); }).size() == 61);
  CHECK(eliminate_greedily(bipartite.sizes, bipartite.cliques, Rule::fill).order.empty());
  // By the rules: a grid of 40 by 40 has four neighbours everywhere, and no table below 10^40.
  test::Structure grid;
  grid.sizes.assign(1600, 10);
  for (std::int32_t i = 0; i < 1600; ++i) {
    if (i % 40 != 39) grid.cliques.push_back({i, i + 1});
    if (i < 1560) grid.cliques.push_back({i, i + 40});
  }
  CHECK(clique_of([&] { eliminate(grid.sizes, grid.cliques, false); }).size() > 15);
}

TEST_CASE("the best rule is the one whose whole elimination has the fewest cells, if they are few enough") {
  constexpr Rule kRules[] = {Rule::fill, Rule::weighted_fill, Rule::weight};
  std::mt19937_64 random(11);
  int apart = 0;
  for (int trial = 0; trial < 300; ++trial) {
    const test::Structure s = test::random_structure(random, 6 + test::below(random, 12), 5);
    std::vector<double> cells;
    for (const Rule rule : kRules) cells.push_back(eliminate_greedily(s.sizes, s.cliques, rule).cells);
    const double least = *std::ranges::min_element(cells);
    apart += least < *std::ranges::max_element(cells);
    for (const double most : {least, least + 1, 3 * least}) {
      const Elimination best = eliminate_by_best_rule(s.sizes, s.cliques, most);
      check_elimination(s, best);
      CHECK(best.cells == least);
    }
    const Elimination none = eliminate_by_best_rule(s.sizes, s.cliques, least - 1);
    CHECK(none.order.empty());
    CHECK(none.cells == kInfinity);
  }
  CHECK(apart > 0);
}

TEST_CASE("no attributes") { CHECK(eliminate({}, {}, false).order.empty()); }

}  // namespace
}  // namespace pypgm
