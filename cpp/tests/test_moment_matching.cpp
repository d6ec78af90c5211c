#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/fit/moment_matching.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kTotal;

TEST_CASE("potentials come to have the marginals of others, structural zeros kept") {
  std::mt19937_64 random(71);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const test::Structure s = round % 2 == 0 ? test::all_pairs(random) : test::random_structure(random, 5, 3);
    std::vector<double> wanted(test::cells_of(s)), start(wanted.size(), 0.0);
    for (double& x : wanted) x = 6 * test::uniform(random) - 3;
    if (round % 3 == 0 && !wanted.empty()) {
      const std::size_t zero = test::below(random, wanted.size());
      wanted[zero] = start[zero] = -kInfinity;
    }
    const test::BruteForce target(s, wanted, kTotal);
    if (target.log_z == -kInfinity) continue;
    const JunctionTree tree = test::tree_of(s);
    ExactWork work(tree);
    const double distance = match_moments(tree, target.marginals, kTotal, start, work, 400, 1e-9, 1);
    CHECK(distance <= 1e-9);
    const test::BruteForce found(s, start, kTotal);
    for (std::size_t i = 0; i < start.size(); ++i) {
      CHECK(std::abs(found.marginals[i] - target.marginals[i]) <= 1e-6);
      CHECK((wanted[i] == -kInfinity) == (start[i] == -kInfinity));
    }
  }
}

TEST_CASE("matching keeps to its propagations, and to what has weight") {
  test::Structure s;
  s.sizes = {2};
  s.cliques = {{0}, {0}};
  const JunctionTree tree = test::tree_of(s);
  ExactWork work(tree);
  // No distribution has two different marginals of one attribute.
  std::vector<double> potentials(4, 0.0);
  CHECK(match_moments(tree, std::vector<double>{30, 10, 10, 30}, kTotal, potentials, work, 25, 1e-9, 1) >
        0.4);
  for (const double x : potentials) CHECK(std::isfinite(x));
  potentials = {0.0, 0.0, 1.0, 1.0};
  const std::vector<double> before = potentials;
  CHECK(match_moments(tree, std::vector<double>{20, 20, 20, 20}, kTotal, potentials, work, 1, 1e-9, 1) <=
        1e-9);
  CHECK(potentials == before);
  potentials = {0.0, -kInfinity, -kInfinity, 0.0};
  CHECK(match_moments(tree, std::vector<double>{20, 20, 20, 20}, kTotal, potentials, work, 5, 0.0, 1) ==
        kInfinity);
}

}  // namespace
}  // namespace pypgm
