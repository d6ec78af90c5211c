#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "core/queries/contraction_planner.hpp"
#include "core/queries/contraction_run.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

struct ContractionCase {
  std::vector<std::size_t> sizes;
  std::vector<Leaf> leaves;
  std::vector<std::vector<double>> tables;
  Axes keep;
};

Axes some_axes(std::mt19937_64& random, std::size_t n, std::size_t most) {
  Axes all(n);
  std::iota(all.begin(), all.end(), 0);
  for (std::size_t i = n; i > 1; --i) std::swap(all[i - 1], all[test::below(random, i)]);
  all.resize(test::below(random, std::min(n, most) + 1));
  return all;
}

/// Tables with their axes in any order, logarithms and signed weights of mild to extreme spread.
ContractionCase random_case(std::mt19937_64& random, bool negative) {
  ContractionCase c;
  const std::size_t n = 1 + test::below(random, 6);
  for (std::size_t i = 0; i < n; ++i) c.sizes.push_back(1 + test::below(random, 4));
  const std::size_t n_leaves = 1 + test::below(random, 7);
  for (std::size_t k = 0; k < n_leaves; ++k) {
    const Axes axes = some_axes(random, n, 4);
    const bool logarithms = !negative || test::below(random, 2) == 0;
    std::vector<double> table = test::random_potentials(random, cells_of(c.sizes, axes));
    if (!logarithms) {
      for (double& x : table) x = std::isinf(x) ? 0.0 : (test::uniform(random) - 0.5) * std::exp(x * 0.01);
    }
    c.leaves.push_back({axes, logarithms});
    c.tables.push_back(table);
  }
  c.keep = some_axes(random, n, 3);
  return c;
}

std::size_t cell_at(const std::vector<std::size_t>& sizes, const Axes& axes,
                    const std::vector<std::size_t>& values) {
  return test::cell_of(sizes, axes, values);
}

/// The attributes some leaf or the answer has; a sum over the others is none.
std::vector<std::size_t> sizes_in_use(const ContractionCase& c) {
  std::vector<std::uint8_t> used(c.sizes.size(), 0);
  for (const Leaf& leaf : c.leaves) {
    for (const std::int32_t a : leaf.axes) used[static_cast<std::size_t>(a)] = 1;
  }
  for (const std::int32_t a : c.keep) used[static_cast<std::size_t>(a)] = 1;
  std::vector<std::size_t> sizes = c.sizes;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (used[i] == 0) sizes[i] = 1;
  }
  return sizes;
}

/// Calls body(cell of the answer, log of the magnitude, sign) for each joint assignment.
template <class Body>
void for_terms(const ContractionCase& c, const Body& body) {
  test::for_assignments(sizes_in_use(c), [&](const std::vector<std::size_t>& values) {
    double log = 0;
    double sign = 1;
    for (std::size_t k = 0; k < c.leaves.size(); ++k) {
      const double x = c.tables[k][cell_at(c.sizes, c.leaves[k].axes, values)];
      log += c.leaves[k].logarithms ? x : std::log(std::abs(x));
      if (!c.leaves[k].logarithms && x < 0) sign = -sign;
    }
    body(cell_at(c.sizes, c.keep, values), log, sign);
  });
}

struct Answer {
  std::vector<double> cells;
  double log_scale = 0;
};

Answer ask(const Contraction& plan, const ContractionCase& c, Semiring semiring, int n_threads) {
  Answer answer{std::vector<double>(cells_of(c.sizes, c.keep))};
  std::vector<std::span<const double>> leaves(c.tables.begin(), c.tables.end());
  const std::span<double> out(answer.cells);
  Watch watch;
  run_contraction(plan, leaves, semiring, {&out, 1}, {&answer.log_scale, 1}, n_threads, watch);
  return answer;
}

Contraction plan_of(const ContractionCase& c, std::mt19937_64& random) {
  Axes order;
  if (test::below(random, 2) == 0) {
    order.resize(c.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[test::below(random, i)]);
  }
  return plan_elimination(c.sizes, c.leaves, c.keep, order);
}

TEST_CASE("sums of products of random tables, signs, zeros and all ranges") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 3000; ++round) {
    CAPTURE(round);
    const ContractionCase c = random_case(random, round % 2 == 0);
    const Answer found = ask(plan_of(c, random), c, Semiring::sum, 1);
    double top = -kInfinity;
    for_terms(c, [&](std::size_t, double log, double) { top = std::max(top, log); });
    if (top == -kInfinity) {
      for (const double x : found.cells) CHECK(x == 0);
      continue;
    }
    std::vector<double> wanted(found.cells.size());
    std::vector<double> magnitude(found.cells.size());
    for_terms(c, [&](std::size_t cell, double log, double sign) {
      wanted[cell] += sign * std::exp(log - top);
      magnitude[cell] += std::exp(log - top);
    });
    const double largest = *std::max_element(magnitude.begin(), magnitude.end());
    // Logarithms near 1e5 are themselves rounded at 1e-11.
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      CHECK(std::abs(found.cells[i] * std::exp(found.log_scale - top) - wanted[i]) <= 3e-10 * largest);
    }
  }
}

