#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/fit/descent.hpp"
#include "core/fit/fused_descent.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kInfinity;
using test::kTotal;

/// One attribute, measured so that the loss is least at its values.
test::Problem single(std::vector<double> values, double weight) {
  test::Problem p;
  p.structure.sizes = {values.size()};
  p.structure.cliques = {{0}};
  p.measurements = {{0, {}, values, std::vector<double>(values.size(), weight), {}}};
  p.potentials.assign(values.size(), 0.0);
  return p;
}

TEST_CASE("fused steps lead where tried and accepted ones lead, whatever the range") {
  std::mt19937_64 random(67);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    const auto some = [&]() -> double& { return p.potentials[test::below(random, p.potentials.size())]; };
    if (round % 3 == 0) some() = -kInfinity;
    if (round % 4 == 0) some() += 60;
    // Weights that are not kept as such.
    if (round % 5 == 0) some() -= 700;
    if (round % 7 == 0) some() += 5000;
    if (test::BruteForce(p.structure, p.potentials, kTotal).log_z == -kInfinity) continue;
    const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
    // Up to leaps by which a weight would leave the range of numbers.
    const double scale = round % 2 == 0 ? 0.02 : (round % 3 == 0 ? 1e-5 : 3.0);
    const auto alpha = [&](int step) { return scale * (1 + step % 3); };
    Descent tried(plan, p.measurements, kTotal, p.potentials, 1);
    FusedDescent fused(plan, p.measurements, kTotal, p.potentials, alpha(0), 1);
    double least = tried.loss();
    CHECK(fused.loss() == doctest::Approx(least).epsilon(1e-10));
    for (int step = 0; step < 12; ++step) {
      tried.try_step(alpha(step));
      tried.accept();
      const double now = fused.advance(alpha(step + 1));
      // Where steps are too long for the loss to fall, differences grow with them.
      if (scale > 1 && step > 2) continue;
      CHECK(now == doctest::Approx(tried.loss()).epsilon(1e-7).scale(1e-3));
      least = std::min(least, tried.loss());
      CHECK(fused.loss() == doctest::Approx(least).epsilon(1e-7).scale(1e-3));
    }
    const auto potentials = fused.potentials();
    const test::BruteForce wanted(p.structure, potentials, kTotal);
    std::vector<double> marginals(potentials.size());
    fused.marginals(marginals);
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      CHECK(std::abs(marginals[i] - wanted.marginals[i]) < 1e-8);
    }
    CHECK(fused.gap() > -1e-9);
    CHECK(test::loss_by_hand(p, wanted.marginals) == doctest::Approx(fused.loss()).epsilon(1e-7).scale(1e-3));
    for (std::size_t i = 0; i < potentials.size(); ++i) {
      CHECK((p.potentials[i] == -kInfinity) == (potentials[i] == -kInfinity));
    }
  }
}

/// A tree of overlapping cliques of odd sizes, with smaller cliques inside some of them.
test::Problem tree_of_triples(std::mt19937_64& random, bool chain) {
  test::Problem p;
  const std::vector<std::size_t> sizes{1, 2, 3, 4, 5, 7, 10, 17};
  const auto some_size = [&] { return sizes[test::below(random, sizes.size())]; };
  std::vector<Scope>& cliques = p.structure.cliques;
  p.structure.sizes = {some_size(), some_size(), some_size()};
  cliques.push_back({0, 1, 2});
  for (std::int32_t a = 3; a < 9; ++a) {
    const Scope& parent = cliques[chain ? cliques.size() - 1 : test::below(random, cliques.size())];
    const std::size_t left_out = chain ? 0 : test::below(random, 3);
    Scope scope;
    for (std::size_t k = 0; k < 3; ++k) {
      if (k != left_out) scope.push_back(parent[k]);
    }
    scope.push_back(a);
    cliques.push_back(scope);
    p.structure.sizes.push_back(some_size());
  }
  if (!chain) cliques.insert(cliques.end(), {{0, 1}, {2}, {1, 2}});
  for (std::size_t f = 0; f < cliques.size(); ++f) {
    const std::size_t cells = test::cells_of(p.structure.sizes, cliques[f]);
    Measured m{static_cast<int>(f), {}, {}, {}, {}};
    for (std::size_t i = 0; i < cells; ++i) {
      m.values.push_back(2 * kTotal * test::uniform(random) / static_cast<double>(cells));
      m.weights.push_back(f % 2 == 0 ? 0.3 : 0.1 + test::uniform(random));
    }
    p.measurements.push_back(m);
  }
  p.potentials.resize(test::cells_of(p.structure));
  for (double& x : p.potentials) x = 2 * test::uniform(random) - 1;
  return p;
}

