#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "core/descent.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kInfinity;
using test::kTotal;

std::shared_ptr<const JunctionTree> plan_of(const test::Problem& p) {
  return std::make_shared<JunctionTree>(test::tree_of(p.structure));
}

TEST_CASE("steps known beforehand lead where tried and accepted ones lead") {
  std::mt19937_64 random(61);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    if (round % 3 == 0) p.potentials[test::below(random, p.potentials.size())] = -kInfinity;
    // Far from zero: weights have to be scaled anew on the way.
    if (round % 4 == 0) p.potentials[test::below(random, p.potentials.size())] += 60;
    if (test::BruteForce(p.structure, p.potentials, kTotal).log_z == -kInfinity) continue;
    const auto plan = plan_of(p);
    Descent tried(plan, p.measurements, kTotal, p.potentials, 1);
    const auto alpha = [&](int step) { return 0.02 * (1 + step % 3); };
    SteadyDescent steady(plan, p.measurements, kTotal, p.potentials, alpha(0), 1);
    double least = tried.loss();
    CHECK(steady.loss() == doctest::Approx(least).epsilon(1e-10));
    for (int step = 0; step < 12; ++step) {
      tried.try_step(alpha(step));
      tried.accept();
      const double loss = steady.advance(alpha(step + 1));
      CHECK(loss == doctest::Approx(tried.loss()).epsilon(1e-8).scale(1e-3));
      least = std::min(least, tried.loss());
      CHECK(steady.loss() == doctest::Approx(least).epsilon(1e-8).scale(1e-3));
    }
    const std::size_t cells = p.potentials.size();
    std::vector<double> marginals(cells);
    steady.marginals(marginals);
    const test::BruteForce wanted(p.structure, steady.potentials(), kTotal);
    for (std::size_t i = 0; i < cells; ++i) {
      CHECK(std::abs(marginals[i] - wanted.marginals[i]) < 1e-8);
      if (p.potentials[i] == -kInfinity) CHECK(steady.potentials()[i] == -kInfinity);
    }
    CHECK(test::loss_by_hand(p, marginals) == doctest::Approx(steady.loss()).epsilon(1e-8).scale(1e-3));
    CHECK(steady.gap() > -1e-9);
  }
}

TEST_CASE("where a step overshoots the point before it is kept") {
  test::Problem p;
  p.structure.sizes = {3};
  p.structure.cliques = {{0}};
  p.measurements = {{0, {}, {10.0, 10.0, 20.0}, {1.0, 1.0, 1.0}, {}}};
  p.potentials.assign(3, 0.0);
  SteadyDescent steady(plan_of(p), p.measurements, kTotal, p.potentials, 5.0, 1);
  const double start = steady.loss();
  CHECK(steady.advance(5.0) > start);
  CHECK(steady.loss() == start);
  CHECK(steady.potentials() == p.potentials);
}

TEST_CASE("potentials that leave nothing are refused") {
  test::Problem p;
  p.structure.sizes = {2};
  p.structure.cliques = {{0}};
  p.potentials.assign(2, -kInfinity);
  CHECK_THROWS_AS(SteadyDescent(plan_of(p), {}, kTotal, p.potentials, 1.0, 1), std::invalid_argument);
  CHECK_THROWS_AS(Descent(plan_of(p), {}, kTotal, p.potentials, 1), std::invalid_argument);
}

}  // namespace
}  // namespace pypgm
