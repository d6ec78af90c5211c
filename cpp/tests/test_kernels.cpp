#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "core/simd/kernels.hpp"
#include "random_models.hpp"

namespace pypgm {

extern const Kernels kernels_baseline;
#if defined(__x86_64__) && defined(__GNUC__)
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

namespace {

/// Every set of loops this machine can run.
std::vector<const Kernels*> runnable() {
  std::vector<const Kernels*> sets{&kernels_baseline};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) sets.push_back(&kernels_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    sets.push_back(&kernels_avx512);
  }
#endif
  return sets;
}

/// Representable numbers between two non-negative doubles.
std::int64_t ulps(double a, double b) {
  return std::abs(std::bit_cast<std::int64_t>(a) - std::bit_cast<std::int64_t>(b));
}

std::vector<double> random_numbers(std::size_t n, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<double> numbers(n);
  for (double& x : numbers) x = 2 * test::uniform(random) - 1;
  return numbers;
}

TEST_CASE("the chosen kernels are among those the machine runs") {
  bool found = false;
  for (const Kernels* k : runnable()) found = found || k == &kernels();
  CHECK(found);
}

TEST_CASE("exp is within two units in the last place") {
  for (const Kernels* k : runnable()) {
    CAPTURE(std::string(k->instruction_set));
    std::mt19937_64 random(1);
    std::int64_t worst = 0;
    for (const double range : {1e-300, 1e-8, 1.0, 20.0, 700.0, 708.0}) {
      std::vector<double> x(4099);
      for (double& v : x) v = range * (2 * test::uniform(random) - 1);
      std::vector<double> y(x.size());
      k->exp_shifted(x.data(), x.size(), 0.0, y.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        worst = std::max(worst, ulps(y[i], std::exp(x[i])));
      }
    }
    CHECK(worst <= 2);
  }
}

TEST_CASE("exp at its edges, alone and among others") {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double denormal = std::numeric_limits<double>::denorm_min();
  const std::vector<double> x{-kInfinity, 0.0,    -0.0,   denormal, -denormal, 1.0,    -708.0, 709.0,
                              -708.1,     -745.0, -746.0, -1e308,   700.0,     -707.9, -300.5, nan};
  for (const Kernels* k : runnable()) {
    CAPTURE(std::string(k->instruction_set));
    std::vector<double> together(x.size());
    k->exp_shifted(x.data(), x.size(), 0.0, together.data());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      double alone = 0;
      k->exp_shifted(&x[i], 1, 0.0, &alone);
      const double wanted = x[i] < -708 ? 0.0 : std::exp(x[i]);
      if (std::isnan(wanted)) {
        CHECK(std::isnan(alone));
        CHECK(std::isnan(together[i]));
      } else {
        CHECK(std::bit_cast<std::int64_t>(alone) == std::bit_cast<std::int64_t>(together[i]));
        CHECK(ulps(alone, wanted) <= 2);
      }
    }
    CHECK(together[0] == 0.0);
    CHECK(together[1] == 1.0);
  }
}

TEST_CASE("exp subtracts the shift and works in place") {
  for (const Kernels* k : runnable()) {
    std::vector<double> x = random_numbers(1001, 2);
    std::vector<double> y(x.size());
    k->exp_shifted(x.data(), x.size(), 0.25, y.data());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(ulps(y[i], std::exp(x[i] - 0.25)) <= 2);
    k->exp_shifted(x.data(), x.size(), 0.25, x.data());
    CHECK(x == y);
  }
}

TEST_CASE("sums, maxima and dots of any length") {
  for (const Kernels* k : runnable()) {
    CAPTURE(std::string(k->instruction_set));
    for (std::size_t n : {0, 1, 2, 7, 8, 15, 16, 17, 31, 64, 1000}) {
      CAPTURE(n);
      const std::vector<double> a = random_numbers(n, 3 + n);
      const std::vector<double> b = random_numbers(n, 4 + n);
      double sum = 0;
      double dot = 0;
      double largest = -kInfinity;
      for (std::size_t i = 0; i < n; ++i) {
        sum += a[i];
        dot += a[i] * b[i];
        largest = std::max(largest, a[i]);
      }
      CHECK(k->sum(a.data(), n) == doctest::Approx(sum).epsilon(1e-12));
      CHECK(k->dot(a.data(), b.data(), n) == doctest::Approx(dot).epsilon(1e-12));
      CHECK(k->max(a.data(), n) == largest);
    }
    const std::vector<double> nothing(20, -kInfinity);
    CHECK(k->max(nothing.data(), nothing.size()) == -kInfinity);
    CHECK(k->sum(nothing.data(), nothing.size()) == -kInfinity);
  }
}

