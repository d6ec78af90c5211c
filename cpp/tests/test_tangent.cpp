#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/exact/tangent.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

/// total * Cov(cells of all cliques) * direction, by going through all assignments.
std::vector<double> covariance_times(const test::Structure& s, const std::vector<double>& potentials,
                                     const std::vector<double>& direction, double total) {
  const test::BruteForce all(s, potentials, total);
  std::vector<double> change(potentials.size());
  double mean = 0;
  test::for_assignments(s.sizes, [&](const auto& values) {
    double weight = 0;
    double rate = 0;
    std::vector<std::size_t> cells;
    std::size_t offset = 0;
    for (const Scope& clique : s.cliques) {
      cells.push_back(offset + test::cell_of(s.sizes, clique, values));
      weight += potentials[cells.back()];
      rate += potentials[cells.back()] == -kInfinity ? 0.0 : direction[cells.back()];
      offset += test::cells_of(s.sizes, clique);
    }
    const double count = total * std::exp(weight - all.log_z);
    mean += count / total * rate;
    for (const std::size_t cell : cells) change[cell] += count * rate;
  });
  for (std::size_t i = 0; i < change.size(); ++i) change[i] -= mean * all.marginals[i];
  return change;
}

TEST_CASE("the tangent is the covariance times the direction, zeros and all ranges") {
  std::mt19937_64 random(41);
  int possible = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const test::Structure s = test::random_structure(random, 1 + test::below(random, 6), 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    std::vector<double> direction(potentials.size());
    for (double& d : direction) d = 4 * test::uniform(random) - 2;
    std::vector<double> marginals(potentials.size());
    std::vector<double> change(potentials.size());
    const double log_z = tangent(tree, potentials, direction, 50.0, marginals, change, 1);
    const test::BruteForce wanted(s, potentials, 50.0);
    if (wanted.log_z == -kInfinity) {
      CHECK(log_z == -kInfinity);
      continue;
    }
    ++possible;
    CHECK(std::abs(log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
    const std::vector<double> changes = covariance_times(s, potentials, direction, 50.0);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      CHECK(std::abs(marginals[i] - wanted.marginals[i]) <= 50e-10);
      CHECK(std::abs(change[i] - changes[i]) <= 50e-9);
      if (potentials[i] == -kInfinity) CHECK(change[i] == 0.0);
    }
  }
  CHECK(possible > 200);
}

TEST_CASE("a chain of 3,000 tables: finite, of sum 0, and what central differences say") {
  std::mt19937_64 random(42);
  test::Structure s;
  s.sizes.assign(3001, 2);
  for (std::int32_t a = 0; a < 3000; ++a) s.cliques.push_back({a, a + 1});
  const JunctionTree tree = test::tree_of(s);
  std::vector<double> potentials(test::cells_of(s));
  std::vector<double> direction(potentials.size());
  for (double& p : potentials) p = 6 * test::uniform(random) - 3;
  for (double& d : direction) d = 2 * test::uniform(random) - 1;
  std::vector<double> marginals(potentials.size());
  std::vector<double> change(potentials.size());
  tangent(tree, potentials, direction, 1.0, marginals, change, 1);
  std::vector<double> sides[2];
  const double h = 1e-5;
  for (const int side : {0, 1}) {
    std::vector<double> moved = potentials;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += (side == 0 ? -h : h) * direction[i];
    sides[side].resize(moved.size());
    std::vector<double> unused(moved.size());
    tangent(tree, moved, direction, 1.0, sides[side], unused, 1);
  }
  for (std::size_t i = 0; i < change.size(); ++i) {
    CHECK(std::abs(change[i] - (sides[1][i] - sides[0][i]) / (2 * h)) < 1e-8);
    if (i % 4 == 0) CHECK(std::abs(change[i] + change[i + 1] + change[i + 2] + change[i + 3]) < 1e-12);
  }
}

TEST_CASE("threads do not change a bit of a tangent") {
  std::mt19937_64 random(43);
  test::Structure s;
  s.sizes = {40, 90, 80, 3, 60, 45, 44, 5};
  s.cliques = {{0, 1, 2}, {2, 3, 4}, {0}, {1, 2}, {2, 5, 6}, {4}, {6, 7}};
  const JunctionTree tree = test::tree_of(s);
  std::vector<double> potentials(test::cells_of(s));
  std::vector<double> direction(potentials.size());
  for (double& p : potentials) p = 4 * test::uniform(random);
  for (double& d : direction) d = 2 * test::uniform(random) - 1;
  std::vector<double> marginals(potentials.size());
  std::vector<double> one(potentials.size());
  std::vector<double> several(potentials.size());
  tangent(tree, potentials, direction, 1e4, marginals, one, 1);
  for (const int n_threads : {2, 3}) {
    tangent(tree, potentials, direction, 1e4, marginals, several, n_threads);
    CHECK(std::memcmp(one.data(), several.data(), one.size() * sizeof(double)) == 0);
  }
}

}  // namespace
}  // namespace pypgm
