#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <stdexcept>
#include <vector>

#include "core/fit/l2_path.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

double curvature_by_hand(const test::Problem& p, const std::vector<double>& moved) {
  test::Problem nothing = p;
  for (Measured& m : nothing.measurements) m.values = std::vector<double>(m.values.size());
  return 2 * test::loss_by_hand(nothing, moved);
}

TEST_CASE("value, gradient and curvature by hand") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const test::Problem p = test::random_problem(random);
    const JunctionTree tree = test::tree_of(p.structure);
    L2Loss loss(tree.factors.size(), 1.0);
    for (const Measured& m : p.measurements) loss.add(m);
    CHECK(loss.empty() == p.measurements.empty());
    std::vector<double> tables(p.potentials.size());
    for (double& x : tables) x = 20 * test::uniform(random) - 4;
    std::vector<double> gradient(tables.size(), 7.0);
    double value = 0;
    double same = 0;
    double curvature = 0;
    for (int f = 0; f < static_cast<int>(tree.factors.size()); ++f) {
      const Placement& place = tree.factors[static_cast<std::size_t>(f)];
      const auto table = std::span<const double>(tables).subspan(place.offset, place.layout.small);
      value += loss.gradient(f, table, std::span(gradient).subspan(place.offset, place.layout.small));
      same += loss.value(f, table);
      curvature += loss.curvature(f, table);
    }
    CHECK(value == doctest::Approx(test::loss_by_hand(p, tables)).epsilon(1e-12));
    CHECK(same == doctest::Approx(value).epsilon(1e-14));
    CHECK(curvature == doctest::Approx(curvature_by_hand(p, tables)).epsilon(1e-12));
    const std::vector<double> wanted = test::gradient_by_hand(p, tables);
    for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(gradient[i] - wanted[i]) < 1e-8);
  }
}

TEST_CASE("a step shows loss, held-out loss, slope and curvature, of a share of the total as of counts") {
  std::mt19937_64 random(22);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    test::Problem held = p;
    const double beyond = test::uniform(random);
    for (std::size_t i = 0; i < p.measurements.size(); ++i) {
      Measured& m = p.measurements[i];
      std::vector<double> held_out(m.values.size());
      for (double& y : held_out) y = 50 * test::uniform(random);
      m.held_out = held_out;
      m.beyond = beyond;
      for (std::size_t j = 0; j < held_out.size(); ++j) held_out[j] += beyond * (held_out[j] - m.values[j]);
      held.measurements[i].values = held_out;
    }
    const JunctionTree tree = test::tree_of(p.structure);
    const double total = 40;
    const double s = 0.1;
    const double a = 0.3;
    L2Loss loss(tree.factors.size(), total);
    for (const Measured& m : p.measurements) loss.add(m);
    L2Path path(tree.factors.size());
    std::vector<double> start(p.potentials.size());
    std::vector<double> next(start.size());
    for (auto* table : {&start, &next}) {
      for (double& x : *table) x = test::uniform(random);
    }
    std::vector<double> x = start;
    std::vector<double> theta(start.size(), 0.0);
    std::vector<double> window(start.size(), 0.0);
    std::vector<double> mean(start.size());
    PathSums sums;
    for (int step = 0; step < 2; ++step) {  // to `next` and back
      const std::vector<double>& from = step == 0 ? start : next;
      const std::vector<double>& to = step == 0 ? next : start;
      std::vector<double> counts(start.size());
      for (std::size_t i = 0; i < x.size(); ++i) counts[i] = total * (x[i] + a * (from[i] - x[i]));
      std::fill(theta.begin(), theta.end(), 0.0);
      std::fill(window.begin(), window.end(), 0.0);
      std::fill(mean.begin(), mean.end(), 1.0);
      theta[0] = -kInfinity;  // a structural zero, whose mean stays
      sums = {};
      for (int f = 0; f < static_cast<int>(tree.factors.size()); ++f) {
        const auto slice_of = [&](auto& table) {
          const Placement& place = tree.factors[static_cast<std::size_t>(f)];
          return std::span(table).subspan(place.offset, place.layout.small);
        };
        if (step == 0) path.start(loss, f, slice_of(start));
        path.descend(loss, f, s, a, slice_of(x), slice_of(from), slice_of(theta), slice_of(window).data(),
                     slice_of(mean).data());
        path.follow(loss, f, a, slice_of(to), slice_of(from), slice_of(x), sums);
        loss.value(f, slice_of(from));  // between steps, as for a gap: the path is another object
      }
      const std::vector<double> gradient = test::gradient_by_hand(p, counts);
      std::vector<double> moved(start.size());
      double slope = 0;
      CHECK(theta[0] == -kInfinity);
      CHECK(mean[0] == 1.0);
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK((i == 0 || std::abs(theta[i] + s * gradient[i]) < 1e-8));
        CHECK((i == 0 || mean[i] == doctest::Approx(1.0 + a * (theta[i] - 1.0)).epsilon(1e-12)));
        CHECK(window[i] == doctest::Approx(s * counts[i]));
        moved[i] = to[i] - from[i];
        slope += gradient[i] * moved[i];
      }
      CHECK(sums.slope == doctest::Approx(slope).epsilon(1e-8));
      for (std::size_t i = 0; i < x.size(); ++i) counts[i] = total * x[i];
      CHECK(sums.loss == doctest::Approx(test::loss_by_hand(p, counts)).epsilon(1e-10));
      CHECK(sums.held_out_loss == doctest::Approx(test::loss_by_hand(held, counts)).epsilon(1e-10));
      CHECK(sums.curvature == doctest::Approx(curvature_by_hand(p, moved)).epsilon(1e-8));
    }
  }
}

TEST_CASE("held-out counts are needed of all measurements or of none") {
  const Measured with{0, {}, {1, 2}, {1, 1}, {3, 4}};
  const Measured without{0, {}, {1, 2}, {1, 1}, {}};
  const Measured sums_without{0, test::make_partition({0, 0}, 1), {3}, {1}, {}};
  const std::vector<std::vector<Measured>> mixed{{with, without}, {without, with}, {with, sums_without}};
  for (const std::vector<Measured>& both : mixed) {
    L2Loss loss(1, 1.0);
    loss.add(both[0]);
    CHECK_THROWS_AS(loss.add(both[1]), std::invalid_argument);
  }
}

}  // namespace
}  // namespace pypgm
