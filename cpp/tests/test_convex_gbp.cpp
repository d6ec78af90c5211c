#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "core/base/numbers.hpp"
#include "core/regions/convex_gbp.hpp"
#include "core/regions/local_polytope.hpp"
#include "core/simd/kernels.hpp"
#include "region_graphs.hpp"

using namespace pypgm;

namespace {

std::shared_ptr<RegionGraph> ring(std::size_t size, int n) {
  std::vector<Scope> cliques;
  for (int i = 0; i < n; ++i) {
    Scope pair{i, (i + 1) % n};
    std::sort(pair.begin(), pair.end());
    cliques.push_back(pair);
  }
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(n), size);
  return std::make_shared<RegionGraph>(test::closed_graph(sizes, cliques));
}

std::vector<double> random_potentials(const RegionGraph& graph, unsigned seed) {
  std::mt19937 rng(seed);
  std::normal_distribution<double> normal;
  std::vector<double> theta(graph.cells);
  for (double& t : theta) t = normal(rng);
  return theta;
}

double solve(ConvexGbp& gbp, std::span<const double> theta, int sweeps) {
  gbp.refresh(theta);
  double feasibility = 0;
  for (int i = 0; i < sweeps; ++i) feasibility = gbp.sweep();
  gbp.refresh(theta);
  return feasibility;
}

}  // namespace

TEST_CASE("log_floored is a logarithm") {
  std::vector<double> x{1e-300, 1e-250,      0.0, 1e-17, 0.3,  0.70710678118654752,
                        1.0,    1.0 + 1e-15, 2.5, 1e17,  1e300};
  std::mt19937 rng(1);
  for (int i = 0; i < 1000; ++i)
    x.push_back(std::exp(std::uniform_real_distribution<double>(-500, 500)(rng)));
  std::vector<double> out(x.size());
  kernels().log_floored(x.data(), x.size(), 1e-250, out.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double wanted = std::log(std::max(x[i], 1e-250));
    CHECK(std::abs(out[i] - wanted) <= 4e-16 * std::max(std::abs(wanted), 1e-300));
  }
}

TEST_CASE("sweeps and flooding end at consistent beliefs with the same dual value") {
  const auto graph = ring(3, 5);
  const std::vector<double> kappa{1, 0.5, 2, 1, 1.5, 1, 0.3, 1, 1, 2};
  const auto theta = random_potentials(*graph, 1);
  ConvexGbp sequential(graph, kappa, 1);
  ConvexGbp parallel(graph, kappa, 1);
  CHECK(solve(sequential, theta, 100) < 1e-12);
  CHECK(sequential.feasibility() < 1e-12);
  parallel.refresh(theta);
  for (int i = 0; i < 500; ++i) {
    parallel.flood(0.5);
    parallel.refresh(theta);
  }
  CHECK(parallel.feasibility() < 1e-12);
  CHECK(parallel.dual() == doctest::Approx(sequential.dual()).epsilon(1e-12));
  const std::vector<double> b(sequential.beliefs().begin(), sequential.beliefs().end());
  CHECK(consistent_value(*graph, kappa, theta, b) == doctest::Approx(sequential.dual()).epsilon(1e-11));
  for (int r = 0; r < 10; ++r) {
    const auto table = sequential.belief(r);
    CHECK(std::accumulate(table.begin(), table.end(), 0.0) == doctest::Approx(1.0));
  }
}

TEST_CASE("extrapolation moves messages by their last change") {
  const auto graph = ring(2, 3);
  const auto theta = random_potentials(*graph, 2);
  ConvexGbp gbp(graph, std::vector<double>(6, 1.0), 1);
  gbp.extrapolate(0);
  solve(gbp, theta, 1);
  const std::vector<double> one(gbp.messages().begin(), gbp.messages().end());
  gbp.extrapolate(0.5);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(gbp.messages()[i] == doctest::Approx(1.5 * one[i]));
  gbp.reset();
  CHECK(*std::max_element(gbp.messages().begin(), gbp.messages().end()) == 0);
}

TEST_CASE("structural zeros spread along the edges and stay exact") {
  const auto graph = ring(2, 3);
  auto theta = random_potentials(*graph, 3);
  theta[0] = theta[1] = -kInfinity;  // the first value of the first attribute, in the first pair
  REQUIRE(propagate_zeros(*graph, theta));
  int zeros = 0;
  for (const double t : theta) zeros += t == -kInfinity ? 1 : 0;
  CHECK(zeros == 2 + 2 + 1);  // both pairs with the attribute, and the attribute
  ConvexGbp gbp(graph, std::vector<double>(6, 1.0), 1);
  CHECK(solve(gbp, theta, 60) < 1e-12);
  for (std::size_t i = 0; i < theta.size(); ++i) {
    CHECK(std::isfinite(gbp.beliefs()[i]));
    CHECK((gbp.beliefs()[i] == 0) == (theta[i] == -kInfinity));
  }
  theta[2] = theta[3] = -kInfinity;
  CHECK_FALSE(propagate_zeros(*graph, theta));
}

TEST_CASE("the same bits for any number of threads") {
  const auto graph = ring(400, 6);
  const auto theta = random_potentials(*graph, 4);
  ConvexGbp one(graph, std::vector<double>(12, 1.0), 1);
  ConvexGbp three(graph, std::vector<double>(12, 1.0), 3);
  CHECK(solve(one, theta, 3) == solve(three, theta, 3));
  CHECK(std::equal(one.beliefs().begin(), one.beliefs().end(), three.beliefs().begin()));
  CHECK(std::equal(one.messages().begin(), one.messages().end(), three.messages().begin()));
}
