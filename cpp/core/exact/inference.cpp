#include "core/exact/inference.hpp"

#include <cassert>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// The forward pass, and the backward pass if there is any weight: first with scaled weights, then, if that
/// lost something, with cell exponents.
template <class Back>
Outcome forward_and_backward(const JunctionTree& tree, const FactoredTree& factored,
                             std::span<const double> potentials, const Observation& known, FactoredWork& work,
                             double& log_z, int n_threads, const Back& back) {
  for (;;) {
    Outcome outcome = factored_forward(tree, factored, potentials, known, work, log_z, n_threads);
    if (outcome == Outcome::impossible) log_z = -kInfinity;
    if (outcome == Outcome::exact) outcome = back(factored, known, work);
    if (outcome != Outcome::lost) return outcome;
    assert(!work.may_extend);
    work.may_extend = true;
  }
}

/// A run of the factored tree; `back` continues a forward pass that has lost nothing. Returns log Z.
template <class Back>
double run_factored_tree(const JunctionTree& tree, std::span<const double> potentials,
                         std::span<const Evidence> evidence, int n_threads, const Back& back) {
  const Known known(tree.sizes, evidence);
  if (known.log_weight == -kInfinity) return -kInfinity;
  const FactoredTree own = known.any ? make_factored_tree(tree, known.observed) : FactoredTree{};
  const FactoredTree& factored = known.any ? own : *tree.factored;
  FactoredWork work(factored);
  double log_z = 0;
  forward_and_backward(tree, factored, potentials, known.observation(), work, log_z, n_threads, back);
  return log_z + known.log_weight;
}

double factored_marginals(const JunctionTree& tree, std::span<const double> potentials,
                          std::span<const Evidence> evidence, const Marginals& marginals, int n_threads) {
  const auto back = [&](const FactoredTree& factored, const Observation& known, FactoredWork& work) {
    return factored_backward(tree, factored, known, work, marginals, n_threads);
  };
  return run_factored_tree(tree, potentials, evidence, n_threads, back);
}

/// Whether the factored tree is cheaper than the tables. Where the given cliques are about all the tree has,
/// as in a chain of measured cliques, there is nothing to leave out, and its tables are worked on in larger
/// blocks.
bool factored_is_cheaper(const JunctionTree& tree, std::span<const Evidence> evidence) {
  return 2 * tree.cost.factor_cells <= tree.cost.cells || Known(tree.sizes, evidence).any;
}

/// Has a propagation write the marginals of the given cliques.
NodeHooks into(const JunctionTree& tree, std::span<double> marginals) {
  NodeHooks hooks;
  hooks.marginal = [&tree, marginals](int factor, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), slice(tree, marginals, factor).data() + begin);
  };
  return hooks;
}

}  // namespace

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads) {
  if (!factored_is_cheaper(tree, evidence)) {
    double log_z = 0;
    Workspace work(tree);
    const NodeHooks hooks = into(tree, marginals);
    if (propagate(tree, potentials, evidence, total, work, log_z, n_threads, hooks) != Outcome::lost) {
      return log_z;
    }
  }
  return factored_marginals(tree, potentials, evidence, {total, marginals, {}}, n_threads);
}

double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads) {
  return factored_marginals(tree, potentials, evidence, {total, {}, marginals}, n_threads);
}

double exact_tables(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, std::span<double> tables,
                    int n_threads) {
  {
    double log_z = 0;
    Workspace work(tree);
    NodeHooks hooks;
    hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
      std::copy(cells.begin(), cells.end(), tables.data() + node.offset + block.begin);
    };
    if (propagate(tree, potentials, evidence, total, work, log_z, n_threads, hooks) != Outcome::lost) {
      return log_z;
    }
  }
  // The factored tree knows marginals of given cliques alone: those of the tree are given with potentials 0.
  std::vector<Scope> cliques = tree.scopes;
  for (const TreeNode& node : tree.nodes) cliques.push_back(node.attributes);
  const JunctionTree wider =
      build_junction_tree(tree.sizes, cliques, eliminate_in_order(tree.sizes, cliques, tree.order));
  std::vector<double> padded(potentials.size() + tables.size(), 0.0);
  std::copy(potentials.begin(), potentials.end(), padded.begin());
  std::vector<double> marginals(padded.size());
  const double log_z = factored_marginals(wider, padded, evidence, {total, marginals, {}}, n_threads);
  std::copy(marginals.begin() + static_cast<std::ptrdiff_t>(potentials.size()), marginals.end(),
            tables.begin());
  return log_z;
}

