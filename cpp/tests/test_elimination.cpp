#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

#include "core/elimination.hpp"
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
    for (const Rule rule : {Rule::fill, Rule::weight, Rule::weighted_fill, Rule::neighbours}) {
      check_elimination(s, eliminate_greedily(s.sizes, s.cliques, rule, identity(s.sizes.size())));
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

TEST_CASE("greedy rules take the cheapest attribute at every step") {
  std::mt19937_64 random(5);
  for (int round = 0; round < 60; ++round) {
    const test::Structure s = test::random_structure(random, 8, 6);
    const Elimination e = eliminate_greedily(s.sizes, s.cliques, Rule::weight, identity(8));
    for (std::size_t step = 0; step < 8; ++step) {
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
      }
    }
  }
}

TEST_CASE("no attributes") { CHECK(eliminate({}, {}, false).order.empty()); }

}  // namespace
}  // namespace pypgm
