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

TEST_CASE("message kernels do what their formulas say, for any number of cells and rows") {
  std::mt19937_64 random(1);
  const MessageKernels& k = message_kernels();
  for (std::size_t n = 1; n <= 70; ++n) {
    const std::size_t n_rows = n % 4;
    const auto rows = random_cells(random, n_rows * n);
    const auto b = random_cells(random, n);
    double apart = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) apart += std::abs(rows[i] - b[i % n]);
    CHECK(near(k.distance(rows.data(), n_rows, b.data(), n), apart));

    std::vector<double> out(n);
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(b[i] - 2);
    CHECK(near(k.exp_sum(b.data(), n, 2.0, out.data()), sum));
    for (std::size_t i = 0; i < n; ++i) CHECK(near(out[i], std::exp(b[i] - 2)));

    const auto weights = random_cells(random, n_rows);
    std::vector<double> logs(rows.size());
    std::vector<double> mean(n, 0.5);
    const bool positive =
        k.add_logs(rows.data(), kFloor, weights.data(), n_rows, n, logs.data(), mean.data());
    bool any = false;
    std::vector<double> wanted(n, 0.5);
    for (std::size_t r = 0; r < n_rows; ++r) {
      bool all = true;
      for (std::size_t i = r * n; i < (r + 1) * n; ++i) {
        const double log = std::log(std::max(rows[i], kFloor));
        CHECK(near(logs[i], log));
        wanted[i % n] += weights[r] * log;
        all = all && rows[i] > 0;
      }
      any = any || all;
    }
    CHECK(positive == any);
    for (std::size_t i = 0; i < n; ++i) CHECK(near(mean[i], wanted[i]));
  }
}

TEST_CASE("messages move where the mean has weight, and add up to 0 there") {
  std::mt19937_64 random(2);
  for (std::size_t n = 1; n <= 40; ++n) {
    const std::size_t n_rows = 1 + n % 3;
    const auto belief = random_cells(random, n);
    const auto logarithms = random_cells(random, n_rows * n);
    const auto before = random_cells(random, n_rows * n);
    const auto given = random_cells(random, n_rows * n);
    const auto weights = random_cells(random, n_rows);
    auto mean = random_cells(random, n);
    for (double& x : mean) x = x == 0 ? -kInfinity : x;
    auto messages = before;
    auto rows = given;
    message_kernels().update_messages(mean.data(), logarithms.data(), belief.data(), kFloor, 0.7,
                                      weights.data(), n_rows, n, messages.data(), rows.data());
    for (std::size_t r = 0; r < n_rows; ++r) {
      const auto moved = [&](std::size_t i) {
        return before[r * n + i] + 0.7 * weights[r] * (mean[i] - logarithms[r * n + i]);
      };
      double sum = 0;
      double cells = 0;
      for (std::size_t i = 0; i < n; ++i) {
        if (mean[i] == -kInfinity) continue;
        sum += moved(i);
        cells += 1;
      }
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = r * n + i;
        const bool weighs = mean[i] > -kInfinity;
        CHECK(near(messages[at], weighs ? moved(i) - sum / cells : before[at]));
        CHECK(near(rows[at], weighs ? belief[i] / std::max(given[at], kFloor) : 0.0));
      }
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
