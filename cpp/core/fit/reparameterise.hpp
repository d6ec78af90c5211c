#pragma once
#include <span>

#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Writes potentials (natural logs, packed) in smaller numbers, so that
/// weights and messages stay within the range of numbers and inference need not turn to logarithms. The
/// joint distribution stays, its scale does not.
///
/// Where a given clique fills each clique of the tree, its table becomes the logarithms of conditional
/// probabilities given the separator: all messages to parents are then 1. Probabilities below e^-600
/// become e^-600, far below what a marginal's rounding shows; zeros stay zeros. Elsewhere the tables are
/// made to agree on how large each value of an attribute gets: tables whose answers contradict each other
/// drift apart with every step, one up and the other down. Nothing changes where logarithms lie close
/// together.
void level_potentials(const JunctionTree& tree, std::span<double> potentials);

}  // namespace pypgm
