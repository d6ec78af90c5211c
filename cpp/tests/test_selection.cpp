#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/noise/enumeration.hpp"
#include "core/noise/selection.hpp"
#include "random_words.hpp"

using namespace pypgm;
using pypgm::test::TestWords;

TEST_CASE("a selection follows exp(rate * score), by enumeration") {
  const std::vector<std::int64_t> scores{3, 1, 4};
  const Rational rate{1, 2};
  const auto law = enumerate_law<BranchingDice>(
      [&](BranchingDice& dice) { return select_exponential(dice, scores, rate); }, 1e-6);
  double normaliser = 0;
  double sum = 0;
  for (const std::int64_t score : scores) normaliser += std::exp(0.5 * static_cast<double>(score));
  for (const auto& entry : law) sum += entry.second;
  CHECK(1 - sum < 1e-2);
  for (const auto& entry : law) {
    const double expected =
        std::exp(0.5 * static_cast<double>(scores[static_cast<std::size_t>(entry.first)])) / normaliser;
    CHECK(entry.second <= expected + 1e-14);
    CHECK(entry.second >= expected - (1 - sum) - 1e-14);
  }
}

TEST_CASE("gaps as wide as int64 are exact and quick") {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  const std::vector<std::int64_t> scores{kMin, kMax, 0};
  const std::uint64_t large = (std::uint64_t{1} << kRateBits) - 1;
  TestWords words(6);
  Dice<TestWords> dice(words);
  for (int i = 0; i < 1000; ++i) {
    CHECK(select_exponential(dice, scores, Rational{large, 1}) == 1);
    CHECK(select_exponential(dice, scores, Rational{1, 1}) == 1);
  }
}

TEST_CASE("a tiny rate selects uniformly, and all scores may be lowest") {
  const std::vector<std::int64_t> scores(4, std::numeric_limits<std::int64_t>::min());
  std::vector<int> seen(4, 0);
  for (int i = 0; i < 4000; ++i) ++seen[select_exponential(scores, Rational{1, 1})];
  for (const int count : seen) CHECK(std::abs(count - 1000) < 220);  // eight standard deviations
}

TEST_CASE("permute-and-flip has its law, by enumeration") {
  // Of two candidates, the worse one wins if it comes first and passes: exp(-1) / 2.
  const std::vector<std::int64_t> scores{4, 2};
  const auto law = enumerate_law<BranchingDice>(
      [&](auto& dice) {
        return permute_and_flip(dice, scores, Rational{1, 2});
      },
      1e-9);
  CHECK(law.at(1) == doctest::Approx(std::exp(-1.0) / 2).epsilon(1e-6));
  CHECK(law.at(0) == doctest::Approx(1 - std::exp(-1.0) / 2).epsilon(1e-6));
}

TEST_CASE("top candidates are peeled without repetition") {
  const std::vector<std::int64_t> scores{1, 0, 1};
  const double e = std::exp(1.0);
  // First and second index in base 3.
  const auto law = enumerate_law<BranchingDice>(
      [&](auto& dice) {
        const auto top = select_top(dice, scores, Rational{1, 1}, 2);
        return 3 * top[0] + top[1];
      },
      1e-7);
  CHECK(law.at(1) == doctest::Approx(e / (2 * e + 1) / (e + 1)).epsilon(2e-2));
  CHECK(law.at(2) == doctest::Approx(e / (2 * e + 1) * e / (e + 1)).epsilon(2e-2));
  CHECK(law.at(5) == doctest::Approx(0.5 / (2 * e + 1)).epsilon(2e-2));
  CHECK(law.count(0) == 0);
  CHECK(select_top(scores, Rational{1, 1}, 3).size() == 3);
  CHECK_THROWS_AS(select_top(scores, Rational{1, 1}, 4), std::invalid_argument);
  CHECK_THROWS_AS(select_top(scores, Rational{1, 1}, 0), std::invalid_argument);
  CHECK_THROWS_AS(permute_and_flip(scores, Rational{0, 1}), std::invalid_argument);
}

TEST_CASE("an empty candidate list and rates out of bounds are refused") {
  const std::vector<std::int64_t> scores{1};
  CHECK_THROWS_AS(select_exponential(std::vector<std::int64_t>{}, Rational{1, 1}), std::invalid_argument);
  CHECK_THROWS_AS(select_exponential(scores, Rational{0, 1}), std::invalid_argument);
  CHECK_THROWS_AS(select_exponential(scores, Rational{1, std::uint64_t{1} << kRateBits}),
                  std::invalid_argument);
}