TEST_CASE("largest products") {
  std::mt19937_64 random(12);
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    const ContractionCase c = random_case(random, false);
    const Answer found = ask(plan_of(c, random), c, Semiring::max, 1);
    std::vector<double> wanted(found.cells.size(), -kInfinity);
    for_terms(c, [&](std::size_t cell, double log, double) { wanted[cell] = std::max(wanted[cell], log); });
    CHECK(found.log_scale == 0);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool same = wanted[i] == found.cells[i];
      CHECK((same || std::abs(wanted[i] - found.cells[i]) <= 1e-10));
    }
  }
}

TEST_CASE("what underflows in products is found with an exponent for each cell") {
  // Every second table is against 0, the others against 1: no product of two of them is a double above 0.
  ContractionCase c{{2, 2, 2, 2, 2, 2, 2}, {}, {}, {0, 6}};
  for (std::int32_t i = 0; i < 6; ++i) {
    c.leaves.push_back({{i, i + 1}, true});
    c.tables.push_back(i % 2 == 0 ? std::vector<double>{0.0, -kInfinity, -kInfinity, -800.0}
                                  : std::vector<double>{-800.0, -kInfinity, -kInfinity, 0.0});
  }
  c.leaves.push_back({{6}, false});
  c.tables.push_back({0.25, -0.5});
  const Contraction plan = plan_elimination(c.sizes, c.leaves, c.keep, {});
  const Answer found = ask(plan, c, Semiring::sum, 1);
  const double scale = std::exp(found.log_scale + 2400.0);
  CHECK(found.cells[0] * scale == doctest::Approx(0.25).epsilon(1e-11));
  CHECK(found.cells[3] * scale == doctest::Approx(-0.5).epsilon(1e-11));
  CHECK(found.cells[1] == 0);
}

TEST_CASE("tables of very large and very small weights") {
  ContractionCase c{{2, 2},
                    {{{0, 1}, false}, {{1}, false}, {{1}, false}},
                    {{1e300, -2e300, 0, 1e-300}, {1e300, 1e300}, {1, 1}},
                    {0}};
  const Answer found = ask(plan_elimination(c.sizes, c.leaves, c.keep, {}), c, Semiring::sum, 1);
  CHECK(found.cells[0] == doctest::Approx(-std::exp(600 * std::log(10.0) - found.log_scale)).epsilon(1e-12));
  const double scaled = std::exp(-found.log_scale);
  CHECK(std::abs(found.cells[1] - scaled) <= 1e-300);
}

TEST_CASE("the bits do not depend on threads, nor on where a step is cut") {
  std::mt19937_64 random(13);
  ContractionCase c{{40, 50, 7, 60, 3, 90}, {}, {}, {5, 0, 3}};
  const std::vector<Axes> scopes = {{0, 1, 2, 3}, {5, 4, 1}, {2, 5, 3}, {4}};
  for (const Axes& axes : scopes) {
    std::vector<double> table(cells_of(c.sizes, axes));
    for (double& x : table) x = test::uniform(random) - 0.3;
    c.leaves.push_back({axes, false});
    c.tables.push_back(table);
  }
  const Contraction plan = plan_elimination(c.sizes, c.leaves, c.keep, {});
  const Answer one = ask(plan, c, Semiring::sum, 1);
  for (const int threads : {2, 3, 8}) {
    const Answer more = ask(plan, c, Semiring::sum, threads);
    CHECK(more.log_scale == one.log_scale);
    CHECK(std::memcmp(more.cells.data(), one.cells.data(), 8 * one.cells.size()) == 0);
  }
  double wanted = 0;  // one cell by hand
  for (std::size_t b = 0; b < 50; ++b) {
    for (std::size_t k = 0; k < 7; ++k) {
      for (std::size_t e = 0; e < 3; ++e) {
        wanted += c.tables[0][((11 * 50 + b) * 7 + k) * 60 + 17] * c.tables[1][(42 * 3 + e) * 50 + b] *
                  c.tables[2][(k * 90 + 42) * 60 + 17] * c.tables[3][e];
      }
    }
  }
  CHECK(one.cells[(42 * 40 + 11) * 60 + 17] * std::exp(one.log_scale) ==
        doctest::Approx(wanted).epsilon(1e-12));
}

TEST_CASE("a plan says what it takes") {
  const std::vector<std::size_t> sizes(14, 10);
  Axes all(14);
  std::iota(all.begin(), all.end(), 0);
  const Contraction wide = plan_elimination(sizes, {{all, true}}, {0}, {});
  CHECK(wide.cost.bytes > 7.9e14);
  const Contraction chain = plan_elimination(sizes, {{{0, 1}, true}, {{1, 2}, true}}, {0, 2}, {});
  CHECK(chain.cost.operations == 1000);
  CHECK(chain.cost.bytes ==
        8 * 300);  // two exponentials and, of one table, exponents; the answer is the caller's
  CHECK(chain.cost.largest == Axes{0, 2});
}

TEST_CASE("an attribute only the answer has is repeated, and one nobody has is left alone") {
  const ContractionCase c{{2, 3, 5}, {{{0}, false}}, {{1.0, 3.0}}, {1, 0}};
  const Answer found = ask(plan_elimination(c.sizes, c.leaves, c.keep, {}), c, Semiring::sum, 1);
  CHECK(found.cells == std::vector<double>{1, 3, 1, 3, 1, 3});
}

}  // namespace
}  // namespace pypgm
