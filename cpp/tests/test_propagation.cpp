#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/exact/inference.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

struct Answer {
  double log_z;
  std::vector<double> marginals;
};

Answer ask(const JunctionTree& tree, const std::vector<double>& potentials, double total, int n_threads,
           const std::vector<Evidence>& evidence = {}) {
  Answer answer{0, std::vector<double>(potentials.size())};
  answer.log_z = exact_marginals(tree, potentials, evidence, total, answer.marginals, n_threads);
  return answer;
}

void check_against(const test::BruteForce& wanted, const Answer& found, double total) {
  CHECK(std::abs(found.log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
  for (std::size_t i = 0; i < found.marginals.size(); ++i) {
    // Logarithms near 1e5 are themselves rounded at 1e-11.
    CHECK(std::abs(found.marginals[i] - wanted.marginals[i]) <= 1e-10 * total);
    CHECK(found.marginals[i] >= 0);
  }
}

TEST_CASE("marginals, log Z and the largest weight of random models, zeros and all ranges") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    const test::Structure s = test::random_structure(random, 1 + test::below(random, 6), 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    const test::BruteForce wanted(s, potentials, 50.0);
    const double largest = exact_max_log_weight(tree, potentials, {}, 1);
    const double log_z = exact_log_partition(tree, potentials, {}, 1);
    const Answer found = ask(tree, potentials, 50.0, 1);
    if (wanted.log_z == -kInfinity) {
      CHECK(log_z == -kInfinity);
      CHECK(found.log_z == -kInfinity);
      CHECK(largest == -kInfinity);
    } else {
      CHECK(std::abs(largest - wanted.largest) <= 1e-13 * (1 + std::abs(wanted.largest)));
      CHECK(std::abs(log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
      check_against(wanted, found, 50.0);
    }
  }
}

TEST_CASE("evidence is one more potential on its attribute") {
  std::mt19937_64 random(8);
  for (int round = 0; round < 200; ++round) {
    test::Structure s = test::random_structure(random, 5, 4);
    const JunctionTree tree = test::tree_of(s);
    std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    std::vector<std::vector<double>> likelihoods;
    for (const std::size_t size : s.sizes) likelihoods.push_back(test::random_potentials(random, size));
    std::vector<Evidence> evidence;
    const std::size_t given = potentials.size();
    std::vector<double> all = potentials;
    for (std::int32_t a = 0; a < 5; ++a) {
      const auto& likelihood = likelihoods[static_cast<std::size_t>(a)];
      evidence.push_back({a, likelihood});
      s.cliques.push_back({a});
      all.insert(all.end(), likelihood.begin(), likelihood.end());
    }
    test::BruteForce wanted(s, all, 1.0);
    wanted.marginals.resize(given);
    const Answer found = ask(tree, potentials, 1.0, 1, evidence);
    if (wanted.log_z == -kInfinity) {
      CHECK(found.log_z == -kInfinity);
    } else {
      check_against(wanted, found, 1.0);
    }
  }
}

/// A chain of pairs over attributes of two values.
test::Structure chain(std::int32_t n) {
  test::Structure s;
  s.sizes.assign(static_cast<std::size_t>(n), 2);
  for (std::int32_t a = 0; a + 1 < n; ++a) s.cliques.push_back({a, a + 1});
  return s;
}

/// Marginals of a chain by forward and backward messages in logarithms.
std::vector<double> chain_marginals(const std::vector<double>& potentials, double& log_z) {
  const std::size_t pairs = potentials.size() / 4;
  const auto add = [](double a, double b) {
    const double top = std::max(a, b);
    return top == -kInfinity ? top : top + std::log(std::exp(a - top) + std::exp(b - top));
  };
  std::vector<double> ahead(2 * pairs + 2, 0.0);
  std::vector<double> behind(2 * pairs + 2, 0.0);
  for (std::size_t t = 0; t < pairs; ++t) {
    for (std::size_t j = 0; j < 2; ++j) {
      ahead[2 * t + 2 + j] =
          add(ahead[2 * t] + potentials[4 * t + j], ahead[2 * t + 1] + potentials[4 * t + 2 + j]);
    }
  }
  for (std::size_t t = pairs; t-- > 0;) {
    for (std::size_t i = 0; i < 2; ++i) {
      behind[2 * t + i] = add(behind[2 * t + 2] + potentials[4 * t + 2 * i],
                              behind[2 * t + 3] + potentials[4 * t + 2 * i + 1]);
    }
  }
  log_z = add(behind[0], behind[1]);
  std::vector<double> marginals(potentials.size());
  for (std::size_t t = 0; t < pairs; ++t) {
    for (std::size_t cell = 0; cell < 4; ++cell) {
      marginals[4 * t + cell] =
          std::exp(ahead[2 * t + cell / 2] + potentials[4 * t + cell] + behind[2 * t + 2 + cell % 2] - log_z);
    }
  }
  return marginals;
}

TEST_CASE("long chains whose potentials contradict each other agree with logarithms") {
  std::mt19937_64 random(9);
  for (const double depth : {1.0, 100.0, 350.0, 500.0, 700.0, 740.0, 745.0, 750.0, 800.0, 5000.0}) {
    for (int round = 0; round < 6; ++round) {
      CAPTURE(depth);
      CAPTURE(round);
      const test::Structure s = chain(60);
      std::vector<double> potentials(test::cells_of(s));
      for (double& p : potentials) {
        const double kind = test::uniform(random);
        p = kind < 0.45 ? 0.0 : (kind < 0.9 ? -depth : -depth * test::uniform(random));
      }
      const Answer found = ask(test::tree_of(s), potentials, 1.0, 1);
      double log_z = 0;
      const std::vector<double> wanted = chain_marginals(potentials, log_z);
      CHECK(std::abs(found.log_z - log_z) <= 1e-12 * (1 + std::abs(log_z)));
      for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(std::abs(found.marginals[i] - wanted[i]) <= 1e-9);
    }
  }
}

TEST_CASE("stars whose leaves outvote the centre bit by bit") {
  // Each leaf takes a little off one value of the centre; together they take it below every double, and then
  // the centre's own potential gives it back.
  for (const double each : {-10.0, -30.0, -90.0}) {
    test::Structure s;
    s.sizes.assign(31, 2);
    std::vector<double> potentials;
    for (std::int32_t leaf = 1; leaf < 31; ++leaf) {
      s.cliques.push_back({0, leaf});
      potentials.insert(potentials.end(), {0.0, -1.0, each, each - 0.5});
    }
    s.cliques.push_back({0});
    potentials.insert(potentials.end(), {0.0, -30 * each});
    const Answer found = ask(test::tree_of(s), potentials, 1.0, 1);
    const double first = 30 * std::log1p(std::exp(-1.0));
    const double second = 30 * std::log1p(std::exp(-0.5));
    const double log_z = second + std::log1p(std::exp(first - second));
    CHECK(found.log_z == doctest::Approx(log_z).epsilon(1e-12));
    CHECK(found.marginals[found.marginals.size() - 2] ==
          doctest::Approx(std::exp(first - log_z)).epsilon(1e-10));
  }
}

TEST_CASE("what a leaf lost is found to matter only on the way down") {
  // The leaf's own potential all but rules its second value out; the rest of the tree asks for exactly that.
  std::mt19937_64 random(12);
  for (const double depth : {300.0, 600.0, 690.0, 720.0, 760.0, 1500.0}) {
    for (int round = 0; round < 40; ++round) {
      CAPTURE(depth);
      CAPTURE(round);
      test::Structure s;
      s.sizes.assign(6, 3);
      s.cliques = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {2, 4}, {5}};
      std::vector<double> potentials(test::cells_of(s));
      for (double& p : potentials) {
        p = 50 + depth * (test::below(random, 3) == 0 ? -1.0 : 0.0) + 3 * test::uniform(random);
        if (test::below(random, 3) == 0) p -= depth * test::uniform(random);
      }
      const test::BruteForce wanted(s, potentials, 9.0);
      check_against(wanted, ask(test::tree_of(s), potentials, 9.0, 1), 9.0);
    }
  }
}

TEST_CASE("threads do not change a bit, with plain weights and with cell exponents") {
  std::mt19937_64 random(10);
  test::Structure s;
  s.sizes = {40, 50, 40, 3, 60, 45, 44, 5, 5, 5, 5};
  s.cliques = {{0, 1, 2}, {2, 3, 4}, {0}, {1, 2}, {2, 5, 6}, {4}, {6, 7}, {7, 8}, {8, 9}, {9, 10}};
  const JunctionTree tree = test::tree_of(s);
  for (const double spread : {2.0, 900.0}) {
    std::vector<double> potentials(test::cells_of(s));
    for (double& p : potentials) p = spread * (2 * test::uniform(random) - 1);
    const Answer one = ask(tree, potentials, 1e4, 1);
    for (const int n_threads : {2, 3, 7}) {
      const Answer several = ask(tree, potentials, 1e4, n_threads);
      CHECK(one.log_z == several.log_z);
      CHECK(std::memcmp(one.marginals.data(), several.marginals.data(),
                        one.marginals.size() * sizeof(double)) == 0);
    }
  }
}

TEST_CASE("buffers can be used again, whatever was in it") {
  std::mt19937_64 random(11);
  const test::Structure s = chain(12);
  const JunctionTree tree = test::tree_of(s);
  ExactWork work(tree);
  for (int round = 0; round < 20; ++round) {
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    std::vector<double> marginals(potentials.size());
    const double log_z = exact_marginals(tree, potentials, 3.0, work, marginals, 1);
    const Answer fresh = ask(tree, potentials, 3.0, 1);
    CHECK(log_z == fresh.log_z);
    if (log_z > -kInfinity) CHECK(marginals == fresh.marginals);
  }
}

TEST_CASE("every clique is prepared and handed over once, however far potentials lie apart") {
  std::mt19937_64 random(13);
  test::Structure s;
  s.sizes.assign(6, 3);
  s.cliques = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 5}, {2, 4}, {5}};
  const JunctionTree tree = test::tree_of(s);
  ExactWork work(tree);
  REQUIRE_FALSE(work.is_factored());
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const double depth = std::vector<double>{5.0, 600.0, 720.0, 1500.0}[static_cast<std::size_t>(round % 4)];
    std::vector<double> potentials(test::cells_of(s));
    for (double& p : potentials) {
      p = -depth * static_cast<double>(test::below(random, 2)) + 3 * test::uniform(random);
      if (test::below(random, 3) == 0) p -= depth * test::uniform(random);
    }
    const test::BruteForce wanted(s, potentials, 4.0);
    std::vector<double> given = potentials;
    for (double& p : given) p += 1;
    std::vector<int> before(s.cliques.size(), 0);
    std::vector<double> found(given.size()), handed(given.size(), -1.0);
    CliqueHooks hooks;
    hooks.before = [&](int f) {
      for (double& p : slice(tree, given, f)) p -= 1;
      ++before[static_cast<std::size_t>(f)];
    };
    hooks.after = [&](int f) {
      const auto to = slice(tree, handed, f);
      CHECK(to[0] == -1.0);
      std::copy_n(slice(tree, found, f).begin(), to.size(), to.begin());
    };
    const double log_z = exact_marginals(tree, given, 4.0, work, found, 1, hooks);
    for (const int n : before) CHECK(n == 1);
    check_against(wanted, {log_z, handed}, 4.0);
    check_against(wanted, {log_z, found}, 4.0);
    std::vector<double> tables(tree.nodes.back().offset + tree.nodes.back().cells);
    CHECK(exact_tables(tree, potentials, {}, 4.0, tables, 1) == doctest::Approx(wanted.log_z).epsilon(1e-12));
    for (const TreeNode& node : tree.nodes) {
      for (const int f : node.factors) {
        if (!tree.factors[static_cast<std::size_t>(f)].view.fills) continue;
        const auto first = static_cast<std::ptrdiff_t>(tree.factors[static_cast<std::size_t>(f)].offset);
        for (std::size_t i = 0; i < node.cells; ++i) {
          CHECK(std::abs(tables[node.offset + i] - wanted.marginals[static_cast<std::size_t>(first) + i]) <
                1e-9);
        }
      }
    }
  }
}

}  // namespace
}  // namespace pypgm
