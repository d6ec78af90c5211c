#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <vector>

#include "core/fit/descent.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::dot;
using test::gradient_by_hand;
using test::kTotal;
using test::loss_by_hand;
using test::Problem;
using test::random_problem;

Descent descent_of(const Problem& p) {
  return {std::make_shared<JunctionTree>(test::tree_of(p.structure)), p.measurements, kTotal, p.potentials,
          1};
}

TEST_CASE("the bound leaves the candidate as it is") {
  std::mt19937_64 random(24);
  const test::Problem p = test::random_problem(random);
  Descent bounded = descent_of(p);
  Descent plain = descent_of(p);
  for (Descent* descent : {&bounded, &plain}) descent->try_step(0.01);
  bounded.gap();
  for (Descent* descent : {&bounded, &plain}) descent->accept();
  CHECK(bounded.potentials() == plain.potentials());
  CHECK(bounded.loss() == plain.loss());
}

TEST_CASE("a step that was not tried is neither accepted nor measured") {
  std::mt19937_64 random(25);
  Descent descent = descent_of(test::random_problem(random));
  const std::vector<double> before = descent.potentials();
  CHECK_THROWS_AS(descent.accept(), std::logic_error);
  CHECK_THROWS_AS(descent.change(), std::logic_error);
  descent.try_step(0.01);
  descent.change();
  descent.accept();
  CHECK_THROWS_AS(descent.accept(), std::logic_error);
  CHECK(descent.potentials() != before);
}

TEST_CASE("loss, slope and curvature of a step by brute force") {
  std::mt19937_64 random(12);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const Problem p = random_problem(random);
    Descent descent = descent_of(p);
    const test::BruteForce here(p.structure, p.potentials, kTotal);
    CHECK(descent.loss() == doctest::Approx(loss_by_hand(p, here.marginals)).epsilon(1e-10));
    const std::vector<double> gradient = gradient_by_hand(p, here.marginals);
    const double alpha = 0.05;
    const double loss = descent.try_step(alpha);
    const Change step = descent.change();
    std::vector<double> moved = p.potentials;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= alpha * gradient[i];
    const test::BruteForce there(p.structure, moved, kTotal);
    CHECK(loss == doctest::Approx(loss_by_hand(p, there.marginals)).epsilon(1e-8));
    CHECK(std::abs(step.slope - (dot(gradient, there.marginals) - dot(gradient, here.marginals))) < 1e-7);
    CHECK(loss ==
          doctest::Approx(descent.loss() + step.slope + step.curvature / 2).epsilon(1e-8).scale(1e-3));
    // The slope is minus total / alpha times KL(p' || p) + KL(p || p'), each p = exp(sum of potentials - log
    // Z).
    double divergence = 0;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      divergence += (moved[i] - p.potentials[i]) * (there.marginals[i] - here.marginals[i]) / kTotal;
    }
    CHECK(std::abs(step.slope + kTotal / alpha * divergence) < 1e-6);
    CHECK(step.slope < 1e-12);
    CHECK(descent.potentials() == p.potentials);
    descent.accept();
    CHECK(descent.loss() == loss);
    for (std::size_t i = 0; i < moved.size(); ++i) {
      CHECK(std::abs(descent.potentials()[i] - moved[i]) < 1e-9);
      CHECK(std::abs(descent.marginals()[i] - there.marginals[i]) < 1e-7);
    }
  }
}

TEST_CASE("the gap is the gradient's drop to its best single assignment") {
  std::mt19937_64 random(13);
  for (int round = 0; round < 100; ++round) {
    Problem p = random_problem(random);
    if (round % 2 == 0) p.potentials[test::below(random, p.potentials.size())] = -kInfinity;
    const test::BruteForce here(p.structure, p.potentials, kTotal);
    if (here.log_z == -kInfinity) continue;
    Descent descent = descent_of(p);
    const std::vector<double> gradient = gradient_by_hand(p, here.marginals);
    std::vector<double> ascent(gradient.size());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      ascent[i] = p.potentials[i] == -kInfinity ? -kInfinity : -gradient[i];
    }
    const double wanted =
        dot(gradient, here.marginals) + kTotal * test::BruteForce(p.structure, ascent, 1.0).largest;
    CHECK(std::abs(descent.gap() - wanted) < 1e-7 * (1 + std::abs(wanted)));
    CHECK(descent.gap() > -1e-9);
    CHECK(descent.potentials() == p.potentials);
  }
}

TEST_CASE("the gap leaves the candidate alone") {
  std::mt19937_64 random(14);
  for (int round = 0; round < 20; ++round) {
    const Problem p = random_problem(random);
    Descent descent = descent_of(p);
    Descent other = descent_of(p);
    descent.try_step(0.05);
    other.try_step(0.05);
    descent.gap();
    descent.accept();
    other.accept();
    CHECK(descent.potentials() == other.potentials());
  }
}

TEST_CASE("a descent on one clique ends at the values themselves if they are counts") {
  Problem p;
  p.structure.sizes = {4};
  p.structure.cliques = {{0}};
  p.measurements = {{0, {}, {1.0, 9.0, 10.0, 20.0}, {1.0, 1.0, 1.0, 1.0}, {}}};
  p.potentials.assign(4, 0.0);
  Descent descent = descent_of(p);
  for (int i = 0; i < 3000; ++i) {
    descent.try_step(1.0 / (0.5 * kTotal));
    descent.accept();
  }
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(descent.marginals()[i] == doctest::Approx(p.measurements[0].values[i]).epsilon(1e-6));
  }
  CHECK(descent.gap() < 1e-3);
}

}  // namespace
}  // namespace pypgm
