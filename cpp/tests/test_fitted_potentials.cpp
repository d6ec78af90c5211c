#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/fit/acceleration.hpp"
#include "core/fit/fitted_potentials.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kTotal;

TEST_CASE("fitting brings the potentials to the average and keeps structural zeros") {
  std::mt19937_64 random(32);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    if (round % 2 == 0) p.potentials[test::below(random, p.potentials.size())] = -kInfinity;
    if (test::BruteForce(p.structure, p.potentials, kTotal).log_z == -kInfinity) continue;
    const auto tree = std::make_shared<JunctionTree>(test::tree_of(p.structure));
    Acceleration path(tree, p.measurements, kTotal, p.potentials, 1);
    for (const double a : {1.0, 0.6, 0.5}) path.advance(0.01, a);
    const std::vector<double>& average = path.average();
    const std::vector<double> fitted = fitted_potentials(tree, average, kTotal, path.potentials(), 200, 1);
    const test::BruteForce model(p.structure, fitted, kTotal);
    for (std::size_t i = 0; i < average.size(); ++i) {
      CHECK(std::abs(model.marginals[i] - average[i]) < 1e-3);
      if (p.potentials[i] == -kInfinity) CHECK(fitted[i] == -kInfinity);
    }
  }
}

}  // namespace
}  // namespace pypgm
