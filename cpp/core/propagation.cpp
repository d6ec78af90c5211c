#include "core/propagation.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/product.hpp"
#include "core/reduce.hpp"
#include "core/threads.hpp"

// Tables are first computed in linear space, every factor and message scaled to a largest entry of 1, so that
// no product exceeds 1 and the only thing that can be lost is what underflows. `loss` bounds that, entry by
// entry:
//   a product of k factors loses at most the losses of its factors (the others are at most 1) and k * kTiny;
//   a message that sums r cells and is divided by its peak loses r * loss / peak;
//   a marginal gets the loss of its parent's sum and of its own table times the largest answer it is
//   multiplied by.
// Where the bound exceeds kTolerated, or nothing is left of a table, all is computed again as logarithms.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTolerated = 1e-17;  // of a table that sums to 1; far below what rounding does

const NodeHooks kNoHooks;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct Pass {
  const JunctionTree& tree;
  std::span<const double> potentials;
  std::span<const Evidence> evidence;
  Workspace& work;
  Space space;
  const NodeHooks& hooks;

  std::span<double> table(const TreeNode& node) const {
    return std::span<double>(work.tables).subspan(node.offset, node.cells);
  }
  std::span<double> slice(std::vector<double>& buffer, const TreeNode& node) const {
    return std::span<double>(buffer).subspan(node.separator_offset, node.separator_cells);
  }
};

/// Calls body(node index, threads inside it) for a level: nodes beside each other, or, where one table
/// outweighs the rest, one after the other with all threads inside.
template <class Body>
void for_level(const JunctionTree& tree, const std::vector<int>& level, int n_threads, const Body& body) {
  std::size_t cells = 0;
  std::size_t largest = 0;
  for (const int i : level) {
    cells += tree.nodes[at(i)].cells;
    largest = std::max(largest, tree.nodes[at(i)].cells);
  }
  const int threads = threads_for(cells, n_threads);
  if (threads > 1 && 2 * largest <= cells) {
    parallel_for(level.size(), threads, [&](std::size_t k) { body(level[k], 1); });
  } else {
    for (const int i : level) body(i, threads);
  }
}

/// Sums a table onto a separator, or maximises, as the space asks.
void reduce_table(const Pass& pass, const TreeNode& node, std::span<const double> table, const Layout& layout,
                  std::span<double> out, int threads) {
  if (pass.space == Space::linear) return reduce_sum(table, layout, out, threads);
  if (pass.space == Space::max) return reduce_max(table, layout, out, threads);
  reduce_logsumexp(table, layout, out, pass.slice(pass.work.scratch, node), threads);
}

/// Scales a message to a largest entry of 1 (0 as a logarithm) and returns that entry.
double normalise(Space space, std::span<double> message) {
  const double peak = kernels().max(message.data(), message.size());
  if (space == Space::linear) {
    if (peak > 0) {
      for (double& m : message) m /= peak;
    }
  } else if (peak != -kInfinity) {
    for (double& m : message) m -= peak;
  }
  return peak;
}

