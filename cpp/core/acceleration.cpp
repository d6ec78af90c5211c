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

constexpr double kSettled = 1e-3;  // mean L1 distance, for a total of 1, beyond which fitting has gone astray
constexpr int kMoreSweeps = 4;
constexpr double kReach = 40;  // of the potentials fitting then starts from

/// target / now, the factor that makes one the other; 1 where there is nothing to scale.
void ratios(std::span<const double> target, std::span<double> now) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    now[i] =
        now[i] > 0 && target[i] > 0 ? std::clamp(target[i] / now[i], 1 / kLargestRatio, kLargestRatio) : 1.0;
  }
}

}  // namespace

Acceleration::Acceleration(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements,
                           double total, std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(*tree_, std::move(measurements)),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      theta_(std::move(potentials)),
      x_(theta_.size()),
      z_(theta_.size()),
      next_(theta_.size()),
      gradient_(theta_.size()),
      terms_(tree_->factors.size()) {
  marginals_into(z_);
  x_ = z_;
}

void Acceleration::marginals_into(std::vector<double>& out) {
  exact_marginals(*tree_, theta_, total_, work_, out, n_threads_);
}

Progress Acceleration::advance(double s, double a) {
  const Kernels& k = kernels();
  CliqueHooks hooks;
  // theta -= s * gradient at x + a (z - x)
  hooks.before = [&](int f) {
    const auto x = slice(*tree_, x_, f);
    const auto z = slice(*tree_, z_, f);
    const auto at_mean = slice(*tree_, next_, f);
    const auto gradient = slice(*tree_, gradient_, f);
    const auto theta = slice(*tree_, theta_, f);
    k.add_scaled(z.data(), x.data(), -1.0, x.size(), at_mean.data());
    k.add_scaled(x.data(), at_mean.data(), a, x.size(), at_mean.data());
    loss_.gradient(f, at_mean, gradient);
    if (!window_.empty()) {
      const auto window = slice(*tree_, window_, f);
      k.add_scaled(window.data(), at_mean.data(), s, window.size(), window.data());
    }
    k.add_scaled(theta.data(), gradient.data(), -s, theta.size(), theta.data());
  };
  // x += a (z' - x); the old z makes room for z' - z and for z' - x.
  hooks.after = [&](int f) {
    const auto x = slice(*tree_, x_, f);
    const auto next = slice(*tree_, next_, f);
    const auto moved = slice(*tree_, z_, f);
    Progress& term = terms_[at(f)];
    k.add_scaled(next.data(), moved.data(), -1.0, x.size(), moved.data());
    term.slope = k.dot(slice(*tree_, gradient_, f).data(), moved.data(), moved.size());
    term.curvature = loss_.curvature(f, moved);
    k.add_scaled(next.data(), x.data(), -1.0, x.size(), moved.data());
    k.add_scaled(x.data(), moved.data(), a, x.size(), x.data());
    term.loss = loss_.value(f, x);
    term.validation = loss_.validates() ? loss_.validation(f, x) : 0.0;
  };
  exact_marginals(*tree_, theta_, total_, work_, next_, n_threads_, hooks);
  z_.swap(next_);
  window_steps_ += s;
  Progress sum{};
  for (const Progress& term : terms_) {
    sum.loss += term.loss;
    sum.validation += term.validation;
    sum.slope += term.slope;
    sum.curvature += term.curvature;
  }
  return sum;
}

double Acceleration::loss_of(std::span<const double> marginals) {
  double loss = 0;
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f)
    loss += loss_.value(f, slice(*tree_, marginals, f));
  return loss;
}

double Acceleration::loss() { return loss_of(x_); }

bool Acceleration::restart() {
  if (loss_of(z_) >= loss_of(x_)) return false;
  x_ = z_;
  return true;
}

double Acceleration::gap() { return gap_at(x_); }

void Acceleration::open_window() {
  window_.assign(theta_.size(), 0.0);
  window_steps_ = 0;
}

double Acceleration::lower_bound() {
  const auto scale = [&](double by) {
    for (double& value : window_) value *= by;
  };
  scale(1 / window_steps_);
  const double bound = loss_of(window_) - gap_at(window_);
  scale(window_steps_);
  return bound;
}

double Acceleration::gap_at(std::span<const double> marginals) {
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f) {
    loss_.gradient(f, slice(*tree_, marginals, f), slice(*tree_, gradient_, f));
  }
  return frank_wolfe_gap(*tree_, gradient_, marginals, theta_, total_, next_, work_, n_threads_);
}

double Acceleration::distance() const {
  double sum = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) sum += std::abs(x_[i] - z_[i]);
  return sum / (total_ * static_cast<double>(terms_.size()));
}

void Acceleration::fit_node(int index) {
  const TreeNode& node = tree_->nodes[at(index)];
  const auto table = std::span<double>(tables_).subspan(node.offset, node.cells);
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
  const auto child_table = std::span<double>(tables_).subspan(child.offset, child.cells);
  const auto parent_table = std::span<double>(tables_).subspan(parent.offset, parent.cells);
  const auto of = [&](std::vector<double>& buffer) {
    return std::span<double>(buffer).subspan(child.separator_offset, child.separator_cells);
  };
  const auto in_child = of(work_.tables().messages);
  const auto in_parent = of(work_.tables().answers);
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
  tables_.resize(tree_->nodes.back().offset + tree_->nodes.back().cells);
  const auto walk = [&](int rounds) {
    tables_of(*tree_, theta_, {}, total_, work_.tables(), tables_, n_threads_);
    for (int sweep = 0; sweep < rounds; ++sweep) {
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
  };
  gradient_ = theta_;
  walk(sweeps);
  // Where theta is so far out that cells underflow, fitting cannot bring them back: it starts from nearer in.
  double furthest = 0;
  for (const double t : gradient_) furthest = std::isfinite(t) ? std::max(furthest, std::abs(t)) : furthest;
  for (double reach = kReach; reach > 1 && distance() > kSettled; reach /= 4) {
    for (std::size_t i = 0; i < theta_.size(); ++i) {
      theta_[i] = gradient_[i] * std::min(0.25, reach / furthest);
    }
    walk(kMoreSweeps * sweeps);
  }
  tables_ = {};
  x_ = z_;
}

}  // namespace pypgm
