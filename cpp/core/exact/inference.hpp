#pragma once
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/exact/factored_inference.hpp"
#include "core/exact/propagation.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

// Exact inference by the cheaper way: with implicit cliques, observed attributes fixed beforehand, or with
// the tables of the tree; powers of two apart from the weights, or logarithms, where weights would be lost.
// Potentials: natural logs of the given cliques one behind the other; -inf is weight zero. Evidence:
// log-likelihoods; an attribute with one possible value is observed. Any n_threads gives the same bits.

/// Marginals of all given cliques, counts that sum to `total`; returns log Z, -inf if nothing has weight (and
/// then the marginals mean nothing).
double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads);

/// The same for all single attributes, one behind the other.
double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads);

/// log Z alone.
double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads);

/// The buffers of inference without evidence by the cheaper way, made once for many runs. For one run at a
/// time.
class ExactWork {
 public:
  explicit ExactWork(const JunctionTree& tree);

  /// Whether implicit cliques are the cheaper way.
  bool contracts() const { return contraction_ != nullptr; }
  /// Marginals by a contraction. Requires contracts().
  Outcome contract(std::span<const double> potentials, double total, std::span<double> marginals,
                   double& log_z, int n_threads);
  /// Requires contracts().
  FactoredWork& contraction() { return *contraction_; }
  /// Requires !contracts().
  Workspace& tables() { return *tables_; }
  /// Nodes that are gone through as rows; none where contracts().
  std::span<const RowNode> rows() const { return rows_; }
  const Observation& nothing() const { return nothing_; }

 private:
  const JunctionTree& tree_;
  std::unique_ptr<FactoredWork> contraction_;
  std::unique_ptr<Workspace> tables_;
  std::vector<RowNode> rows_;
  Observation nothing_;
  /// Potentials as far apart lost a run with plain weights: none is tried again.
  double lost_width_ = std::numeric_limits<double>::infinity();
};

/// What is done with the given cliques around a run, for different ones at the same time.
struct CliqueHooks {
  std::function<void(int factor)> before;  ///< prepares its potentials
  std::function<void(int factor)> after;   ///< its marginal is there
};

/// exact_marginals without evidence and without allocation.
double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks = {});

/// The largest value a joint assignment gives the sum of the potentials (max-product).
double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials, ExactWork& work,
                            int n_threads);

}  // namespace pypgm
