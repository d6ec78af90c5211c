#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/branches.hpp"
#include "core/plan/junction_tree.hpp"
#include "random_models.hpp"

using namespace pypgm;

namespace {

JunctionTree chain_of(std::size_t d, std::size_t size) {
  test::Structure s;
  s.sizes.assign(d, size);
  for (std::int32_t a = 0; a + 2 < static_cast<std::int32_t>(d); ++a) s.cliques.push_back({a, a + 1, a + 2});
  return test::tree_of(s);
}

std::size_t cells_of(const JunctionTree& tree, std::span<const int> nodes) {
  return std::accumulate(nodes.begin(), nodes.end(), std::size_t{0},
                         [&](std::size_t sum, int i) { return sum + tree.nodes[at(i)].cells; });
}

}  // namespace

TEST_CASE("branches: every node once, after its parent, in one branch with it unless that is of the trunk") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 200; ++round) {
    const JunctionTree tree = test::tree_of(test::random_structure(random, 1 + test::below(random, 14), 5));
    const Branches& branches = tree.branches;
    constexpr int kTrunk = -1;
    std::vector<int> where(tree.nodes.size(), -2);
    std::size_t cells = 0;
    for (const int i : branches.trunk()) {
      CHECK((i == 0 || where[at(tree.nodes[at(i)].parent)] == kTrunk));
      where[at(i)] = kTrunk;
    }
    for (std::size_t b = 0; b < branches.count(); ++b) {
      cells += cells_of(tree, branches.branch(b));
      for (const int i : branches.branch(b)) {
        CHECK(where[at(i)] == -2);
        const int parent = tree.nodes[at(i)].parent;
        const bool first = i == branches.branch(b).front();
        CHECK((parent < 0 || where[at(parent)] == (first ? kTrunk : static_cast<int>(b))));
        where[at(i)] = static_cast<int>(b);
      }
    }
    CHECK(std::count(where.begin(), where.end(), -2) == 0);
    CHECK(branches.nodes.size() == tree.nodes.size());
    CHECK(branches.cells == cells);
  }
}

TEST_CASE("a chain has two branches alike, a star as many as leaves, a large table no branch") {
  const JunctionTree chain = chain_of(1001, 3);
  CHECK(chain.branches.trunk().size() <= 1);
  REQUIRE(chain.branches.count() == 2);
  const double half = static_cast<double>(cells_of(chain, chain.branches.branch(0))) / chain.cost.cells;
  CHECK(half == doctest::Approx(0.5).epsilon(0.01));

  test::Structure star;
  star.sizes.assign(101, 10);
  for (std::int32_t a = 1; a <= 100; ++a) star.cliques.push_back({0, a});
  CHECK(test::tree_of(star).branches.count() >= 8);

  test::Structure large;
  large.sizes.assign(6, 10);
  large.cliques.push_back({0, 1, 2, 3, 4, 5});
  CHECK(test::tree_of(large).branches.count() == 0);
}
