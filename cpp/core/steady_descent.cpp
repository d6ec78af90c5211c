#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/descent.hpp"
#include "core/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

constexpr double kDrift = 4.0;  // how far the largest potential may move away before weights are scaled anew

std::size_t at(int i) { return static_cast<std::size_t>(i); }

Extent join(std::span<const Extent> extents) {
  Extent all{kInfinity, -kInfinity};
  for (const Extent& e : extents) all = {std::min(all.least, e.least), std::max(all.largest, e.largest)};
  return all;
}

}  // namespace

SteadyDescent::SteadyDescent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements,
                             double total, std::vector<double> potentials, double alpha, int n_threads)
    : tree_(std::move(tree)),
      loss_(*tree_, std::move(measurements)),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      gathered_(tree_->factors.size()),
      gradients_(tree_->factors.size()) {
  first_block_.push_back(0);
  if (work_.contracts()) marginals_.resize(potentials.size());
  for (int f = 0; f < static_cast<int>(tree_->factors.size()); ++f) {
    const Placement& place = tree_->factors[at(f)];
    if (work_.contracts()) {
      first_block_.push_back(first_block_.back() + 1);
      gradients_[at(f)].resize(place.layout.small);
      continue;
    }
    Workspace& work = work_.tables();
    const auto start = slice(*tree_, potentials, f);
    const Extent extent = kernels().extent(start.data(), start.size());
    work.scalings[at(f)] = scaled_exp(start, extent, slice(*tree_, work.weights, f), 1);
    const bool whole = !loss_.cellwise(f);
    if (whole) gradients_[at(f)].resize(place.layout.small);
    if (whole && place.view.fills) gathered_[at(f)].resize(place.layout.small);
    const std::size_t blocks = place.view.fills && !whole ? tree_->nodes[at(place.node)].blocks.count() : 1;
    first_block_.push_back(first_block_.back() + blocks);
  }
  losses_.resize(first_block_.back());
  extents_.resize(first_block_.back());
  thetas_[0] = std::move(potentials);
  thetas_[1].resize(thetas_[0].size());
  thetas_[2].resize(thetas_[0].size());
  least_ = pass(alpha);
}

void SteadyDescent::descend(int f, std::size_t block, std::size_t begin, std::span<const double> marginal,
                            double alpha) {
  const L2Loss::Cells& cells = loss_.cells(f);
  Workspace& work = work_.tables();
  const bool measured = !cells.values.empty();
  const std::size_t slot = first_block_[at(f)] + block;
  const double loss = kernels().descend(
      marginal.data(), measured ? cells.values.data() + begin : marginal.data(),
      cells.weights.empty() ? nullptr : cells.weights.data() + begin, cells.weight, alpha, marginal.size(),
      slice(*tree_, thetas_[here_], f).data() + begin, slice(*tree_, thetas_[next_], f).data() + begin,
      work.scalings[at(f)].shift, slice(*tree_, work.weights, f).data() + begin, &extents_[slot]);
  losses_[slot] = loss + (block == 0 ? cells.constant : 0.0);
}

void SteadyDescent::descend_whole(int f, std::span<const double> marginal, double alpha) {
  const std::size_t slot = first_block_[at(f)];
  std::vector<double>& gradient = gradients_[at(f)];
  const auto next = slice(*tree_, thetas_[next_], f);
  losses_[slot] = loss_.gradient(f, marginal, gradient);
  kernels().add_scaled(slice(*tree_, thetas_[here_], f).data(), gradient.data(), -alpha, next.size(),
                       next.data());
  extents_[slot] = kernels().extent(next.data(), next.size());
}

void SteadyDescent::weigh(const TreeNode& node, int threads) {
  for (const int f : node.factors) {
    const std::size_t first = first_block_[at(f)];
    const Extent extent = join(std::span(extents_).subspan(first, first_block_[at(f) + 1] - first));
    Scaling& scaling = work_.tables().scalings[at(f)];
    const double high = extent.largest - scaling.shift;
    if (loss_.cellwise(f) && std::abs(high) < kDrift) {
      scaling = {scaling.shift, extent.least - scaling.shift, high};
    } else {
      scaling = scaled_exp(slice(*tree_, thetas_[next_], f), extent, slice(*tree_, work_.tables().weights, f),
                           threads);
    }
  }
}

double SteadyDescent::plain_pass(double alpha) {
  CliqueHooks hooks;
  hooks.after = [&](int f) { descend_whole(f, slice(*tree_, marginals_, f), alpha); };
  return exact_marginals(*tree_, thetas_[here_], total_, work_, marginals_, n_threads_, hooks);
}

double SteadyDescent::fused_pass(double alpha) {
  NodeHooks hooks;
  hooks.weighed = true;
  hooks.marginal = [&](int f, std::size_t block, std::size_t begin, std::span<const double> cells) {
    if (loss_.cellwise(f)) return descend(f, block, begin, cells, alpha);
    if (!tree_->factors[at(f)].view.fills) return descend_whole(f, cells, alpha);
    std::copy(cells.begin(), cells.end(), gathered_[at(f)].data() + begin);
  };
  hooks.after = [&](const TreeNode& node, int threads) {
    for (const int f : node.factors) {
      if (!gathered_[at(f)].empty()) descend_whole(f, gathered_[at(f)], alpha);
    }
    weigh(node, threads);
  };
  return propagate(*tree_, thetas_[here_], {}, total_, work_.tables(), n_threads_, hooks);
}

double SteadyDescent::pass(double alpha) {
  const double log_z = work_.contracts() ? plain_pass(alpha) : fused_pass(alpha);
  if (log_z == -kInfinity) {
    throw std::invalid_argument("the potentials leave no joint assignment any weight");
  }
  return std::accumulate(losses_.begin(), losses_.end(), 0.0);
}

double SteadyDescent::advance(double alpha) {
  here_ = next_;
  next_ = 0;
  while (next_ == here_ || next_ == best_) ++next_;
  const double loss = pass(alpha);
  if (loss < least_) {
    least_ = loss;
    best_ = here_;
  }
  return loss;
}

void SteadyDescent::marginals(std::span<double> out) {
  exact_marginals(*tree_, thetas_[best_], {}, total_, out, n_threads_);
}

double SteadyDescent::gap() {
  ExactWork work(*tree_);
  std::vector<double> marginal(thetas_[0].size());
  std::vector<double> gradient(thetas_[0].size());
  std::vector<double> room(thetas_[0].size());
  exact_marginals(*tree_, thetas_[best_], total_, work, marginal, n_threads_);
  for (int f = 0; f < static_cast<int>(tree_->factors.size()); ++f) {
    loss_.gradient(f, slice(*tree_, marginal, f), slice(*tree_, gradient, f));
  }
  return frank_wolfe_gap(*tree_, gradient, marginal, thetas_[best_], total_, room, work, n_threads_);
}

}  // namespace pypgm
