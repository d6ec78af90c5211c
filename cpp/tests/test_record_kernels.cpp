// Loops over rows of excess counts against plain ones, bit by bit: any order of lanes gives the same sums.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/simd/record_kernels.hpp"

using namespace pypgm;

TEST_CASE("the least sum of rows is the first of the smallest ones") {
  std::mt19937 random(1);
  std::uniform_int_distribution<int> counts(-3, 3);
  for (std::size_t n = 1; n < 70; ++n) {
    for (std::size_t n_rows = 1; n_rows < 6; ++n_rows) {
      std::vector<std::vector<float>> rows(n_rows, std::vector<float>(n + kReadBeyond, -100));
      std::vector<const float*> starts;
      for (auto& row : rows) {
        for (std::size_t v = 0; v < n; ++v) {
          row[v] =
              random() % 8 == 0 ? std::numeric_limits<float>::infinity() : static_cast<float>(counts(random));
        }
        starts.push_back(row.data());
      }
      Least expected{std::numeric_limits<float>::infinity(), 0};
      for (std::size_t v = 0; v < n; ++v) {
        float sum = 0;
        for (const auto& row : rows) sum += row[v];
        if (sum < expected.value) expected = {sum, static_cast<std::uint32_t>(v)};
      }
      const Least found = record_kernels().least_sum(starts.data(), n_rows, n);
      CHECK(found.value == expected.value);
      if (std::isfinite(expected.value)) CHECK(found.at == expected.at);
    }
  }
}

TEST_CASE("distances leave out structural zeros, and cells are looked up without the record itself") {
  const float infinite = std::numeric_limits<float>::infinity();
  const std::vector<float> cells{1, -2, infinite, 4, -5, 6, 7, -8, 9, infinite, -11};
  for (std::size_t n = 0; n <= cells.size(); ++n) {
    double expected = 0;
    for (std::size_t i = 0; i < n; ++i) expected += std::isfinite(cells[i]) ? std::abs(cells[i]) : 0;
    CHECK(record_kernels().finite_l1(cells.data(), n) == expected);
  }
  const std::vector<std::uint32_t> values{0, 1, 2, 0, 4};
  std::vector<std::uint32_t> shift{1, 1, 0, 1, 0};
  record_kernels().add_steps(values.data(), 2, 5, shift.data());
  CHECK(shift == std::vector<std::uint32_t>{1, 3, 4, 1, 8});
  std::vector<float> sums(5, 0.5F);
  record_kernels().add_cells(cells.data(), shift.data(), 3, 5, sums.data());
  CHECK(sums == std::vector<float>{-1.5F, 3.5F, -4.5F, -1.5F, 9.5F});
  record_kernels().add(cells.data(), 2, sums.data());
  CHECK(sums == std::vector<float>{-0.5F, 1.5F, -4.5F, -1.5F, 9.5F});
}
