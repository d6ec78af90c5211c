#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

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
    asked += pairs.size();
    CHECK(cost_of_pairs(tree).bytes > 0);
  }
  CHECK(asked > 1000);
}

}  // namespace
}  // namespace pypgm