TEST_CASE("fused steps on chains and trees of odd sizes are those of tried ones") {
  std::mt19937_64 random(71);
  for (int round = 0; round < 120; ++round) {
    CAPTURE(round);
    test::Problem p = tree_of_triples(random, round % 2 == 0);
    const auto some = [&]() -> double& { return p.potentials[test::below(random, p.potentials.size())]; };
    if (round % 3 == 0) some() = -kInfinity;
    if (round % 8 == 0) some() -= 700;
    const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
    const double alpha = round % 4 < 2 ? 1e-5 : (round % 4 == 2 ? 5e-3 : 0.5);
    Descent tried(plan, p.measurements, kTotal, p.potentials, 1);
    FusedDescent fused(plan, p.measurements, kTotal, p.potentials, alpha, 1);
    CHECK(fused.loss() == doctest::Approx(tried.loss()).epsilon(1e-12));
    for (int step = 0; step < 4; ++step) {
      tried.try_step(alpha);
      tried.accept();
      CHECK(fused.advance(alpha) == doctest::Approx(tried.loss()).epsilon(1e-10));
    }
  }
}

TEST_CASE("a leap in one row leaves the others where their steps lead") {
  std::mt19937_64 random(73);
  for (const double alpha : {0.3, 1.0, 3.0, 10.0}) {
    const test::Problem p = tree_of_triples(random, true);
    const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
    Descent tried(plan, p.measurements, kTotal, p.potentials, 1);
    FusedDescent fused(plan, p.measurements, kTotal, p.potentials, alpha, 1);
    tried.try_step(alpha);
    tried.accept();
    CHECK(fused.advance(alpha) == doctest::Approx(tried.loss()).epsilon(1e-9));
  }
}

TEST_CASE("the best point is led up to again, and the path goes on where it was") {
  const test::Problem p = single({5.0, 12.0, 23.0}, 1.0);
  const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
  const auto alpha = [](int step) { return step % 100 == 70 ? 0.7 : 1e-3; };
  FusedDescent asked(plan, p.measurements, kTotal, p.potentials, alpha(0), 1);
  FusedDescent left(plan, p.measurements, kTotal, p.potentials, alpha(0), 1);
  for (int step = 1; step < 300; ++step) {
    CHECK(asked.advance(alpha(step)) == left.advance(alpha(step)));
    if (step % 23 == 0) {
      const auto potentials = asked.potentials();
      const test::BruteForce wanted(p.structure, potentials, kTotal);
      CHECK(test::loss_by_hand(p, wanted.marginals) == doctest::Approx(asked.loss()).epsilon(1e-12));
    }
  }
  CHECK(asked.potentials() == left.potentials());
}

TEST_CASE("a point whose weights fade away over many steps is kept exactly") {
  // Nothing was counted in the last cell: its potential falls without end.
  const test::Problem p = single({10.0, 30.0, -4000.0}, 1.0);
  const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
  const double step = 1e-3;
  FusedDescent fused(plan, p.measurements, kTotal, p.potentials, step, 1);
  for (int k = 0; k < 1000; ++k) fused.advance(step);
  const auto potentials = fused.potentials();
  // The last cell is soon empty, and every step lowers it by about step * 4000 until rounding hides the rest.
  CHECK(potentials[2] - potentials[0] < -3000);
  CHECK(std::isfinite(potentials[2]));
  const double share = 1 / (1 + std::exp(potentials[1] - potentials[0]));
  CHECK(kTotal * share == doctest::Approx(10.0).epsilon(1e-5));
}

TEST_CASE("fused steps refuse potentials that leave nothing") {
  test::Problem p = single({1.0, 2.0}, 1.0);
  p.potentials.assign(2, -kInfinity);
  const auto plan = std::make_shared<JunctionTree>(test::tree_of(p.structure));
  CHECK_THROWS_AS(FusedDescent(plan, p.measurements, kTotal, p.potentials, 1.0, 1), std::invalid_argument);
}

}  // namespace
}  // namespace pypgm
