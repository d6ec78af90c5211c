#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/fit/descent.hpp"
#include "core/fit/l2_path.hpp"

namespace pypgm {

/// Accelerated mirror descent for an L2Loss: potentials theta with marginals z, and an average x of the z,
/// which is the answer; the average of the theta, with the same weights, has nearly the marginals x. Nothing
/// but opening a window, and what L2Path says, allocates after construction.
class Acceleration {
 public:
  Acceleration(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
               std::vector<double> potentials, int n_threads);

  /// theta -= s * gradient at (1-a) x + a z; x = (1-a) x + a z'. One propagation.
  PathSums advance(double s, double a);
  /// Bound on L(x) - min L; one upward pass.
  double gap();
  /// Begins to average the points at which gradients are taken, weighted by s.
  void open_window();
  /// Bound from below of the least loss, from the gradient at that average; -inf without a step since the
  /// window was opened. One upward pass.
  double lower_bound();
  /// Writes theta in smaller numbers where inference takes longer on large ones; see level_potentials.
  void level();

  /// x becomes the mean of x and of an earlier average; only a fit may follow.
  void join(std::span<const double> earlier);

  /// L(x).
  double loss();
  const std::vector<double>& potentials() const { return theta_; }
  const std::vector<double>& average() const { return x_; }
  const std::vector<double>& average_potentials() const { return mean_; }

 private:
  double gap_at(std::span<const double> marginals);
  double loss_of(std::span<const double> marginals);

  std::shared_ptr<const JunctionTree> tree_;
  L2Loss loss_;
  L2Path path_;
  double total_;
  int n_threads_;
  ExactWork work_;
  std::vector<double> theta_, mean_, x_, z_, next_, gradient_;
  std::vector<double> window_;   ///< sum of s times the points since it was opened; empty before
  double window_steps_ = 0;      ///< sum of s
  std::vector<PathSums> terms_;  ///< by clique
};

}  // namespace pypgm
