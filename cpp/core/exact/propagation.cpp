// The upward (collect) and the downward (distribute) pass over the tables of a tree.
//
// Every factor and message is scaled to a largest entry of 1, so that no product exceeds 1 and all that can
// be lost is what underflows.
//
// Whether anything can: a product's positive cells are no smaller than the product of the smallest positive
// entries of its factors. Where that is above 2^kSafe nothing underflows, and what is lost is what the
// messages had lost; a message that lost nothing is exact to rounding, entry by entry.
//
// How much, where it can: a cell loses at most the losses of its factors and 2^kTiny for each; a message that
// sums r cells and is divided by its peak loses r * loss / peak in each entry. At the root this bounds the
// part U of Z that is missing. It also bounds what is missing in the downward pass: the cells of a node, each
// off by its loss, are multiplied by answers, which are derivatives of log Z by the node's message; U has the
// same sum, with all other factors raised to 1. The answer itself does not depend on what was lost, because
// the parent's marginal and the message it is divided by share the message's error; where the message is 0,
// the parent's loss has counted what is missing. So a marginal lacks at most U for each node from the root to
// its own.
//
// If U times the number of nodes exceeds 2^kTolerated, the run is lost, and done again by the factored tree.
#include "core/exact/propagation.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/block_product.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm {

namespace {

constexpr double kTiny = -1020;  // log2 of what one exponential or product may lose when it underflows
constexpr double kSafe = -937;   // log2 of the smallest cell that is surely kept, with something to spare
constexpr double kNone = -kInfinity;  // no loss
constexpr double kAll = 1e6;          // of a message of which nothing is left

struct Pass {
  const JunctionTree& tree;
  std::span<const double> potentials;
  const DenseMarginals& out;
  Workspace& work;
  const CliqueHooks& hooks;

  const TreeNode& node(int i) const { return tree.nodes[at(i)]; }
  std::span<double> of(std::vector<double>& buffer, int i) const {
    return std::span<double>(buffer).subspan(node(i).edge.offset, node(i).edge.cells);
  }
};

/// The product of what enters a node in a block, all but the clique that fills it.
void take_inputs(const Pass& pass, const TreeNode& node, BlockProduct& product) {
  for (const int input : node.inputs) {
    if (input == node.filler) continue;
    if (input >= 0) {
      product.take(pass.tree.factors[at(input)].view, slice(pass.tree, pass.work.weights, input).data());
    } else {
      product.take(pass.node(-1 - input).edge.parent_view, pass.of(pass.work.messages, -1 - input).data());
    }
  }
}

/// The message of a node: its cells summed onto its separator. Where a clique fills the node its weights are
/// computed here, from its potentials less `shift`, and the cells are kept.
void sum_node(const Pass& pass, int i, double shift, double* message, int threads) {
  const TreeNode& node = pass.node(i);
  Targets targets(node, pass.work.partials);
  const Target target = targets.make(node.edge.child_view, message);
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double* scratch) {
    if (is_abandoned(pass.work.watch)) return;
    double* kept = nullptr;
    if (node.filler >= 0) {
      kept = slice(pass.tree, pass.work.weights, node.filler).data() + block.begin;
      const double* from = slice(pass.tree, pass.potentials, node.filler).data() + block.begin;
      kernels().exp_shifted(from, block.cells, shift, scratch);
    }
    BlockProduct product(block, scratch, kept == nullptr ? nullptr : scratch);
    take_inputs(pass, node, product);
    add_onto(node.edge.child_view, target, piece, block, product.cells(kept));
  });
  targets.gather(target);
}

/// What is known of the product of all that enters a node.
struct Incoming {
  WeightRange range;
  double scale = 0;  ///< logarithm of all scales taken out of it
  double shift = 0;  ///< the largest potential of the clique that fills the node; 0 if all are -inf
};

/// Computes the weights of a node's factors, all but those of the clique that fills it.
Incoming weigh(const Pass& pass, const TreeNode& node) {
  Incoming in;
  double inputs = 1;
  const auto count = [&](const WeightRange& range, double scale) {
    in.range = {in.range.low + range.low, 0, loss_of_product(in.range, range)};
    in.scale += scale;
    ++inputs;
  };
  for (const int f : node.factors) {
    const auto potentials = slice(pass.tree, pass.potentials, f);
    const Extent extent = kernels().extent(potentials.data(), potentials.size());
    const bool empty = extent.largest == -kInfinity;
    const double shift = empty ? 0.0 : extent.largest;
    count({empty ? 0.0 : (extent.least - shift) * kLog2e, 0, kNone}, shift);
    if (f == node.filler) {
      in.shift = shift;
    } else {
      kernels().exp_shifted(potentials.data(), potentials.size(), shift,
                            slice(pass.tree, pass.work.weights, f).data());
    }
  }
  for (const int c : node.children) count(pass.work.ranges[at(c)], pass.work.log_scale[at(c)]);
  if (!(in.range.low > kSafe)) in.range.loss = add_powers(in.range.loss, kTiny + std::log2(inputs));
  return in;
}

