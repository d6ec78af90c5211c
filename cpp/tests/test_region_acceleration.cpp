#include <doctest/doctest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "core/regions/region_acceleration.hpp"
#include "random_problems.hpp"
#include "region_graphs.hpp"

using namespace pypgm;

namespace {

/// Two pairs that share an attribute of two values.
std::shared_ptr<RegionGraph> chain() {
  const std::vector<Scope> cliques{{0, 1}, {1, 2}};
  return std::make_shared<RegionGraph>(test::closed_graph(std::vector<std::size_t>{2, 2, 2}, cliques));
}

RegionAcceleration make(const std::shared_ptr<RegionGraph>& graph, double total) {
  return RegionAcceleration(graph, std::vector<double>(graph->regions.size(), 1.0), total, 1);
}

}  // namespace

TEST_CASE("consistent measurements are met") {
  auto descent = make(chain(), 100);
  descent.measure({0, {}, {40, 10, 10, 40}, {1.0}, {}});
  descent.measure({1, {}, {30, 20, 20, 30}, {1.0, 1.0, 1.0, 1.0}, {}});
  CHECK(descent.begin(1e-10, 100) >= 1);
  const double before = descent.loss();
  CHECK(before == doctest::Approx(0.5 * (4 * 15 * 15 + 4 * 5 * 5)));
  descent.open_window();
  RegionProgress progress{};
  for (int i = 0; i < 300; ++i)
    progress = descent.advance(0.02, i == 0 ? 1.0 : 0.2, i == 0 ? 0.0 : 1.0, 1e-3);
  CHECK(progress.sums.loss < 1e-6);
  CHECK(progress.sweeps == 1);
  CHECK(descent.lower_bound() <= progress.sums.loss);
  CHECK(descent.lower_bound() > -0.1 * before);
  const auto reached = descent.fit_potentials(1e-12, 100);
  CHECK(reached.first <= 1e-12);
  CHECK(descent.loss_of_beliefs() < 1e-6);
  const auto b = descent.propagation().belief(0);
  CHECK(100 * b[0] == doctest::Approx(40).epsilon(1e-3));
}

TEST_CASE("an average joined with an earlier one is the mean of both") {
  auto descent = make(chain(), 100);
  descent.measure({0, {}, {40, 10, 10, 40}, {1.0}, {}});
  descent.begin(1e-10, 100);
  const std::size_t cells = descent.potentials().size();
  std::vector<double> early(cells);
  std::vector<double> late(cells);
  std::vector<double> both(cells);
  descent.advance(0.01, 1.0, 0.0, 1e-3);
  descent.mean(0.0, early);
  descent.advance(0.02, 0.5, 1.0, 1e-3);
  descent.mean(0.0, late);
  descent.join(early);
  descent.mean(0.0, both);
  for (std::size_t i = 0; i < cells; ++i) CHECK(both[i] == doctest::Approx((early[i] + late[i]) / 2));
}

TEST_CASE("measurements of the same cells are joined without changing the loss") {
  auto apart = make(chain(), 10);
  const double beyond = 0.5;
  apart.measure({0, {}, {1, 2, 3, 4}, {2.0}, {2, 2, 2, 2}, beyond});
  apart.measure({0, {}, {4, 3, 2, 1}, {0.5, 1.0, 1.0, 0.5}, {1, 1, 1, 1}, beyond});
  apart.begin(1e-10, 10);
  double wanted = 0;
  double held = 0;
  for (int i = 0; i < 4; ++i) {
    const double w = i == 0 || i == 3 ? 0.5 : 1.0;
    wanted += 0.5 * (2 * std::pow(2.5 - (1 + i), 2) + w * std::pow(2.5 - (4 - i), 2));
    const double one = 2 + beyond * (2 - (1 + i));
    const double other = 1 + beyond * (1 - (4 - i));
    held += 0.5 * (2 * std::pow(2.5 - one, 2) + w * std::pow(2.5 - other, 2));
  }
  CHECK(apart.loss() == doctest::Approx(wanted));
  const RegionProgress progress = apart.advance(1e-12, 1.0, 0.0, 1.0);
  CHECK(progress.sums.loss == doctest::Approx(wanted));
  CHECK(progress.sums.held_out_loss == doctest::Approx(held));
}

TEST_CASE("groups are sums of cells, and a given gradient does what the measurement would") {
  auto grouped = make(chain(), 100);
  grouped.measure({0, test::make_partition({0, 0, 1, 1}, 2), {70, 30}, {1.0}, {}});
  auto given = make(chain(), 100);
  grouped.begin(1e-10, 10);
  given.begin(1e-10, 10);
  for (int i = 0; i < 5; ++i) {
    std::vector<double> mean(given.potentials().size());
    given.mean(1.0, mean);
    std::vector<double> gradient(mean.size());
    gradient[0] = gradient[1] = mean[0] + mean[1] - 70;
    gradient[2] = gradient[3] = mean[2] + mean[3] - 30;
    const RegionProgress one = grouped.advance(0.01, 1.0, i == 0 ? 0.0 : 1.0, 1.0);
    const RegionProgress two = given.advance_along(gradient, 0.01, 1.0, i == 0 ? 0.0 : 1.0, 1.0);
    CHECK(two.sums.slope == doctest::Approx(one.sums.slope));
  }
  for (std::size_t i = 0; i < given.potentials().size(); ++i) {
    CHECK(given.potentials()[i] == doctest::Approx(grouped.potentials()[i]));
  }
  const auto b = grouped.propagation().belief(0);
  CHECK(b[0] + b[1] > 0.6);
}

