#pragma once
// Convex generalised belief propagation on a region graph: beliefs, messages, sweeps, the dual value.
#include <memory>
#include <span>
#include <vector>

#include "core/regions/region_graph.hpp"

namespace pypgm {

/// Beliefs below it are raised to it before their logarithm is taken.
inline constexpr double kLeastBelief = 1e-250;

/// out = from + the messages from a region's children - those to its parents; out may be where `from` points.
void add_messages(const RegionGraph& graph, int region, const double* from, std::span<const double> messages,
                  std::span<double> out);

/// Convex generalised belief propagation: the beliefs b (each sums to 1) that maximise
/// sum of <theta_r, b_r> + kappa_r H(b_r) over the local polytope, by messages lam from children to parents,
/// b_r ~ exp((theta_r + sum of lam from its children - sum of lam to its parents) / kappa_r).
/// Where every cell above one of a child has weight zero its belief is 0 exactly. All results are the same
/// bits for any number of threads. No allocation after construction.
class ConvexGbp {
 public:
  /// Requires one positive counting number kappa a region. Messages start at 0.
  ConvexGbp(std::shared_ptr<const RegionGraph> graph, std::vector<double> counting_numbers, int n_threads);

  /// Beliefs of all regions from potentials and messages.
  void refresh(std::span<const double> theta);
  /// The belief of one region; different regions may be refreshed in parallel.
  void refresh(int region, std::span<const double> theta);
  /// Exchanges the buffer of beliefs for another of the same size; beliefs must be refreshed afterwards.
  void swap_beliefs(std::vector<double>& other) { beliefs_.swap(other); }
  /// One block update of every child c, stage by stage; beliefs stay consistent with messages. With m_p the
  /// marginal of parent p, log m ~ (kappa_c log b_c + sum of kappa_p log m_p) / (kappa_c + sum of kappa_p) is
  /// what all agree on: lam_{c p} += kappa_p (log m - log m_p). Requires refreshed beliefs. Returns
  /// the feasibility: the mean over edges of the L1 distance of parent's and child's marginals, each before
  /// its update.
  double sweep();
  /// All messages from the present beliefs at once (flooding); the part `damping` of each old message stays.
  /// Beliefs must be refreshed afterwards. Returns the feasibility before.
  double flood(double damping);
  /// The feasibility; changes nothing.
  double feasibility();
  /// Adds `factor` times their change since the last call to the messages, and stores them for the next call.
  void extrapolate(double factor);
  /// Sets all messages to 0, and those that extrapolation has stored.
  void reset();

  /// Sum of kappa_r log Z_r as of the last refresh: an upper bound of the maximum, in natural logs.
  double dual() const;

  const RegionGraph& graph() const { return *graph_; }
  std::span<const double> counting_numbers() const { return kappa_; }
  std::span<double> beliefs() { return beliefs_; }
  std::span<double> belief(int region) { return slice(*graph_, beliefs_, region); }
  std::span<double> messages() { return messages_; }
  std::vector<double> release_beliefs() { return std::move(beliefs_); }
  int threads() const { return n_threads_; }

 private:
  template <class Update>
  double over_stages(const Update& update);
  /// Marginals of the parents of a child into its scratch; returns the summed L1 distance to its belief.
  double gather(int child, int n_threads);
  /// Weighted geometric mean of a child's belief and its parents' marginals, as logarithms.
  void average(int child);
  void exclude_zeros(int child);
  /// Messages to the parents, moved by a part of the way to new ones; n_threads > 0: and their beliefs times
  /// the ratio of new to old marginals.
  void scatter(int child, double part, int n_threads);
  double* mean_of(int child);  ///< in the scratch buffer of logarithms

  std::shared_ptr<const RegionGraph> graph_;
  std::vector<double> kappa_;
  std::vector<double> kappa_above_;  ///< by edge: the parent's
  int n_threads_;
  std::vector<double> beliefs_, messages_, previous_;
  std::vector<double> log_z_;        ///< by region
  std::vector<double> distances_;    ///< by region: summed over its parents
  std::vector<std::size_t> offset_;  ///< by region: in the scratch buffers of marginals and logarithms
  std::vector<std::size_t> work_;    ///< by stage: cells of the parents
  std::vector<double> marginals_;    ///< scratch buffer of one stage: the parents' marginals of each child
  std::vector<double> logarithms_;   ///< the same: their logarithms, and last those of the new marginal
};

}  // namespace pypgm
