#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/exact.hpp"
#include "core/junction_tree.hpp"
#include "core/l2_loss.hpp"

namespace pypgm {

/// How the loss changed over a step from marginals mu to mu', in count units: by slope + curvature / 2.
struct Change {
  double slope;      ///< <g, mu' - mu>, g the gradient at mu; minus the total times the symmetric divergence
                     ///< KL(p' || p) + KL(p || p') of the joint distributions, over the step
  double curvature;  ///< sum of w (Q (mu' - mu))^2
};

/// Mirror descent for an L2Loss over the marginals mu (counts) of a graphical model. It holds potentials
/// theta (natural logs) on the given cliques, their marginals and the gradient there; a step tries theta -
/// alpha g and is then accepted or dropped. -inf potentials are structural zeros and stay; if they leave
/// nothing, the construction throws std::invalid_argument. No allocation after construction.
class Descent {
 public:
  Descent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
          std::vector<double> potentials, int n_threads);

  /// The loss at theta - alpha g, which becomes the candidate; the current point stays. One propagation.
  double try_step(double alpha);
  /// How the loss changed from the current point to the candidate.
  Change change();
  /// Makes the candidate the current point.
  void accept();
  /// Bound on L(mu) - min L: <g, mu> - min over all distributions of <g, nu>, by max-product. One upward
  /// pass.
  double gap();

  double loss() const { return current_.loss; }
  const std::vector<double>& potentials() const { return current_.potentials; }
  const std::vector<double>& marginals() const { return current_.marginals; }

 private:
  struct Point {
    std::vector<double> potentials;
    std::vector<double> marginals;
    std::vector<double> gradient;
    double loss = 0;
  };

  void evaluate(Point& point, double alpha);

  std::shared_ptr<const JunctionTree> tree_;
  L2Loss loss_;
  double total_;
  int n_threads_;
  ExactWork work_;
  Point current_;
  Point candidate_;
  std::vector<double> moved_;   ///< from current to candidate
  std::vector<double> losses_;  ///< by clique
};

/// Mirror descent along steps that are known beforehand: theta <- theta - alpha g, whatever becomes of the
/// loss. While a clique's marginal is in cache its potentials take the next step and are weighed at once, so
/// that one iteration goes through potentials, weights and measured values once and keeps neither marginals
/// nor gradients; where implicit cliques are the cheaper way, cliques are small beside the propagation and
/// step one by one. What it answers with is the point of least loss. No allocation after construction.
class SteadyDescent {
 public:
  /// Starts at the potentials given; `alpha` is the first step. One propagation. Throws as Descent does.
  SteadyDescent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
                std::vector<double> potentials, double alpha, int n_threads);

  /// Takes the step announced last and returns the loss there; `alpha` is the step after it. One propagation.
  double advance(double alpha);
  /// Bound on the least loss found - min L, for the point of least loss. A propagation and an upward pass.
  double gap();
  /// Marginals of the point of least loss, by a propagation.
  void marginals(std::span<double> out);

  /// Least loss found.
  double loss() const { return least_; }
  const std::vector<double>& potentials() const { return thetas_[best_]; }

 private:
  /// One propagation at thetas_[here_] that prepares the next point in thetas_[next_].
  double pass(double alpha);
  /// Its log Z. With the step made clique by clique, and while their parts are in cache.
  double plain_pass(double alpha);
  double fused_pass(double alpha);
  void descend(int factor, std::size_t block, std::size_t begin, std::span<const double> marginal,
               double alpha);
  void descend_whole(int factor, std::span<const double> marginal, double alpha);
  void weigh(const TreeNode& node, int threads);

  std::shared_ptr<const JunctionTree> tree_;
  L2Loss loss_;
  double total_;
  int n_threads_;
  ExactWork work_;
  std::vector<double> marginals_;  ///< where cliques step one by one
  std::vector<double> thetas_[3];  ///< where we are, the point of least loss, and room for the next point
  std::size_t here_ = 0, best_ = 0, next_ = 1;
  double least_ = 0;
  std::vector<std::size_t> first_block_;                   ///< by clique: of its blocks in the two below
  std::vector<double> losses_;                             ///< by block
  std::vector<Extent> extents_;                            ///< by block, of the next potentials
  std::vector<std::vector<double>> gathered_, gradients_;  ///< by clique: room where the term is not cellwise
};

/// <g, mu> - min over all distributions nu (counts, structural zeros kept) of <g, nu>. `room` is as long as
/// g.
double frank_wolfe_gap(const JunctionTree& tree, std::span<const double> gradient,
                       std::span<const double> marginals, std::span<const double> potentials, double total,
                       std::span<double> room, ExactWork& work, int n_threads);

}  // namespace pypgm
