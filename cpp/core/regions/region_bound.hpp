#pragma once
#include <span>
#include <vector>

#include "core/regions/region_graph.hpp"
#include "core/regions/region_terms.hpp"

namespace pypgm {

/// (now - before) / steps of what a region's messages add up to, those from its children less those to its
/// parents.
void message_drift(const RegionGraph& graph, int region, std::span<const double> before,
                   std::span<const double> now, double steps, std::span<double> out);

/// A bound from below of a loss over the local polytope: its Lagrangian dual,
///   sum over regions of the least, over beliefs of that region alone, of its loss + total <mu_r, b_r>.
/// `mu`, tables over all regions in the loss's unit a count, is to have sum of <mu_r, b_r> = 0 for locally
/// consistent b, as what multipliers of the edges add up to has; cells at +inf have no weight. It is changed:
/// what a region without a measurement holds moves on to its parents, where unevenness costs its square only.
/// One term of a region counts as it is, that of every cell if there is one, others by their tangent at
/// term.x. The same bits for any number of threads.
double region_bound(const RegionGraph& graph, std::span<const std::vector<RegionTerm>> terms, double total,
                    std::span<double> mu, int n_threads);

}  // namespace pypgm
