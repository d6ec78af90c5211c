#pragma once
#include <span>
#include <vector>

#include "core/junction_tree.hpp"

namespace pypgm {

/// Marginals of many scopes from the marginals of a junction tree's cliques (`tables`, one behind the other,
/// agreeing on separators). Each clique on the way to a scope's top clique sends the table of (attributes
/// asked for below, separator), conditional on the separator; a message is made once for all scopes that need
/// it. Scopes ascend. Answers in C order over the scope. Nothing depends on n_threads.
std::vector<std::vector<double>> tree_answers(const JunctionTree& tree, std::span<const double> tables,
                                              std::span<const Scope> scopes, int n_threads);

}  // namespace pypgm