TEST_CASE("the answer is an average, however it is measured") {
  auto cells = make(chain(), 100);
  cells.measure({0, {}, {40, 10, 15, 35}, {1.0}, {38, 12, 17, 33}});
  auto groups = make(chain(), 100);
  groups.measure({0,
                  test::make_partition({0, 1, 2, 3}, 4),
                  {40, 10, 15, 35},
                  {1.0},
                  {39, 11, 16, 34},
                  1});  // y' is the same
  cells.begin(1e-10, 10);
  groups.begin(1e-10, 10);
  std::vector<double> x(cells.potentials().size());
  std::vector<double> z(x.size());
  std::vector<double> answer(x.size());
  cells.mean(0.0, x);
  double stretch = 0.0;
  for (const double a : {1.0, 0.6, 0.5, 0.4, 0.3}) {
    const RegionProgress one = cells.advance(0.01, a, stretch, 1.0);
    const RegionProgress two = groups.advance(0.01, a, stretch, 1.0);
    stretch = 1.0;
    cells.mean(1.0, z);
    cells.mean(0.0, answer);
    double loss = 0;
    double held = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      x[i] += a * (z[i] - x[i]);
      CHECK(answer[i] == doctest::Approx(x[i]));
      loss += 0.5 * std::pow(x[i] - std::vector<double>{40, 10, 15, 35}[i], 2);
      held += 0.5 * std::pow(x[i] - std::vector<double>{38, 12, 17, 33}[i], 2);
    }
    CHECK(one.sums.loss == doctest::Approx(loss));
    CHECK(one.sums.held_out_loss == doctest::Approx(held));
    CHECK(cells.loss() == doctest::Approx(loss));
    CHECK(two.sums.loss == doctest::Approx(one.sums.loss));
    CHECK(two.sums.held_out_loss == doctest::Approx(one.sums.held_out_loss));
    CHECK(two.sums.slope == doctest::Approx(one.sums.slope));
  }
  cells.fit_potentials(1e-12, 200);
  for (std::size_t i = 0; i < 4; ++i) CHECK(100 * cells.propagation().belief(0)[i] == doctest::Approx(x[i]));
  groups.restart();
  groups.mean(0.0, answer);
  groups.mean(1.0, z);
  CHECK(answer == z);
}

TEST_CASE("sweeps with momentum reach the beliefs of plain sweeps, in fewer") {
  std::vector<Scope> triples;
  for (std::int32_t i = 0; i < 8; ++i) {
    for (std::int32_t j = i + 1; j < 8; ++j) {
      for (std::int32_t k = j + 1; k < 8; ++k) triples.push_back({i, j, k});
    }
  }
  const auto graph =
      std::make_shared<RegionGraph>(test::closed_graph(std::vector<std::size_t>(8, 3), triples));
  auto descent = make(graph, 1);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(0, 4);
  for (int r = 0; r < static_cast<int>(graph->regions.size()); ++r) {
    std::vector<double> table(graph->regions[at(r)].cells);
    for (double& x : table) x = normal(random);
    descent.enter(r, table);
  }
  const int sweeps = descent.begin(1e-10, 5000);
  ConvexGbp plain(graph, std::vector<double>(graph->regions.size(), 1.0), 1);
  plain.refresh(descent.potentials());
  int plain_sweeps = 1;
  while (plain.sweep() > 1e-10) ++plain_sweeps;
  CHECK(plain_sweeps > 2 * sweeps);
  for (std::size_t i = 0; i < graph->cells; ++i) {
    CHECK(descent.propagation().beliefs()[i] == doctest::Approx(plain.beliefs()[i]).epsilon(1e-6).scale(1));
  }
}

TEST_CASE("counts to validate with come with all measurements of a region or with none") {
  auto descent = make(chain(), 100);
  descent.measure({0, {}, {40, 10, 15, 35}, {1.0}, {38, 12, 17, 33}});
  CHECK_THROWS_AS(descent.measure({0, {}, {40, 10, 15, 35}, {1.0}, {}}), std::invalid_argument);
}

TEST_CASE("a start is entered region by region, or wherever an attribute is held and no table was entered") {
  const auto graph = chain();
  auto descent = make(graph, 1);
  descent.enter(0, std::vector<double>{std::log(0.4), std::log(0.1), std::log(0.3), std::log(0.2)});
  descent.enter_elsewhere(1, std::vector<double>{std::log(0.7), std::log(0.3)});
  descent.begin(1e-12, 100);
  std::vector<double> mean(graph->cells);
  descent.mean(0.0, mean);
  CHECK(std::accumulate(mean.begin(), mean.begin() + 4, 0.0) == doctest::Approx(1.0));
  CHECK(mean[0] == doctest::Approx(0.4));
  CHECK(mean[4] + mean[5] == doctest::Approx(0.7));
  descent.restart();
}
