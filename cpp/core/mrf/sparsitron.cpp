// Multiplicative weights over signed features; the best of all iterates is chosen on held-out records.
#include "core/mrf/sparsitron.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"

namespace pypgm {

namespace {

// Steps between exact sums: a step changes a weight by a factor below e.
constexpr std::size_t kRescale = 256;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// Weights of +x, of -x and of the feature 0, times an unknown common factor.
class Hedge {
 public:
  /// beta as Freund and Schapire choose it for n_steps steps.
  Hedge(std::size_t n_features, double radius, std::size_t n_steps)
      : radius_(radius), plus_(n_features, 1.0), minus_(n_features, 1.0) {
    const auto n_experts = static_cast<double>(2 * n_features + 1);
    log_beta_ = -std::log1p(std::sqrt(std::log(n_experts) / static_cast<double>(n_steps)));
    rescale();
  }

  double weight(std::size_t feature) const { return radius_ * (plus_[feature] - minus_[feature]) / sum_; }

  /// Multiplies each weight by beta^loss, loss = (1 + (prediction - label) x) / 2, without the factor
  /// beta^(1/2) that all share: features of 0 need no update.
  void step(std::span<const std::int8_t> row, std::int8_t label) {
    double margin = 0;
    for (std::size_t f = 0; f < row.size(); ++f) margin += row[f] * (plus_[f] - minus_[f]);
    const double excess = sigmoid(radius_ * margin / sum_) - (label > 0 ? 1.0 : 0.0);
    const double up = std::exp(0.5 * log_beta_ * excess);
    const double down = 1 / up;
    for (std::size_t f = 0; f < row.size(); ++f) {
      if (row[f] == 0) continue;
      const double before = plus_[f] + minus_[f];
      plus_[f] *= row[f] > 0 ? up : down;
      minus_[f] *= row[f] > 0 ? down : up;
      sum_ += plus_[f] + minus_[f] - before;
    }
    if (++n_steps_ % kRescale == 0) rescale();
  }

 private:
  /// Brings the largest weight to 1; weights that vanish beside it stay 0.
  void rescale() {
    double largest = none_;
    for (std::size_t f = 0; f < plus_.size(); ++f) largest = std::max({largest, plus_[f], minus_[f]});
    sum_ = none_ /= largest;
    for (std::size_t f = 0; f < plus_.size(); ++f) sum_ += (plus_[f] /= largest) + (minus_[f] /= largest);
  }

  double radius_;
  double log_beta_ = 0;
  double none_ = 1;
  double sum_ = 0;
  std::vector<double> plus_;
  std::vector<double> minus_;
  std::size_t n_steps_ = 0;
};

double squared_error(const SignedRecords& records, std::span<const double> weights) {
  double error = 0;
  const Watch* const watch = thread_watch;
  for (std::size_t r = 0; r < records.size(); ++r) {
    leave_if_abandoned(watch);
    const auto row = records.row(r);
    double margin = 0;
    for (std::size_t f = 0; f < row.size(); ++f) margin += row[f] * weights[f];
    const double miss = sigmoid(margin) - (records.labels[r] > 0 ? 1.0 : 0.0);
    error += miss * miss;
  }
  return error;
}

}  // namespace

void sparsitron(const SignedRecords& training, const SignedRecords& held_out, double radius,
                std::size_t n_candidates, std::span<double> weights) {
  assert(training.size() > 0 && radius > 0 && n_candidates >= 1 && weights.size() == training.n_features);
  Hedge hedge(training.n_features, radius, training.size());
  std::vector<double> candidate(training.n_features);
  double least = kInfinity;
  for (std::size_t t = 0; t < training.size(); ++t) {
    leave_if_abandoned();
    hedge.step(training.row(t), training.labels[t]);
    // One candidate at the end of each of n_candidates equal parts.
    if ((t + 1) * n_candidates / training.size() == t * n_candidates / training.size()) continue;
    for (std::size_t f = 0; f < candidate.size(); ++f) candidate[f] = hedge.weight(f);
    const double error = squared_error(held_out, candidate);
    if (error > least) continue;  // of equal ones the last, which has seen most records
    least = error;
    std::copy(candidate.begin(), candidate.end(), weights.begin());
  }
}

}  // namespace pypgm
