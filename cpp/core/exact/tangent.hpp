#pragma once
#include <span>

#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The marginals mu of all given cliques (packed counts that sum to `total`) and how they
/// change along a direction d of the potentials: tangent = d/dt mu(theta + t d) at t = 0, the covariance of
/// the cliques' cells times d. Returns log Z; if that is -inf nothing is written.
///
/// Exact but for rounding, by one more pass up and down the tree than the marginals take. What passes along
/// an edge is a derivative of a logarithm, a mean of the direction under the node's own marginal, so that no
/// range of potentials can make it overflow. Potentials of -inf have the tangent 0, whatever the direction is
/// there. Any n_threads gives the same bits. Memory: the tables of the tree's cliques. Requires a finite
/// direction where potentials are finite.
double tangent(const JunctionTree& tree, std::span<const double> potentials,
               std::span<const double> direction, double total, std::span<double> marginals,
               std::span<double> tangent, int n_threads);

}  // namespace pypgm
