#pragma once
// A lower bound of the L2 loss over the local polytope: its Lagrangian dual, region by region.
#include <span>
#include <vector>

#include "core/fit/l2_path.hpp"
#include "core/regions/region_graph.hpp"

namespace pypgm {

/// A lower bound of a loss over the local polytope, its Lagrangian dual:
///   sum over regions of min over beliefs b_r of that region alone of (loss_r(b_r) + total <mu_r, b_r>).
/// Requires mu, tables over all regions in the loss's unit per count, with sum of <mu_r, b_r> = 0 for locally
/// consistent b, as a sum of edge multipliers has; cells at +inf have no weight. It is overwritten: the part
/// of mu on a region without a measurement moves to its parents, where the minimum depends on it smoothly.
/// One term of each region counts exactly, the one over single cells or groups of them if there is one;
/// others count by their tangent at the average of the path. Any n_threads gives the same bits.
double region_bound(const RegionGraph& graph, const L2Loss& loss, const L2Path& path, double total,
                    std::span<double> mu, int n_threads);

}  // namespace pypgm
