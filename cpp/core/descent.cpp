#include "core/descent.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/kernels.hpp"
#include "core/reduce.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Group sums of a table, then weighted residuals spread back over the cells; returns half the weighted
/// squares.
double grouped_loss(const GroupedMeasurement& m, std::span<const double> table, std::span<double> gradient,
                    std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < table.size(); ++i) sums[at(m.groups[i])] += table[i];
  double loss = 0;
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const double residual = sums[j] - m.values[j];
    sums[j] = m.weights[j] * residual;
    loss += 0.5 * residual * sums[j];
  }
  for (std::size_t i = 0; i < table.size(); ++i) gradient[i] += sums[at(m.groups[i])];
  return loss;
}

}  // namespace

Descent::Descent(std::shared_ptr<const JunctionTree> tree, std::vector<GroupedMeasurement> measurements,
                 double total, std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      measurements_(std::move(measurements)),
      measurements_of_(tree_->factors.size()),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      losses_(tree_->factors.size()),
      sums_(tree_->factors.size()) {
  for (std::size_t m = 0; m < measurements_.size(); ++m) {
    const std::size_t f = at(measurements_[m].factor);
    measurements_of_[f].push_back(static_cast<int>(m));
    if (!measurements_[m].groups.empty()) {
      sums_[f].resize(std::max(sums_[f].size(), measurements_[m].values.size()));
    }
  }
  const std::size_t cells = potentials.size();
  for (Point* point : {&current_, &candidate_}) {
    point->potentials.resize(cells);
    point->marginals.resize(cells);
    point->gradient.resize(cells);
  }
  current_.potentials = std::move(potentials);
  evaluate(current_);
}

double Descent::loss_at(std::size_t factor, Point& point, std::vector<double>& sums) const {
  const Placement& place = tree_->factors[factor];
  const auto table = std::span<const double>(point.marginals).subspan(place.offset, place.layout.small);
  const auto gradient = std::span<double>(point.gradient).subspan(place.offset, place.layout.small);
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double loss = 0;
  for (const int i : measurements_of_[factor]) {
    const GroupedMeasurement& m = measurements_[at(i)];
    if (m.groups.empty()) {
      loss +=
          kernels().residuals(table.data(), m.values.data(), m.weights.data(), table.size(), gradient.data());
    } else {
      loss += grouped_loss(m, table, gradient, std::span<double>(sums).first(m.values.size()));
    }
  }
  return loss;
}

void Descent::evaluate(Point& point) {
  point.log_z = propagate(*tree_, point.potentials, {}, total_, work_, n_threads_);
  read_marginals(*tree_, work_, point.marginals, n_threads_);
  const int threads = threads_for(point.potentials.size(), n_threads_);
  parallel_for(losses_.size(), threads, [&](std::size_t f) { losses_[f] = loss_at(f, point, sums_[f]); });
  point.loss = 0;
  for (const double loss : losses_) point.loss += loss;
}

double Descent::dot(const std::vector<double>& a, const std::vector<double>& b) const {
  return kernels().dot(a.data(), b.data(), a.size());
}

Step Descent::try_step(double alpha) {
  const std::size_t cells = current_.potentials.size();
  const int threads = threads_for(cells, n_threads_);
  const std::size_t chunks = (cells + kGrain - 1) / kGrain;
  parallel_for(chunks, threads, [&](std::size_t c) {
    const std::size_t from = c * kGrain;
    kernels().add_scaled(current_.potentials.data() + from, current_.gradient.data() + from, -alpha,
                         std::min(kGrain, cells - from), candidate_.potentials.data() + from);
  });
  evaluate(candidate_);
  const double before = dot(current_.gradient, current_.marginals);
  const double after = dot(current_.gradient, candidate_.marginals);
  // KL(p' || p) = <theta' - theta, tau'> - (log Z' - log Z), and theta' - theta = -alpha g even where theta
  // is -inf.
  const double divergence = -alpha * after / total_ - (candidate_.log_z - current_.log_z);
  return {candidate_.loss, after - before, divergence};
}

void Descent::accept() { std::swap(current_, candidate_); }

double Descent::gap() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double>& ascent = candidate_.potentials;
  for (std::size_t i = 0; i < ascent.size(); ++i) {
    ascent[i] = current_.potentials[i] == -kInfinity ? -kInfinity : -current_.gradient[i];
  }
  const double best = max_log_weight(*tree_, ascent, {}, work_, n_threads_);
  return dot(current_.gradient, current_.marginals) + total_ * best;
}

}  // namespace pypgm
