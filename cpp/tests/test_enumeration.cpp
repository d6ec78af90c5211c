#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/noise/enumeration.hpp"

using namespace pypgm;

TEST_CASE("branches of the discrete Laplace sampler sum to its law") {
  const DiscreteLaplace law({1, 1});
  const auto masses = enumerate_law<ExponentialDice>([&](ExponentialDice& dice) { return law(dice); }, 1e-8);
  double sum = 0;
  for (const auto& entry : masses) sum += entry.second;
  CHECK(1 - sum < 1e-6);
  const double q = std::exp(-1.0);
  for (const auto& entry : masses) {
    const double exact = (1 - q) / (1 + q) * std::exp(-std::abs(static_cast<double>(entry.first)));
    CHECK(entry.second <= exact + 1e-13);
    CHECK(entry.second >= exact - (1 - sum) - 1e-13);
  }
}

TEST_CASE("scripted coins write their odds down and end where the script ends") {
  const std::vector<std::uint8_t> outcomes{1, 1};
  ScriptedCoins coins(outcomes);
  CHECK_THROWS_AS(coin_exp(coins, Wide(1), Wide(3)), std::out_of_range);
  REQUIRE(coins.odds().size() == 3);
  for (std::uint64_t k = 1; k <= 3; ++k) {
    CHECK(coins.odds()[k - 1].numerator == 1);
    CHECK(coins.odds()[k - 1].denominator == 3 * k);
  }
  CHECK_THROWS_AS(coin_exp(coins, Wide(1), Wide(std::uint64_t{1} << 50)), std::overflow_error);
}

TEST_CASE("a stream of a seed repeats itself, another seed gives another") {
  SeededWords one(7), same(7), other(8);
  bool equal = true;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t word = one.next();
    CHECK(word == same.next());
    equal = equal && word == other.next();
  }
  CHECK_FALSE(equal);
}
