#pragma once
// What the passes of a propagation share.
#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "core/exact/propagation.hpp"

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

namespace pypgm::propagation {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kTiny = 1e-307;  // what one exponential or product may lose when it underflows
inline constexpr double kSafe = -650.0;  // logarithm of the smallest cell that is surely kept, with room left
inline constexpr double kTolerated = 1e-17;  // of a table that sums to 1; far below what rounding does

inline std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// Evidence as the factor it is, sorted by node.
struct Observed {
  int node;
  const BlockView* view;
  std::span<const double> logarithms;
  std::vector<double> weights;
  Scaling scaling;
};

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

/// log Z; -inf if nothing has weight.
double pass_up(const Pass& pass, int n_threads);
/// Hands out the marginals, from the root down. Requires a pass up that left some weight.
void pass_down(const Pass& pass, int n_threads);

// Of one node.

/// What comes into a node from its factors, its evidence and its children.
void take_inputs(const Pass& pass, int i, Space space, BlockProduct& product);
/// small = small op cells, for the cells of a node summed, or maximised, onto its separator.
void reduce_node(const Pass& pass, int i, Space space, Kernels::Reduce kernel, double start, double* out,
                 int threads);
/// Sums a node that falls into rows onto its separator, in linear space. False if it does not.
bool sum_rows(const Pass& pass, int i, double* message);
/// Has the caller step over the rows of a node on the way down, and hands on the sums. False if nothing was
/// done.
bool step_rows(const Pass& pass, int i, const double* answer);
/// Sum of the log scales of the messages that come into a node.
double scale_below(const Pass& pass, int i);
/// Takes the largest logarithm out of a message and returns it.
double normalise_logarithms(std::span<double> message);
/// The message of one node as logarithms, and as weights for a parent in linear space. Its children's
/// logarithms are there.
void send_logarithms(const Pass& pass, int i, int threads);
/// The logarithms of the messages that come into a node, by going down to where nothing was lost.
void prepare_logarithms(const Pass& pass, int top, int threads);

}  // namespace pypgm::propagation
