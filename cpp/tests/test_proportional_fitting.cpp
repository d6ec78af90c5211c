#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "core/fit/proportional_fitting.hpp"
#include "core/simd/reduce.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

/// All pairs of some attributes: one tree clique holds them.
test::Structure all_pairs(const std::vector<std::size_t>& sizes) {
  test::Structure s{sizes, {}};
  const auto n = static_cast<std::int32_t>(sizes.size());
  for (std::int32_t a = 0; a < n; ++a) {
    for (std::int32_t b = a + 1; b < n; ++b) s.cliques.push_back({a, b});
  }
  return s;
}

/// Marginals of a random table, as targets that can be met.
std::vector<double> random_targets(std::mt19937_64& random, const test::Structure& s, double zeros) {
  Scope all(s.sizes.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<double> joint(test::cells_of(s.sizes, all));
  for (double& x : joint) x = test::uniform(random) < zeros ? 0.0 : std::exp(3 * test::uniform(random));
  const double sum = std::accumulate(joint.begin(), joint.end(), 0.0);
  std::vector<double> targets;
  for (const Scope& scope : s.cliques) {
    std::vector<std::uint8_t> kept(s.sizes.size(), 0);
    for (const std::int32_t a : scope) kept[static_cast<std::size_t>(a)] = 1;
    const Layout layout = make_layout(s.sizes, kept);
    std::vector<double> marginal(layout.small);
    reduce_sum(joint, layout, marginal, 1);
    for (const double x : marginal) targets.push_back(x / sum);
  }
  return targets;
}

}  // namespace

TEST_CASE("fitting meets its targets, tables and potentials tell the same, on any number of threads") {
  std::mt19937_64 random(5);
  for (const double zeros : {0.0, 0.9995}) {
    const auto s = all_pairs({7, 6, 5, 4, 3, 2, 9});
    const auto tree = std::make_shared<const JunctionTree>(test::tree_of(s));
    const auto targets = random_targets(random, s, zeros);
    const std::vector<double> start(targets.size(), 0.0);
    std::vector<double> once;
    for (const int threads : {1, 2, 3}) {
      ProportionalFitting fitting(tree, targets, start, 1.0, threads);
      double distance = 1;
      for (int sweep = 0; sweep < 200 && distance > 1e-9; ++sweep) distance = fitting.sweep();
      CHECK(distance <= (zeros > 0 ? 1e-3 : 1e-9));
      std::vector<double> marginals(targets.size());
      exact_marginals(*tree, fitting.potentials(), {}, 1.0, marginals, 1);
      double apart = 0;
      for (std::size_t i = 0; i < targets.size(); ++i) apart += std::abs(marginals[i] - targets[i]);
      CHECK(apart <= (zeros > 0 ? 0.05 : 1e-7));
      if (once.empty()) once = fitting.tables();
      CHECK(std::memcmp(once.data(), fitting.tables().data(), once.size() * sizeof(double)) == 0);
      std::vector<double> tables(once.size());
      exact_tables(*tree, fitting.potentials(), {}, 1.0, tables, 1);
      double differ = 0;
      for (std::size_t i = 0; i < tables.size(); ++i) differ += std::abs(tables[i] - once[i]);
      CHECK(differ <= 1e-9 * static_cast<double>(tree->nodes.size()));
    }
  }
}

TEST_CASE("fitting walks a tree of many cliques") {
  std::mt19937_64 random(6);
  test::Structure s{{9, 8, 7, 9, 8, 7, 6}, {}};
  for (std::int32_t a = 0; a + 2 < 7; ++a) {
    s.cliques.push_back({a, a + 1});
    s.cliques.push_back({a, a + 2});
  }
  s.cliques.push_back({5, 6});
  const auto tree = std::make_shared<const JunctionTree>(test::tree_of(s));
  const auto targets = random_targets(random, s, 0.0);
  ProportionalFitting fitting(tree, targets, std::vector<double>(targets.size(), 0.0), 1.0, 1);
  for (int sweep = 0; sweep < 100; ++sweep) fitting.sweep();
  std::vector<double> tables(fitting.tables().size());
  exact_tables(*tree, fitting.potentials(), {}, 1.0, tables, 1);
  for (std::size_t i = 0; i < tables.size(); ++i) CHECK(std::abs(tables[i] - fitting.tables()[i]) < 1e-11);
  std::vector<double> marginals(targets.size());
  exact_marginals(*tree, fitting.potentials(), {}, 1.0, marginals, 1);
  for (std::size_t i = 0; i < targets.size(); ++i) CHECK(std::abs(marginals[i] - targets[i]) < 1e-10);
}

}  // namespace pypgm
