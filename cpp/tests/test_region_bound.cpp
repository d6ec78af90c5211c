#include <doctest/doctest.h>

#include <limits>
#include <memory>
#include <random>

#include "core/regions/convex_gbp.hpp"
#include "core/regions/local_polytope.hpp"
#include "core/regions/region_bound.hpp"
#include "random_problems.hpp"
#include "region_graphs.hpp"

using namespace pypgm;

namespace {

std::vector<double> random_numbers(std::mt19937& rng, std::size_t n, double least, double most) {
  std::vector<double> numbers(n);
  for (double& v : numbers) v = std::uniform_real_distribution<double>(least, most)(rng);
  return numbers;
}

/// Triples and a pair inside one of them that only groups of the triple's cells measure; single attributes
/// without a measurement lie below.
struct BoundCase {
  RegionGraph graph;
  L2Loss loss;
  L2Path path;
};

BoundCase random_case(std::mt19937& rng, double total) {
  const std::vector<Scope> cliques{{0, 1, 2}, {1, 2, 3}, {0, 3}};
  RegionGraph graph = test::closed_graph(std::vector<std::size_t>{2, 3, 2, 3}, cliques);
  L2Loss loss(graph.regions.size(), total);
  for (const int r : {0, 1}) {
    const std::size_t cells = graph.regions[static_cast<std::size_t>(r)].cells;
    loss.add({r, {}, random_numbers(rng, cells, -5, 30), random_numbers(rng, cells, 0.2, 2), {}});
  }
  loss.add({0, test::make_partition({0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}, 2), {70, 20}, {0.5}, {}});
  const SharedMap sparse = std::make_shared<const LinearMap>(
      LinearMap{6, 2, {0, 1, 1, 0, 0, 1}, {0, 2, 2, 3, 4, 5, 6}, {1, -0.5, 2, 1, -1, 0.3}, true});
  const bool groups = std::bernoulli_distribution()(rng);
  loss.add({2, groups ? test::make_partition({0, 1, 0, 1, 0, 1}, 2) : sparse, {30, 40}, {1.0, 2.0}, {}});
  L2Path path(graph.regions.size());  // its average is where the tangents are taken
  path.start(loss, 0, std::vector<double>{0.2, 0.1, 0.1, 0.1, 0.05, 0.05, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05});
  path.start(loss, 2, std::vector<double>{0.3, 0.1, 0.2, 0.1, 0.2, 0.1});
  return {std::move(graph), std::move(loss), std::move(path)};
}

double loss_at(BoundCase& c, std::span<const double> beliefs) {
  double loss = 0;
  for (int r = 0; static_cast<std::size_t>(r) < c.graph.regions.size(); ++r) {
    const Region& region = c.graph.regions[static_cast<std::size_t>(r)];
    loss += c.loss.value(r, beliefs.subspan(region.offset, region.cells));
  }
  return loss;
}

}  // namespace

TEST_CASE("no locally consistent beliefs have a loss below the bound, whatever the messages") {
  std::mt19937 rng(3);
  const double total = 100;
  for (int round = 0; round < 50; ++round) {
    BoundCase c = random_case(rng, total);
    const auto graph = std::make_shared<RegionGraph>(c.graph);
    ConvexGbp gbp(graph, std::vector<double>(graph->regions.size(), 1.0), 1);
    const auto theta = random_numbers(rng, graph->cells, -3, 3);
    gbp.refresh(theta);
    for (int sweep = 0; sweep < 300; ++sweep) gbp.sweep();
    const double loss = loss_at(c, gbp.beliefs());
    const double size = round % 3 == 0 ? 0.0 : 20.0;
    const auto drift = random_numbers(rng, graph->message_cells, -size, size);
    std::vector<double> mu(graph->cells);
    for (int r = 0; static_cast<std::size_t>(r) < graph->regions.size(); ++r) {
      const auto own = slice(*graph, mu, r);
      add_messages(*graph, r, own.data(), drift, own);
    }
    CHECK(region_bound(*graph, c.loss, c.path, total, mu, 1) <= loss + 1e-6);
  }
}

TEST_CASE("without multipliers one region alone is bounded by its own least loss") {
  const RegionGraph graph = test::closed_graph(std::vector<std::size_t>{4}, {{0}});
  L2Loss loss(1, 6);
  loss.add({0, {}, {7, 5, -4, 2}, {1.0}, {}});
  // Onto the simplex of 6: (4, 2, 0, 0), each 3 below 7 and 5, 2 cut off, and -4.
  std::vector<double> mu(4);
  CHECK(region_bound(graph, loss, L2Path(1), 6, mu, 1) == doctest::Approx(0.5 * (9 + 9 + 16 + 4)));
  // A cell that cannot hold weight pays its square; (4.5, 0, 1.5) is the best of the others.
  mu = {std::numeric_limits<double>::infinity(), 0, 0, 0};
  CHECK(region_bound(graph, loss, L2Path(1), 6, mu, 1) == doctest::Approx(0.5 * (49 + 0.25 + 16 + 0.25)));
}
