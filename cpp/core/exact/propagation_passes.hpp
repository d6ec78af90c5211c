#pragma once
// What the passes of a propagation share.
#include <algorithm>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/exact/propagation.hpp"

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

namespace pypgm::propagation {

inline constexpr double kTiny = -1020;  // log2 of what one exponential or product may lose when it underflows
inline constexpr double kSafe = -937;   // log2 of the smallest cell that is surely kept, with room left

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

/// weights = exp(logarithms - their largest); what underflows is counted where they are multiplied.
Scaling scaled_exp(std::span<const double> logarithms, std::span<double> weights, int threads);

/// log Z, -inf if nothing has weight.
Outcome collect(const Pass& pass, double& log_z, int n_threads);
/// Hands out the marginals, from the root down. Requires an exact pass up.
void distribute(const Pass& pass, int n_threads);

/// Sums a node that falls into rows onto its separator. False if it does not.
bool sum_rows(const Pass& pass, int i, double* message);
/// The downward step of a node that falls into rows: the caller computes its marginal. False if it does not.
bool step_rows(const Pass& pass, int i, const double* answer);

}  // namespace pypgm::propagation
