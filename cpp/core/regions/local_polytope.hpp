#pragma once
#include <span>
#include <vector>

#include "core/regions/region_graph.hpp"

namespace pypgm {

/// Makes structural zeros known to all: a cell of a child is -inf where all cells above it are, and all cells
/// above a child's -inf become -inf. Returns whether each region has weight left.
bool spread_zeros(const RegionGraph& graph, std::span<double> theta);

/// sum of <theta_r, b_r> + kappa_r H(b_r) at beliefs near the given ones that agree on every edge: parents
/// are shifted evenly onto their children, small regions first, and what turns negative is mixed away with
/// the uniform belief. -inf where a structural zero would get weight. The children of a region must agree
/// with each other on what they share, as they do in a closure under intersection; NaN if they do not.
double consistent_value(const RegionGraph& graph, std::span<const double> counting_numbers,
                        std::span<const double> theta, std::vector<double> beliefs);

}  // namespace pypgm
