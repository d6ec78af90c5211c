// L-BFGS on log Z - <theta, targets> / total, one factored run for each value and gradient.
#include "core/fit/moment_matching.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kMemory = 10;
constexpr double kRarest = 1e-12;     // share of the total below which cells count as equally rare
constexpr double kFirst = 0.125;      // of the step that would be right if each cell stood alone
constexpr double kFurthest = 5.0;     // that any potential moves in a step
constexpr double kSufficient = 1e-4;  // of the descent the slope promises
constexpr double kRounding = 1e-13;   // of log Z
constexpr double kShortest = 1e-6;    // of a step

void add_scaled(std::vector<double>& to, const std::vector<double>& what, double scale) {
  kernels().add_scaled(to.data(), what.data(), scale, to.size(), to.data());
}

class MomentMatching {
 public:
  MomentMatching(const JunctionTree& tree, std::span<const double> targets, double total,
                 const std::vector<double>& potentials, ExactWork& work, int n_threads)
      : tree_(tree), targets_(targets), total_(total), work_(work), n_threads_(n_threads) {
    const std::size_t n = potentials.size();
    for (std::vector<double>* scratch : {&spread_, &direction_, &marginals_}) scratch->resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      // A potential moves the share p of its cell by p: in these units by 1. Structural zeros do not move.
      const double share = std::max(targets[i] / total, kRarest);
      spread_[i] = potentials[i] == -kInfinity ? 0.0 : 1 / std::sqrt(share);
    }
    here_ = {potentials, std::vector<double>(n), 0, 0, kInfinity};
    next_ = here_;
    evaluate(here_);
  }

  double distance() const { return here_.distance; }
  const std::vector<double>& potentials() const { return here_.potentials; }
  int runs() const { return runs_; }

  /// One step; whether there may be more to gain.
  bool advance(int most_runs) {
    choose_direction();
    double furthest = 0;
    for (std::size_t i = 0; i < direction_.size(); ++i) {
      furthest = std::max(furthest, std::abs(direction_[i] * spread_[i]));
    }
    const double slope = dot(direction_, here_.gradient);
    const double slack = kRounding * (1 + std::abs(here_.log_z));
    double step = std::min(1.0, kFurthest / furthest);
    while (step >= kShortest) {
      if (runs_ >= most_runs) return false;
      for (std::size_t i = 0; i < direction_.size(); ++i) {
        next_.potentials[i] = here_.potentials[i] + step * direction_[i] * spread_[i];
      }
      evaluate(next_);
      if (next_.value <= here_.value + kSufficient * step * slope + slack) {
        remember(step);
        std::swap(here_, next_);
        return true;
      }
      step /= 2;
    }
    // What is remembered may mislead; without it the direction is the steepest one.
    const bool more = !pairs_.empty();
    pairs_.clear();
    return more;
  }

 private:
  struct Point {
    std::vector<double> potentials, gradient;
    double value = 0, log_z = 0, distance = 0;
  };
  struct Pair {
    std::vector<double> moved, bent;  ///< of the point and of the gradient
    double product;
  };

  void evaluate(Point& point) {
    ++runs_;
    point.log_z = exact_marginals(tree_, point.potentials, total_, work_, marginals_, n_threads_);
    if (!(point.log_z > -kInfinity)) {
      point.value = point.distance = kInfinity;
      return;
    }
    double sum = 0;
    double fit = 0;
    for (std::size_t i = 0; i < marginals_.size(); ++i) {
      const double misfit = (marginals_[i] - targets_[i]) / total_;
      sum += std::abs(misfit);
      point.gradient[i] = misfit * spread_[i];
      if (spread_[i] > 0) fit += targets_[i] / total_ * point.potentials[i];
    }
    point.value = point.log_z - fit;
    point.distance = sum / static_cast<double>(std::max<std::size_t>(1, tree_.factors.size()));
  }

  /// The two loops of L-BFGS.
  void choose_direction() {
    direction_ = here_.gradient;
    std::vector<double> shares(pairs_.size());
    for (std::size_t k = pairs_.size(); k-- > 0;) {
      shares[k] = dot(pairs_[k].moved, direction_) / pairs_[k].product;
      add_scaled(direction_, pairs_[k].bent, -shares[k]);
    }
    const double scale =
        pairs_.empty() ? kFirst : pairs_.back().product / dot(pairs_.back().bent, pairs_.back().bent);
    for (double& x : direction_) x *= -scale;
    for (std::size_t k = 0; k < pairs_.size(); ++k) {
      const double share = dot(pairs_[k].bent, direction_) / pairs_[k].product;
      add_scaled(direction_, pairs_[k].moved, -shares[k] - share);
    }
  }

  void remember(double step) {
    Pair pair{direction_, next_.gradient, 0};
    for (double& x : pair.moved) x *= step;
    add_scaled(pair.bent, here_.gradient, -1.0);
    pair.product = dot(pair.moved, pair.bent);
    if (!(pair.product > 0)) return;
    if (pairs_.size() == kMemory) pairs_.erase(pairs_.begin());
    pairs_.push_back(std::move(pair));
  }

  const JunctionTree& tree_;
  std::span<const double> targets_;
  double total_;
  ExactWork& work_;
  int n_threads_;
  std::vector<double> spread_, direction_, marginals_;
  Point here_, next_;
  std::vector<Pair> pairs_;
  int runs_ = 0;
};

}  // namespace

double match_moments(const JunctionTree& tree, std::span<const double> targets, double total,
                     std::vector<double>& potentials, ExactWork& work, int runs, double tolerance,
                     int n_threads) {
  MomentMatching matching(tree, targets, total, potentials, work, n_threads);
  bool more = matching.distance() < kInfinity;
  while (more && matching.distance() > tolerance && matching.runs() < runs) more = matching.advance(runs);
  potentials = matching.potentials();
  return matching.distance();
}

}  // namespace pypgm
