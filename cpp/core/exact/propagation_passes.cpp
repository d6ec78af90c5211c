#include "core/exact/propagation_passes.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/threads.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm::propagation {

namespace {

/// Weighs the factors of a node and adds up their scales; returns the bound on what underflow takes from a
/// cell of their product with all that comes in.
double weigh(const Pass& pass, int i, int threads, double& scale) {
  Workspace& work = pass.work;
  double low = 0;
  double high = 0;
  std::size_t inputs = 1;
  const auto count = [&](const Scaling& scaling) {
    scale += scaling.shift;
    low += scaling.low;
    high += scaling.high;
    ++inputs;
  };
  for (const int f : pass.node(i).factors) {
    if (!pass.hooks.weighed) {
      const auto potentials = slice(pass.tree, pass.potentials, f);
      const Extent extent = kernels().extent(potentials.data(), potentials.size());
      work.scalings[at(f)] = scaled_exp(potentials, extent, slice(pass.tree, work.weights, f), threads);
    }
    count(work.scalings[at(f)]);
  }
  pass.for_observed(i, [&](const Observed& o) { count(o.scaling); });
  double loss = 0;
  for (const int c : pass.node(i).children) {
    low += work.low[at(c)];
    loss += work.loss[at(c)];
    ++inputs;
  }
  if (!(low > kSafe)) loss += kTiny * static_cast<double>(inputs);
  return loss > 0 ? loss * std::exp(std::max(0.0, high)) : 0.0;
}

void send_up(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  if (pass.hooks.before) pass.hooks.before(node, threads);
  double scale = scale_below(pass, i);
  const double loss = weigh(pass, i, threads, scale);
  const auto message = pass.of(work.messages, i);
  if (!sum_rows(pass, i, message.data())) {
    reduce_node(pass, i, Space::linear, kernels().reduce_sum, 0.0, message.data(), threads);
  }
  const Extent entries = kernels().normalise(message.data(), message.size());
  const double rows = static_cast<double>(node.cells) / static_cast<double>(node.separator_cells);
  work.spaces[at(i)] = Space::linear;
  work.table_loss[at(i)] = loss;
  work.loss[at(i)] = loss > 0 ? rows * loss / entries.largest : 0.0;
  work.peak[at(i)] = entries.largest;
  work.low[at(i)] = std::log(entries.least);
  work.log_scale[at(i)] = scale + std::log(entries.largest);
  if (entries.largest > 0 && work.loss[at(i)] <= kTolerated) return;
  prepare_logarithms(pass, i, threads);
  send_logarithms(pass, i, threads);
}

/// Turns the parent's marginal into what the node's cells are multiplied by, in the space the node needs;
/// returns it.
std::span<const double> answer_of(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  const auto answer = pass.of(work.answers, i);
  const double peak = work.peak[at(i)];
  if (node.separator_cells == 1) answer[0] = pass.total;
  double loss = node.parent >= 0 ? work.loss[at(node.parent)] : 0.0;
  const auto to_logarithms = [&](auto log_message) {
    for (std::size_t j = 0; j < answer.size(); ++j) {
      const double below = log_message(j);
      answer[j] = below == -kInfinity ? -kInfinity : std::log(answer[j]) - below;
    }
  };
  if (work.spaces[at(i)] == Space::log) {
    const auto message = pass.of(work.log_messages, i);
    to_logarithms([&](std::size_t j) { return message[j] == -kInfinity ? message[j] : message[j] + peak; });
    work.loss[at(i)] = loss;
    return answer;
  }
  const auto message = pass.of(work.messages, i);
  const auto ratio = pass.of(work.log_messages, i);
  kernels().divide(answer.data(), message.data(), peak, answer.size(), ratio.data());
  const double cell_loss = work.table_loss[at(i)];
  const double largest = cell_loss > 0 ? kernels().max(ratio.data(), ratio.size()) : 0.0;
  if (cell_loss > 0) loss += 2 * static_cast<double>(node.cells) * cell_loss * largest / pass.total;
  if (loss <= kTolerated || cell_loss == 0) {
    work.loss[at(i)] = loss;
    return ratio;
  }
  prepare_logarithms(pass, i, threads);
  if (pass.hooks.logarithms) pass.hooks.logarithms(node);
  // The message was made of weights, the cells now are of potentials.
  double shift = std::log(peak);
  for (const int f : node.factors) shift += work.scalings[at(f)].shift;
  pass.for_observed(i, [&](const Observed& o) { shift += o.scaling.shift; });
  to_logarithms([&](std::size_t j) { return std::log(message[j]) + shift; });
  work.spaces[at(i)] = Space::log;
  work.loss[at(i)] = node.parent >= 0 ? work.loss[at(node.parent)] : 0.0;
  return answer;
}

/// Calls body(view, sums) for what a node's cells are summed onto, the same list every time, the largest
/// first: children with a separator, factors that do not fill the node.
template <class Body>
void for_targets(const Pass& pass, int i, const Body& body) {
  const TreeNode& node = pass.node(i);
  for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) {
    if (*input < 0) {
      body(pass.node(-1 - *input).in_parent, pass.of(pass.work.answers, -1 - *input).data());
    } else if (pass.hooks.marginal && !pass.tree.factors[at(*input)].view.fills) {
      body(pass.tree.factors[at(*input)].view, slice(pass.tree, pass.work.sums, *input).data());
    }
  }
}

