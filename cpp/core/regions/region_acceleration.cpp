// Steps, restarts, the lower bound and the final fit of descent over a local polytope.
#include "core/regions/region_acceleration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/regions/local_polytope.hpp"
#include "core/regions/region_bound.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

namespace {

constexpr int kExtraSweeps = 3;   // at most, in a step whose feasibility is too large
constexpr int kPlainSweeps = 30;  // of a fit; after them messages have momentum

}  // namespace

RegionAcceleration::RegionAcceleration(std::shared_ptr<const RegionGraph> graph,
                                       std::vector<double> counting_numbers, double total, int n_threads)
    : graph_(std::move(graph)),
      total_(total),
      gbp_(graph_, std::move(counting_numbers), n_threads),
      loss_(graph_->regions.size(), total),
      path_(graph_->regions.size()),
      entered_(graph_->regions.size()),
      theta_(graph_->cells),
      x_(graph_->cells),
      z_(graph_->cells),
      sums_(graph_->blocks.size()) {}

template <class Body>
void RegionAcceleration::over_regions(const Body& body) {
  parallel_for(graph_->blocks.size(), threads_for(kExpWork * graph_->cells, gbp_.threads()),
               [&](std::size_t block) {
                 const auto [begin, end] = graph_->blocks[block];
                 sums_[block] = {};
                 for (int r = begin; r < end; ++r) body(r, sums_[block]);
               });
}

void RegionAcceleration::enter(int region, std::span<const double> own) {
  const auto theta = table(theta_, region);
  kernels().add_scaled(theta.data(), own.data(), gbp_.counting_numbers()[at(region)], theta.size(),
                       theta.data());
  entered_[at(region)] = 1;
}

void RegionAcceleration::enter_elsewhere(std::int32_t attribute, std::span<const double> own) {
  std::vector<double> scaled(own.size());
  for (const int r : graph_->regions_with[at(attribute)]) {
    if (entered_[at(r)] != 0) continue;
    const double kappa = gbp_.counting_numbers()[at(r)];
    std::transform(own.begin(), own.end(), scaled.begin(), [&](double t) { return kappa * t; });
    const Layout layout = nested_layout(graph_->sizes, graph_->regions[at(r)].attributes, {attribute});
    expand(Expand::add, table(theta_, r), layout, scaled, 1);
  }
}

int RegionAcceleration::begin(double tolerance, int max_sweeps) {
  if (!propagate_zeros(*graph_, theta_)) return -1;
  gbp_.refresh(theta_);
  const int sweeps = sweep(tolerance, max_sweeps).second;
  restart();
  return sweeps;
}

std::pair<double, int> RegionAcceleration::sweep(double tolerance, int max_sweeps) {
  std::pair<double, int> reached{kInfinity, 0};
  for (double steps = 0; reached.second < max_sweeps && reached.first > tolerance; ++reached.second) {
    if (reached.second >= kPlainSweeps) {
      gbp_.extrapolate(steps / (steps + 3));
      gbp_.refresh(theta_);
    }
    const double before = std::exchange(reached.first, gbp_.sweep());
    // Beyond the fixed point, momentum starts again.
    steps = reached.second < kPlainSweeps || reached.first > before ? 0 : steps + 1;
  }
  return reached;
}

template <class Before, class After>
RegionProgress RegionAcceleration::step(double stretch, double loose, const Before& before,
                                        const After& after) {
  gbp_.extrapolate(stretch);
  gbp_.swap_beliefs(z_);
  over_regions([&](int r, PathSums&) {
    before(r);
    gbp_.refresh(r, theta_);
  });
  RegionProgress progress;
  do {
    progress.feasibility = gbp_.sweep();
    ++progress.sweeps;
  } while (progress.feasibility > loose && progress.sweeps <= kExtraSweeps);
  over_regions(after);
  for (const PathSums& sums : sums_) progress.sums += sums;
  return progress;
}

RegionProgress RegionAcceleration::advance(double s, double a, double stretch, double loose) {
  record(s, 0.0);
  return step(
      stretch, loose,
      [&](int r) {
        path_.descend(loss_, r, s, a, table(x_, r), table(z_, r), table(theta_, r), nullptr, nullptr);
      },
      [&](int r, PathSums& sums) {
        path_.follow(loss_, r, a, gbp_.belief(r), table(z_, r), table(x_, r), sums);
      });
}

