#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "core/plan/bounded_tree.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

constexpr std::size_t kNever = 1'000'000;

TEST_CASE("pairs of a band, all of which fit, are taken in a few eliminations") {
  std::vector<Scope> pairs;
  for (std::int32_t i = 0; i < 1000; ++i) {
    for (std::int32_t k = 1; k < 4; ++k) pairs.push_back({i, i + k});
  }
  Watch watch;
  const auto taken = choose_pairs(std::vector<std::size_t>(1003, 2), pairs, 1000, 1e6, kNever, watch);
  CHECK(taken == std::vector<std::uint8_t>(pairs.size(), 1));
  CHECK(watch.steps.load() <= 12);
}

TEST_CASE("what is taken fits, and what is refused would not have fitted beside what was taken before") {
  std::mt19937_64 random(7);
  std::size_t refused = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const std::size_t n = 3 + test::below(random, 12), forced = test::below(random, 4);
    std::vector<std::size_t> sizes;
    for (std::size_t a = 0; a < n; ++a) sizes.push_back(1 + test::below(random, 4));
    std::vector<Scope> pairs;
    for (std::size_t k = 0; k < 3 * n; ++k) {
      const auto a = static_cast<std::int32_t>(test::below(random, n - 1));
      pairs.push_back({a, a + 1 + static_cast<std::int32_t>(test::below(random, n - 1 - at(a)))});
    }
    const double most = 30 + static_cast<double>(test::below(random, 300));
    Watch watch;
    const auto taken = choose_pairs(sizes, pairs, forced, most, kNever, watch);
    std::vector<Scope> chosen;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      chosen.push_back(pairs[i]);
      if (taken[i] == 0) {
        CHECK(eliminate_by_best_rule(sizes, chosen, most).order.empty());
        chosen.pop_back();
        ++refused;
      }
    }
    if (chosen.size() > forced) CHECK(eliminate(sizes, chosen, true).cells <= most);
  }
  CHECK(refused > 400);
}

TEST_CASE("of many pairs, refusals in a row take one search of an order") {
  std::mt19937_64 random(3);
  for (const std::size_t n : {40, 80}) {
    CAPTURE(n);
    std::vector<Scope> pairs;
    for (std::int32_t b = 1; at(b) < n; ++b) {
      for (std::int32_t a = 0; a < b; ++a) pairs.push_back({a, b});
    }
    std::ranges::shuffle(pairs, random);
    const std::vector<std::size_t> sizes(n, 2);
    Watch watch;
    const auto taken = choose_pairs(sizes, pairs, 0, 1e4, kNever, watch);
    std::vector<Scope> chosen;
    std::size_t runs = 0;
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      if (taken[i] != 0) chosen.push_back(pairs[i]);
      runs += i > 0 && taken[i] < taken[i - 1];
    }
    CHECK(eliminate(sizes, chosen, false).cells <= 1e4);
    CHECK(pairs.size() - chosen.size() > 500);
    CHECK(watch.steps.load() <= 10 + runs);
  }
}

TEST_CASE("it ends after so many refusals in a row, or once nobody waits") {
  const std::vector<std::size_t> sizes(6, 10);
  const std::vector<Scope> pairs{{0, 1}, {2, 3}, {0, 2}, {1, 2}, {4, 5}};
  Watch watch;
  CHECK(choose_pairs(sizes, pairs, 9, 1, 1, watch) == std::vector<std::uint8_t>{1, 1, 1, 1, 1});
  CHECK(choose_pairs(sizes, pairs, 1, 250, kNever, watch) == std::vector<std::uint8_t>{1, 1, 0, 0, 0});
  watch.over = true;
  CHECK(choose_pairs(sizes, pairs, 2, 1e6, kNever, watch) == std::vector<std::uint8_t>{1, 1, 0, 0, 0});
}

}  // namespace
}  // namespace pypgm
