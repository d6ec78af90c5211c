#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/exact/draw.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

constexpr std::size_t kRows = 3000;

struct Drawn {
  double log_z;
  std::vector<std::int32_t> codes;
};

Drawn draw(const JunctionTree& tree, const std::vector<double>& potentials,
           const std::vector<double>& uniforms, int n_threads, const std::vector<Evidence>& evidence = {}) {
  Drawn drawn{0, std::vector<std::int32_t>(uniforms.size(), -1)};
  drawn.log_z = draw_assignments(tree, potentials, evidence, uniforms, drawn.codes, n_threads);
  return drawn;
}

std::vector<double> random_uniforms(std::mt19937_64& random, std::size_t n) {
  std::vector<double> uniforms(n);
  for (double& u : uniforms) u = test::uniform(random);
  return uniforms;
}

/// The values of all attributes in a row.
std::vector<std::size_t> row_of(const Drawn& drawn, std::size_t attributes, std::size_t row) {
  std::vector<std::size_t> values;
  for (std::size_t a = 0; a < attributes; ++a)
    values.push_back(static_cast<std::size_t>(drawn.codes[a * kRows + row]));
  return values;
}

}  // namespace

TEST_CASE("assignments are possible, and come as often as all joint weights say") {
  std::mt19937_64 random(21);
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    const std::size_t attributes = 1 + test::below(random, 5);
    const test::Structure s = test::random_structure(random, attributes, 4);
    const JunctionTree tree = test::tree_of(s);
    const std::vector<double> potentials = test::random_potentials(random, test::cells_of(s));
    const test::BruteForce wanted(s, potentials, 1.0);
    const std::vector<double> uniforms = random_uniforms(random, kRows * attributes);
    const Drawn drawn = draw(tree, potentials, uniforms, 1);
    if (wanted.log_z == -kInfinity) {
      CHECK(drawn.log_z == -kInfinity);
      continue;
    }
    CHECK(std::abs(drawn.log_z - wanted.log_z) <= 1e-12 * (1 + std::abs(wanted.log_z)));
    CHECK(draw(tree, potentials, uniforms, 3).codes == drawn.codes);
    std::vector<double> shares(potentials.size());
    bool possible = true;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto values = row_of(drawn, attributes, row);
      for (std::size_t a = 0; a < attributes; ++a) REQUIRE(values[a] < s.sizes[a]);
      std::size_t offset = 0;
      for (const Scope& clique : s.cliques) {
        const std::size_t cell = offset + test::cell_of(s.sizes, clique, values);
        possible = possible && potentials[cell] > -kInfinity;
        shares[cell] += 1.0 / kRows;
        offset += test::cells_of(s.sizes, clique);
      }
    }
    CHECK(possible);
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const double p = std::min(1.0, wanted.marginals[i]);
      CHECK(std::abs(shares[i] - p) <= 6 * std::sqrt(p * (1 - p) / kRows) + 6.0 / kRows);
    }
  }
}

TEST_CASE("assignments agree with the evidence") {
  std::mt19937_64 random(22);
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const test::Structure s = test::random_structure(random, 5, 4);
    const JunctionTree tree = test::tree_of(s);
    std::vector<double> potentials(test::cells_of(s));
    for (double& p : potentials) p = test::uniform(random);
    const std::size_t code = test::below(random, s.sizes[2]);
    std::vector<double> known(s.sizes[2], -kInfinity), likely(s.sizes[4]);
    known[code] = 0.0;
    for (double& log : likely) log = test::uniform(random);
    likely[0] = s.sizes[4] > 1 ? -kInfinity : 0.0;
    const std::vector<Evidence> evidence{{2, known}, {4, likely}};
    const Drawn drawn = draw(tree, potentials, random_uniforms(random, kRows * 5), 1, evidence);
    bool agree = true;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto values = row_of(drawn, 5, row);
      agree = agree && values[2] == code && likely[values[4]] > -kInfinity;
    }
    CHECK(agree);
  }
}

}  // namespace pypgm
