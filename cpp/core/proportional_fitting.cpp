#include "core/proportional_fitting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/reduce.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr double kLargestRatio = 1e100;  // of one scaling: cells rarer than that wait for the next

/// Nodes in the order of a walk from the root, each after its parent.
std::vector<int> depth_first(const JunctionTree& tree) {
  std::vector<int> order;
  std::vector<int> stack{0};
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    order.push_back(node);
    const auto& children = tree.nodes[at(node)].children;
    stack.insert(stack.end(), children.rbegin(), children.rend());
  }
  return order;
}

}  // namespace

ProportionalFitting::ProportionalFitting(std::shared_ptr<const JunctionTree> tree,
                                         std::vector<double> targets, std::vector<double> potentials,
                                         double total, int n_threads, Zeros zeros)
    : tree_(std::move(tree)),
      targets_(std::move(targets)),
      potentials_(std::move(potentials)),
      room_(targets_.size()),
      total_(total),
      n_threads_(n_threads),
      zeros_(zeros),
      work_(*tree_),
      tables_(tree_->nodes.back().offset + tree_->nodes.back().cells),
      order_(depth_first(*tree_)) {
  const double log_z = tables_of(*tree_, potentials_, {}, total_, work_, tables_, n_threads_);
  if (!(log_z > -std::numeric_limits<double>::infinity())) std::fill(tables_.begin(), tables_.end(), 0.0);
}

/// Turns now into target / now, the factor that makes one the other; 1 where there is nothing to scale.
/// Returns the L1 distance between the two.
double ProportionalFitting::ratios(std::span<const double> target, std::span<double> now) const {
  const bool wait = zeros_ == Zeros::wait;
  const double least = wait ? 1 / kLargestRatio : 0.0;
  double distance = 0;
  for (std::size_t i = 0; i < now.size(); ++i) {
    distance += std::abs(target[i] - now[i]);
    const bool scales = now[i] > 0 && (target[i] > 0 || !wait);
    now[i] = scales ? std::clamp(target[i] / now[i], least, kLargestRatio) : 1.0;
  }
  return distance;
}

double ProportionalFitting::fit_node(int index) {
  const TreeNode& node = tree_->nodes[at(index)];
  const auto table = std::span<double>(tables_).subspan(node.offset, node.cells);
  double distance = 0;
  for (const int f : node.factors) {
    const Placement& place = tree_->factors[at(f)];
    const std::size_t cells = place.layout.small;
    const auto factor = std::span<double>(room_).subspan(place.offset, cells);
    reduce_sum(table, place.layout, factor, n_threads_);
    distance += ratios(std::span<const double>(targets_).subspan(place.offset, cells), factor);
    expand(Expand::multiply, table, place.layout, factor, n_threads_);
    for (std::size_t i = 0; i < cells; ++i) potentials_[place.offset + i] += std::log(factor[i]);
  }
  return distance;
}

void ProportionalFitting::pass_separator(int from, int to) {
  // The edge belongs to whichever of the two is the child.
  const bool down = tree_->nodes[at(to)].parent == from;
  const TreeNode& child = tree_->nodes[at(down ? to : from)];
  const TreeNode& parent = tree_->nodes[at(child.parent)];
  const auto child_table = std::span<double>(tables_).subspan(child.offset, child.cells);
  const auto parent_table = std::span<double>(tables_).subspan(parent.offset, parent.cells);
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

double ProportionalFitting::sweep() {
  int here = 0;
  double distance = 0;
  const auto climb = [&] {
    const int parent = tree_->nodes[at(here)].parent;
    pass_separator(here, parent);
    here = parent;
  };
  for (const int node : order_) {
    const int parent = tree_->nodes[at(node)].parent;
    while (here != parent && parent >= 0) climb();
    if (parent >= 0) pass_separator(parent, node);
    here = node;
    distance += fit_node(node);
  }
  while (here != 0) climb();
  // What the walk brought to the root is told to all, in an order in which parents come first.
  for (int node = 1; node < static_cast<int>(tree_->nodes.size()); ++node) {
    pass_separator(tree_->nodes[at(node)].parent, node);
  }
  const TreeNode& root = tree_->nodes[0];
  double weight = 0;
  for (std::size_t i = 0; i < root.cells; ++i) weight += tables_[root.offset + i];
  if (!(weight > 0)) return std::numeric_limits<double>::infinity();
  const std::size_t n = std::max<std::size_t>(1, tree_->factors.size());
  return distance / (total_ * static_cast<double>(n));
}

}  // namespace pypgm
