#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

struct ReduceCase {
  std::vector<std::size_t> sizes;
  Scope all;
  Scope inner;
  Layout layout;
  std::vector<double> large;
  std::vector<double> small;
};

ReduceCase random_case(std::mt19937_64& random, std::vector<std::size_t> sizes) {
  ReduceCase c;
  c.sizes = std::move(sizes);
  std::vector<std::uint8_t> kept;
  for (std::size_t i = 0; i < c.sizes.size(); ++i) {
    kept.push_back(static_cast<std::uint8_t>(test::below(random, 2)));
    c.all.push_back(static_cast<std::int32_t>(i));
    if (kept.back() != 0) c.inner.push_back(static_cast<std::int32_t>(i));
  }
  c.layout = make_layout(c.sizes, kept);
  c.large.resize(c.layout.large);
  c.small.resize(c.layout.small);
  for (double& x : c.large) x = test::uniform(random) < 0.1 ? -kInfinity : 20 * test::uniform(random) - 10;
  for (double& x : c.small) x = 20 * test::uniform(random) - 10;
  return c;
}

/// Calls body(large cell, small cell) for all cells.
template <class Body>
void for_cells(const ReduceCase& c, const Body& body) {
  test::for_assignments(c.sizes, [&](const auto& values) {
    body(test::cell_of(c.sizes, c.all, values), test::cell_of(c.sizes, c.inner, values));
  });
}

bool same(const std::vector<double>& a, const std::vector<double>& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

void check_reductions(const ReduceCase& c) {
  std::vector<double> sums(c.layout.small, 0.0);
  std::vector<double> tops(c.layout.small, -kInfinity);
  std::vector<double> weights(c.layout.small, 0.0);
  std::vector<double> finite = c.large;
  for (double& x : finite) x = std::max(x, -10.0);
  for_cells(c, [&](std::size_t i, std::size_t j) {
    sums[j] += finite[i];
    tops[j] = std::max(tops[j], c.large[i]);
    weights[j] += std::exp(c.large[i]);
  });
  std::vector<double> out(c.layout.small);
  std::vector<double> scratch(c.layout.small);
  reduce_sum(finite, c.layout, out, 1);
  for (std::size_t j = 0; j < out.size(); ++j) CHECK(std::abs(out[j] - sums[j]) < 1e-10);
  reduce_max(c.large, c.layout, out, 1);
  CHECK(out == tops);
  reduce_logsumexp(c.large, c.layout, out, scratch, 1);
  for (std::size_t j = 0; j < out.size(); ++j) {
    if (weights[j] == 0) {
      CHECK(out[j] == -kInfinity);
    } else {
      CHECK(std::abs(out[j] - std::log(weights[j])) < 1e-12 * (1 + std::abs(out[j])));
    }
  }
}

void check_expansions(const ReduceCase& c) {
  std::vector<double> assigned = c.large;
  std::vector<double> added = c.large;
  std::vector<double> multiplied(c.large.size(), 3.0);
  expand(Expand::assign, assigned, c.layout, c.small, 1);
  expand(Expand::add, added, c.layout, c.small, 1);
  expand(Expand::multiply, multiplied, c.layout, c.small, 1);
  for_cells(c, [&](std::size_t i, std::size_t j) {
    CHECK(assigned[i] == c.small[j]);
    CHECK(added[i] == c.large[i] + c.small[j]);
    CHECK(multiplied[i] == 3.0 * c.small[j]);
  });
}

TEST_CASE("reductions and expansions against plain loops") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 150; ++round) {
    std::vector<std::size_t> sizes(test::below(random, 6));
    for (std::size_t& size : sizes) size = 1 + test::below(random, 5);
    const ReduceCase c = random_case(random, sizes);
    check_reductions(c);
    check_expansions(c);
  }
  for (int round = 0; round < 8; ++round) {
    const ReduceCase c = random_case(random, {3, 40, 2, 33});
    check_reductions(c);
    check_expansions(c);
  }
  for (std::size_t run = 2; run < 36; ++run) {  // short runs, worked on with as many others or one by one
    for (const std::size_t count : {7, 8, 19}) check_expansions(random_case(random, {2, count, run}));
  }
}

TEST_CASE("weights of rows: exponentials less a number for each row, and what they sum to") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<std::size_t> sizes(1 + test::below(random, 4));
    for (std::size_t& size : sizes) size = 1 + test::below(random, 12);
    if (round % 6 == 0) sizes = {3, 40, 2, 33};
    const ReduceCase c = random_case(random, sizes);
    std::vector<double> sums(c.layout.small, 0.0);
    for_cells(c, [&](std::size_t i, std::size_t j) { sums[j] += std::exp(c.large[i] - c.small[j]); });
    std::vector<double> found(c.layout.small, 0.0);
    std::vector<double> cells(c.large.size());
    kernels().exp_rows(c.large.data(), c.small.data(), cells.data(), found.data(), c.layout);
    for (std::size_t j = 0; j < sums.size(); ++j) CHECK(std::abs(found[j] - sums[j]) <= 1e-12 * sums[j]);
    for_cells(c, [&](std::size_t i, std::size_t j) {
      const double wanted = std::exp(c.large[i] - c.small[j]);
      CHECK(std::abs(cells[i] - wanted) <= 1e-14 * wanted);
    });
    // In place, the same bits.
    std::vector<double> same_cells = c.large;
    std::vector<double> again(c.layout.small, 0.0);
    kernels().exp_rows(same_cells.data(), c.small.data(), same_cells.data(), again.data(), c.layout);
    CHECK(same(same_cells, cells));
    CHECK(same(again, found));
  }
}

TEST_CASE("rows of -inf, and logarithms of any size") {
  const std::vector<std::size_t> sizes{3, 2};
  const Layout layout = make_layout(sizes, std::vector<std::uint8_t>{1, 0});
  const std::vector<double> table{-kInfinity, -kInfinity, 1e4, 1e4, -1e4, -kInfinity};
  std::vector<double> out(3);
  std::vector<double> scratch(3);
  reduce_logsumexp(table, layout, out, scratch, 1);
  CHECK(out[0] == -kInfinity);
  CHECK(out[1] == doctest::Approx(1e4 + std::log(2.0)).epsilon(1e-15));
  CHECK(out[2] == -1e4);
}

TEST_CASE("threads do not change a bit") {
  std::mt19937_64 random(3);
  for (const auto& sizes :
       {std::vector<std::size_t>{300, 500}, {7, 211, 101}, {2, 3, 200, 150}, {50, 60, 50}}) {
    for (int round = 0; round < 8; ++round) {
      const ReduceCase c = random_case(random, sizes);
      std::vector<double> one(c.layout.small);
      std::vector<double> several(c.layout.small);
      std::vector<double> scratch(c.layout.small);
      for (const int n_threads : {2, 3, 5}) {
        reduce_sum(c.large, c.layout, one, 1);
        reduce_sum(c.large, c.layout, several, n_threads);
        CHECK(same(one, several));
        reduce_max(c.large, c.layout, one, 1);
        reduce_max(c.large, c.layout, several, n_threads);
        CHECK(same(one, several));
        reduce_logsumexp(c.large, c.layout, one, scratch, 1);
        reduce_logsumexp(c.large, c.layout, several, scratch, n_threads);
        CHECK(same(one, several));
        std::vector<double> left = c.large;
        std::vector<double> right = c.large;
        expand(Expand::add, left, c.layout, c.small, 1);
        expand(Expand::add, right, c.layout, c.small, n_threads);
        CHECK(same(left, right));
      }
    }
  }
}

}  // namespace
}  // namespace pypgm
