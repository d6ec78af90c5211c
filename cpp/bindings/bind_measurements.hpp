#pragma once
// What solvers over a junction tree are given: potentials, and measurements of its cliques.
#include <functional>
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

/// (index of the table, what is asked of its cells, None: each, values, weights, held-out values or empty,
/// how far what validates lies beyond them)
using MeasurementArrays = std::tuple<int, GivenMap, Array<double>, Array<double>, Array<double>, double>;

/// A measurement of one of so many tables, which keeps values and held-out values alive. Raises ValueError
/// for one that does not fit its table.
Measured checked_measurement(const MeasurementArrays& arrays, std::size_t n_tables,
                             const std::function<std::size_t(std::size_t)>& cells_of_table);

/// Raises ValueError unless a tree can be run, and values are as many as the cells of its given cliques.
void check_over_cliques(const JunctionTree& tree, const char* name, const Array<double>& values);

}  // namespace pypgm::bind
