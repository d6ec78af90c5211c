#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/fit/acceleration.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kTotal;

Acceleration path_of(const test::Problem& p) {
  return {std::make_shared<JunctionTree>(test::tree_of(p.structure)), p.measurements, kTotal, p.potentials,
          1};
}

TEST_CASE("four steps by brute force") {
  std::mt19937_64 random(31);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const test::Problem p = test::random_problem(random);
    Acceleration path = path_of(p);
    std::vector<double> theta = p.potentials;
    std::vector<double> mean = theta;
    std::vector<double> z = test::BruteForce(p.structure, theta, kTotal).marginals;
    std::vector<double> x = z;
    CHECK(path.loss() == doctest::Approx(test::loss_by_hand(p, x)).epsilon(1e-9));
    const double s = 0.02;
    for (const double a : {1.0, 0.4, 0.3, 0.2}) {
      std::vector<double> v(x.size());
      for (std::size_t i = 0; i < v.size(); ++i) v[i] = (1 - a) * x[i] + a * z[i];
      const std::vector<double> g = test::gradient_by_hand(p, v);
      for (std::size_t i = 0; i < v.size(); ++i) theta[i] -= s * g[i];
      const std::vector<double> next = test::BruteForce(p.structure, theta, kTotal).marginals;
      double slope = 0;
      for (std::size_t i = 0; i < v.size(); ++i) {
        slope += g[i] * (next[i] - z[i]);
        x[i] = (1 - a) * x[i] + a * next[i];
        if (theta[i] > -kInfinity) mean[i] = (1 - a) * mean[i] + a * theta[i];
      }
      z = next;
      const PathSums progress = path.advance(s, a);
      CHECK(progress.loss == doctest::Approx(test::loss_by_hand(p, x)).epsilon(1e-7));
      CHECK(std::abs(progress.slope - slope) < 1e-6 * (1 + std::abs(slope)));
      CHECK(progress.curvature >= 0);
      CHECK(progress.held_out_loss == 0);
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(path.average()[i] - x[i]) < 1e-7);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const double held = path.average_potentials()[i];
        CHECK((held == mean[i] || std::abs(held - mean[i]) < 1e-7));
      }
    }
    CHECK(path.gap() > -1e-9);
    const std::vector<double> last = path.average();
    std::vector<double> earlier = last;
    for (double& count : earlier) count *= 0.5;
    path.join(earlier);
    for (std::size_t i = 0; i < last.size(); ++i)
      CHECK(path.average()[i] == doctest::Approx((last[i] + earlier[i]) / 2));
    CHECK(path.loss() == doctest::Approx(test::loss_by_hand(p, path.average())).epsilon(1e-7));
  }
}

TEST_CASE("without steps in a window there is no bound") {
  std::mt19937_64 random(32);
  Acceleration path = path_of(test::random_problem(random));
  path.advance(0.01, 0.5);
  CHECK(path.lower_bound() == -kInfinity);
  path.open_window();
  CHECK(path.lower_bound() == -kInfinity);
  path.advance(0.01, 0.5);
  CHECK(path.lower_bound() <= path.loss());
}

TEST_CASE("the bound of a window is below every loss, and rises to the least one") {
  std::mt19937_64 random(33);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const test::Problem p = test::random_problem(random);
    Acceleration path = path_of(p);
    double least = path.loss();
    double bound = -kInfinity;
    double weight = 0;
    for (int k = 1; k <= 600; ++k) {
      if (k == 30 || k == 300) path.open_window();
      const double s = 1e-3 * k;
      weight += s;
      least = std::min(least, path.advance(s, s / weight).loss);
      if (k % 30 != 0) continue;
      bound = std::max(bound, path.lower_bound());
      CHECK(bound <= least + 1e-9 * (1 + std::abs(least)));
    }
    CHECK(least - bound < 0.05 * (1 + least));
  }
}

}  // namespace
}  // namespace pypgm
