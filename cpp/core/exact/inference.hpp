#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/propagation.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

// Exact inference: on the tables of the tree where these are cheaper, else by the factored tree, with
// observed attributes fixed beforehand. Where the weights of the latter lose something by underflow that
// matters, it runs again with cell exponents: the result is exact to rounding for any potentials. Potentials:
// packed natural logs of the given cliques; -inf is weight zero. Evidence: log-likelihoods; an attribute with
// one possible value is observed. Any n_threads gives the same bits. Once a watch is abandoned a run ends
// soon, and what it returns means nothing.

/// Marginals of all given cliques, counts that sum to `total`; returns log Z, -inf if nothing has weight (and
/// then the marginals mean nothing).
double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads, Watch* watch = nullptr);

/// The same for all single attributes, packed.
double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads, Watch* watch = nullptr);

/// Marginals of the tree's cliques, each at its node's offset; returns log Z.
double exact_tables(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, std::span<double> tables, int n_threads,
                    Watch* watch = nullptr);

/// log Z by the factored tree, whose tables are in `work` afterwards; -inf if nothing has weight.
double factored_log_partition(const Observation& observation, FactoredWork& work, int n_threads);

/// log Z alone.
double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads, Watch* watch = nullptr);

/// The largest value a joint assignment gives the sum of the potentials (max-product).
double exact_max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                            std::span<const Evidence> evidence, int n_threads);

/// The buffers of inference without evidence, made once for many runs, those of the factored tree when they
/// are first needed. For one run at a time.
class ExactWork {
 public:
  explicit ExactWork(const JunctionTree& tree);

  /// Whether runs are those of the factored tree.
  bool is_factored() const { return tables_ == nullptr; }
  /// Marginals by the factored tree.
  Outcome run_factored(std::span<const double> potentials, double total, std::span<double> marginals,
                       double& log_z, int n_threads);
  /// Null if runs are those of the factored tree.
  Workspace* tables() const { return tables_.get(); }
  /// exact_max_log_weight without evidence.
  double max_log_weight(std::span<const double> potentials, int n_threads);
  FactoredWork& factored();

 private:
  std::unique_ptr<FactoredWork> factored_;
  std::unique_ptr<Workspace> tables_;
  Observation nothing_;  ///< no evidence
  /// Potentials as far apart lost a run with scaled weights: such a run is not tried again.
  double lost_width_ = kInfinity;
};

/// exact_marginals without evidence and without allocation.
double exact_marginals(const JunctionTree& tree, std::span<const double> potentials, double total,
                       ExactWork& work, std::span<double> marginals, int n_threads,
                       const CliqueHooks& hooks = {});

}  // namespace pypgm
