#include "core/exact.hpp"

#include <limits>

#include "core/observation.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

/// The way with implicit cliques. `back` goes on from a forward pass that has lost nothing.
template <class Back>
Outcome contracted(const JunctionTree& tree, std::span<const double> potentials,
                   std::span<const Evidence> evidence, double& log_z, int n_threads, const Back& back) {
  const Known known(tree.sizes, evidence);
  if (known.log_weight == -kInfinity) {
    log_z = -kInfinity;
    return Outcome::impossible;
  }
  const ImplicitTree own = known.any ? make_implicit_tree(tree, known.observed) : ImplicitTree{};
  const ImplicitTree& contraction = known.any ? own : *tree.contraction;
  ImplicitWork work(contraction);
  const Outcome forward =
      contract_forward(tree, contraction, potentials, known.observation(), work, log_z, n_threads);
  if (forward == Outcome::impossible) log_z = -kInfinity;
  if (forward != Outcome::exact) return forward;
  log_z += known.log_weight;
  return back(contraction, known.observation(), work);
}

/// Whether implicit cliques are the cheaper way. Where the given cliques are about all the tree has, as in a
/// chain of measured cliques, there is nothing to leave out, and its tables are worked on in larger blocks.
bool implicit(const JunctionTree& tree, std::span<const Evidence> evidence) {
  if (tree.contraction == nullptr) return false;
  if (2 * tree.cost.factor_cells <= tree.cost.cells) return true;
  return Known(tree.sizes, evidence).any;
}

/// Forward and back, on buffers that are there.
Outcome contract_without_evidence(const JunctionTree& tree, std::span<const double> potentials, double total,
                                  ExactWork& work, std::span<double> marginals, double& log_z,
                                  int n_threads) {
  const Outcome forward = contract_forward(tree, *tree.contraction, potentials, work.nothing(),
                                           work.contraction(), log_z, n_threads);
  if (forward == Outcome::impossible) log_z = -kInfinity;
  if (forward != Outcome::exact) return forward;
  return contract_backward(tree, *tree.contraction, work.nothing(), work.contraction(),
                           {total, marginals, {}}, n_threads);
}

}  // namespace

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads) {
  if (implicit(tree, evidence)) {
    double log_z = 0;
    const auto back = [&](const ImplicitTree& contraction, const Observation& known, ImplicitWork& work) {
      return contract_backward(tree, contraction, known, work, {total, marginals, {}}, n_threads);
    };
    if (contracted(tree, potentials, evidence, log_z, n_threads, back) != Outcome::lost) return log_z;
  }
  Workspace work(tree);
  return marginals_of(tree, potentials, evidence, total, work, marginals, n_threads);
}

double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads) {
  if (tree.contraction != nullptr) {
    double log_z = 0;
    const auto back = [&](const ImplicitTree& contraction, const Observation& known, ImplicitWork& work) {
      return contract_backward(tree, contraction, known, work, {total, {}, marginals}, n_threads);
    };
    if (contracted(tree, potentials, evidence, log_z, n_threads, back) != Outcome::lost) return log_z;
  }
  Workspace work(tree);
  return attribute_marginals_of(tree, potentials, evidence, total, work, marginals);
}

double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads) {
  if (implicit(tree, evidence)) {
    double log_z = 0;
    const auto stop = [](const ImplicitTree&, const Observation&, ImplicitWork&) { return Outcome::exact; };
    if (contracted(tree, potentials, evidence, log_z, n_threads, stop) != Outcome::lost) return log_z;
  }
  Workspace work(tree);
  return log_partition(tree, potentials, evidence, work, n_threads);
}

ExactWork::ExactWork(const JunctionTree& tree)
    : tree_(tree), nothing_{std::vector<std::int32_t>(tree.sizes.size(), 0), {}} {
  if (implicit(tree, {})) {
    contraction_ = std::make_unique<ImplicitWork>(*tree.contraction);
  } else {
    tables();
  }
}

Workspace& ExactWork::tables() {
  if (tables_ == nullptr) tables_ = std::make_unique<Workspace>(tree_);
  return *tables_;
}

double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks) {
  NodeHooks of_nodes;
  of_nodes.marginal = [&](int factor, std::size_t, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), slice(tree, marginals, factor).data() + begin);
  };
  if (hooks.after) {
    of_nodes.after = [&](const TreeNode& node, int) {
      for (const int f : node.factors) hooks.after(f);
    };
  }
  if (work.contracts()) {
    const int threads = threads_for(potentials.size(), n_threads);
    if (hooks.before) {
      parallel_for(tree.factors.size(), threads, [&](std::size_t f) { hooks.before(static_cast<int>(f)); });
    }
    double log_z = 0;
    const Outcome outcome =
        contract_without_evidence(tree, potentials, total, work, marginals, log_z, n_threads);
    if (outcome == Outcome::impossible) return log_z;
    if (outcome == Outcome::exact) {
      if (hooks.after) {
        parallel_for(tree.factors.size(), threads, [&](std::size_t f) { hooks.after(static_cast<int>(f)); });
      }
      return log_z;
    }
  } else if (hooks.before) {
    of_nodes.before = [&](const TreeNode& node, int) {
      for (const int f : node.factors) hooks.before(f);
    };
  }
  return propagate(tree, potentials, {}, total, work.tables(), n_threads, of_nodes);
}

double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials, ExactWork& work,
                            int n_threads) {
  if (work.contracts()) {
    const ImplicitTree& contraction = *tree.contraction;
    double* const cells = work.contraction().cells.get();
    contract_largest(tree, contraction, potentials, work.nothing(), cells, n_threads);
    return contraction.root < 0 ? 0.0 : cells[contraction.values[at(contraction.root)].offset];
  }
  return max_log_weight(tree, potentials, {}, work.tables(), n_threads);
}

}  // namespace pypgm