/// Hands out a block of a node's marginal.
void hand_out(const Pass& pass, int i, std::size_t number, const Block& block,
              std::span<const double> marginal) {
  const TreeNode& node = pass.node(i);
  for (const int f : node.factors) {
    if (pass.hooks.marginal && pass.tree.factors[at(f)].view.fills) {
      pass.hooks.marginal(f, number, block.begin, marginal);
    }
  }
  if (pass.hooks.cells) pass.hooks.cells(node, block, marginal);
}

/// Makes the blocks of a node's marginal, sums them up and hands them out.
void make_blocks_of(const Pass& pass, int i, const double* answer, int threads) {
  const TreeNode& node = pass.node(i);
  const Space space = pass.work.spaces[at(i)];
  Targets targets(node, pass.work.partials, 0.0);
  constexpr std::size_t kFew = 16;
  Target few[kFew];
  std::vector<Target> many;
  std::size_t n_targets = node.children.size() + node.factors.size();
  if (n_targets > kFew) many.resize(n_targets);
  Target* made = n_targets > kFew ? many.data() : few;
  n_targets = 0;
  for_targets(pass, i,
              [&](const BlockView& view, double* sums) { made[n_targets++] = targets.make(view, sums); });
  for_blocks(node, threads, [&](std::size_t piece, std::size_t number, const Block& block, double* room) {
    BlockProduct product(space, block, room);
    take_inputs(pass, i, space, product);
    product.take(node.own, answer);
    const double* cells = product.cells();
    if (space == Space::log) {
      kernels().exp_shifted(cells, block.cells, 0.0, room);
      cells = room;
    }
    std::size_t t = 0;
    BlockSums sums(block, cells, room + 2 * kBlockCells);
    for_targets(pass, i, [&](const BlockView& view, double*) { sums.add(view, made[t++].of(piece)); });
    hand_out(pass, i, number, block, {cells, block.cells});
  });
  for (std::size_t t = 0; t < n_targets; ++t) targets.gather(made[t], kPlus);
}

void send_down(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  const auto answer = answer_of(pass, i, threads);
  const bool linear = pass.work.spaces[at(i)] == Space::linear;
  if (!linear || !step_rows(pass, i, answer.data())) make_blocks_of(pass, i, answer.data(), threads);
  for (const int f : node.factors) {
    if (pass.hooks.marginal && !pass.tree.factors[at(f)].view.fills) {
      pass.hooks.marginal(f, 0, 0, slice(pass.tree, pass.work.sums, f));
    }
  }
  if (pass.hooks.after) pass.hooks.after(node, threads);
}

}  // namespace

void take_inputs(const Pass& pass, int i, Space space, BlockProduct& product) {
  Workspace& work = pass.work;
  const TreeNode& node = pass.node(i);
  const bool linear = space == Space::linear;
  const double* factors = linear ? work.weights.data() : pass.potentials.data();
  const double* messages = linear ? work.messages.data() : work.log_messages.data();
  for (const int input : node.inputs) {
    if (input >= 0) {
      const Placement& place = pass.tree.factors[at(input)];
      product.take(place.view, factors + place.offset);
    } else {
      const TreeNode& child = pass.node(-1 - input);
      product.take(child.in_parent, messages + child.separator_offset);
    }
  }
  pass.for_observed(
      i, [&](const Observed& o) { product.take(*o.view, linear ? o.weights.data() : o.logarithms.data()); });
}

void reduce_node(const Pass& pass, int i, Space space, Kernels::Reduce kernel, double start, double* out,
                 int threads) {
  const TreeNode& node = pass.node(i);
  Targets targets(node, pass.work.partials, start);
  const Target target = targets.make(node.own, out);
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct product(space, block, room);
    take_inputs(pass, i, space, product);
    const Layout& layout = layout_of(node.own, block);
    kernel(product.cells(), target.of(piece) + offset_of(node.own, block), layout.axes.data(),
           layout.axes.size());
  });
  if (start == 0) {
    targets.gather(target, kPlus);
  } else {
    targets.gather(target, kLarger);
  }
}

double scale_below(const Pass& pass, int i) {
  double scale = 0;
  for (const int c : pass.node(i).children) scale += pass.work.log_scale[at(c)];
  return scale;
}

double pass_up(const Pass& pass, int n_threads) {
  go_up(pass.tree, n_threads, [&](int i, int threads) { send_up(pass, i, threads); });
  return pass.work.log_scale[0];
}

void pass_down(const Pass& pass, int n_threads) {
  go_down(pass.tree, n_threads, [&](int i, int threads) { send_down(pass, i, threads); });
}

}  // namespace pypgm::propagation
