#pragma once
// Accelerated mirror descent over the local polytope of a region graph, one sweep of convex GBP an iteration.
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/fit/l2_loss.hpp"
#include "core/fit/l2_path.hpp"
#include "core/regions/convex_gbp.hpp"

namespace pypgm {

/// What one step reports; beliefs sum to 1.
struct RegionProgress {
  PathSums sums;
  double feasibility = 0;  ///< before the last sweep; see ConvexGbp::sweep
  int sweeps = 0;          ///< number of sweeps in this step
};

/// Accelerated mirror descent over the local polytope for L = 1/2 sum of w (Q total b - y)^2, one sweep a
/// step: potentials theta with beliefs z, and an average x of the z, which is the answer. Potentials change
/// where there are measurements. Nothing but the first step allocates.
class RegionAcceleration {
 public:
  /// Potentials start at 0.
  RegionAcceleration(std::shared_ptr<const RegionGraph> graph, std::vector<double> counting_numbers,
                     double total, int n_threads);

  /// theta_r += kappa_r table for a region, or, expanded, for each region that contains an attribute and was
  /// not entered itself before.
  void enter(int region, std::span<const double> table);
  void enter_elsewhere(std::int32_t attribute, std::span<const double> table);
  /// Adds a measurement of a region; see L2Loss.
  void measure(Measured measurement) { loss_.add(std::move(measurement)); }
  /// After the last enter() and measure(): sweeps until feasibility <= tolerance, then z = x = beliefs.
  /// Returns the number of sweeps, -1 if structural zeros leave a region without weight.
  int begin(double tolerance, int max_sweeps);

  /// theta -= s * gradient at (1-a) x + a z; messages move on by `stretch` times their last change; a sweep,
  /// and up to three more where feasibility is above `loose`; x = (1-a) x + a z'.
  RegionProgress advance(double s, double a, double stretch, double loose);
  /// The same along a gradient given (over all region tables), of a loss that is not here: losses
  /// and curvature are 0.
  RegionProgress advance_along(std::span<const double> gradient, double s, double a, double stretch,
                               double loose);
  /// (1-a) x + a z over all region tables, times the total.
  void mean(double a, std::span<double> out);
  /// x becomes the mean of x and of an earlier average, given times the total; only a fit may follow.
  void join(std::span<const double> earlier);
  /// Starts the average anew from z, and opens a window of the certificate.
  void restart();
  /// L of x, and of z.
  double loss();
  double loss_of_beliefs();

  /// Opens a window of the certificate at the present potentials and messages.
  void open_window();
  /// Adds a step of an external loss to the window: s and L(v) - total <g, v>.
  void record(double s, double bound);
  /// A lower bound of the loss over the local polytope, from the steps since the window was opened.
  double lower_bound();

  /// theta_r = kappa_r log x_r, without messages, then sweeps: the answer is locally consistent to
  /// `tolerance`. Returns the feasibility reached and the sweeps taken.
  std::pair<double, int> fit_potentials(double tolerance, int max_sweeps);

  ConvexGbp& propagation() { return gbp_; }
  const std::vector<double>& potentials() const { return theta_; }
  std::vector<double> release_potentials() { return std::move(theta_); }

 private:
  /// Sweeps until messages are at their fixed point; later ones have momentum (Nesterov), with restarts.
  std::pair<double, int> sweep(double tolerance, int max_sweeps);
  std::span<double> table(std::vector<double>& buffer, int r) const { return slice(*graph_, buffer, r); }
  double loss_of(std::span<const double> beliefs);
  template <class Before, class After>
  RegionProgress step(double stretch, double loose, const Before& before, const After& after);
  template <class Body>
  void over_regions(const Body& body);  ///< body(region, sums of its block, 0 at first)

  std::shared_ptr<const RegionGraph> graph_;
  double total_;
  ConvexGbp gbp_;
  L2Loss loss_;
  L2Path path_;
  std::vector<std::uint8_t> entered_;  ///< by region
  std::vector<double> theta_, x_, z_;
  std::vector<PathSums> sums_;                          ///< by block
  std::vector<double> window_theta_, window_messages_;  ///< at its start; the first of a loss given
  double window_steps_ = 0;                             ///< sum of s
  double window_bound_ = 0;                             ///< sum of s (L(v) - total <g, v>)
};

}  // namespace pypgm