double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads) {
  if (!factored_is_cheaper(tree, evidence)) {
    double log_z = 0;
    Workspace work(tree);
    if (log_partition(tree, potentials, evidence, work, log_z, n_threads) != Outcome::lost) return log_z;
  }
  const auto stop = [](const FactoredTree&, const Observation&, FactoredWork&) { return Outcome::exact; };
  return run_factored_tree(tree, potentials, evidence, n_threads, stop);
}

double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                            std::span<const Evidence> evidence, int n_threads) {
  const Known known(tree.sizes, evidence);
  if (known.log_weight == -kInfinity) return -kInfinity;
  const FactoredTree own = known.any ? make_factored_tree(tree, known.observed) : FactoredTree{};
  const FactoredTree& factored = known.any ? own : *tree.factored;
  const auto cells = std::make_unique_for_overwrite<double[]>(factored.cells);
  return known.log_weight +
         factored_maximum(tree, factored, potentials, known.observation(), cells.get(), n_threads);
}

ExactWork::ExactWork(const JunctionTree& tree)
    : tree_(tree), nothing_{std::vector<std::int32_t>(tree.sizes.size(), 0), {}} {
  if (factored_is_cheaper(tree, {})) return;
  tables_ = std::make_unique<Workspace>(tree);
  rows_ = make_row_nodes(tree);
}

FactoredWork& ExactWork::factored() {
  if (factored_ == nullptr) factored_ = std::make_unique<FactoredWork>(*tree_.factored);
  return *factored_;
}

Outcome ExactWork::run_factored(std::span<const double> potentials, double total, std::span<double> marginals,
                                double& log_z, int n_threads) {
  FactoredWork& work = factored();
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  const double width = extent.largest - extent.least;
  work.may_extend = width >= lost_width_;
  const bool may_extend = work.may_extend;
  const auto back = [&](const FactoredTree& factored, const Observation& known, FactoredWork& cells) {
    return factored_backward(tree_, factored, known, cells, {total, marginals, {}}, n_threads);
  };
  const Outcome outcome =
      forward_and_backward(tree_, *tree_.factored, potentials, nothing_, work, log_z, n_threads, back);
  if (work.may_extend && !may_extend) lost_width_ = width;
  return outcome;
}

Outcome ExactWork::run_dense(std::span<const double> potentials, double total, std::span<double> marginals,
                             double& log_z, int n_threads, const CliqueHooks& hooks) {
  NodeHooks of_nodes = into(tree_, marginals);
  of_nodes.rows = rows_;
  of_nodes.step = [&](const RowNode& row, const RowTables& tables) {
    const Placement& place = tree_.factors[at(row.factor)];
    const Blocks& blocks = tree_.nodes[at(place.node)].blocks;
    const double* weights = tables_->weights.data() + place.offset;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      const Block block = block_at(blocks, b);
      row_kernels().multiply(row.rows_of(block), weights + block.begin, row.tables_at(tables, block),
                             marginals.data() + place.offset + block.begin);
    }
  };
  const auto for_node =
      [](const std::function<void(int)>& hook) -> std::function<void(const TreeNode&, int)> {
    if (!hook) return {};
    return [&hook](const TreeNode& node, int) {
      for (const int f : node.factors) hook(f);
    };
  };
  of_nodes.before = for_node(hooks.before);
  of_nodes.after = for_node(hooks.after);
  return propagate(tree_, potentials, {}, total, *tables_, log_z, n_threads, of_nodes);
}

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks) {
  const int threads = threads_for(kEffortWork * kExpWork * potentials.size(), n_threads);
  const auto for_factors = [&](const std::function<void(int)>& hook) {
    if (!hook) return;
    parallel_for(tree.factors.size(), threads, [&](std::size_t f) { hook(static_cast<int>(f)); });
  };
  double log_z = 0;
  if (work.is_factored()) {
    for_factors(hooks.before);
  } else if (work.run_dense(potentials, total, marginals, log_z, n_threads, hooks) != Outcome::lost) {
    return log_z;
  }
  const Outcome outcome = work.run_factored(potentials, total, marginals, log_z, n_threads);
  if (outcome == Outcome::exact) for_factors(hooks.after);
  return log_z;
}

double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials, ExactWork& work,
                            int n_threads) {
  return factored_maximum(tree, *tree.factored, potentials, work.nothing(), work.factored().cells.get(),
                          n_threads);
}

}  // namespace pypgm
