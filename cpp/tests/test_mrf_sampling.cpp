// Sampling from Markov random fields against enumeration; the same bits for any number of threads.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/mrf.hpp"

using namespace pypgm;

namespace {

/// A triangle with a pendant node; couplings J and fields h.
struct SmallModel {
  std::vector<double> fields{0.3, -0.2, 0.0, 0.5};
  std::vector<double> couplings{0.4, 0.2, 0.4, 0.6, 0.2, 0.6, 0.3, 0.3};
  std::vector<std::uint32_t> neighbours{1, 2, 0, 2, 0, 1, 3, 2};
  std::vector<std::uint32_t> starts{0, 2, 4, 7, 8};

  SpinModel view() const { return {fields.data(), couplings.data(), neighbours.data(), starts.data(), 4}; }
};

/// log-weights of the sixteen states, node 0 the most significant bit.
std::vector<double> log_weights() {
  const SmallModel model;
  std::vector<double> result(16, 0.0);
  for (std::size_t state = 0; state < 16; ++state) {
    const auto spin = [=](std::size_t node) { return (state >> (3 - node) & 1) != 0 ? 1.0 : -1.0; };
    for (std::size_t i = 0; i < 4; ++i) {
      result[state] += model.fields[i] * spin(i);
      for (std::uint32_t e = model.starts[i]; e < model.starts[i + 1]; ++e) {
        result[state] += 0.5 * model.couplings[e] * spin(i) * spin(model.neighbours[e]);
      }
    }
  }
  return result;
}

/// Pearson's statistic of records against the model; 15 degrees of freedom.
double chi_square(const std::vector<std::uint8_t>& codes, std::size_t n_records) {
  std::vector<double> counts(16, 0.0);
  for (std::size_t r = 0; r < n_records; ++r) {
    std::size_t state = 0;
    for (std::size_t node = 0; node < 4; ++node) state = 2 * state + codes[node * n_records + r];
    counts[state] += 1;
  }
  const auto weights = log_weights();
  double z = 0;
  for (const double w : weights) z += std::exp(w);
  double result = 0;
  for (std::size_t state = 0; state < 16; ++state) {
    const double expected = double(n_records) * std::exp(weights[state]) / z;
    result += (counts[state] - expected) * (counts[state] - expected) / expected;
  }
  return result;
}

constexpr double kChiSquareLimit = 44.3;  // exceeded with probability 1e-4 for 15 degrees of freedom

}  // namespace

TEST_CASE("coupling from the past draws from the model") {
  const SmallModel model;
  const Watch watch;
  const std::size_t n = 40'003;
  std::vector<std::uint8_t> codes(4 * n);
  CHECK(couple_from_past(model.view(), n, 5, 1 << 16, codes, 1, watch) >= 8);
  CHECK(chi_square(codes, n) < kChiSquareLimit);
  std::vector<std::uint8_t> again(4 * n);
  couple_from_past(model.view(), n, 5, 1 << 16, again, 3, watch);
  CHECK(codes == again);
}

TEST_CASE("coupling from the past says when its sweeps do not suffice") {
  SmallModel model;
  for (double& coupling : model.couplings) coupling = 9;
  model.fields.assign(4, 0.0);
  const Watch watch;
  std::vector<std::uint8_t> codes(4 * 8);
  CHECK(couple_from_past(model.view(), 8, 5, 16, codes, 1, watch) == 0);
}

TEST_CASE("Gibbs sampling of spins and of potentials draws from the model") {
  const SmallModel model;
  const Watch watch;
  const GibbsPlan plan{.n_chains = 13, .burn_in = 50, .thin = 12, .n_draws = 3000, .seed = 2};
  std::vector<std::uint8_t> codes(4 * plan.n_records());
  std::vector<std::uint8_t> again(codes.size());
  SUBCASE("spins") {
    sample_spins(model.view(), plan, codes, 1, watch);
    sample_spins(model.view(), plan, again, 2, watch);
  }
  SUBCASE("one table over all nodes") {
    const auto table = log_weights();
    const PotentialModel joint({2, 2, 2, 2}, {{0, 1, 2, 3}}, table);
    sample_potentials(joint, plan, codes, 1, watch);
    sample_potentials(joint, plan, again, 2, watch);
  }
  CHECK(chi_square(codes, plan.n_records()) < kChiSquareLimit);
  CHECK(codes == again);
}

TEST_CASE("records and sweeps of a plan do not wrap") {
  constexpr std::size_t large = std::size_t{1} << 61;
  const GibbsPlan plan{large, 1, large, 8, 0};
  CHECK(plan.n_records() == kTooManyCells);
  CHECK(plan.n_sweeps() == kTooManyCells);
}

TEST_CASE("conditionals of potentials move the node's axis last") {
  // f(a, b, c) = 100 a + 10 b + c over sizes 2, 3, 4, and g(b) = 1000 b.
  std::vector<double> values;
  for (int a = 0; a < 2; ++a) {
    for (int b = 0; b < 3; ++b) {
      for (int c = 0; c < 4; ++c) values.push_back(100 * a + 10 * b + c);
    }
  }
  for (int b = 0; b < 3; ++b) values.push_back(1000 * b);
  const PotentialModel model({2, 3, 4}, {{0, 1, 2}, {1}}, values);
  const std::vector<std::uint8_t> codes{1, 2, 3};
  std::vector<double> found(3);
  model.conditional(1, codes, found);
  CHECK(found == std::vector<double>{103, 1113, 2123});
  found.resize(2);
  model.conditional(0, codes, found);
  CHECK(found == std::vector<double>{23, 123});
  CHECK(model.n_terms() == 4);
}