TEST_CASE("scale and add_scaled go cell by cell") {
  for (const Kernels* k : runnable()) {
    const std::vector<double> a = random_numbers(37, 5);
    const std::vector<double> b = random_numbers(37, 6);
    std::vector<double> scaled = a;
    std::vector<double> out(37);
    k->scale(scaled.data(), scaled.size(), 3.0);
    k->add_scaled(a.data(), b.data(), -0.5, 37, out.data());
    for (std::size_t i = 0; i < 37; ++i) {
      CHECK(scaled[i] == 3.0 * a[i]);
      CHECK(out[i] == a[i] - 0.5 * b[i]);
    }
    const double zero = -kInfinity;
    double kept = 0;
    k->add_scaled(&zero, b.data(), -0.5, 1, &kept);
    CHECK(kept == -kInfinity);
  }
}

TEST_CASE("residuals write the gradient and return half the weighted squares") {
  for (const Kernels* k : runnable()) {
    for (std::size_t n : {1, 15, 16, 50}) {
      const std::vector<double> table = random_numbers(n, 7);
      const std::vector<double> value = random_numbers(n, 8);
      std::vector<double> weight = random_numbers(n, 9);
      for (double& w : weight) w = w * w + 0.1;
      std::vector<double> gradient(n, 1.0);
      const double loss = k->residuals(table.data(), value.data(), weight.data(), 0.0, n, gradient.data());
      double wanted = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double difference = table[i] - value[i];
        wanted += 0.5 * weight[i] * difference * difference;
        CHECK(gradient[i] == doctest::Approx(weight[i] * difference).epsilon(1e-14));
      }
      CHECK(loss == doctest::Approx(wanted).epsilon(1e-12));
    }
  }
}

TEST_CASE("logarithms of sums are added to messages, of which the largest becomes 0") {
  for (const Kernels* k : runnable()) {
    for (const std::size_t n : {1U, 7U, 8U, 9U, 70U}) {
      const std::vector<double> sums(n, 2.0);
      std::vector<double> message = random_numbers(n, 3);
      const std::vector<double> before = message;
      message[0] = -kInfinity;
      const double top = k->add_logs(sums.data(), n, message.data());
      CHECK(message[0] == -kInfinity);
      CHECK((n == 1 ? top == -kInfinity : top == doctest::Approx(std::log(2.0) + k->max(&before[1], n - 1))));
      for (std::size_t i = 1; i < n; ++i) {
        CHECK(message[i] == doctest::Approx(before[i] + std::log(2.0) - top).epsilon(1e-14));
      }
      CHECK((n == 1 || k->max(message.data(), n) == 0));
      CHECK(k->add_logs(std::vector<double>(n, 0.0).data(), n, message.data()) == -kInfinity);
      CHECK(k->max(message.data(), n) == -kInfinity);
    }
  }
}

TEST_CASE("the spread of weights leaves zeros out") {
  for (const Kernels* k : runnable()) {
    CAPTURE(std::string(k->instruction_set));
    for (const std::size_t n : {1U, 7U, 8U, 9U, 70U, 1000U}) {
      std::vector<double> weights(n, 0.0);
      CHECK(k->magnitudes(weights.data(), n).least == kInfinity);
      CHECK(k->magnitudes(weights.data(), n).largest == 0);
      weights[n - 1] = -3;
      weights[n / 2] = 0.25;
      CHECK(k->magnitudes(weights.data(), n).least == 0.25);
      CHECK(k->magnitudes(weights.data(), n).largest == (n == 1 ? 0.25 : 3.0));
    }
  }
}

}  // namespace
}  // namespace pypgm
