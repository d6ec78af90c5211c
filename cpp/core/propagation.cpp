#include "core/propagation.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/threads.hpp"
#include "core/traversal.hpp"

// A node's cells are first computed in linear space, every factor and message scaled to a largest entry of 1,
// so that no product exceeds 1 and all that can be lost is what underflows.
//
// Whether anything can: a product's positive cells are no smaller than the product of the smallest positive
// entries of its factors. Where the sum of their logarithms is above kSafe nothing underflows in the product,
// and what is lost is what the messages had lost; a message that lost nothing is exact to rounding, entry by
// entry.
//
// How much, where it can:
//   a cell loses at most the losses of its factors (the others are at most 1, or exp(high) where a factor's
//   shift is not its own largest entry but an older one) and kTiny for each factor; a message that sums r
//   cells and is divided by its peak loses r * loss / peak in each entry; on the way down losses are counted
//   over all cells together, as a part of the total: what the parent's marginal lost arrives as it is, and
//   the node's own cells, each off by its loss, are multiplied by their answers.
//
// A node whose message would lose more than kTolerated in an entry, or nothing of which is left, is computed
// again as logarithms, and so are the nodes below it, except where these lost nothing: logarithms of exact
// messages are exact. The nodes above see no difference: the message is made once more, now with no loss but
// kTiny an entry. The same on the way down, where a cell that underflowed is found to matter after all (its
// answer is huge): the answer itself does not depend on what was lost, because the parent's marginal and the
// message it is divided by share the message's error; where the message is 0, the parent's loss has counted
// what is missing. In logarithms nothing is lost on the way down either: a marginal is the exponential of one
// sum, in counts.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-307;  // what one exponential or product may lose when it underflows
constexpr double kSafe = -650.0;  // logarithm of the smallest cell that is surely kept, with room to spare
constexpr double kTolerated = 1e-17;  // of a table that sums to 1; far below what rounding does

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Evidence as the factor it is, sorted by node.
struct Observed {
  int node;
  const BlockView* view;
  std::span<const double> logarithms;
  std::vector<double> weights;
  Scaling scaling;
};

std::vector<Observed> observe(const JunctionTree& tree, std::span<const Evidence> evidence) {
  std::vector<Observed> all;
  for (const Evidence& e : evidence) {
    const Placement& place = tree.attributes[static_cast<std::size_t>(e.attribute)];
    Observed o{place.node, &place.view, e.log_likelihood, std::vector<double>(e.log_likelihood.size()), {}};
    const Extent extent = kernels().extent(o.logarithms.data(), o.logarithms.size());
    o.scaling = scaled_exp(o.logarithms, extent, o.weights, 1);
    all.push_back(std::move(o));
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Observed& a, const Observed& b) { return a.node < b.node; });
  return all;
}

struct Pass {
  const JunctionTree& tree;
  std::span<const double> potentials;
  const std::vector<Observed>& observed;
  Workspace& work;
  const NodeHooks& hooks;
  double total;

  const TreeNode& node(int i) const { return tree.nodes[at(i)]; }
  std::span<double> of(std::vector<double>& buffer, int i) const {
    return std::span<double>(buffer).subspan(node(i).separator_offset, node(i).separator_cells);
  }
  /// Calls body(evidence) for what is observed at a node.
  template <class Body>
  void for_observed(int i, const Body& body) const {
    const auto first = std::lower_bound(observed.begin(), observed.end(), i,
                                        [](const Observed& o, int node) { return o.node < node; });
    for (auto o = first; o != observed.end() && o->node == i; ++o) body(*o);
  }
};

/// What comes into a node from its factors, its evidence and its children.
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

/// small = small op cells, for the cells of a node summed, or maximised, onto its separator.
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

/// Makes the logarithms of a message from those that come in; `tops` is room for as many numbers.
void reduce_logarithms(const Pass& pass, int i, double* tops, double* out, int threads) {
  const TreeNode& node = pass.node(i);
  reduce_node(pass, i, Space::log, kernels().reduce_max, -kInfinity, tops, threads);
  // A row of -inf has no maximum to subtract; around 0 its sum is 0 and its logarithm -inf.
  std::replace(tops, tops + node.separator_cells, -kInfinity, 0.0);
  Targets targets(node, pass.work.partials, 0.0);
  const Target target = targets.make(node.own, out);
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct product(Space::log, block, room);
    take_inputs(pass, i, Space::log, product);
    const Layout& layout = layout_of(node.own, block);
    const std::size_t offset = offset_of(node.own, block);
    kernels().reduce_exp(product.cells(), tops + offset, target.of(piece) + offset, layout.axes.data(),
                         layout.axes.size());
  });
  targets.gather(target, kPlus);
  for (std::size_t j = 0; j < node.separator_cells; ++j) out[j] = std::log(out[j]) + tops[j];
}

/// Takes the largest logarithm out of a message and returns it.
double normalise_logarithms(std::span<double> message) {
  const double peak = kernels().max(message.data(), message.size());
  if (peak != -kInfinity) {
    for (double& m : message) m -= peak;
  }
  return peak;
}

