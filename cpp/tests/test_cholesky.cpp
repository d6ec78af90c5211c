// Products and Cholesky factors against their definitions, for all rests of rows and lanes.
#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "core/fit/cholesky.hpp"

namespace {

using namespace pypgm;

std::vector<double> random_rows(std::size_t n, std::size_t inner, std::mt19937_64& random) {
  std::normal_distribution<double> normal;
  std::vector<double> rows(n * inner);
  for (double& x : rows) x = normal(random);
  return rows;
}

TEST_CASE("a factor times its transpose is the matrix, of whatever rank, and further rows are solved for") {
  std::mt19937_64 random(1);
  for (const std::size_t n : {1, 2, 3, 7, 8, 9, 33}) {
    for (const std::size_t rank : {std::size_t{1}, n / 2 + 1, n + 3}) {
      const std::vector<double> root = random_rows(n, rank, random);
      const std::vector<double> more = random_rows(5, rank, random);
      std::vector<double> all = root;
      all.insert(all.end(), more.begin(), more.end());
      std::vector<double> rows((n + 5) * n);
      multiply_rows(all, root, rank, rows);
      for (std::size_t i = 0; i < n + 5; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < rank; ++k) sum += all[i * rank + k] * root[j * rank + k];
          CHECK(rows[i * n + j] == doctest::Approx(sum).epsilon(1e-9));
        }
      }
      std::vector<double> factor = rows;
      factorise(factor, n);
      for (std::size_t i = 0; i < n + 5; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::size_t k = 0; k < n; ++k) sum += factor[i * n + k] * factor[j * n + k];
          CHECK(sum == doctest::Approx(rows[i * n + j]).epsilon(1e-6));
          if (i < j) CHECK(factor[i * n + j] == 0);
        }
      }
    }
  }
}

}  // namespace
