#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/exact/extended_contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/inference.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

constexpr double kTotal = 50.0;

/// A run that may extend its tables from the start.
struct Extended {
  Outcome outcome = Outcome::lost;
  double log_z = -kInfinity;
  std::vector<double> marginals;
  bool any = false;  ///< whether a table of the forward pass was extended at its end

  Extended(const JunctionTree& tree, const std::vector<double>& potentials, int n_threads,
           const std::vector<Evidence>& evidence = {})
      : marginals(potentials.size(), -1.0) {
    const Observation observation(tree, potentials, evidence);
    FactoredWork work(observation.factored());
    work.may_extend = true;
    outcome = factored_forward(observation, work, log_z, n_threads);
    for (const Weights& value : work.values) any = any || value.extended;
    if (outcome != Outcome::exact) return;
    outcome = factored_backward(observation, work, {kTotal, marginals, {}}, n_threads);
    log_z += observation.log_weight;
  }
};

void check_marginals(const std::vector<double>& found, const std::vector<double>& wanted, double tolerance) {
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(std::abs(found[i] - wanted[i]) <= tolerance * wanted[i] + 1e-290);
  }
}

TEST_CASE("weights with powers of two: taken apart and put together") {
  std::vector<double> weights = {0.0, 1.0, 1.5, 2.0, 0x1p-900, 0x1.8p300, std::nan(""), 3.0, 0.75};
  std::vector<double> exponents(weights.size(), 10.0);
  const std::vector<double> before = weights;
  CHECK(extended_kernels().any_below(weights.data(), 1e-300, weights.size()));
  CHECK_FALSE(extended_kernels().any_below(weights.data(), 0.0, weights.size()));
  extended_kernels().split(weights.data(), exponents.data(), weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(before[i] > 0)) continue;
    CHECK(weights[i] >= 1);
    CHECK(weights[i] < 2);
    CHECK(std::ldexp(weights[i], static_cast<int>(exponents[i]) - 10) == before[i]);
  }
  CHECK(weights[0] == 0);
  CHECK(exponents[0] == -kInfinity);
  CHECK(std::isnan(weights[6]));
  CHECK(exponents[6] == 0);
  const std::vector<double> powers = {0.0, kLeastPower, kLeastPower - 1, -kInfinity, -1e300, 10, -1, -2, 1};
  std::vector<double> out(powers.size());
  const std::vector<double> ones(powers.size(), 1.0);
  extended_kernels().weigh(ones.data(), powers.data(), ones.size(), out.data());
  CHECK(out == std::vector<double>{1, 0x1p-1000, 0, 0, 0, 1024, 0.5, 0.25, 2});
}

