#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/descent.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

using test::kInfinity;

constexpr double kTotal = 40.0;

struct Problem {
  test::Structure structure;
  std::vector<GroupedMeasurement> measurements;
  std::vector<double> potentials;
};

Problem random_problem(std::mt19937_64& random) {
  Problem p;
  p.structure = test::random_structure(random, 4, 3);
  p.structure.cliques.push_back({0, 2});
  for (std::size_t f = 0; f < p.structure.cliques.size(); ++f) {
    const std::size_t cells = test::cells_of(p.structure.sizes, p.structure.cliques[f]);
    for (std::size_t repeat = test::below(random, 3); repeat > 0; --repeat) {
      GroupedMeasurement m;
      m.factor = static_cast<int>(f);
      std::size_t rows = cells;
      if (test::below(random, 2) == 0) {
        rows = 2;
        for (std::size_t i = 0; i < cells; ++i)
          m.groups.push_back(static_cast<std::int32_t>(test::below(random, 2)));
      }
      for (std::size_t j = 0; j < rows; ++j) {
        m.values.push_back(30 * test::uniform(random) - 5);
        m.weights.push_back(0.01 + test::uniform(random));
      }
      p.measurements.push_back(m);
    }
  }
  p.potentials.resize(test::cells_of(p.structure));
  for (double& x : p.potentials) x = 2 * test::uniform(random) - 1;
  return p;
}

double loss_by_hand(const Problem& p, const std::vector<double>& marginals) {
  double loss = 0;
  for (const GroupedMeasurement& m : p.measurements) {
    std::size_t offset = 0;
    for (int f = 0; f < m.factor; ++f) {
      offset += test::cells_of(p.structure.sizes, p.structure.cliques[static_cast<std::size_t>(f)]);
    }
    const std::size_t cells =
        test::cells_of(p.structure.sizes, p.structure.cliques[static_cast<std::size_t>(m.factor)]);
    std::vector<double> answers(m.values.size(), 0.0);
    for (std::size_t i = 0; i < cells; ++i) {
      answers[m.groups.empty() ? i : static_cast<std::size_t>(m.groups[i])] += marginals[offset + i];
    }
    for (std::size_t j = 0; j < answers.size(); ++j) {
      loss += 0.5 * m.weights[j] * (answers[j] - m.values[j]) * (answers[j] - m.values[j]);
    }
  }
  return loss;
}

/// The gradient of a quadratic by central differences, exact but for rounding.
std::vector<double> gradient_by_hand(const Problem& p, std::vector<double> marginals) {
  std::vector<double> gradient(marginals.size());
  for (std::size_t i = 0; i < marginals.size(); ++i) {
    const double here = marginals[i];
    marginals[i] = here + 1;
    const double ahead = loss_by_hand(p, marginals);
    marginals[i] = here - 1;
    gradient[i] = (ahead - loss_by_hand(p, marginals)) / 2;
    marginals[i] = here;
  }
  return gradient;
}

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

Descent descent_of(const Problem& p) {
  return {std::make_shared<JunctionTree>(test::tree_of(p.structure)), p.measurements, kTotal, p.potentials,
          1};
}

TEST_CASE("loss, step and divergence by brute force") {
  std::mt19937_64 random(12);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    const Problem p = random_problem(random);
    Descent descent = descent_of(p);
    const test::BruteForce here(p.structure, p.potentials, kTotal);
    CHECK(descent.loss() == doctest::Approx(loss_by_hand(p, here.marginals)).epsilon(1e-10));
    const std::vector<double> gradient = gradient_by_hand(p, here.marginals);
    const double alpha = 0.05;
    const Step step = descent.try_step(alpha);
    std::vector<double> moved = p.potentials;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] -= alpha * gradient[i];
    const test::BruteForce there(p.structure, moved, kTotal);
    CHECK(step.loss == doctest::Approx(loss_by_hand(p, there.marginals)).epsilon(1e-8));
    CHECK(std::abs(step.linear - (dot(gradient, there.marginals) - dot(gradient, here.marginals))) < 1e-7);
    // KL(p' || p), each p = exp(sum of potentials - log Z).
    double divergence = here.log_z - there.log_z;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      divergence += (moved[i] - p.potentials[i]) * there.marginals[i] / kTotal;
    }
    CHECK(std::abs(step.divergence - divergence) < 1e-9);
    CHECK(step.divergence > -1e-12);
    CHECK(descent.potentials() == p.potentials);
    descent.accept();
    CHECK(descent.loss() == step.loss);
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
