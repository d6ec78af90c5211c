// Chooses between dense and factored cliques, and runs the latter again with a power of two in each cell
// where scaled weights lost something.
#include "core/exact/inference.hpp"

#include <cassert>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// The forward pass, and the backward pass if there is any weight and marginals are wanted: first with scaled
/// weights, then, if that lost something, with cell exponents.
Outcome run_factored_tree(const Observation& observation, FactoredWork& work, double& log_z,
                          const Marginals& marginals, int n_threads) {
  for (;;) {
    Outcome outcome = factored_forward(observation, work, log_z, n_threads);
    if (outcome == Outcome::impossible) log_z = -kInfinity;
    if (outcome == Outcome::exact && !marginals.empty()) {
      outcome = factored_backward(observation, work, marginals, n_threads);
    }
    if (outcome != Outcome::lost || is_abandoned(work.watch)) return outcome;
    assert(!work.may_extend);
    work.may_extend = true;
  }
}

/// The same from its own buffers; returns log Z.
double factored_marginals(const Observation& observation, const Marginals& marginals, int n_threads,
                          Watch* watch) {
  if (observation.log_weight == -kInfinity) return -kInfinity;
  FactoredWork work(observation.factored());
  work.watch = watch;
  double log_z = 0;
  run_factored_tree(observation, work, log_z, marginals, n_threads);
  return log_z + observation.log_weight;
}

/// Whether the factored tree is cheaper than the tables. Where the given cliques are about all the tree has,
/// as in a chain of measured cliques, there is nothing to leave out, and its tables are worked on in larger
/// blocks. Measured, marginals on one thread: the factored tree takes 1/2.6 of the tables' CPU time on andes
/// and pigs and 1/3.7 on water (the networks of bench/bench_networks.py), 1/4.5 on 14 random pairs of adult;
/// the tables take 0.77 of the factored tree's on a chain of 98 triples of ten values (bench_descent.py).
bool factored_is_cheaper(const JunctionTree& tree) { return 2 * tree.cost.factor_cells <= tree.cost.cells; }

/// The tables cannot leave out what is observed, and take likelihoods with the given cliques alone.
bool tables_are_cheaper(const JunctionTree& tree, const Observation& observation) {
  return !factored_is_cheaper(tree) && !observation.any && observation.alone.empty();
}

}  // namespace

double factored_log_partition(const Observation& observation, FactoredWork& work, int n_threads) {
  double log_z = 0;
  run_factored_tree(observation, work, log_z, {}, n_threads);
  return log_z;
}

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads, Watch* watch) {
  const Observation observation(tree, potentials, evidence);
  if (tables_are_cheaper(tree, observation)) {
    Workspace work(tree);
    work.watch = watch;
    return propagate(tree, observation.potentials, {total, marginals, {}}, work, n_threads);
  }
  return factored_marginals(observation, {total, marginals, {}}, n_threads, watch);
}

double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads, Watch* watch) {
  return factored_marginals(Observation(tree, potentials, evidence), {total, {}, marginals}, n_threads,
                            watch);
}

double exact_tables(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, std::span<double> tables, int n_threads,
                    Watch* watch) {
  std::vector<double> entered;
  if (!evidence.empty()) entered.assign(potentials.begin(), potentials.end());
  if (enter_evidence(tree, evidence, entered).empty()) {
    Workspace work(tree);
    work.watch = watch;
    const std::span<const double> values = evidence.empty() ? potentials : entered;
    return propagate(tree, values, {total, {}, tables}, work, n_threads);
  }
  // The factored tree knows marginals of given cliques alone: those of the tree are given with potentials 0.
  std::vector<Scope> cliques = tree.scopes;
  for (const TreeNode& node : tree.nodes) cliques.push_back(node.attributes);
  const JunctionTree wider =
      build_junction_tree(tree.sizes, cliques, eliminate_in_order(tree.sizes, cliques, tree.order));
  std::vector<double> padded(potentials.size() + tables.size(), 0.0);
  std::copy(potentials.begin(), potentials.end(), padded.begin());
  std::vector<double> marginals(padded.size());
  const Observation observation(wider, padded, evidence);
  const double log_z = factored_marginals(observation, {total, marginals, {}}, n_threads, watch);
  std::copy(marginals.begin() + static_cast<std::ptrdiff_t>(potentials.size()), marginals.end(),
            tables.begin());
  return log_z;
}

double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads, Watch* watch) {
  return exact_marginals(tree, potentials, evidence, 1.0, {}, n_threads, watch);
}

double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                            std::span<const Evidence> evidence, int n_threads) {
  const Observation observation(tree, potentials, evidence);
  if (observation.log_weight == -kInfinity) return -kInfinity;
  const auto cells = std::make_unique_for_overwrite<double[]>(observation.factored().cells);
  return observation.log_weight + factored_maximum(observation, cells.get(), n_threads);
}

ExactWork::ExactWork(const JunctionTree& tree) : nothing_(tree, {}, {}) {
  if (!factored_is_cheaper(tree)) tables_ = std::make_unique<Workspace>(tree);
}

FactoredWork& ExactWork::factored() {
  if (factored_ == nullptr) factored_ = std::make_unique<FactoredWork>(nothing_.factored());
  return *factored_;
}

Outcome ExactWork::run_factored(std::span<const double> potentials, double total, std::span<double> marginals,
                                double& log_z, int n_threads) {
  FactoredWork& work = factored();
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  const double width = extent.largest - extent.least;
  work.may_extend = width >= lost_width_;
  const bool may_extend = work.may_extend;
  nothing_.potentials = potentials;
  const Outcome outcome = run_factored_tree(nothing_, work, log_z, {total, marginals, {}}, n_threads);
  if (work.may_extend && !may_extend) lost_width_ = width;
  return outcome;
}

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks) {
  if (!work.is_factored()) {
    return propagate(tree, potentials, {total, marginals, {}}, *work.tables(), n_threads, hooks);
  }
  const int threads = threads_for(kEffortWork * kExpWork * potentials.size(), n_threads);
  const auto for_factors = [&](const std::function<void(int)>& hook) {
    if (!hook) return;
    parallel_for(tree.factors.size(), threads, [&](std::size_t f) { hook(static_cast<int>(f)); });
  };
  for_factors(hooks.before);
  double log_z = 0;
  const Outcome outcome = work.run_factored(potentials, total, marginals, log_z, n_threads);
  if (outcome == Outcome::exact) for_factors(hooks.after);
  return log_z;
}

double ExactWork::max_log_weight(std::span<const double> potentials, int n_threads) {
  nothing_.potentials = potentials;
  return factored_maximum(nothing_, factored().buffer.get(), n_threads);
}

}  // namespace pypgm
