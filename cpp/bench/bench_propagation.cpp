// Whole passes of exact inference on one thread: on the tables of a tree, with plain weights and with cell
// exponents, and by the factored tree. The potentials have a closed form, every answer is compared with it
// first. `of_copy` and `of_exp` are those of one pass over all cells of the tree's tables, which a pass reads
// up and down.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/exact/inference.hpp"
#include "limits.hpp"

namespace {

constexpr double kTotal = 1000;
constexpr double kMild = 0.1;
constexpr double kSteep = 300;

/// A model in which all attributes are independent: a clique adds -slope * code for each of its attributes,
/// the slopes being `mild`, and `steep` more or less in turn. Steep ones disagree so far that a product of
/// their weights underflows, and inference turns to cell exponents.
struct Model {
  pypgm::JunctionTree tree;
  std::vector<double> potentials;
  double log_z;                ///< in closed form
  double largest;              ///< log-weight of a joint assignment
  std::vector<double> firsts;  ///< by clique: counts in the first cell of its marginal
};

/// The sum of -slope * code over the attributes of a clique, in C order.
std::vector<double> table_of(const std::vector<std::size_t>& sizes, const pypgm::Scope& clique,
                             double slope) {
  std::vector<double> table{0};
  for (const std::int32_t i : clique) {
    std::vector<double> wider;
    for (const double x : table) {
      for (std::size_t code = 0; code < sizes[static_cast<std::size_t>(i)]; ++code) {
        wider.push_back(x - slope * static_cast<double>(code));
      }
    }
    table = std::move(wider);
  }
  return table;
}

Model make_model(const std::vector<std::size_t>& sizes, const std::vector<pypgm::Scope>& cliques, double mild,
                 double steep) {
  Model model{build_junction_tree(sizes, cliques, pypgm::eliminate(sizes, cliques, false)), {}, 0, 0, {}};
  std::vector<double> slopes(sizes.size(), 0);
  for (std::size_t f = 0; f < cliques.size(); ++f) {
    const double slope = f % 2 == 0 ? mild + steep : mild - steep;
    for (const std::int32_t i : cliques[f]) slopes[static_cast<std::size_t>(i)] += slope;
    const std::vector<double> table = table_of(sizes, cliques[f], slope);
    model.potentials.insert(model.potentials.end(), table.begin(), table.end());
  }
  std::vector<double> log_z(sizes.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double largest = std::max(0.0, -slopes[i] * static_cast<double>(sizes[i] - 1));
    double z = 0;
    for (std::size_t code = 0; code < sizes[i]; ++code) {
      z += std::exp(-slopes[i] * static_cast<double>(code) - largest);
    }
    log_z[i] = largest + std::log(z);
    model.log_z += log_z[i];
    model.largest += largest;
  }
  for (const pypgm::Scope& clique : cliques) {
    double first = 0;
    for (const std::int32_t i : clique) first -= log_z[static_cast<std::size_t>(i)];
    model.firsts.push_back(kTotal * std::exp(first));
  }
  return model;
}

/// Triples in a row, 10 values each.
Model chain(std::size_t attributes, double steep) {
  std::vector<pypgm::Scope> cliques;
  for (std::int32_t i = 0; i + 2 < static_cast<std::int32_t>(attributes); ++i) {
    cliques.push_back({i, i + 1, i + 2});
  }
  return make_model(std::vector<std::size_t>(attributes, 10), cliques, kMild, steep);
}

/// All pairs of nine attributes of 4 values: one table of 262,144 cells.
Model pairs(double steep) {
  std::vector<pypgm::Scope> cliques;
  for (std::int32_t i = 0; i < 9; ++i) {
    for (std::int32_t j = i + 1; j < 9; ++j) cliques.push_back({i, j});
  }
  return make_model(std::vector<std::size_t>(9, 4), cliques, kMild, steep);
}

bool near(double x, double wanted) { return std::abs(x - wanted) <= 1e-9 * std::abs(wanted) + 1e-12; }

bool right_marginals(const Model& model, double log_z, const std::vector<double>& marginals) {
  bool right = near(log_z, model.log_z);
  for (std::size_t f = 0; f < model.firsts.size(); ++f) {
    right = right && near(marginals[model.tree.factors[f].offset], model.firsts[f]);
  }
  return right;
}

template <class Run>
void time(benchmark::State& state, const Model& model, bool right, const Run& run) {
  if (!right) return state.SkipWithError("an answer differs");
  const limits::Stopwatch watch;
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  limits::compare(state, watch, static_cast<std::size_t>(model.tree.cost.cells));
}

void bench_propagation_marginals(benchmark::State& state, const Model& model) {
  pypgm::ExactWork work(model.tree);
  std::vector<double> marginals(model.potentials.size());
  const auto run = [&] {
    return pypgm::exact_marginals(model.tree, model.potentials, kTotal, work, marginals, 1);
  };
  const double log_z = run();
  time(state, model, right_marginals(model, log_z, marginals), run);
}

void bench_propagation_implicit(benchmark::State& state, const Model& model) {
  const pypgm::Observation observation(model.tree, model.potentials, {});
  pypgm::FactoredWork work(observation.factored());
  std::vector<double> marginals(model.potentials.size());
  double log_z = 0;
  const auto run = [&] {
    return pypgm::factored_forward(observation, work, log_z, 1) == pypgm::Outcome::exact &&
           pypgm::factored_backward(observation, work, {kTotal, marginals, {}}, 1) == pypgm::Outcome::exact;
  };
  const bool exact = run();
  time(state, model, exact && right_marginals(model, log_z, marginals), run);
}

using Value = double (*)(const pypgm::JunctionTree&, std::span<const double>,
                         std::span<const pypgm::Evidence>, int);

double log_z_of(const pypgm::JunctionTree& tree, std::span<const double> potentials,
                std::span<const pypgm::Evidence> evidence, int n_threads) {
  return pypgm::exact_log_partition(tree, potentials, evidence, n_threads);
}

/// One pass towards the root.
void bench_propagation_upwards(benchmark::State& state, const Model& model, Value value,
                               double Model::*wanted) {
  const auto run = [&] { return value(model.tree, model.potentials, {}, 1); };
  time(state, model, near(run(), model.*wanted), run);
}

BENCHMARK_CAPTURE(bench_propagation_marginals, chain_of_10, chain(10, 0));
BENCHMARK_CAPTURE(bench_propagation_marginals, chain_of_100, chain(100, 0));
BENCHMARK_CAPTURE(bench_propagation_marginals, chain_of_100_with_exponents, chain(100, kSteep));
BENCHMARK_CAPTURE(bench_propagation_marginals, pairs, pairs(0));
BENCHMARK_CAPTURE(bench_propagation_marginals, pairs_with_exponents, pairs(kSteep));
BENCHMARK_CAPTURE(bench_propagation_implicit, chain_of_10, chain(10, 0));
BENCHMARK_CAPTURE(bench_propagation_implicit, chain_of_100, chain(100, 0));
BENCHMARK_CAPTURE(bench_propagation_implicit, pairs, pairs(0));
BENCHMARK_CAPTURE(bench_propagation_upwards, log_z_of_chain_of_100, chain(100, 0), log_z_of, &Model::log_z);
BENCHMARK_CAPTURE(bench_propagation_upwards, log_z_of_pairs, pairs(0), log_z_of, &Model::log_z);
BENCHMARK_CAPTURE(bench_propagation_upwards, maximum_of_chain_of_100, chain(100, kSteep),
                  pypgm::exact_max_log_weight, &Model::largest);
BENCHMARK_CAPTURE(bench_propagation_upwards, maximum_of_pairs, pairs(kSteep), pypgm::exact_max_log_weight,
                  &Model::largest);

}  // namespace
