#pragma once
#include <span>

#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Writes potentials (natural logs, packed) in smaller numbers, so that weights stay within the range of
/// numbers and inference on a factored tree need not turn to cell exponents. The joint distribution stays.
///
/// The tables are made to agree on how large each value of an attribute gets: tables whose answers contradict
/// each other drift apart with every step, one up and the other down. Nothing changes where logarithms lie
/// close together.
void level_potentials(const JunctionTree& tree, std::span<double> potentials);

}  // namespace pypgm
