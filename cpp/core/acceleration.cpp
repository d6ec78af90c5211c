#include "core/acceleration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/kernels.hpp"
#include "core/reduce.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr double kLargestRatio =
    1e100;  // of one scaling: beyond it cells are so rare that the next sweep will do

/// target / now, the factor that makes one the other; 1 where there is nothing to scale.
void ratios(std::span<const double> target, std::span<double> now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    now[i] =
        now[i] > 0 && target[i] > 0 ? std::clamp(target[i] / now[i], 1 / kLargestRatio, kLargestRatio) : 1.0;
  }
}

}  // namespace

Acceleration::Acceleration(std::shared_ptr<const JunctionTree> tree,
                           std::vector<GroupedMeasurement> measurements, double total,
                           std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(*tree_, measurements),
      validates_(std::any_of(measurements.begin(), measurements.end(),
                             [](const auto& m) { return !m.holdout.empty(); })),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      theta_(std::move(potentials)),
      x_(theta_.size()),
      z_(theta_.size()),
      next_(theta_.size()),
      gradient_(theta_.size()) {
  marginals_into(z_);
  x_ = z_;
}

void Acceleration::marginals_into(std::vector<double>& out) {
  propagate(*tree_, theta_, {}, total_, work_, n_threads_);
  read_marginals(*tree_, work_, out, n_threads_);
}

Progress Acceleration::advance(double s, double a) {
  Progress progress{};
  // next = x + a (z - x), then the step along the gradient there.
  add_scaled(z_, x_, -1.0, next_, n_threads_);
  add_scaled(x_, next_, a, next_, n_threads_);
  loss_.gradient(next_, gradient_, n_threads_);
  add_scaled(theta_, gradient_, -s, theta_, n_threads_);
  marginals_into(next_);
  // z - z', whose sign the products below do not mind or turn.
  add_scaled(z_, next_, -1.0, z_, n_threads_);
  progress.slope = -kernels().dot(gradient_.data(), z_.data(), z_.size());
  progress.curvature = loss_.curvature(z_, n_threads_);
  std::swap(z_, next_);
  add_scaled(z_, x_, -1.0, next_, n_threads_);
  add_scaled(x_, next_, a, x_, n_threads_);
  progress.loss = loss_.value(x_, n_threads_);
  if (validates_) progress.validation = loss_.validation(x_, n_threads_);
  return progress;
}

bool Acceleration::restart() {
  if (loss_.value(z_, n_threads_) >= loss_.value(x_, n_threads_)) return false;
  x_ = z_;
  return true;
}

double Acceleration::gap() {
  loss_.gradient(x_, gradient_, n_threads_);
  return frank_wolfe_gap(*tree_, gradient_, x_, theta_, total_, next_, work_, n_threads_);
}

double Acceleration::loss() { return loss_.value(x_, n_threads_); }

void Acceleration::fit_node(int index) {
  const TreeNode& node = tree_->nodes[at(index)];
  const auto table = std::span<double>(work_.tables).subspan(node.offset, node.cells);
  for (const int f : node.factors) {
    const Placement& place = tree_->factors[at(f)];
    const std::size_t cells = place.layout.small;
    const auto factor = std::span<double>(next_).subspan(place.offset, cells);
    reduce_sum(table, place.layout, factor, n_threads_);
    ratios(std::span<const double>(x_).subspan(place.offset, cells), factor);
    expand(Expand::multiply, table, place.layout, factor, n_threads_);
    for (std::size_t i = 0; i < cells; ++i) theta_[place.offset + i] += std::log(factor[i]);
  }
}

void Acceleration::pass_separator(int from, int to) {
  // The edge belongs to whichever of the two is the child.
  const bool down = tree_->nodes[at(to)].parent == from;
  const TreeNode& child = tree_->nodes[at(down ? to : from)];
  if (child.separator_cells == 1) return;
  const TreeNode& parent = tree_->nodes[at(child.parent)];
  const auto child_table = std::span<double>(work_.tables).subspan(child.offset, child.cells);
  const auto parent_table = std::span<double>(work_.tables).subspan(parent.offset, parent.cells);
  const auto of = [&](std::vector<double>& buffer) {
    return std::span<double>(buffer).subspan(child.separator_offset, child.separator_cells);
  };
  const auto in_child = of(work_.messages);
  const auto in_parent = of(work_.answers);
  reduce_sum(child_table, child.to_separator, in_child, n_threads_);
  reduce_sum(parent_table, child.from_parent, in_parent, n_threads_);
  if (down) {
    ratios(in_parent, in_child);
    expand(Expand::multiply, child_table, child.to_separator, in_child, n_threads_);
  } else {
    ratios(in_child, in_parent);
    expand(Expand::multiply, parent_table, child.from_parent, in_parent, n_threads_);
  }
}

void Acceleration::settle(int sweeps) {
  const int n = static_cast<int>(tree_->nodes.size());
  // Parents come before children, so each node is entered from its parent with all news the walk has
  // gathered, and left towards the next node over the path between the two.
  const auto depth_first = [&] {
    std::vector<int> order;
    std::vector<int> stack{0};
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      order.push_back(node);
      const auto& children = tree_->nodes[at(node)].children;
      stack.insert(stack.end(), children.rbegin(), children.rend());
    }
    return order;
  }();
  propagate(*tree_, theta_, {}, total_, work_, n_threads_);
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    int here = 0;
    for (const int node : depth_first) {
      const int parent = tree_->nodes[at(node)].parent;
      while (here != parent && parent >= 0) {
        pass_separator(here, tree_->nodes[at(here)].parent);
        here = tree_->nodes[at(here)].parent;
      }
      if (parent >= 0) pass_separator(parent, node);
      here = node;
      fit_node(node);
    }
    for (; here != 0; here = tree_->nodes[at(here)].parent)
      pass_separator(here, tree_->nodes[at(here)].parent);
    // What the walk brought to the root is told to all.
    for (int node = 1; node < n; ++node) pass_separator(tree_->nodes[at(node)].parent, node);
  }
  marginals_into(z_);
  x_ = z_;
}

}  // namespace pypgm
