#include "core/exact/inference.hpp"

#include <cassert>
#include <limits>

#include "core/base/threads.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// Forward, and back if there is any weight: first with weights, then, if that lost something, with spread
/// ones.
template <class Back>
Outcome contract_both_ways(const JunctionTree& tree, const FactoredTree& contraction,
                           std::span<const double> potentials, const Observation& known, FactoredWork& work,
                           double& log_z, int n_threads, const Back& back) {
  for (;;) {
    Outcome outcome = contract_forward(tree, contraction, potentials, known, work, log_z, n_threads);
    if (outcome == Outcome::impossible) log_z = -kInfinity;
    if (outcome == Outcome::exact) outcome = back(contraction, known, work);
    if (outcome != Outcome::lost) return outcome;
    assert(!work.spreads);
    work.spreads = true;
  }
}

/// The way with implicit cliques; `back` goes on from a forward pass that has lost nothing. Returns log Z.
template <class Back>
double contracted(const JunctionTree& tree, std::span<const double> potentials,
                  std::span<const Evidence> evidence, int n_threads, const Back& back) {
  const Known known(tree.sizes, evidence);
  if (known.log_weight == -kInfinity) return -kInfinity;
  const FactoredTree own = known.any ? make_factored_tree(tree, known.observed) : FactoredTree{};
  const FactoredTree& contraction = known.any ? own : *tree.factored;
  FactoredWork work(contraction);
  double log_z = 0;
  contract_both_ways(tree, contraction, potentials, known.observation(), work, log_z, n_threads, back);
  return log_z + known.log_weight;
}

/// Whether implicit cliques are the cheaper way. Where the given cliques are about all the tree has, as in a
/// chain of measured cliques, there is nothing to leave out, and its tables are worked on in larger blocks.
bool implicit(const JunctionTree& tree, std::span<const Evidence> evidence) {
  if (tree.factored == nullptr) return false;
  if (2 * tree.cost.factor_cells <= tree.cost.cells) return true;
  return Known(tree.sizes, evidence).any;
}

}  // namespace

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads) {
  if (implicit(tree, evidence)) {
    const auto back = [&](const FactoredTree& contraction, const Observation& known, FactoredWork& work) {
      return contract_backward(tree, contraction, known, work, {total, marginals, {}}, n_threads);
    };
    return contracted(tree, potentials, evidence, n_threads, back);
  }
  Workspace work(tree);
  return marginals_of(tree, potentials, evidence, total, work, marginals, n_threads);
}

double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads) {
  if (tree.factored != nullptr) {
    const auto back = [&](const FactoredTree& contraction, const Observation& known, FactoredWork& work) {
      return contract_backward(tree, contraction, known, work, {total, {}, marginals}, n_threads);
    };
    return contracted(tree, potentials, evidence, n_threads, back);
  }
  Workspace work(tree);
  return attribute_marginals_of(tree, potentials, evidence, total, work, marginals);
}

double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads) {
  if (implicit(tree, evidence)) {
    const auto stop = [](const FactoredTree&, const Observation&, FactoredWork&) { return Outcome::exact; };
    return contracted(tree, potentials, evidence, n_threads, stop);
  }
  Workspace work(tree);
  return log_partition(tree, potentials, evidence, work, n_threads);
}

ExactWork::ExactWork(const JunctionTree& tree)
    : tree_(tree), nothing_{std::vector<std::int32_t>(tree.sizes.size(), 0), {}} {
  if (implicit(tree, {})) {
    contraction_ = std::make_unique<FactoredWork>(*tree.factored);
  } else {
    tables_ = std::make_unique<Workspace>(tree);
    rows_ = make_row_nodes(tree);
  }
}

Outcome ExactWork::contract(std::span<const double> potentials, double total, std::span<double> marginals,
                            double& log_z, int n_threads) {
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  const double width = extent.largest - extent.least;
  contraction_->spreads = width >= lost_width_;
  const bool spreads = contraction_->spreads;
  const auto back = [&](const FactoredTree& contraction, const Observation& known, FactoredWork& work) {
    return contract_backward(tree_, contraction, known, work, {total, marginals, {}}, n_threads);
  };
  const Outcome outcome =
      contract_both_ways(tree_, *tree_.factored, potentials, nothing_, *contraction_, log_z, n_threads, back);
  if (contraction_->spreads && !spreads) lost_width_ = width;
  return outcome;
}

namespace {

double contract_around_hooks(const JunctionTree& tree, std::span<const double> potentials, double total,
                             ExactWork& work, std::span<double> marginals, int n_threads,
                             const CliqueHooks& hooks) {
  const int threads = threads_for(kEffortWork * kExpWork * potentials.size(), n_threads);
  const auto for_factors = [&](const std::function<void(int)>& hook) {
    if (!hook) return;
    parallel_for(tree.factors.size(), threads, [&](std::size_t f) { hook(static_cast<int>(f)); });
  };
  for_factors(hooks.before);
  double log_z = 0;
  const Outcome outcome = work.contract(potentials, total, marginals, log_z, n_threads);
  if (outcome == Outcome::exact) for_factors(hooks.after);
  return log_z;
}

}  // namespace

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks) {
  if (work.contracts()) {
    return contract_around_hooks(tree, potentials, total, work, marginals, n_threads, hooks);
  }
  NodeHooks of_nodes;
  of_nodes.marginal = [&](int factor, std::size_t, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), slice(tree, marginals, factor).data() + begin);
  };
  of_nodes.rows = work.rows();
  of_nodes.step = [&](const RowNode& row, const RowTables& tables) {
    const Placement& place = tree.factors[at(row.factor)];
    const Blocks& blocks = tree.nodes[at(place.node)].blocks;
    const double* weights = work.tables().weights.data() + place.offset;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      const Block block = block_at(blocks, b);
      row_kernels().multiply(row.rows_of(block), weights + block.begin, row.tables_at(tables, block),
                             marginals.data() + place.offset + block.begin);
    }
    return true;
  };
  if (hooks.before) {
    of_nodes.before = [&](const TreeNode& node, int) {
      for (const int f : node.factors) hooks.before(f);
    };
  }
  if (hooks.after) {
    of_nodes.after = [&](const TreeNode& node, int) {
      for (const int f : node.factors) hooks.after(f);
    };
  }
  return propagate(tree, potentials, {}, total, work.tables(), n_threads, of_nodes);
}

double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials, ExactWork& work,
                            int n_threads) {
  if (work.contracts()) {
    const FactoredTree& contraction = *tree.factored;
    double* const cells = work.contraction().cells.get();
    contract_largest(tree, contraction, potentials, work.nothing(), cells, n_threads);
    return contraction.root < 0 ? 0.0 : cells[contraction.values[at(contraction.root)].offset];
  }
  return max_log_weight(tree, potentials, {}, work.tables(), n_threads);
}

}  // namespace pypgm
