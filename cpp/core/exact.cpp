#include "core/exact.hpp"

#include <limits>

#include "core/observation.hpp"
#include "core/reduce.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

[[maybe_unused]] std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

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

}  // namespace pypgm