void collect_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  for (const int f : node.factors) {
    if (pass.hooks.before) pass.hooks.before(f);
  }
  const Incoming in = weigh(pass, node);
  const auto message = pass.of(work.messages, i);
  sum_node(pass, i, in.shift, message.data(), threads);
  const Extent entries = kernels().normalise(message.data(), message.size());
  const double rows = static_cast<double>(node.cells) / static_cast<double>(node.edge.cells);
  double loss = in.range.loss;
  if (loss != kNone) loss = std::min(kAll, loss + std::log2(rows) - std::log2(entries.largest));
  work.ranges[at(i)] = {std::log2(entries.least), 0, loss};
  work.peaks[at(i)] = entries.largest;
  work.log_scale[at(i)] = in.scale + std::log(entries.largest);
  if (work.watch != nullptr) work.watch->count();
}

/// Turns the parent's marginal into what the node's cells are multiplied by; returns it.
const double* answer_of(const Pass& pass, int i) {
  const auto answer = pass.of(pass.work.answers, i);
  if (answer.size() == 1) answer[0] = pass.out.total;
  kernels().divide(answer.data(), pass.of(pass.work.messages, i).data(), pass.work.peaks[at(i)],
                   answer.size(), answer.data());
  return answer.data();
}

/// Calls body(view, sums) for what a node's cells are summed onto, the same list every time, the largest
/// first: children with a separator, factors that do not fill the node.
template <class Body>
void for_targets(const Pass& pass, const TreeNode& node, const Body& body) {
  for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) {
    if (*input < 0) {
      body(pass.node(-1 - *input).edge.parent_view, pass.of(pass.work.answers, -1 - *input).data());
    } else if (*input != node.filler && !pass.out.factors.empty()) {
      body(pass.tree.factors[at(*input)].view, slice(pass.tree, pass.out.factors, *input).data());
    }
  }
}

/// Where a node's marginal is written; null if it is summed up alone.
double* place_of(const Pass& pass, const TreeNode& node) {
  if (!pass.out.tables.empty()) return pass.out.tables.data() + node.offset;
  const bool wanted = node.filler >= 0 && !pass.out.factors.empty();
  return wanted ? slice(pass.tree, pass.out.factors, node.filler).data() : nullptr;
}

/// Computes a node's marginal block by block and sums it up.
void distribute_node(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  const double* const answer = answer_of(pass, i);
  double* const place = place_of(pass, node);
  Targets targets(node, pass.work.partials);
  constexpr std::size_t kFew = 16;
  Target few[kFew];
  std::vector<Target> many(node.inputs.size() > kFew ? node.inputs.size() : 0);
  Target* const made = many.empty() ? few : many.data();
  std::size_t n_targets = 0;
  for_targets(pass, node,
              [&](const BlockView& view, double* sums) { made[n_targets++] = targets.make(view, sums); });
  for_blocks(node, threads, [&](std::size_t piece, const Block& block, double* scratch) {
    if (is_abandoned(pass.work.watch)) return;
    const double* const kept =
        node.filler < 0 ? nullptr : slice(pass.tree, pass.work.weights, node.filler).data() + block.begin;
    BlockProduct product(block, scratch, kept);
    if (kept == nullptr) take_inputs(pass, node, product);
    product.take(node.edge.child_view, answer);
    const double* const cells = product.cells(place == nullptr ? nullptr : place + block.begin);
    BlockSums sums(block, cells, scratch + 2 * kBlockCells);
    std::size_t t = 0;
    for_targets(pass, node, [&](const BlockView& view, double*) { sums.add(view, made[t++].of(piece)); });
  });
  for (std::size_t t = 0; t < n_targets; ++t) targets.gather(made[t]);
  for (const int f : node.factors) {
    if (pass.hooks.after) pass.hooks.after(f);
  }
  if (pass.work.watch != nullptr) pass.work.watch->count();
}

/// The upward pass: log Z, -inf if nothing has weight.
Outcome collect(const Pass& pass, double& log_z, int n_threads) {
  Workspace& work = pass.work;
  visit_upward(pass.tree, n_threads, [&](int i, int threads) { collect_node(pass, i, threads); });
  log_z = work.log_scale[0];
  const double tolerated = kTolerated - 1 - std::log2(static_cast<double>(pass.tree.nodes.size()));
  if (work.ranges[0].loss > tolerated) return Outcome::lost;
  return log_z == -kInfinity ? Outcome::impossible : Outcome::exact;
}

}  // namespace

Workspace::Workspace(const JunctionTree& tree)
    : weights(static_cast<std::size_t>(tree.cost.factor_cells)),
      messages(tree.nodes.back().edge.offset + tree.nodes.back().edge.cells),
      answers(messages.size()),
      partials(tree.partial_cells),
      peaks(tree.nodes.size()),
      log_scale(tree.nodes.size()),
      ranges(tree.nodes.size()) {}

Outcome propagate(const JunctionTree& tree, std::span<const double> potentials,
                  const DenseMarginals& marginals, Workspace& work, double& log_z, int n_threads,
                  const CliqueHooks& hooks) {
  const Pass pass{tree, potentials, marginals, work, hooks};
  const Outcome outcome = collect(pass, log_z, n_threads);
  if (outcome == Outcome::exact && !(marginals.factors.empty() && marginals.tables.empty())) {
    visit_downward(tree, n_threads, [&](int i, int threads) { distribute_node(pass, i, threads); });
  }
  return outcome;
}

}  // namespace pypgm
