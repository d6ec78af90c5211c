#include <doctest/doctest.h>

#include <cmath>
#include <memory>
#include <random>
#include <vector>

#include "core/exact/assignments.hpp"
#include "core/exact/propagation.hpp"
#include "core/fit/acceleration.hpp"
#include "core/fit/certificate.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

using test::kTotal;

/// Calls body(codes, weight) for every joint assignment.
template <class Body>
void for_all(const JunctionTree& tree, const std::vector<double>& potentials, const Body& body) {
  std::vector<std::int32_t> codes(tree.sizes.size(), 0);
  for (;;) {
    double weight = 0;
    std::vector<std::size_t> cells;
    for (std::size_t f = 0; f < tree.scopes.size(); ++f) {
      std::size_t cell = 0;
      for (const std::int32_t x : tree.scopes[f]) {
        cell = cell * tree.sizes[static_cast<std::size_t>(x)] +
               static_cast<std::size_t>(codes[static_cast<std::size_t>(x)]);
      }
      cells.push_back(tree.factors[f].offset + cell);
      weight += potentials[cells.back()];
    }
    body(codes, cells, weight);
    std::size_t i = codes.size();
    while (i > 0 && static_cast<std::size_t>(++codes[i - 1]) == tree.sizes[i - 1]) codes[--i] = 0;
    if (i == 0) return;
  }
}

TEST_CASE("the heaviest assignment through each cell by brute force, ties and impossible cells included") {
  std::mt19937_64 random(41);
  for (int round = 0; round < 150; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    for (double& x : p.potentials) {
      x = test::below(random, 8) == 0 ? -kInfinity : std::round(3 * x);
    }
    const JunctionTree tree = test::tree_of(p.structure);
    std::vector<double> through(p.potentials.size(), -kInfinity);
    double largest = -kInfinity;
    for_all(tree, p.potentials, [&](const auto&, const auto& cells, double weight) {
      largest = std::max(largest, weight);
      for (const std::size_t cell : cells) through[cell] = std::max(through[cell], weight);
    });
    Assignments assignments(tree);
    CHECK(assignments.maximise(p.potentials, 1) == largest);
    std::vector<std::int32_t> codes(tree.sizes.size());
    for (std::size_t f = 0; f < tree.scopes.size(); ++f) {
      for (std::size_t cell = 0; cell < tree.factors[f].layout.small; ++cell) {
        const std::size_t place = tree.factors[f].offset + cell;
        CHECK(assignments.through()[place] == through[place]);
        if (through[place] == -kInfinity) continue;
        assignments.heaviest(static_cast<int>(f), cell, codes);
        bool met = false;
        for_all(tree, p.potentials, [&](const auto& other, const auto& cells, double weight) {
          if (other == codes) met = cells[f] == place && weight == through[place];
        });
        CHECK(met);
      }
    }
  }
}

TEST_CASE("assignments are drawn as often as their weights say") {
  std::mt19937_64 random(42);
  for (int round = 0; round < 10; ++round) {
    CAPTURE(round);
    const test::Problem p = test::random_problem(random);
    const JunctionTree tree = test::tree_of(p.structure);
    const std::size_t n = 20000;
    const std::vector<std::int32_t> records = Assignments(tree).draw(p.potentials, n, 7, 1);
    std::vector<double> counts(p.potentials.size(), 0.0);
    for (std::size_t r = 0; r < n; ++r) {
      for (std::size_t f = 0; f < tree.scopes.size(); ++f) {
        std::size_t cell = 0;
        for (const std::int32_t x : tree.scopes[f]) {
          const auto a = static_cast<std::size_t>(x);
          cell = cell * tree.sizes[a] + static_cast<std::size_t>(records[r * tree.sizes.size() + a]);
        }
        counts[tree.factors[f].offset + cell] += 1.0 / static_cast<double>(n);
      }
    }
    const std::vector<double> expected = test::BruteForce(p.structure, p.potentials, 1.0).marginals;
    // Five standard deviations.
    for (std::size_t i = 0; i < counts.size(); ++i) {
      CHECK(std::abs(counts[i] - expected[i]) <= 5 * std::sqrt(expected[i] / static_cast<double>(n)) + 1e-12);
    }
  }
}

TEST_CASE("bounds are below every loss, and rise to the least one") {
  std::mt19937_64 random(43);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    test::Problem p = test::random_problem(random);
    if (p.measurements.empty()) continue;
    const auto tree = std::make_shared<JunctionTree>(test::tree_of(p.structure));
    Acceleration path(tree, p.measurements, kTotal, p.potentials, 1);
    for (int t = 1; t <= 1500; ++t) path.advance(0.002 * t, 2.0 / (t + 1));
    path.settle(10);
    const double loss = path.loss();
    Certificate certificate(tree, p.measurements, kTotal, path.potentials(), path.average(), 1);
    Certificate threaded(tree, p.measurements, kTotal, path.potentials(), path.average(), 3);
    CHECK(certificate.lower() >= loss - path.gap() - 1e-7 * (1 + loss));
    double before = certificate.lower();
    for (int k = 0; k < 60; ++k) {
      const double bound = certificate.round();
      CHECK(bound >= before);
      CHECK(bound <= loss + 1e-9 * (1 + loss));
      CHECK(threaded.round() == bound);
      before = bound;
    }
    CHECK(loss - before <= 1e-3 * (1 + loss));
  }
}

}  // namespace
}  // namespace pypgm
