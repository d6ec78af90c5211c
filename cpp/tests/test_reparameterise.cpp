#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <vector>

#include "core/fit/reparameterise.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kTotal;

TEST_CASE("levelled potentials have the same marginals") {
  std::mt19937_64 random(41);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const test::Problem p = test::random_problem(random);
    const JunctionTree tree = test::tree_of(p.structure);
    std::vector<double> theta = p.potentials;
    for (double& t : theta) t *= 40;
    const std::vector<double> before = test::BruteForce(p.structure, theta, kTotal).marginals;
    level_potentials(tree, theta);
    const std::vector<double> after = test::BruteForce(p.structure, theta, kTotal).marginals;
    for (std::size_t i = 0; i < after.size(); ++i) CHECK(std::abs(after[i] - before[i]) < 1e-9 * kTotal);
  }
}

}  // namespace
}  // namespace pypgm
