#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/noise/enumeration.hpp"
#include "core/noise/noise.hpp"
#include "random_words.hpp"

using namespace pypgm;
using pypgm::test::TestWords;

namespace {

double laplace_pmf(std::int64_t z, double scale) {
  const double q = std::exp(-1 / scale);
  return (1 - q) / (1 + q) * std::exp(-std::abs(static_cast<double>(z)) / scale);
}

double gaussian_pmf(std::int64_t z, double variance) {
  double sum = 0;
  for (int i = -200; i <= 200; ++i) sum += std::exp(-i * i / (2 * variance));
  return std::exp(-static_cast<double>(z * z) / (2 * variance)) / sum;
}

/// The enumerated law never exceeds the true one, and misses at most what was left out: the many short
/// branches of draws that were rejected often.
template <class Pmf>
void check_law(const std::map<std::int64_t, double>& law, double most_missing, const Pmf& pmf) {
  double sum = 0;
  for (const auto& entry : law) sum += entry.second;
  CHECK(1 - sum < most_missing);
  for (const auto& entry : law) {
    CHECK(entry.second <= pmf(entry.first) + 1e-14);
    CHECK(entry.second >= pmf(entry.first) - (1 - sum) - 1e-14);
  }
}

double as_double(Rational value) {
  return static_cast<double>(value.numerator) / static_cast<double>(value.denominator);
}

}  // namespace

TEST_CASE("discrete Laplace draws have their exact probabilities, by enumeration") {
  for (const Rational scale : {Rational{1, 1}, Rational{3, 10}, Rational{2, 1}, Rational{3, 2}}) {
    const DiscreteLaplace law(scale);
    check_law(enumerate_law<BranchingDice>([&](BranchingDice& dice) { return law(dice); }, 1e-6), 0.25,
              [&](std::int64_t z) { return laplace_pmf(z, as_double(scale)); });
  }
}

TEST_CASE("discrete Gaussian draws have their exact probabilities, by enumeration") {
  for (const Rational variance : {Rational{9, 100}, Rational{1, 2}, Rational{1, 1}, Rational{7, 3}}) {
    const DiscreteGaussian law(variance);
    check_law(enumerate_law<BranchingDice>([&](BranchingDice& dice) { return law(dice); }, 1e-6), 0.3,
              [&](std::int64_t z) { return gaussian_pmf(z, as_double(variance)); });
  }
}

TEST_CASE("moments of the samplers at the ends of the parameter range") {
  constexpr int kDraws = 20'000;
  const std::uint64_t large = (std::uint64_t{1} << kVarianceBits) - 1;
  TestWords words(5);
  Dice<TestWords> dice(words);
  for (const Rational variance : {Rational{large, 1}, Rational{large, large - 1},
                                  Rational{large, large / 1000}, Rational{100, 1}, Rational{large / 3, 4}}) {
    const DiscreteGaussian law(variance);
    double squares = 0;
    for (int i = 0; i < kDraws; ++i) squares += std::pow(static_cast<double>(law(dice)), 2);
    // The relative standard error of a Gaussian's second moment is sqrt(2 / n) = 0.01.
    CHECK(squares / kDraws == doctest::Approx(as_double(variance)).epsilon(0.07));
  }
  const std::uint64_t widest = (std::uint64_t{1} << kScaleBits) - 1;
  const DiscreteLaplace law(Rational{widest, 1});
  double magnitude = 0;
  for (int i = 0; i < kDraws; ++i) magnitude += std::abs(static_cast<double>(law(dice)));
  CHECK(magnitude / kDraws == doctest::Approx(static_cast<double>(widest)).epsilon(0.05));
  const DiscreteGaussian tiny(Rational{1, large});
  for (int i = 0; i < 100; ++i) CHECK(tiny(dice) == 0);
}

TEST_CASE("parameters out of bounds are refused") {
  std::vector<std::int64_t> counts{1, 2};
  const std::uint64_t too_wide = std::uint64_t{1} << kVarianceBits;
  CHECK_THROWS_AS(add_discrete_gaussian(counts, {0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(add_discrete_gaussian(counts, {1, 0}), std::invalid_argument);
  CHECK_THROWS_AS(add_discrete_gaussian(counts, {too_wide, 1}), std::invalid_argument);
  CHECK_THROWS_AS(add_discrete_gaussian(counts, {1, too_wide}), std::invalid_argument);
  CHECK_THROWS_AS(add_discrete_laplace(counts, {std::uint64_t{1} << kScaleBits, 1}), std::invalid_argument);
  CHECK(counts == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("noise is added to the counts, and sums stay at the ends of int64") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  CHECK(saturating_add(kMax, 1) == kMax);
  CHECK(saturating_add(kMin, -1) == kMin);
  CHECK(saturating_add(kMax, -1) == kMax - 1);
  CHECK(saturating_add(5, -7) == -2);
  std::vector<std::int64_t> counts(10'000, 1'000'000'000'000);
  add_discrete_gaussian(counts, {100, 1});
  double sum = 0;
  for (const std::int64_t count : counts) {
    CHECK(std::abs(count - 1'000'000'000'000) < 200);
    sum += static_cast<double>(count - 1'000'000'000'000);
  }
  CHECK(std::abs(sum / 10'000) < 0.8);  // eight standard errors
  add_discrete_laplace(counts, {1, 1'000'000});
  CHECK(sum != 0);
}

TEST_CASE("every thread draws from its own stream") {
  std::vector<std::int64_t> counts(200'000, 0);
  add_discrete_gaussian(counts, {std::uint64_t{1} << 60, 1}, 2);
  std::sort(counts.begin(), counts.end());
  // Chunks drawn from a shared stream would repeat whole; by chance about ten of these values meet.
  std::size_t repeated = 0;
  for (std::size_t i = 1; i < counts.size(); ++i) repeated += counts[i] == counts[i - 1];
  CHECK(repeated < 100);
  add_discrete_laplace(counts, {1, 2}, 1);
}

TEST_CASE("coins of a rational rate") {
  std::vector<std::uint8_t> coins(40'000);
  flip_coins(coins, {1, 3});
  const auto heads = static_cast<double>(std::accumulate(coins.begin(), coins.end(), 0));
  CHECK(std::abs(heads - 40'000.0 / 3) < 760);  // eight standard deviations
  flip_coins(coins, {5, 5});
  CHECK(std::count(coins.begin(), coins.end(), 1) == 40'000);
  CHECK_THROWS_AS(flip_coins(coins, {2, 1}), std::invalid_argument);
  CHECK_THROWS_AS(flip_coins(coins, {0, 1}), std::invalid_argument);
}
