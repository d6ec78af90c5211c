#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/exact/contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/inference.hpp"
#include "core/exact/map.hpp"
#include "random_problems.hpp"

namespace pypgm {
namespace {

TEST_CASE("contractions of three tables, whoever has which attribute") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const std::size_t n = 1 + test::below(random, 5);
    std::vector<std::size_t> sizes(n);
    for (std::size_t& s : sizes) s = 1 + test::below(random, round % 3 == 0 ? 20 : 4);
    std::uint64_t bits[3] = {0, 0, 0};
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t who = 1 + test::below(random, 7);
      for (std::size_t t = 0; t < 3; ++t) bits[t] |= static_cast<std::uint64_t>(who >> t & 1) << i;
    }
    const auto cells = [&](std::uint64_t b) {
      std::size_t c = 1;
      for (std::size_t i = 0; i < n; ++i) c *= (b >> i & 1) != 0 ? sizes[i] : 1;
      return c;
    };
    std::vector<double> a(cells(bits[0])), b(cells(bits[1])), out(cells(bits[2]), 7.0),
        wanted(out.size(), 0.0);
    for (double& x : a) x = test::uniform(random);
    for (double& x : b) x = test::uniform(random);
    test::for_assignments(sizes, [&](const auto& values) {
      std::size_t at[3] = {0, 0, 0};
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t t = 0; t < 3; ++t) {
          if ((bits[t] >> i & 1) != 0) at[t] = at[t] * sizes[i] + static_cast<std::size_t>(values[i]);
        }
      }
      wanted[at[2]] += a[at[0]] * b[at[1]];
    });
    contract(make_loops(sizes, bits[0], bits[1], bits[2]), a.data(), b.data(), out.data(), 1);
    for (std::size_t i = 0; i < out.size(); ++i) {
      CHECK(std::abs(out[i] - wanted[i]) <= 1e-13 * (1 + wanted[i]));
    }
  }
}

/// What the contraction itself says, without the way out by logarithms.
Outcome run(const JunctionTree& tree, const std::vector<double>& potentials, double& log_z,
            std::vector<double>& marginals, int n_threads) {
  const Observation observation(tree, potentials, {});
  FactoredWork work(observation.factored());
  const Outcome forward = factored_forward(observation, work, log_z, n_threads);
  if (forward != Outcome::exact) return forward;
  return factored_backward(observation, work, {50.0, marginals, {}}, n_threads);
}