TEST_CASE("extended tables of random models are those of all assignments, zeros and all ranges") {
  std::mt19937_64 random(31);
  int extended = 0;
  for (int round = 0; round < 800; ++round) {
    CAPTURE(round);
    const test::Structure s = round % 4 == 0 ? test::all_pairs(random)
                                             : test::random_structure(random, 1 + test::below(random, 6), 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    const test::BruteForce wanted(s, potentials, kTotal);
    const Extended found(tree, potentials, 1);
    REQUIRE((found.outcome == Outcome::impossible) == (wanted.log_z == -kInfinity));
    if (found.outcome == Outcome::impossible) continue;
    REQUIRE(found.outcome == Outcome::exact);
    extended += found.any ? 1 : 0;
    CHECK(std::abs(found.log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
    check_marginals(found.marginals, wanted.marginals, 1e-10);
  }
  CHECK(extended > 100);
}

/// Pairs of a ring and its chords whose potentials cannot all be had.
std::vector<double> frustrated(const test::Structure& s, std::mt19937_64& random, double strength) {
  std::vector<double> potentials;
  for (const Scope& clique : s.cliques) {
    const auto sign = test::below(random, 2) == 0 ? 1.0 : -1.0;
    const std::size_t columns = s.sizes[static_cast<std::size_t>(clique.back())];
    const std::size_t cells = test::cells_of(s.sizes, clique);
    for (std::size_t i = 0; i < cells; ++i) {
      const bool same = i / columns == i % columns;
      potentials.push_back((same ? sign : -sign) * strength + 5 * test::uniform(random));
    }
  }
  return potentials;
}

TEST_CASE("potentials of +-3000 that contradict each other") {
  std::mt19937_64 random(32);
  int lost = 0;
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const test::Structure s = test::all_pairs(random);
    const JunctionTree tree = test::tree_of(s);
    std::vector<double> potentials = frustrated(s, random, 3000.0);
    if (round % 3 == 0) std::fill_n(potentials.begin() + 3, 3, -kInfinity);
    const test::BruteForce wanted(s, potentials, kTotal);
    const Extended one(tree, potentials, 1);
    const Extended two(tree, potentials, 2);
    REQUIRE(one.outcome == Outcome::exact);
    CHECK(one.any);
    CHECK(std::abs(one.log_z - wanted.log_z) <= 1e-12 * std::abs(wanted.log_z));
    check_marginals(one.marginals, wanted.marginals, 1e-10);
    CHECK(two.log_z == one.log_z);
    CHECK(std::memcmp(one.marginals.data(), two.marginals.data(), potentials.size() * sizeof(double)) == 0);
    std::vector<double> answered(potentials.size());
    CHECK(exact_log_partition(tree, potentials, {}, 1) == doctest::Approx(wanted.log_z).epsilon(1e-12));
    ExactWork work(tree);
    REQUIRE(work.is_factored());
    for (int again = 0; again < 2; ++again) {
      const double log_z = exact_marginals(tree, potentials, kTotal, work, answered, 1);
      CHECK(log_z == doctest::Approx(wanted.log_z).epsilon(1e-12));
      check_marginals(answered, wanted.marginals, 1e-10);
    }
    lost += work.factored().may_extend ? 1 : 0;
    const std::vector<double> mild(potentials.size(), 0.0);
    exact_marginals(tree, mild, kTotal, work, answered, 1);
    CHECK_FALSE(work.factored().may_extend);
  }
  CHECK(lost > 10);
}

TEST_CASE("likelihoods as far apart as the potentials") {
  std::mt19937_64 random(33);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const test::Structure s = test::all_pairs(random);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = frustrated(s, random, round % 2 == 0 ? 1000.0 : 1.0);
    std::vector<std::vector<double>> likelihoods;
    test::Structure with = s;
    std::vector<double> together = potentials;
    for (std::int32_t a = 0; a < 3; ++a) {
      likelihoods.emplace_back();
      for (std::size_t i = 0; i < s.sizes[static_cast<std::size_t>(a)]; ++i) {
        likelihoods.back().push_back(4000 * test::uniform(random) - 2000);
      }
      if (round % 5 == 0) likelihoods.back()[0] = -kInfinity;
      with.cliques.push_back({a});
      together.insert(together.end(), likelihoods.back().begin(), likelihoods.back().end());
    }
    std::vector<Evidence> evidence;
    for (std::int32_t a = 0; a < 3; ++a) evidence.push_back({a, likelihoods[static_cast<std::size_t>(a)]});
    test::BruteForce wanted(with, together, kTotal);
    wanted.marginals.resize(potentials.size());
    const Extended found(tree, potentials, 1, evidence);
    REQUIRE(found.outcome == Outcome::exact);
    CHECK(std::abs(found.log_z - wanted.log_z) <= 1e-12 * std::abs(wanted.log_z));
    check_marginals(found.marginals, wanted.marginals, 1e-10);
    std::vector<double> answered(potentials.size());
    exact_marginals(tree, potentials, evidence, kTotal, answered, 1);
    for (std::size_t i = 0; i < answered.size(); ++i) {
      CHECK(std::abs(answered[i] - wanted.marginals[i]) <= 1e-10 * kTotal);
    }
  }
}

TEST_CASE("zeros that leave nothing, NaN, and potentials beyond every integer") {
  test::Structure s;
  s.sizes = {2, 2};
  s.cliques = {{0, 1}, {0, 1}};
  const JunctionTree tree = test::tree_of(s);
  const Extended nothing(tree, {0, -kInfinity, -900, -kInfinity, -kInfinity, 0, -kInfinity, 900}, 1);
  CHECK(nothing.outcome == Outcome::impossible);
  const Extended unknown(tree, {0, std::nan(""), -900, 0, 0, 0, 0, 900}, 1);
  CHECK(std::isnan(unknown.log_z));
  CHECK(std::isnan(unknown.marginals[0]));
  const Extended huge(tree, {0, -1e300, -900, 0, 1e17, 0, 0, 1e17}, 1);
  CHECK(huge.log_z == doctest::Approx(1e17));
  CHECK(huge.marginals[0] == doctest::Approx(25).epsilon(1e-12));
  CHECK(huge.marginals[1] == 0);
}

TEST_CASE("large extended tables: threads do not change a bit") {
  test::Structure s;
  s.sizes = {70, 60, 50, 6, 5};
  for (std::int32_t i = 0; i < 5; ++i) {
    for (std::int32_t j = i + 1; j < 5; ++j) s.cliques.push_back({i, j});
  }
  const JunctionTree tree = test::tree_of(s);
  std::mt19937_64 random(34);
  const std::vector<double> potentials = frustrated(s, random, 800.0);
  const Extended one(tree, potentials, 1);
  REQUIRE(one.outcome == Outcome::exact);
  CHECK(one.any);
  for (const int n_threads : {2, 3}) {
    const Extended several(tree, potentials, n_threads);
    CHECK(several.log_z == one.log_z);
    CHECK(std::memcmp(one.marginals.data(), several.marginals.data(), potentials.size() * sizeof(double)) ==
          0);
  }
}

}  // namespace
}  // namespace pypgm
