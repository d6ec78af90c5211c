#pragma once
// What solvers over a junction tree are given: potentials, and measurements of its cliques.
#include <tuple>
#include <variant>
#include <vector>

#include "bindings.hpp"
#include "core/fit/l2_loss.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm::bind {

/// (clique index, group of each cell or its place in an order, or empty, values, weights, held-out values or
/// empty) and whether cumulative sums in that order are measured
using SumArrays = std::tuple<int, Array<std::int32_t>, Array<double>, Array<double>, Array<double>>;
using QuestionArrays =
    std::tuple<int, Array<std::int32_t>, Array<double>, Array<double>, Array<double>, bool>;
using MeasurementArrays = std::variant<SumArrays, QuestionArrays>;

/// Raises ValueError for measurements that do not fit the tree.
std::vector<Measured> checked_measurements(const JunctionTree& tree,
                                           const std::vector<MeasurementArrays>& measurements);

void check_potentials(const JunctionTree& tree, const Array<double>& potentials, int n_threads);

}  // namespace pypgm::bind
