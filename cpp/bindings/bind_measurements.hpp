#pragma once
// What solvers over a junction tree are given: potentials, and measurements of its cliques.
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "bindings.hpp"
#include "core/fit/l2_loss.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm::bind {

/// What is asked of the cells of a table; None: each of them.
using GivenMap = std::optional<std::shared_ptr<LinearMap>>;

/// (clique index, what is asked of its cells, None: each, values, weights, held-out values or empty)
using MeasurementArrays = std::tuple<int, GivenMap, Array<double>, Array<double>, Array<double>>;

/// Raises ValueError for measurements that do not fit the tree.
std::vector<Measured> checked_measurements(const JunctionTree& tree,
                                           const std::vector<MeasurementArrays>& measurements);

/// Raises ValueError unless values, weights and held-out values fit what is asked of so many cells; of
/// weights one for all is enough where `shared`.
void check_answers(const LinearMap* map, std::size_t cells, const Array<double>& values,
                   const Array<double>& weights, const Array<double>& holdout, bool shared);

void check_potentials(const JunctionTree& tree, const Array<double>& potentials, int n_threads);

}  // namespace pypgm::bind
