#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/fit/l2_loss.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

TEST_CASE("value, gradient, validation and curvature by hand") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    test::Problem held = p;
    test::Problem nothing = p;
    for (std::size_t m = 0; m < p.measurements.size(); ++m) {
      for (double& y : held.measurements[m].values) y = 50 * test::uniform(random);
      for (double& y : nothing.measurements[m].values) y = 0;
      p.measurements[m].holdout = held.measurements[m].values;
    }
    const JunctionTree tree = test::tree_of(p.structure);
    L2Loss loss(tree, p.measurements);
    std::vector<double> tables(p.potentials.size());
    for (double& x : tables) x = 20 * test::uniform(random) - 4;
    std::vector<double> gradient(tables.size(), 7.0);
    double value = 0;
    double same = 0;
    double validation = 0;
    double curvature = 0;
    for (int f = 0; f < static_cast<int>(tree.factors.size()); ++f) {
      const Placement& place = tree.factors[static_cast<std::size_t>(f)];
      const auto table = std::span<const double>(tables).subspan(place.offset, place.layout.small);
      value += loss.gradient(f, table, std::span(gradient).subspan(place.offset, place.layout.small));
      same += loss.value(f, table);
      if (loss.validates()) validation += loss.validation(f, table);
      curvature += loss.curvature(f, table);
    }
    CHECK(loss.validates() == !p.measurements.empty());
    CHECK(value == doctest::Approx(test::loss_by_hand(p, tables)).epsilon(1e-12));
    CHECK(same == doctest::Approx(value).epsilon(1e-14));
    CHECK(validation == doctest::Approx(test::loss_by_hand(held, tables)).epsilon(1e-12));
    CHECK(curvature == doctest::Approx(2 * test::loss_by_hand(nothing, tables)).epsilon(1e-12));
    const std::vector<double> wanted = test::gradient_by_hand(p, tables);
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(gradient[i] - wanted[i]) < 1e-8);
  }
}

TEST_CASE("held-out counts are needed of all measurements or of none") {
  test::Problem p;
  p.structure.sizes = {2};
  p.structure.cliques = {{0}};
  const JunctionTree tree = test::tree_of(p.structure);
  const Measured with{0, {}, {1, 2}, {1, 1}, {3, 4}};
  const Measured without{0, {}, {1, 2}, {1, 1}, {}};
  const Measured sums_without{0, make_partition({0, 0}, 1), {3}, {1}, {}};
  CHECK_THROWS_AS(L2Loss(tree, {with, without}), std::invalid_argument);
  CHECK_THROWS_AS(L2Loss(tree, {without, with}), std::invalid_argument);
  CHECK_THROWS_AS(L2Loss(tree, {with, sums_without}), std::invalid_argument);
  L2Loss both(tree, {with, with});
  CHECK(both.validation(0, std::vector<double>{3, 4}) == 0);
}

}  // namespace
}  // namespace pypgm
