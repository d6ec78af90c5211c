// Records on several threads, which the sanitizer of threads sees.
#include <doctest/doctest.h>

#include <cstdint>
#include <random>
#include <vector>

#include "core/records/sampling.hpp"

using namespace pypgm;

TEST_CASE("records are the same on any number of threads, and dealt ones too") {
  constexpr std::size_t kRows = 150'001;
  std::mt19937 random(3);
  std::vector<double> first(6 * 200);
  std::vector<double> second(200 * 3 * 300);
  for (double& x : first) x = static_cast<double>(1 + random() % 100);
  for (double& x : second) x = static_cast<double>(1 + random() % 100);
  const auto drawn = [&](int n_threads) {
    RecordSampler sampler(kRows, 5, 7, n_threads);
    sampler.draw({first, {0, 1}, {6, 200}, {0, 0}, {1, 0}});
    sampler.draw({second, {1, 2, 3}, {200, 3, 300}, {1, 0, 0}, {0, 1, 1}});
    std::vector<std::int32_t> counts(2, 0);
    std::vector<std::int64_t> cells{0, 1};
    counts[0] = kRows / 3;
    counts[1] = static_cast<std::int32_t>(kRows) - counts[0];
    sampler.deal({{}, {4}, {2}, {0}, {0}}, {cells, counts});
    std::vector<Codes> columns;
    for (std::size_t a = 0; a < sampler.n_attributes(); ++a) columns.push_back(sampler.take_column(a));
    return columns;
  };
  const std::vector<Codes> one = drawn(1);
  for (const int n_threads : {2, 3}) CHECK(drawn(n_threads) == one);
}
