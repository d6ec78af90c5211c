#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/simd/message_kernels.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

constexpr double kFloor = 1e-250;

/// Probabilities, some of them 0.
std::vector<double> random_cells(std::mt19937_64& random, std::size_t n) {
  std::vector<double> cells(n);
  for (double& x : cells) x = test::uniform(random) < 0.2 ? 0.0 : test::uniform(random);
  return cells;
}

bool near(double a, double b) { return a == b || std::abs(a - b) <= 1e-13 * (1 + std::abs(b)); }

}  // namespace

TEST_CASE("message kernels do what their formulas say, for any number of cells") {
  std::mt19937_64 random(1);
  const MessageKernels& k = message_kernels();
  for (std::size_t n = 1; n <= 70; ++n) {
    const auto a = random_cells(random, n);
    const auto b = random_cells(random, n);
    double apart = 0;
    for (std::size_t i = 0; i < n; ++i) apart += std::abs(a[i] - b[i]);
    CHECK(near(k.distance(a.data(), b.data(), n), apart));

    std::vector<double> out(n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(a[i] - 2);
    CHECK(near(k.exp_sum(a.data(), n, 2.0, out.data()), sum));
    for (std::size_t i = 0; i < n; ++i) CHECK(near(out[i], std::exp(a[i] - 2)));

    std::vector<double> mean(n, 0.5);
    const bool positive = k.add_log(a.data(), kFloor, 1.5, n, out.data(), mean.data());
    CHECK(positive == std::all_of(a.begin(), a.end(), [](double x) { return x > 0; }));
    for (std::size_t i = 0; i < n; ++i) {
      const double log = std::log(std::max(a[i], kFloor));
      CHECK(near(out[i], log));
      CHECK(near(mean[i], 0.5 + 1.5 * log));
    }
  }
}

TEST_CASE("messages move where the mean has weight, and add up to 0 there") {
  std::mt19937_64 random(2);
  for (std::size_t n = 1; n <= 40; ++n) {
    const auto belief = random_cells(random, n);
    const auto logarithm = random_cells(random, n);
    const auto before = random_cells(random, n);
    const auto given = random_cells(random, n);
    auto mean = random_cells(random, n);
    for (double& x : mean) x = x == 0 ? -kInfinity : x;
    auto message = before;
    auto marginal = given;
    message_kernels().update_message(mean.data(), logarithm.data(), belief.data(), kFloor, 0.7, n,
                                     message.data(), marginal.data());
    double sum = 0;
    double cells = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (mean[i] == -kInfinity) continue;
      sum += before[i] + 0.7 * (mean[i] - logarithm[i]);
      cells += 1;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const bool weighs = mean[i] > -kInfinity;
      const double moved = before[i] + 0.7 * (mean[i] - logarithm[i]) - sum / cells;
      CHECK(near(message[i], weighs ? moved : before[i]));
      CHECK(near(marginal[i], weighs ? belief[i] / std::max(given[i], kFloor) : 0.0));
    }
  }
}

TEST_CASE("ratios are 1 where there is nothing to scale") {
  std::mt19937_64 random(3);
  for (const bool stay : {false, true}) {
    for (std::size_t n = 1; n <= 40; ++n) {
      const auto target = random_cells(random, n);
      const auto before = random_cells(random, n);
      auto now = before;
      double apart = 0;
      for (std::size_t i = 0; i < n; ++i) apart += std::abs(target[i] - before[i]);
      CHECK(near(message_kernels().ratios(target.data(), now.data(), n, 0.0, 3.0, stay), apart));
      for (std::size_t i = 0; i < n; ++i) {
        const bool scales = before[i] > 0 && (target[i] > 0 || !stay);
        CHECK(now[i] == (scales ? std::min(target[i] / before[i], 3.0) : 1.0));
      }
    }
  }
}

}  // namespace pypgm
