// The points of a fused descent: which are kept, and how the best one is had again.
#include <cmath>
#include <limits>

#include "core/fit/fused_descent.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

double FusedDescent::advance(double alpha) {
  ++step_;
  const std::size_t since = step_ - kept_[last_].step;
  const bool keep = alpha == 0 || (every_ > 0 && step_ == asked_ + every_);
  if (since >= kKeepEvery || (keep && since > 0)) {
    // What leads to the best point stays.
    if (best_from_ == last_) last_ = 1 - last_;
    save(kept_[last_]);
  }
  kept_[last_].alphas.push_back(alpha);
  const double loss = pass(alpha);
  if (loss < least_) {
    least_ = loss;
    best_ = step_;
    best_from_ = last_;
  }
  return loss;
}

void FusedDescent::save(Kept& kept) const {
  kept.step = step_;
  kept.scalings = work_.scalings;
  kept.parts = parts_;
  kept.alphas.clear();
  for (const Part& part : parts_) {
    const double* from = part.logarithms ? thetas_.get() : work_.weights.data();
    std::copy_n(from + part.begin, part.cells, kept.cells.get() + part.begin);
  }
}

void FusedDescent::restore(const Kept& kept) {
  work_.scalings = kept.scalings;
  parts_ = kept.parts;
  for (const Part& part : parts_) {
    double* const weights = work_.weights.data() + part.begin;
    const double* from = kept.cells.get() + part.begin;
    if (part.logarithms) {
      std::copy_n(from, part.cells, thetas_.get() + part.begin);
      kernels().exp_shifted(from, part.cells, work_.scalings[at(part.factor)].shift, weights);
    } else {
      std::copy_n(from, part.cells, weights);
    }
  }
}

/// Has the best point among those kept; the other one then is where the path goes on.
void FusedDescent::return_to_best() {
  Kept& from = kept_[best_from_];
  if (from.step == best_) return;
  const std::size_t here = step_;
  Kept& going_on = kept_[1 - best_from_];
  step_ = here + 1;
  save(going_on);
  restore(from);
  for (std::size_t k = 0; k < best_ - from.step; ++k) pass(from.alphas[k]);
  step_ = best_;
  save(from);
  restore(going_on);
  step_ = here;
  last_ = 1 - best_from_;
}

std::vector<double> FusedDescent::potentials() {
  return_to_best();
  if (step_ > asked_) every_ = step_ - asked_;
  asked_ = step_;
  const Kept& best = kept_[best_from_];
  std::vector<double> out(work_.weights.size());
  for (const Part& part : best.parts) {
    const double* from = best.cells.get();
    if (part.logarithms) {
      std::copy_n(from + part.begin, part.cells, out.data() + part.begin);
    } else {
      write_logarithms(part, best.scalings[at(part.factor)], from, out.data());
    }
  }
  return out;
}

void FusedDescent::marginals(std::span<double> out) {
  Workspace work(tree_);
  marginals_of(tree_, potentials(), {}, total_, work, out, n_threads_);
}

double FusedDescent::gap() {
  Workspace work(tree_);
  std::vector<double> theta = potentials();
  std::vector<double> marginal(theta.size());
  std::vector<double> gradient(theta.size());
  marginals_of(tree_, theta, {}, total_, work, marginal, n_threads_);
  for (int f = 0; f < static_cast<int>(tree_.factors.size()); ++f) {
    loss_.gradient(f, slice(tree_, marginal, f), slice(tree_, gradient, f));
  }
  const double here = kernels().dot(gradient.data(), marginal.data(), gradient.size());
  // Structural zeros stay.
  for (std::size_t i = 0; i < theta.size(); ++i) {
    if (theta[i] != -kInfinity) theta[i] = -gradient[i];
  }
  return here + total_ * max_log_weight(tree_, theta, {}, work, n_threads_);
}

}  // namespace pypgm
