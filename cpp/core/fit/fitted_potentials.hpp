#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Moves potentials (natural logs) until the marginals of a tree's given cliques are the targets (counts that
/// sum to `total`): where factored cliques are cheaper by quasi-Newton steps on log Z - <potentials, targets>
/// / total, else by proportional fitting, which needs one walk through the tree if the given cliques are
/// decomposable. At most so many walks, or the time they would take. Returns the potentials given where
/// their marginals are nearer to the targets.
std::vector<double> fitted_potentials(const std::shared_ptr<const JunctionTree>& tree,
                                      std::span<const double> targets, double total,
                                      const std::vector<double>& potentials, int sweeps, int n_threads);

}  // namespace pypgm
