#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "core/simd/row_kernels.hpp"

namespace pypgm {

extern const RowKernels row_kernels_baseline;
#if defined(__x86_64__) && defined(__GNUC__)
extern const RowKernels row_kernels_avx2;
extern const RowKernels row_kernels_avx512;
#endif

namespace {

/// The sets of loops this machine runs.
std::vector<const RowKernels*> sets() {
  std::vector<const RowKernels*> all{&row_kernels_baseline};
#if defined(__x86_64__) && defined(__GNUC__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) all.push_back(&row_kernels_avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl")) {
    all.push_back(&row_kernels_avx512);
  }
#endif
  return all;
}

/// Tables of one run of rows, with a number behind each that must not change.
struct Example {
  RowGrid rows;
  std::vector<double> weights, along, across;

  std::size_t cells() const { return rows.n * rows.outer.size * rows.inner.size; }
  /// Calls body(cell, place along, place across) for all cells.
  template <class Body>
  void for_cells(const Body& body) const {
    std::size_t cell = 0;
    for (std::size_t o = 0; o < rows.outer.size; ++o) {
      for (std::size_t i = 0; i < rows.inner.size; ++i) {
        for (std::size_t k = 0; k < rows.n; ++k) {
          body(cell++, o * rows.outer.along + i * rows.inner.along + k,
               o * rows.outer.across + i * rows.inner.across);
        }
      }
    }
  }
  double marginal(std::size_t cell, std::size_t by_cell, std::size_t by_row) const {
    return weights[cell] * along[by_cell] * across[by_row];
  }
};

constexpr double kGuard = 12345.0;
constexpr double kRounding = 2e-15;

Example make_example(std::size_t n, std::size_t outer, std::size_t inner, bool outer_along, bool inner_across,
                     std::mt19937_64& random) {
  std::uniform_real_distribution<double> some(0.1, 1.0);
  const auto table = [&](std::size_t size) {
    std::vector<double> numbers(size + 1);
    for (double& x : numbers) x = some(random);
    numbers.back() = kGuard;
    return numbers;
  };
  Example e;
  const std::size_t rows_across = inner_across ? inner : 1;
  e.rows = {
      n, {outer, outer_along ? n : 0, rows_across}, {inner, outer_along ? 0 : n, inner_across ? 1u : 0u}};
  e.weights = table(e.cells());
  e.along = table(n * (outer_along ? outer : inner));
  e.across = table(outer * rows_across);
  e.weights[e.cells() / 2] = 0;  // a structural zero
  return e;
}

template <class Body>
void for_examples(const Body& body) {
  std::mt19937_64 random(11);
  for (const RowKernels* set : sets()) {
    for (const std::size_t n : {1, 2, 3, 4, 5, 7, 8, 10, 12, 16, 17, 20, 24, 31, 50}) {
      for (const std::size_t outer : {1, 3, 10}) {
        for (const std::size_t inner : {1, 2, 7}) {
          CAPTURE(n);
          CAPTURE(outer);
          CAPTURE(inner);
          for (const bool along : {false, true}) {
            body(*set, make_example(n, outer, inner, along, along || inner == 7, random));
          }
        }
      }
    }
  }
}

void check_close(const std::vector<double>& got, const std::vector<double>& wanted, double scale) {
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) <= scale * 1e-15);
}

TEST_CASE("sums over rows are those of plain loops") {
  for_examples([](const RowKernels& set, const Example& e) {
    std::vector<double> along(e.along.size(), 0.25);
    std::vector<double> across(e.across.size(), 0.25);
    std::vector<double> wanted_along = along;
    std::vector<double> wanted_across = across;
    e.for_cells([&](std::size_t cell, std::size_t by_cell, std::size_t by_row) {
      wanted_along[by_cell] += e.weights[cell] * e.across[by_row];
      wanted_across[by_row] += e.marginal(cell, by_cell, by_row);
    });
    set.sum_along(e.rows, e.weights.data(), e.across.data(), along.data());
    set.sum_across(e.rows, e.weights.data(), e.along.data(), e.across.data(), across.data());
    const double scale = static_cast<double>(e.cells() + 4);
    check_close(along, wanted_along, scale);
    check_close(across, wanted_across, scale);
    std::vector<double> again_along(e.along.size(), 0.25);
    std::vector<double> again_across(e.across.size(), 0.25);
    std::vector<double> product(e.cells() + 1, kGuard);
    set.multiply(e.rows, e.weights.data(),
                 {e.along.data(), e.across.data(), again_along.data(), again_across.data()}, product.data());
    check_close(again_across, wanted_across, scale);
    std::vector<double> sums(e.along.size(), 0.25);
    e.for_cells([&](std::size_t cell, std::size_t by_cell, std::size_t by_row) {
      CHECK(std::abs(product[cell] - e.marginal(cell, by_cell, by_row)) <= kRounding * product[cell]);
      sums[by_cell] += product[cell];
    });
    check_close(again_along, sums, scale);
    CHECK(product.back() == kGuard);
  });
}

}  // namespace
}  // namespace pypgm