double scale_below(const Pass& pass, int i) {
  double scale = 0;
  for (const int c : pass.node(i).children) scale += pass.work.log_scale[at(c)];
  return scale;
}

/// The message of one node as logarithms, and as weights for a parent in linear space. Its children's
/// logarithms are there.
void send_logarithms(const Pass& pass, int i, int threads) {
  Workspace& work = pass.work;
  if (pass.hooks.logarithms) pass.hooks.logarithms(pass.node(i));
  const auto message = pass.of(work.log_messages, i);
  reduce_logarithms(pass, i, pass.of(work.answers, i).data(), message.data(), threads);
  const double peak = normalise_logarithms(message);
  const auto weights = pass.of(work.messages, i);
  kernels().exp_shifted(message.data(), message.size(), 0.0, weights.data());
  work.spaces[at(i)] = Space::log;
  work.peak[at(i)] = peak;
  work.low[at(i)] = kernels().extent(message.data(), message.size()).least;
  work.log_scale[at(i)] = scale_below(pass, i) + peak;
  work.loss[at(i)] = work.low[at(i)] < kSafe ? kTiny : 0.0;
}

/// The logarithms of the messages that come into a node, by going down to where nothing was lost.
void prepare_logarithms(const Pass& pass, int top, int threads) {
  Workspace& work = pass.work;
  std::vector<int> lossy;
  std::vector<int> open{top};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    for (const int c : pass.node(i).children) {
      if (work.spaces[at(c)] == Space::log) continue;
      if (work.loss[at(c)] > 0) {
        lossy.push_back(c);
        open.push_back(c);
        continue;
      }
      const auto from = pass.of(work.messages, c);
      std::transform(from.begin(), from.end(), pass.of(work.log_messages, c).begin(),
                     [](double m) { return std::log(m); });
    }
  }
  // Children come behind their parents.
  std::sort(lossy.rbegin(), lossy.rend());
  for (const int i : lossy) send_logarithms(pass, i, threads);
}

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
  return loss * std::exp(std::max(0.0, high));
}

void send_up(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  if (pass.hooks.before) pass.hooks.before(node, threads);
  double scale = scale_below(pass, i);
  const double loss = weigh(pass, i, threads, scale);
  const auto message = pass.of(work.messages, i);
  reduce_node(pass, i, Space::linear, kernels().reduce_sum, 0.0, message.data(), threads);
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

/// log Z; -inf if nothing has weight.
double pass_up(const Pass& pass, int n_threads) {
  const auto& levels = pass.tree.levels;
  for (std::size_t depth = levels.size(); depth-- > 0;) {
    for_level(pass.tree, levels[depth], n_threads, [&](int i, int threads) { send_up(pass, i, threads); });
  }
  return pass.work.log_scale[0];
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
  const double largest = kernels().divide(answer.data(), message.data(), peak, answer.size(), ratio.data());
  const double cell_loss = work.table_loss[at(i)];
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

void send_down(const Pass& pass, int i, int threads) {
  const TreeNode& node = pass.node(i);
  Workspace& work = pass.work;
  const auto answer = answer_of(pass, i, threads);
  const Space space = work.spaces[at(i)];
  const auto sums_of = [&](int f) { return slice(pass.tree, work.sums, f); };
  Targets targets(node, work.partials, 0.0);
  // The same list of targets every time, the largest first: children with a separator, factors that do not
  // fill the node.
  const auto for_targets = [&](const auto& body) {
    for (auto input = node.inputs.rbegin(); input != node.inputs.rend(); ++input) {
      if (*input < 0) {
        body(pass.node(-1 - *input).in_parent, pass.of(work.answers, -1 - *input).data());
      } else if (pass.hooks.marginal && !pass.tree.factors[at(*input)].view.fills) {
        body(pass.tree.factors[at(*input)].view, sums_of(*input).data());
      }
    }
  };
  constexpr std::size_t kFew = 16;
  Target few[kFew];
  std::vector<Target> many;
  std::size_t n_targets = node.children.size() + node.factors.size();
  if (n_targets > kFew) many.resize(n_targets);
  Target* made = n_targets > kFew ? many.data() : few;
  n_targets = 0;
  for_targets([&](const BlockView& view, double* sums) { made[n_targets++] = targets.make(view, sums); });
  for_blocks(node, threads, [&](std::size_t piece, std::size_t number, const Block& block, double* room) {
    BlockProduct product(space, block, room);
    take_inputs(pass, i, space, product);
    product.take(node.own, answer.data());
    const double* cells = product.cells();
    if (space == Space::log) {
      kernels().exp_shifted(cells, block.cells, 0.0, room);
      cells = room;
    }
    std::size_t t = 0;
    BlockSums sums(block, cells, room + 2 * kBlockCells);
    for_targets([&](const BlockView& view, double*) { sums.add(view, made[t++].of(piece)); });
    const std::span<const double> marginal(cells, block.cells);
    for (const int f : node.factors) {
      if (pass.hooks.marginal && pass.tree.factors[at(f)].view.fills) {
        pass.hooks.marginal(f, number, block.begin, marginal);
      }
    }
    if (pass.hooks.cells) pass.hooks.cells(node, block, marginal);
  });
  for (std::size_t t = 0; t < n_targets; ++t) targets.gather(made[t], kPlus);
  for (const int f : node.factors) {
    if (pass.hooks.marginal && !pass.tree.factors[at(f)].view.fills) pass.hooks.marginal(f, 0, 0, sums_of(f));
  }
  if (pass.hooks.after) pass.hooks.after(node, threads);
}

void pass_down(const Pass& pass, int n_threads) {
  for (const auto& level : pass.tree.levels) {
    for_level(pass.tree, level, n_threads, [&](int i, int threads) { send_down(pass, i, threads); });
  }
}

}  // namespace

Scaling scaled_exp(std::span<const double> potentials, const Extent& extent, std::span<double> weights,
                   int threads) {
  const bool empty = extent.largest == -kInfinity;
  const double shift = empty ? 0.0 : extent.largest;
  const std::size_t step = threads > 1 ? kPiece : potentials.size();
  const std::size_t chunks = (potentials.size() + step - 1) / step;
  parallel_for(chunks, threads, [&](std::size_t c) {
    const std::size_t cells = std::min(step, potentials.size() - c * step);
    kernels().exp_shifted(potentials.data() + c * step, cells, shift, weights.data() + c * step);
  });
  return {shift, empty ? 0.0 : extent.least - shift, 0.0};
}

Workspace::Workspace(const JunctionTree& tree)
    : scalings(tree.factors.size()),
      spaces(tree.nodes.size()),
      peak(tree.nodes.size()),
      low(tree.nodes.size()),
      log_scale(tree.nodes.size()),
      table_loss(tree.nodes.size()),
      loss(tree.nodes.size()) {
  const TreeNode& last = tree.nodes.back();
  messages.resize(last.separator_offset + last.separator_cells);
  log_messages.resize(messages.size());
  answers.resize(messages.size());
  std::size_t given = 0;
  std::size_t summed = 0;
  for (const Placement& p : tree.factors) {
    given = std::max(given, p.offset + p.layout.small);
    if (!p.view.fills) summed = std::max(summed, p.offset + p.layout.small);
  }
  weights.resize(given);
  sums.resize(summed);
  partials.resize(partial_cells(tree));
}

double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, int n_threads,
                 const NodeHooks& hooks) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const Pass pass{tree, potentials, observed, work, hooks, total};
  const double log_z = pass_up(pass, n_threads);
  if (log_z > -kInfinity) pass_down(pass, n_threads);
  return log_z;
}

double marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, Workspace& work,
                    std::span<double> marginals, int n_threads) {
  NodeHooks hooks;
  hooks.marginal = [&](int factor, std::size_t, std::size_t begin, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(),
              slice(tree, marginals, factor).begin() + static_cast<std::ptrdiff_t>(begin));
  };
  return propagate(tree, potentials, evidence, total, work, n_threads, hooks);
}

double tables_of(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, std::span<double> tables,
                 int n_threads) {
  NodeHooks hooks;
  hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
    std::copy(cells.begin(), cells.end(), tables.data() + node.offset + block.begin);
  };
  return propagate(tree, potentials, evidence, total, work, n_threads, hooks);
}

double attribute_marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                              std::span<const Evidence> evidence, double total, Workspace& work,
                              std::span<double> marginals) {
  // Where each attribute's sums are, by the node they are taken from.
  std::vector<std::vector<std::pair<const BlockView*, double*>>> wanted(tree.nodes.size());
  double* next = marginals.data();
  for (const Placement& place : tree.attributes) {
    wanted[at(place.node)].emplace_back(&place.view, next);
    next += place.layout.small;
  }
  std::fill(marginals.begin(), marginals.end(), 0.0);
  NodeHooks hooks;
  hooks.cells = [&](const TreeNode& node, const Block& block, std::span<const double> cells) {
    for (const auto& [view, sums] : wanted[static_cast<std::size_t>(&node - tree.nodes.data())]) {
      add_onto(*view, {sums, nullptr, view->cells, true}, 0, block, cells.data());
    }
  };
  return propagate(tree, potentials, evidence, total, work, 1, hooks);
}

double log_partition(const JunctionTree& tree, std::span<const double> potentials,
                     std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const NodeHooks none;
  return pass_up(Pass{tree, potentials, observed, work, none, 1.0}, n_threads);
}

double max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  const std::vector<Observed> observed = observe(tree, evidence);
  const NodeHooks none;
  const Pass pass{tree, potentials, observed, work, none, 1.0};
  for (std::size_t depth = tree.levels.size(); depth-- > 0;) {
    for_level(tree, tree.levels[depth], n_threads, [&](int i, int threads) {
      const auto message = pass.of(work.log_messages, i);
      reduce_node(pass, i, Space::log, kernels().reduce_max, -kInfinity, message.data(), threads);
      work.log_scale[at(i)] = scale_below(pass, i) + normalise_logarithms(message);
    });
  }
  return work.log_scale[0];
}

}  // namespace pypgm
