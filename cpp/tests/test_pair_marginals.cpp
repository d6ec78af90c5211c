#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/queries/carried_pairs.hpp"
#include "core/queries/pair_marginals.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

TEST_CASE("pairs that no clique holds, of random trees with zeros, sums of the joint distribution") {
  std::mt19937_64 random(29);
  std::size_t asked = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const test::Structure structure = test::random_structure(random, 2 + test::below(random, 6), 3);
    const JunctionTree tree = test::tree_of(structure);
    test::Structure wanted = structure;
    std::vector<double> potentials(test::cells_of(structure));
    for (double& p : potentials) p = test::uniform(random) < 0.1 ? -kInfinity : 3 * test::uniform(random);
    for (const TreeNode& node : tree.nodes) wanted.cliques.push_back(node.attributes);
    std::vector<Pair> pairs;
    for (std::int32_t b = 1; at(b) < tree.sizes.size(); ++b) {
      for (std::int32_t a = 0; a < b; ++a) {
        const bool held = std::ranges::any_of(tree.nodes, [&](const TreeNode& node) {
          return contains(node.attributes, a) && contains(node.attributes, b);
        });
        CHECK((held_pairs(tree, std::vector<Pair>{{a, b}})[0] != 0) == held);
        if (held) continue;
        pairs.emplace_back(a, b);
        wanted.cliques.push_back({a, b});
      }
    }
    std::vector<double> all = potentials;
    all.resize(test::cells_of(wanted), 0.0);
    const test::BruteForce brute(wanted, all, 9.0);
    std::vector<std::span<const double>> tables;
    const double* next = brute.marginals.data() + potentials.size();
    std::vector<std::vector<double>> found;
    for (std::size_t i = structure.cliques.size(); i < wanted.cliques.size(); ++i) {
      const std::size_t cells = test::cells_of(wanted.sizes, wanted.cliques[i]);
      if (i < structure.cliques.size() + tree.nodes.size()) {
        tables.emplace_back(next, cells);
        next += cells;
      } else {
        found.emplace_back(cells, -1.0);
      }
    }
    const std::vector<std::span<double>> out(found.begin(), found.end());
    Watch watch;
    pair_marginals(tree, tables, 0.0, pairs, out, watch);
    for (const std::vector<double>& table : found) {
      for (const double x : table) CHECK(x == doctest::Approx(*next++).epsilon(1e-12));
    }
    const std::vector<std::vector<double>> at_once = found;
    std::vector<Pair> turned;
    for (const auto& [a, b] : pairs) turned.emplace_back(b, a);
    carried_pairs(tree, tables, 0.0, turned, out, watch);
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const std::size_t rows = tree.sizes[at(pairs[i].first)], columns = tree.sizes[at(pairs[i].second)];
      for (std::size_t x = 0; x < rows; ++x) {
        for (std::size_t y = 0; y < columns; ++y)
          CHECK(found[i][y * rows + x] == doctest::Approx(at_once[i][x * columns + y]).epsilon(1e-12));
      }
    }
    asked += pairs.size();
    CHECK(cost_of_pairs(tree).bytes > 0);
  }
  CHECK(asked > 1000);
}

TEST_CASE(
    "one attribute with all others takes a visit to each clique, and near pairs no way through the tree") {
  const std::int32_t n = 1000;
  test::Structure chain{std::vector<std::size_t>(n, 2), {}};
  for (std::int32_t i = 1; i < n; ++i) chain.cliques.push_back({i - 1, i});
  const JunctionTree tree = test::tree_of(chain);
  const std::vector<double> table{0.4, 0.1, 0.1, 0.4};
  const std::vector<std::span<const double>> tables(tree.nodes.size(), table);
  std::vector<Pair> pairs;
  for (std::int32_t i = 2; i < n; ++i) pairs.emplace_back(0, i);
  std::vector<std::vector<double>> found(pairs.size(), std::vector<double>(4));
  const std::vector<std::span<double>> out(found.begin(), found.end());
  Watch far, near;
  carried_pairs(tree, tables, 0.0, pairs, out, far);
  CHECK(far.steps == tree.nodes.size());
  // Two values, of four cells: a pass to copy, to multiply, for the next and for each answer.
  CHECK(operations_in_turn(tree, pairs) == 8.0 * static_cast<double>(3 * tree.nodes.size() + pairs.size()));
  CHECK(found[3][0] == doctest::Approx(0.25 + 0.25 * std::pow(0.6, 5)));
  for (std::int32_t i = 2; i < n; ++i) pairs[at(i) - 2] = {i, i - 2};
  carried_pairs(tree, tables, 0.0, pairs, out, near);
  CHECK(near.steps <= 4 * pairs.size());
  CHECK(operations_in_turn(tree, pairs) <= 8.0 * 13 * static_cast<double>(pairs.size()));
  CHECK(found.back()[1] == doctest::Approx(0.25 - 0.25 * 0.36));
}

}  // namespace
}  // namespace pypgm
