// Scales the nodes to the targets one after the other along a walk through the tree, carrying separators with
// it.
#include "core/fit/proportional_fitting.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/message_kernels.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

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

/// potentials += log(scaling), -inf where that is 0. The scaling is used up.
void add_logs(std::span<double> scaling, std::span<double> potentials) {
  constexpr double tiny = std::numeric_limits<double>::min();
  constexpr double one = 1.0;
  double* const logs = scaling.data();
  if (message_kernels().add_logs(logs, tiny, &one, 1, scaling.size(), logs, potentials.data())) return;
  const double none = std::log(tiny) + 1e-9;
  for (std::size_t i = 0; i < scaling.size(); ++i) {
    if (logs[i] < none) potentials[i] = -kInfinity;
  }
}

}  // namespace

ProportionalFitting::ProportionalFitting(std::shared_ptr<const JunctionTree> tree,
                                         std::vector<double> targets, std::vector<double> potentials,
                                         double total, int n_threads, Zeros zeros)
    : tree_(std::move(tree)),
      targets_(std::move(targets)),
      potentials_(std::move(potentials)),
      scratch_(targets_.size()),
      total_(total),
      n_threads_(n_threads),
      zeros_(zeros),
      tables_(tree_->nodes.back().offset + tree_->nodes.back().cells),
      order_(depth_first(*tree_)) {
  std::size_t widest = 0;
  for (const TreeNode& node : tree_->nodes) widest = std::max(widest, node.edge.cells);
  scaling_.resize(widest);
  const TreeNode& last = tree_->nodes.back();
  in_children_.resize(last.edge.offset + last.edge.cells);
  in_parents_.resize(in_children_.size());
  const double log_z = exact_tables(*tree_, potentials_, {}, total_, tables_, n_threads_);
  if (!(log_z > -kInfinity)) std::fill(tables_.begin(), tables_.end(), 0.0);
  for (int child = 1; child < static_cast<int>(tree_->nodes.size()); ++child) sum_up(lower_end(child));
}

/// Turns now into target / now, the factor that makes one the other; 1 where there is nothing to scale.
/// Returns the L1 distance between the two.
double ProportionalFitting::ratios(std::span<const double> target, std::span<double> now) const {
  const bool wait = zeros_ == Zeros::wait;
  return message_kernels().ratios(target.data(), now.data(), now.size(), wait ? 1 / kLargestRatio : 0.0,
                                  kLargestRatio, wait);
}

double ProportionalFitting::fit_node(const TreeNode& node) {
  const auto table = std::span(tables_).subspan(node.offset, node.cells);
  double distance = 0;
  for (const int f : node.factors) {
    const Layout& place = tree_->factors[at(f)].layout;
    const auto scaling = slice(*tree_, scratch_, f);
    reduce_sum(table, place, scaling, n_threads_);
    distance += ratios(slice(*tree_, targets_, f), scaling);
    expand(Expand::multiply, table, place, scaling, n_threads_);
    add_logs(scaling, slice(*tree_, potentials_, f));
  }
  return distance;
}

ProportionalFitting::End ProportionalFitting::lower_end(int child) {
  const TreeNode& node = tree_->nodes[at(child)];
  return {std::span(tables_).subspan(node.offset, node.cells), node.edge.in_child,
          std::span(in_children_).subspan(node.edge.offset, node.edge.cells)};
}

ProportionalFitting::End ProportionalFitting::upper_end(int child) {
  const TreeNode& node = tree_->nodes[at(child)];
  const TreeNode& parent = tree_->nodes[at(node.parent)];
  return {std::span(tables_).subspan(parent.offset, parent.cells), node.edge.in_parent,
          std::span(in_parents_).subspan(node.edge.offset, node.edge.cells)};
}

void ProportionalFitting::sum_up(const End& end) const {
  reduce_sum(end.table, end.layout, end.sums, n_threads_);
}

void ProportionalFitting::carry(const End& from, const End& to) {
  sum_up(from);
  const auto scaling = std::span(scaling_).first(to.sums.size());
  std::copy(to.sums.begin(), to.sums.end(), scaling.begin());
  ratios(from.sums, scaling);
  expand(Expand::multiply, to.table, to.layout, scaling, n_threads_);
}

double ProportionalFitting::sweep() {
  int here = 0;
  double distance = 0;
  const auto back = [&] {
    carry(lower_end(here), upper_end(here));
    here = tree_->nodes[at(here)].parent;
  };
  for (const int node : order_) {
    const int parent = tree_->nodes[at(node)].parent;
    while (here != parent && parent >= 0) back();
    if (parent >= 0) carry(upper_end(node), lower_end(node));
    here = node;
    distance += fit_node(tree_->nodes[at(node)]);
  }
  while (here != 0) back();
  agrees_ = false;
  const TreeNode& root = tree_->nodes[0];
  if (!(kernels().sum(tables_.data() + root.offset, root.cells) > 0)) return kInfinity;
  const std::size_t n = std::max<std::size_t>(1, tree_->factors.size());
  return distance / (total_ * static_cast<double>(n));
}

const std::vector<double>& ProportionalFitting::tables() {
  // What the last walk brought to the root is distributed, parents first.
  for (int node = 1; !agrees_ && node < static_cast<int>(tree_->nodes.size()); ++node) {
    carry(upper_end(node), lower_end(node));
    sum_up(lower_end(node));
  }
  agrees_ = true;
  return tables_;
}

}  // namespace pypgm