void send_up(const Pass& pass, int index, int threads) {
  const TreeNode& node = pass.tree.nodes[at(index)];
  Workspace& work = pass.work;
  if (pass.hooks.before) pass.hooks.before(node, threads);
  Product product(pass.space, pass.table(node), threads);
  for (const int f : node.factors) {
    const Placement& place = pass.tree.factors[at(f)];
    const auto room = std::span<double>(work.factors).subspan(place.offset, place.layout.small);
    product.take_logarithms(place.layout, pass.potentials.subspan(place.offset, place.layout.small), room);
  }
  for (const Evidence& e : pass.evidence) {
    const Placement& place = pass.tree.attributes[static_cast<std::size_t>(e.attribute)];
    if (place.node != index) continue;
    std::vector<double> room(e.log_likelihood.size());
    product.take_logarithms(place.layout, e.log_likelihood, room);
  }
  double scale = 0;
  double loss = 0;
  for (const int c : node.children) {
    const TreeNode& child = pass.tree.nodes[at(c)];
    scale += work.log_scale[at(c)];
    loss += work.loss[at(c)];
    // A message of one entry is 1 after scaling: there is nothing to multiply by.
    if (child.separator_cells > 1) product.take(child.from_parent, pass.slice(work.messages, child));
  }
  product.finish();
  scale += product.scale();
  loss += product.loss();
  const auto message = pass.slice(work.messages, node);
  reduce_table(pass, node, pass.table(node), node.to_separator, message, threads);
  const double peak = normalise(pass.space, message);
  work.peak[at(index)] = peak;
  if (pass.space != Space::linear) {
    work.log_scale[at(index)] = scale + peak;
    return;
  }
  work.log_scale[at(index)] = scale + std::log(peak);
  const double rows = static_cast<double>(node.cells / node.separator_cells);
  work.table_loss[at(index)] = loss;
  work.loss[at(index)] = peak > 0 ? rows * loss / peak : kInfinity;
}

/// log Z, or the largest log-weight; -inf if nothing has weight.
double pass_up(const Pass& pass, int n_threads) {
  const auto& levels = pass.tree.levels;
  for (std::size_t depth = levels.size(); depth-- > 0;) {
    for_level(pass.tree, levels[depth], n_threads, [&](int i, int threads) { send_up(pass, i, threads); });
  }
  return pass.work.log_scale[0];
}

/// answer / message, what a node's table has to be multiplied by; 0 where the message is 0, because there the
/// node itself says that the cell has no weight. Returns the largest.
double divide(Space space, std::span<double> answer, std::span<const double> message, double peak) {
  double largest = 0;
  for (std::size_t j = 0; j < answer.size(); ++j) {
    if (space == Space::linear) {
      answer[j] = message[j] > 0 ? answer[j] / (message[j] * peak) : 0.0;
      largest = std::max(largest, answer[j]);
    } else {
      answer[j] = message[j] == -kInfinity ? -kInfinity : answer[j] - message[j] - peak;
    }
  }
  return largest;
}

void send_down(const Pass& pass, int index, double total, int threads) {
  const TreeNode& node = pass.tree.nodes[at(index)];
  Workspace& work = pass.work;
  const bool linear = pass.space == Space::linear;
  const auto answer = pass.slice(work.answers, node);
  double parent_loss = 0;
  if (node.separator_cells == 1) {
    answer[0] = linear ? total : std::log(total);
  } else {
    const TreeNode& parent = pass.tree.nodes[at(node.parent)];
    reduce_table(pass, node, pass.table(parent), node.from_parent, answer, threads);
    parent_loss = work.loss[at(node.parent)] * static_cast<double>(parent.cells / node.separator_cells);
  }
  const double largest = divide(pass.space, answer, pass.slice(work.messages, node), work.peak[at(index)]);
  expand(linear ? Expand::multiply : Expand::add, pass.table(node), node.to_separator, answer, threads);
  const double rows = static_cast<double>(node.cells / node.separator_cells);
  if (!linear) return;
  work.loss[at(index)] = parent_loss + (1.0 + rows) * work.table_loss[at(index)] * largest / total;
  if (pass.hooks.after) pass.hooks.after(node, threads);
}

void pass_down(const Pass& pass, double total, int n_threads) {
  Workspace& work = pass.work;
  const TreeNode& root = pass.tree.nodes[0];
  const auto table = pass.table(root);
  const double factor = total / work.peak[0];
  if (pass.space == Space::linear) {
    work.loss[0] = work.table_loss[0] / work.peak[0];
    for (double& x : table) x *= factor;
    if (pass.hooks.after) pass.hooks.after(root, n_threads);
  } else {
    const double shift = std::log(total) - work.peak[0];
    for (double& x : table) x += shift;
  }
  for (std::size_t depth = 1; depth < pass.tree.levels.size(); ++depth) {
    for_level(pass.tree, pass.tree.levels[depth], n_threads,
              [&](int i, int threads) { send_down(pass, i, total, threads); });
  }
}