RegionProgress RegionAcceleration::advance_along(std::span<const double> gradient, double s, double a,
                                                 double stretch, double loose) {
  const Kernels& k = kernels();
  const auto part = [&](int r) { return slice(*graph_, gradient, r); };
  return step(
      stretch, loose,
      [&](int r) {
        const auto theta = table(theta_, r);
        k.add_scaled(theta.data(), part(r).data(), -s, theta.size(), theta.data());
      },
      [&](int r, PathSums& sums) {
        const auto b = gbp_.belief(r);
        sums.slope +=
            k.dot(part(r).data(), b.data(), b.size()) - k.dot(part(r).data(), table(z_, r).data(), b.size());
        move_average(table(x_, r), b, a);
      });
}

void RegionAcceleration::mean(double a, std::span<double> out) {
  const auto b = gbp_.beliefs();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = total_ * (x_[i] + a * (b[i] - x_[i]));
}

void RegionAcceleration::join(std::span<const double> earlier) {
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = (x_[i] + earlier[i] / total_) / 2;
}

double RegionAcceleration::loss_of(std::span<const double> beliefs) {
  over_regions([&](int r, PathSums& sums) { sums.loss += loss_.value(r, slice(*graph_, beliefs, r)); });
  double loss = 0;
  for (const PathSums& sums : sums_) loss += sums.loss;
  return loss;
}

double RegionAcceleration::loss() { return loss_of(x_); }

double RegionAcceleration::loss_of_beliefs() { return loss_of(gbp_.beliefs()); }

void RegionAcceleration::restart() {
  std::ranges::copy(gbp_.beliefs(), x_.begin());
  for (int r = 0; at(r) < graph_->regions.size(); ++r) path_.start(loss_, r, gbp_.belief(r));
  open_window();
}

void RegionAcceleration::open_window() {
  const auto messages = gbp_.messages();
  window_messages_.assign(messages.begin(), messages.end());
  window_theta_ = loss_.empty() ? theta_ : std::vector<double>();
  window_steps_ = 0;
  window_bound_ = 0;
}

void RegionAcceleration::record(double s, double bound) {
  window_steps_ += s;
  window_bound_ += s * bound;
}

double RegionAcceleration::lower_bound() {
  if (window_steps_ == 0) return -kInfinity;
  std::vector<double> drift(gbp_.messages().begin(), gbp_.messages().end());
  for (std::size_t i = 0; i < drift.size(); ++i) drift[i] = (drift[i] - window_messages_[i]) / window_steps_;
  // Writes into z, whose content only a step in progress needs.
  over_regions([&](int r, PathSums& sums) {
    const auto moved = table(z_, r);
    const auto theta = table(theta_, r);
    std::fill(moved.begin(), moved.end(), 0.0);
    add_messages(*graph_, r, moved.data(), drift, moved);
    double top = -kInfinity;
    for (std::size_t i = 0; i < moved.size(); ++i) {
      if (loss_.empty() && theta[i] != -kInfinity) {
        top = std::max(top, moved[i] + (theta[i] - table(window_theta_, r)[i]) / window_steps_);
      }
      moved[i] = theta[i] == -kInfinity ? kInfinity : -moved[i];
    }
    sums.loss += top;
  });
  if (!loss_.empty()) return region_bound(*graph_, loss_, path_, total_, z_, gbp_.threads());
  double moved = 0;
  for (const PathSums& sums : sums_) moved += sums.loss;
  return window_bound_ / window_steps_ - total_ * moved;
}

std::pair<double, int> RegionAcceleration::fit_potentials(double tolerance, int max_sweeps) {
  const auto kappa = gbp_.counting_numbers();
  over_regions([&](int r, PathSums&) {
    const auto theta = table(theta_, r);
    const auto logarithm = table(z_, r);
    kernels().log_floored(table(x_, r).data(), theta.size(), kLeastBelief, logarithm.data());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      if (theta[i] != -kInfinity) theta[i] = kappa[at(r)] * logarithm[i];
    }
  });
  gbp_.reset();
  gbp_.refresh(theta_);
  return sweep(tolerance, max_sweeps);
}

}  // namespace pypgm
