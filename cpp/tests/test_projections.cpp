#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/queries/contraction_run.hpp"
#include "core/queries/projections.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

/// A random model with its tree, the marginals of all tables a plan may ask for, and its joint distribution.
struct Model {
  test::Structure structure;
  JunctionTree tree;
  std::vector<Scope> known_scopes;
  std::vector<std::vector<double>> cliques;
  std::vector<std::vector<double>> inverses;
  std::vector<std::vector<double>> known;
  std::vector<double> joint;  ///< in C order over all attributes

  explicit Model(std::mt19937_64& random)
      : structure(test::random_structure(random, 1 + test::below(random, 7), 3)),
        tree(test::tree_of(structure)) {
    std::vector<double> potentials(test::cells_of(structure));
    for (double& p : potentials) p = test::uniform(random) < 0.1 ? -kInfinity : 3 * test::uniform(random);
    Scope all(structure.sizes.size());
    std::iota(all.begin(), all.end(), 0);
    test::Structure whole = structure;
    whole.cliques.push_back(all);
    potentials.resize(test::cells_of(whole), 0.0);
    const test::BruteForce wanted(whole, potentials, 1.0);
    joint.assign(wanted.marginals.end() - static_cast<std::ptrdiff_t>(test::cells_of(structure.sizes, all)),
                 wanted.marginals.end());
    for (const TreeNode& node : tree.nodes) {
      cliques.push_back(marginal(node.attributes));
      inverses.push_back(marginal(node.edge.separator));
      for (double& x : inverses.back()) x = x > 0 ? 1 / x : 0.0;
    }
    if (!structure.cliques.empty()) known_scopes.push_back(structure.cliques[0]);
    for (const Scope& scope : known_scopes) known.push_back(marginal(scope));
  }

  std::vector<double> marginal(const Scope& scope) const {
    std::vector<double> cells(test::cells_of(structure.sizes, scope), 0.0);
    std::size_t i = 0;
    test::for_assignments(structure.sizes, [&](const std::vector<std::size_t>& values) {
      cells[test::cell_of(structure.sizes, scope, values)] += joint[i++];
    });
    return cells;
  }
};

TEST_CASE("answers of random trees, values and blocks, alone and at once") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const Model model(random);
    const std::size_t n = model.structure.sizes.size();
    std::vector<QueryBlock> blocks;
    std::vector<std::vector<double>> matrices;
    for (std::size_t a = 0; a < n; ++a) {
      blocks.push_back({static_cast<std::int32_t>(a), 1 + test::below(random, 3)});
      std::vector<double> matrix(blocks[a].rows * model.structure.sizes[a]);
      for (double& x : matrix) x = test::uniform(random) - 0.5;
      matrices.push_back(matrix);
    }
    std::vector<Projection> asked;
    for (int k = 0; k < 5; ++k) {
      Projection projection;
      for (std::size_t a = 0; a < n; ++a) {
        if (test::below(random, 2) != 0) continue;
        projection.attributes.push_back(static_cast<std::int32_t>(a));
        projection.blocks.push_back(test::below(random, 2) == 0 ? static_cast<int>(a) : -1);
      }
      if (k % 2 == 1) {
        std::reverse(projection.attributes.begin(), projection.attributes.end());
        std::reverse(projection.blocks.begin(), projection.blocks.end());
      }
      asked.push_back(projection);
    }
    const ProjectionPlan plan = plan_projections(model.tree, model.known_scopes, blocks, asked);
    std::vector<std::span<const double>> leaves;
    for (const auto& [source, index] : plan.sources) {
      const auto& tables = source == Source::clique              ? model.cliques
                           : source == Source::inverse_separator ? model.inverses
                           : source == Source::known             ? model.known
                                                                 : matrices;
      leaves.emplace_back(tables[static_cast<std::size_t>(index)]);
    }
    std::vector<std::vector<double>> answers;
    std::vector<std::vector<double>> wanted;
    for (const Projection& projection : asked) {
      std::size_t cells = 1;
      for (std::size_t i = 0; i < projection.blocks.size(); ++i) {
        const auto a = static_cast<std::size_t>(projection.attributes[i]);
        cells *= projection.blocks[i] < 0 ? model.structure.sizes[a] : blocks[a].rows;
      }
      answers.emplace_back(cells);
      wanted.emplace_back(cells, 0.0);
      // Every answer of every row, weighed with its entries.
      for (std::size_t cell = 0; cell < cells; ++cell) {
        std::size_t k = 0;
        test::for_assignments(model.structure.sizes, [&](const std::vector<std::size_t>& values) {
          double weight = model.joint[k++];
          std::size_t rest = cell;
          for (std::size_t i = projection.blocks.size(); i-- > 0;) {
            const auto a = static_cast<std::size_t>(projection.attributes[i]);
            const std::size_t size = model.structure.sizes[a];
            const std::size_t rows = projection.blocks[i] < 0 ? size : blocks[a].rows;
            const std::size_t row = rest % rows;
            rest /= rows;
            weight *= projection.blocks[i] < 0 ? (row == values[a] ? 1.0 : 0.0)
                                               : matrices[a][row * size + values[a]];
          }
          wanted.back()[cell] += weight;
        });
      }
    }
    std::vector<std::span<double>> out(answers.begin(), answers.end());
    std::vector<double> log_scales(out.size());
    Watch watch;
    run_contraction(plan.contraction, leaves, Semiring::sum, out, log_scales, 1, watch);
    for (std::size_t k = 0; k < answers.size(); ++k) {
      for (std::size_t i = 0; i < answers[k].size(); ++i) {
        CHECK(std::abs(answers[k][i] * std::exp(log_scales[k]) - wanted[k][i]) <= 1e-12);
      }
    }
  }
}

TEST_CASE("messages go to where they are cheapest, and only as far as they must") {
  // A chain of ten pairs of 20 values; its middle gets messages from both ends.
  test::Structure chain{std::vector<std::size_t>(11, 20), {}};
  for (std::int32_t i = 0; i < 10; ++i) chain.cliques.push_back({i, i + 1});
  const JunctionTree tree = test::tree_of(chain);
  const auto cost = [&](const Axes& attributes) {
    return plan_projections(tree, {}, {}, {{attributes, std::vector<int>(attributes.size(), -1)}})
        .contraction.cost;
  };
  CHECK(cost({3, 4}).operations == 400);
  CHECK(cost({3, 5}).operations <= 400 + 8000);
  CHECK(cost({0, 5, 10}).largest_cells == 8000);
  // Eight products of 20^3 along the arms, then one of 20^4 where they meet.
  CHECK(cost({0, 5, 10}).operations <= 10 * 8000 + 2 * 160000);
}

}  // namespace
}  // namespace pypgm
