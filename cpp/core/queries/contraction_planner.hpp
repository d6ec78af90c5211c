#pragma once
#include "core/queries/contraction.hpp"

namespace pypgm {

/// Plans the sum of a product of leaves over all attributes but `keep`, whose axes come in the order given.
/// Attributes go one by one: in an order found for them, or, where `order` is not empty, in the order in
/// which it has them (changed no more than is needed for `keep` to stay). Of the tables that hold the next
/// attribute the two with the smallest product are joined first, and what no other table holds is summed out
/// at once. Requires leaves without repeated axes, at least one; `order`, if given, a permutation of all
/// attributes. Throws HopelessElimination where a table would have more than kHopelessCells.
Contraction plan_elimination(std::vector<std::size_t> sizes, std::vector<Leaf> leaves, const Axes& keep,
                             std::span<const std::int32_t> order);

}  // namespace pypgm