/// Whether anything that matters may have been lost to underflow.
bool trustworthy(const Pass& pass, double log_z, bool marginals) {
  if (!(log_z > -kInfinity)) return false;
  const auto& nodes = pass.tree.nodes;
  for (std::size_t i = 0; i < (marginals ? nodes.size() : 1); ++i) {
    if (!(pass.work.loss[i] <= kTolerated)) return false;
  }
  return true;
}

}  // namespace

Workspace::Workspace(const JunctionTree& tree)
    : peak(tree.nodes.size()),
      log_scale(tree.nodes.size()),
      table_loss(tree.nodes.size()),
      loss(tree.nodes.size()) {
  const TreeNode& last = tree.nodes.back();
  tables.resize(last.offset + last.cells);
  messages.resize(last.separator_offset + last.separator_cells);
  answers.resize(messages.size());
  scratch.resize(messages.size());
  std::size_t given = 0;
  for (const Placement& p : tree.factors) given = std::max(given, p.offset + p.layout.small);
  factors.resize(given);
}

double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, int n_threads,
                 const NodeHooks& hooks) {
  const Pass linear{tree, potentials, evidence, work, Space::linear, hooks};
  double log_z = pass_up(linear, n_threads);
  if (trustworthy(linear, log_z, false)) {
    pass_down(linear, total, n_threads);
    if (trustworthy(linear, log_z, true)) return log_z;
  }
  // The potentials are prepared by now; the marginals are there when all tables are back from their
  // logarithms.
  const Pass logarithms{tree, potentials, evidence, work, Space::log, kNoHooks};
  log_z = pass_up(logarithms, n_threads);
  if (log_z == -kInfinity) return log_z;
  pass_down(logarithms, total, n_threads);
  kernels().exp_shifted(work.tables.data(), work.tables.size(), 0.0, work.tables.data());
  if (hooks.after) {
    for (const TreeNode& node : tree.nodes) hooks.after(node, n_threads);
  }
  return log_z;
}

double log_partition(const JunctionTree& tree, std::span<const double> potentials,
                     std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  const Pass linear{tree, potentials, evidence, work, Space::linear, kNoHooks};
  const double log_z = pass_up(linear, n_threads);
  if (trustworthy(linear, log_z, false)) return log_z;
  return pass_up(Pass{tree, potentials, evidence, work, Space::log, kNoHooks}, n_threads);
}

double max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, int n_threads) {
  return pass_up(Pass{tree, potentials, evidence, work, Space::max, kNoHooks}, n_threads);
}

void read_marginal(const JunctionTree& tree, const Workspace& work, int factor, std::span<double> marginal,
                   int n_threads) {
  const Placement& place = tree.factors[at(factor)];
  const TreeNode& node = tree.nodes[at(place.node)];
  reduce_sum(std::span<const double>(work.tables).subspan(node.offset, node.cells), place.layout, marginal,
             n_threads);
}

void read_marginals(const JunctionTree& tree, const Workspace& work, std::span<double> marginals,
                    int n_threads) {
  std::size_t cells = 0;
  for (const Placement& p : tree.factors) cells += p.layout.large;
  const auto read = [&](std::size_t f, int threads) {
    const auto marginal = marginals.subspan(tree.factors[f].offset, tree.factors[f].layout.small);
    read_marginal(tree, work, static_cast<int>(f), marginal, threads);
  };
  const int threads = threads_for(cells, n_threads);
  if (tree.factors.size() >= 2 * at(threads)) {
    parallel_for(tree.factors.size(), threads, [&](std::size_t f) { read(f, 1); });
  } else {
    for (std::size_t f = 0; f < tree.factors.size(); ++f) read(f, threads);
  }
}

}  // namespace pypgm
