// Long calls that are over before their end return what they have.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/exact/contract.hpp"
#include "core/exact/extended_contract.hpp"
#include "core/exact/inference.hpp"
#include "core/exact/map.hpp"
#include "core/records/record_refinement.hpp"
#include "core/records/sampling.hpp"
#include "core/regions/local_answers.hpp"
#include "random_models.hpp"

using namespace pypgm;

TEST_CASE("a local answer without time is the start, measured") {
  const std::vector<double> start{1, 1, 1, 1}, target{0.75, 0.25};
  const std::vector<std::size_t> shape{2, 2};
  const std::vector<std::uint8_t> kept{1, 0};
  const LocalProblem problem{start, {{make_layout(shape, kept), target}}};
  Watch watch;
  CHECK(solve_locally(problem, 10, 1, watch).table[0] == doctest::Approx(0.375));
  CHECK(watch.steps == 2);
  watch.over = true;
  const LocalAnswer answer = solve_locally(problem, 10, 1, watch);
  CHECK(answer.iterations == 0);
  CHECK(answer.table == std::vector<double>(4, 0.25));
  CHECK(answer.violation == doctest::Approx(0.5));
}

TEST_CASE("records without time stay as they are, and count what they are") {
  const std::vector<double> target{1, 3};
  const std::vector<RecordTarget> targets{{{0}, target}};
  const std::vector<std::size_t> sizes{2};
  std::vector<std::int8_t> codes{0, 0, 0, 0};
  const std::vector<CodeColumn> columns{std::span(codes)};
  Watch watch;
  watch.over = true;
  CHECK(refine_records(columns, sizes, targets, 20, 0, 1, 1, watch) == 6);
  CHECK(codes == std::vector<std::int8_t>{0, 0, 0, 0});
  watch.over = false;
  CHECK(refine_records(columns, sizes, targets, 20, 0, 1, 1, watch) == 0);
  CHECK(watch.steps >= 4);
}

TEST_CASE("when it is time, the thread that made a watch asks, once, and nobody else") {
  Watch watch;
  int asked = 0;
  watch.ask = [&] {
    ++asked;
    watch.over = true;
  };
  CHECK(!watch.is_over());
  watch.due = true;
  std::thread([&] { CHECK(!watch.is_over()); }).join();
  CHECK(asked == 0);
  CHECK(watch.is_over());
  CHECK(!watch.is_abandoned());
  CHECK(asked == 1);
}

TEST_CASE("an abandoned sampler draws nothing") {
  RecordSampler sampler(3, 1, 0);
  const std::vector<double> table{1, 1};
  Watch watch;
  watch.abandoned = true;
  sampler.draw({table, {0}, {2}, {0}, {0}}, watch);
  CHECK(!sampler.is_drawn(0, 2));
  sampler.draw({table, {0}, {2}, {0}, {0}});
  CHECK(std::get<std::vector<std::int8_t>>(sampler.column(0)).size() == 3);
}

TEST_CASE("what a thread is watched by ends calls that have no watch of their own") {
  std::mt19937_64 random(5);
  const test::Structure s = test::random_structure(random, 4, 3);
  Watch watch;
  const WatchScope scope(&watch);
  const JunctionTree tree = test::tree_of(s);
  const std::vector<double> potentials(whole_cells(tree.cost.factor_cells), 0.0);
  RecordSampler sampler(3, 1, 0);
  const std::vector<double> table{1, 1};
  exact_max_log_weight(tree, potentials, {}, 2);
  watch.abandoned = true;
  CHECK_THROWS_AS(exact_max_log_weight(tree, potentials, {}, 2), Abandoned);
  CHECK_THROWS_AS(test::tree_of(s), Abandoned);
  CHECK_THROWS_AS(sampler.draw({table, {0}, {2}, {0}, {0}}), Abandoned);
  CHECK(!sampler.is_drawn(0, 2));
}

TEST_CASE("a table that is none is not drawn from") {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  RecordSampler sampler(3, 1, 0);
  for (const double x : {-1.0, kNan, kInfinity, -kInfinity, std::numeric_limits<double>::max()}) {
    const std::vector<double> table{std::numeric_limits<double>::max(), x};
    CHECK_THROWS_AS(sampler.draw({table, {0}, {2}, {0}, {0}}), std::invalid_argument);
  }
  const std::vector<double> zeros{0, 0};
  CHECK_THROWS_AS(sampler.draw({zeros, {0}, {2}, {0}, {0}}), std::invalid_argument);
}

TEST_CASE("abandoned contractions leave the answer as it is") {
  constexpr std::size_t n = 300;
  const std::vector<std::size_t> sizes{n, n, n};
  const Loops loops = make_loops(sizes, 0b101, 0b110, 0b011);
  const std::vector<double> ones(n * n, 1.0), zeros(n * n, 0.0);
  std::vector<double> out = zeros;
  Watch watch;
  watch.abandoned = true;
  contract(loops, ones.data(), ones.data(), out.data(), 2, &watch);
  contract_maxima(loops, ones.data(), ones.data(), out.data(), 2, &watch);
  CHECK(out == zeros);
  watch.abandoned = false;
  contract(loops, ones.data(), ones.data(), out.data(), 2, &watch);
  CHECK(out == std::vector<double>(n * n, n));

  // Half of the sums have no term above 2^-1000 and are found term by term.
  std::vector<double> exponents(n * n), powers(n * n);
  for (std::size_t i = 0; i < exponents.size(); ++i) exponents[i] = (i / n + i % n) % 2 == 0 ? 0.0 : -1000.0;
  const Operand table{ones.data(), exponents.data()};
  out = zeros;
  watch.abandoned = true;
  contract_extended(loops, table, table, out.data(), powers.data(), 2, &watch);
  CHECK(out == zeros);
  watch.abandoned = false;
  contract_extended(loops, table, table, out.data(), powers.data(), 2, &watch);
  CHECK(std::count(out.begin(), out.end(), 0.0) == 0);
}

TEST_CASE("abandoned runs over a tree return at once") {
  test::Structure s;
  s.sizes.assign(24, 2);
  for (std::int32_t i = 0; i < 12; ++i) {
    for (std::int32_t j = 12; j < 24; ++j) s.cliques.push_back({i, j});
  }
  const JunctionTree tree = test::tree_of(s);
  const std::vector<double> equal(test::cells_of(s), 0.0);
  // As far apart as weights may be: a run that is not abandoned is done twice, then by the factored tree.
  std::vector<double> apart = equal;
  for (std::size_t i = 0; i < apart.size(); i += 3) apart[i] = -700.0 * static_cast<double>(i % 7);
  Watch watch;
  watch.abandoned = true;
  for (const std::vector<double>& potentials : {equal, apart}) {
    std::vector<double> marginals(potentials.size());
    std::vector<double> tables(tree.nodes.back().offset + tree.nodes.back().cells);
    std::vector<double> attributes(2 * s.sizes.size());
    exact_marginals(tree, potentials, {}, 1.0, marginals, 2, &watch);
    exact_attribute_marginals(tree, potentials, {}, 1.0, attributes, 2, &watch);
    exact_tables(tree, potentials, {}, 1.0, tables, 2, &watch);
    exact_log_partition(tree, potentials, {}, 2, &watch);
    most_probable(tree, potentials, {}, &watch);
    CHECK(std::ranges::all_of(tables, [](double cell) { return cell == 0; }));
  }
}
