#include <doctest/doctest.h>

#include <algorithm>
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

TEST_CASE("a chain becomes conditional probabilities, cut off far below any rounding") {
  const std::vector<std::size_t> sizes{3, 4, 2};
  const std::vector<Scope> cliques{{0, 1}, {1, 2}};
  const JunctionTree tree = build_junction_tree(sizes, cliques, eliminate(sizes, cliques, false));
  std::vector<double> theta(20);
  std::mt19937_64 random(43);
  std::normal_distribution<double> far(0, 2000);
  for (double& t : theta) t = far(random);
  theta[5] = -kInfinity;
  level_potentials(tree, theta);
  CHECK(theta[5] == -kInfinity);
  theta[5] = 0;
  CHECK(*std::min_element(theta.begin(), theta.end()) >= -600);
  CHECK(*std::max_element(theta.begin(), theta.end()) <= 1e-12);
}

}  // namespace
}  // namespace pypgm