TEST_CASE("what is called exact is, what is called impossible is, and mild models are never lost") {
  std::mt19937_64 random(22);
  int lost = 0;
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    const test::Structure s = test::random_structure(random, 1 + test::below(random, 6), 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    const test::BruteForce wanted(s, potentials, 50.0);
    double log_z = 0;
    std::vector<double> marginals(potentials.size());
    const Outcome outcome = run(tree, potentials, log_z, marginals, 1);
    double widest = 0;
    for (const double p : potentials) {
      if (p != -kInfinity) widest = std::max(widest, std::abs(p));
    }
    if (widest <= 40) CHECK(outcome != Outcome::lost);
    lost += outcome == Outcome::lost ? 1 : 0;
    if (outcome == Outcome::impossible) CHECK(wanted.log_z == -kInfinity);
    if (outcome != Outcome::exact) continue;
    CHECK(std::abs(log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
    for (std::size_t i = 0; i < marginals.size(); ++i) {
      CHECK(std::abs(marginals[i] - wanted.marginals[i]) <= 1e-10 * 50);
    }
  }
  CHECK(lost > 0);
}

TEST_CASE("a loss of digits that matters is reported, one that does not is not") {
  // Two factors that meet only below the smallest double, and a factor whose smallest weight nobody misses.
  test::Structure s;
  s.sizes = {2};
  s.cliques = {{0}, {0}};
  double log_z = 0;
  std::vector<double> marginals(4);
  CHECK(run(test::tree_of(s), {0.0, -800.0, -800.0, 0.0}, log_z, marginals, 1) == Outcome::lost);
  CHECK(run(test::tree_of(s), {0.0, -800.0, 0.0, 0.0}, log_z, marginals, 1) == Outcome::exact);
  CHECK(marginals[0] == 50.0);
  CHECK(run(test::tree_of(s), {0.0, -kInfinity, -kInfinity, 0.0}, log_z, marginals, 1) ==
        Outcome::impossible);
}

TEST_CASE("evidence on the same attributes is planned once, and others take their turn") {
  std::mt19937_64 random(25);
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const test::Structure s = test::random_structure(random, 2 + test::below(random, 5), 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    for (const std::int32_t attribute : {0, 0, 1, 0}) {
      const std::size_t size = s.sizes[static_cast<std::size_t>(attribute)];
      std::vector<double> value(size, -kInfinity);
      value[test::below(random, size)] = 0;
      const std::vector<Evidence> evidence = {{attribute, value}};
      std::vector<double> found(potentials.size()), wanted(potentials.size());
      const double log_z = exact_marginals(tree, potentials, evidence, 50.0, found, 1);
      CHECK(log_z == exact_marginals(test::tree_of(s), potentials, evidence, 50.0, wanted, 1));
      CHECK(found == wanted);
      const Observation once(tree, potentials, evidence), again(tree, potentials, evidence);
      CHECK(&once.factored() == &again.factored());
    }
  }
}

TEST_CASE("buffers used again give what new ones give, lost runs and impossible ones between them") {
  std::mt19937_64 random(24);
  int lost = 0;
  for (int round = 0; round < 40; ++round) {
    const test::Structure s = test::all_pairs(random);
    const JunctionTree tree = test::tree_of(s);
    ExactWork work(tree);
    REQUIRE(work.is_factored());
    for (int again = 0; again < 5; ++again) {
      CAPTURE(round);
      CAPTURE(again);
      std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
      if (again == 3) std::fill_n(potentials.begin(), 16, -kInfinity);
      std::vector<double> given = potentials;
      std::vector<double> wanted(potentials.size()), found(potentials.size());
      std::vector<int> calls(s.cliques.size(), 0);
      CliqueHooks hooks;
      hooks.before = [&](int f) {
        for (double& x : slice(tree, given, f)) x -= 1;
        ++calls[static_cast<std::size_t>(f)];
      };
      hooks.after = [&](int f) { ++calls[static_cast<std::size_t>(f)]; };
      for (double& x : given) x += 1;
      const double log_z = exact_marginals(tree, potentials, {}, 50.0, wanted, 1);
      const double same = exact_marginals(tree, given, 50.0, work, found, 2, hooks);
      const double largest = work.max_log_weight(potentials, 2);
      const test::BruteForce by_hand(s, potentials, 50.0);
      const bool possible = log_z > -kInfinity;
      if (possible) CHECK(largest == doctest::Approx(by_hand.largest).epsilon(1e-12));
      if (!possible) CHECK(largest == -kInfinity);
      CHECK(possible == (by_hand.log_z > -kInfinity));
      for (const int n : calls) CHECK(n == (possible ? 2 : 1));
      if (!possible) {
        CHECK(same == log_z);
        continue;
      }
      CHECK(same == doctest::Approx(log_z).epsilon(1e-12));
      for (std::size_t i = 0; i < found.size(); ++i) {
        CHECK(std::abs(found[i] - wanted[i]) <= 1e-7);
        CHECK(std::abs(found[i] - by_hand.marginals[i]) <= 1e-7);
      }
      double scale = 0;
      std::vector<double> own(potentials.size());
      lost += run(tree, potentials, scale, own, 1) == Outcome::lost ? 1 : 0;
    }
  }
  CHECK(lost > 0);
}

TEST_CASE("pairs between two layers: threads do not change a bit, and nothing as large as a clique is held") {
  test::Structure s;
  s.sizes.assign(32, 2);
  for (std::int32_t i = 0; i < 16; ++i) {
    for (std::int32_t j = 16; j < 32; ++j) s.cliques.push_back({i, j});
  }
  const JunctionTree tree = test::tree_of(s);
  std::mt19937_64 random(23);
  std::vector<double> potentials(test::cells_of(s));
  for (double& p : potentials) p = 2 * test::uniform(random) - 1;
  std::vector<double> one(potentials.size()), several(potentials.size());
  const double log_z = exact_marginals(tree, potentials, {}, 1.0, one, 1);
  for (const int n_threads : {2, 3}) {
    CHECK(exact_marginals(tree, potentials, {}, 1.0, several, n_threads) == log_z);
    CHECK(std::memcmp(one.data(), several.data(), one.size() * sizeof(double)) == 0);
  }
  CHECK(static_cast<double>(tree.factored->cells) < 1.1 * tree.cost.cells);
  // The largest term of a sum is less than the sum, and at least its 2^-32.
  const MostProbable map = most_probable(tree, potentials, {});
  CHECK(map.log_weight < log_z);
  CHECK(map.log_weight > log_z - 32 * std::log(2.0));
}

}  // namespace
}  // namespace pypgm
