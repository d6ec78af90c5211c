#pragma once
// Structural zeros on a region graph, and the value of locally consistent beliefs near given ones.
#include <span>
#include <vector>

#include "core/regions/region_graph.hpp"

namespace pypgm {

/// Propagates structural zeros along all edges: a child's cell becomes -inf where all cells of a parent above
/// it are, and all cells above a child's -inf become -inf. Returns whether every region still has a finite
/// cell.
bool propagate_zeros(const RegionGraph& graph, std::span<double> theta);

/// sum of <theta_r, b_r> + kappa_r H(b_r) at locally consistent beliefs near the given ones. Each parent is
/// shifted by a constant per child cell until its marginals are its children's beliefs, small regions first;
/// negative cells are removed by mixing with the uniform belief. -inf where a structural zero would get
/// weight. The children of a region must agree on what they share, as in a closure under intersection; NaN if
/// they do not.
double consistent_value(const RegionGraph& graph, std::span<const double> counting_numbers,
                        std::span<const double> theta, std::vector<double> beliefs);

}  // namespace pypgm
