#include "core/exact/propagation_passes.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/threads.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm::propagation {

namespace {

constexpr double kNone = -kInfinity;  // no loss
constexpr double kAll = 1e6;          // of a message of which nothing is left

/// What comes into a node from its factors, its evidence and its children.
void take_inputs(const Pass& pass, int i, BlockProduct& product) {
  const Workspace& work = pass.work;
  const TreeNode& node = pass.node(i);
  for (const int input : node.inputs) {
    if (input >= 0) {
      const Placement& place = pass.tree.factors[at(input)];
      product.take(place.view, work.weights.data() + place.offset);
    } else {
      const TreeNode& child = pass.node(-1 - input);
      product.take(child.in_parent, work.messages.data() + child.separator_offset);
    }
  }
  pass.for_observed(i, [&](const Observed& o) { product.take(*o.view, o.weights.data()); });
}

/// The message of a node: its cells summed onto its separator.
void sum_node(const Pass& pass, int i, double* message, int threads) {
  const TreeNode& node = pass.node(i);
  Targets targets(node, pass.work.partials);
  const Target target = targets.make(node.own, message);
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct product(Join::multiply, block, room);
    take_inputs(pass, i, product);
    add_onto(node.own, target, piece, block, product.cells());
  });
  targets.gather(target);
}

/// Weighs the factors of a node and adds up all scales; returns what is known of the product of all that
/// comes in.
WeightRange weigh(const Pass& pass, int i, int threads, double& scale) {
  Workspace& work = pass.work;
  WeightRange all;
  double inputs = 1;
  const auto count = [&](const WeightRange& range, double input_scale) {
    all = {all.low + range.low, 0, loss_of_product(all, range)};
    scale += input_scale;
    ++inputs;
  };
  for (const int f : pass.node(i).factors) {
    const auto potentials = slice(pass.tree, pass.potentials, f);
    work.scalings[at(f)] = scaled_exp(potentials, slice(pass.tree, work.weights, f), threads);
    count(work.scalings[at(f)].range, work.scalings[at(f)].shift);
  }
  pass.for_observed(i, [&](const Observed& o) { count(o.scaling.range, o.scaling.shift); });
  for (const int c : pass.node(i).children) count(work.ranges[at(c)], work.log_scale[at(c)]);
  if (!(all.low > kSafe)) all.loss = add_powers(all.loss, kTiny + std::log2(inputs));
  return all;
}

void collect_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  if (pass.hooks.before) pass.hooks.before(node, threads);
  double scale = 0;
  const WeightRange cells = weigh(pass, i, threads, scale);
  const auto message = pass.of(work.messages, i);
  if (!sum_rows(pass, i, message.data())) sum_node(pass, i, message.data(), threads);
  const Extent entries = kernels().normalise(message.data(), message.size());
  const double rows = static_cast<double>(node.cells) / static_cast<double>(node.separator_cells);
  double loss = cells.loss;
  if (loss != kNone) loss = std::min(kAll, loss + std::log2(rows) - std::log2(entries.largest));
  work.ranges[at(i)] = {std::log2(entries.least), 0, loss};
  work.peaks[at(i)] = entries.largest;
  work.log_scale[at(i)] = scale + std::log(entries.largest);
}

/// Turns the parent's marginal into what the node's cells are multiplied by; returns it.
const double* answer_of(const Pass& pass, int i) {
  Workspace& work = pass.work;
  const auto answer = pass.of(work.answers, i);
  const auto ratio = pass.of(work.ratios, i);
  if (answer.size() == 1) answer[0] = pass.total;
  kernels().divide(answer.data(), pass.of(work.messages, i).data(), work.peaks[at(i)], answer.size(),
                   ratio.data());
  return ratio.data();
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
void hand_out(const Pass& pass, int i, const Block& block, std::span<const double> marginal) {
  const TreeNode& node = pass.node(i);
  for (const int f : node.factors) {
    if (pass.hooks.marginal && pass.tree.factors[at(f)].view.fills) {
      pass.hooks.marginal(f, block.begin, marginal);
    }
  }
  if (pass.hooks.cells) pass.hooks.cells(node, block, marginal);
}

/// Makes the blocks of a node's marginal, sums them up and hands them out.
void make_blocks_of(const Pass& pass, int i, const double* answer, int threads) {
  const TreeNode& node = pass.node(i);
  Targets targets(node, pass.work.partials);
  constexpr std::size_t kFew = 16;
  Target few[kFew];
  std::vector<Target> many;
  std::size_t n_targets = node.children.size() + node.factors.size();
  if (n_targets > kFew) many.resize(n_targets);
  Target* made = n_targets > kFew ? many.data() : few;
  n_targets = 0;
  for_targets(pass, i,
              [&](const BlockView& view, double* sums) { made[n_targets++] = targets.make(view, sums); });
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct product(Join::multiply, block, room);
    take_inputs(pass, i, product);
    product.take(node.own, answer);
    const double* cells = product.cells();
    std::size_t t = 0;
    BlockSums sums(block, cells, room + 2 * kBlockCells);
    for_targets(pass, i, [&](const BlockView& view, double*) { sums.add(view, made[t++].of(piece)); });
    hand_out(pass, i, block, {cells, block.cells});
  });
  for (std::size_t t = 0; t < n_targets; ++t) targets.gather(made[t]);
}

void distribute_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  const double* const answer = answer_of(pass, i);
  if (!step_rows(pass, i, answer)) make_blocks_of(pass, i, answer, threads);
  for (const int f : node.factors) {
    if (pass.hooks.marginal && !pass.tree.factors[at(f)].view.fills) {
      pass.hooks.marginal(f, 0, slice(pass.tree, pass.work.sums, f));
    }
  }
  if (pass.hooks.after) pass.hooks.after(node, threads);
}

}  // namespace

Scaling scaled_exp(std::span<const double> logarithms, std::span<double> weights, int threads) {
  const Extent extent = kernels().extent(logarithms.data(), logarithms.size());
  const bool empty = extent.largest == -kInfinity;
  const double shift = empty ? 0.0 : extent.largest;
  const std::size_t step = threads > 1 ? kPiece : logarithms.size();
  const std::size_t chunks = (logarithms.size() + step - 1) / step;
  parallel_for(chunks, threads, [&](std::size_t c) {
    const std::size_t cells = std::min(step, logarithms.size() - c * step);
    kernels().exp_shifted(logarithms.data() + c * step, cells, shift, weights.data() + c * step);
  });
  constexpr double kLog2e = 1.4426950408889634074;
  return {shift, {empty ? 0.0 : (extent.least - shift) * kLog2e, 0, kNone}};
}

Outcome collect(const Pass& pass, double& log_z, int n_threads) {
  Workspace& work = pass.work;
  visit_upward(pass.tree, n_threads, [&](int i, int threads) { collect_node(pass, i, threads); });
  log_z = work.log_scale[0];
  const double tolerated = kTolerated - 1 - std::log2(static_cast<double>(pass.tree.nodes.size()));
  if (work.ranges[0].loss > tolerated) return Outcome::lost;
  return log_z == -kInfinity ? Outcome::impossible : Outcome::exact;
}

void distribute(const Pass& pass, int n_threads) {
  visit_downward(pass.tree, n_threads, [&](int i, int threads) { distribute_node(pass, i, threads); });
}

}  // namespace pypgm::propagation
