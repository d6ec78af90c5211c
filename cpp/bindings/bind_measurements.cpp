#include "bind_measurements.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace pypgm::bind {

namespace {

std::shared_ptr<LinearMap> make_map(std::size_t answers, const Array<std::int32_t>& rows,
                                    const Array<std::int64_t>& starts, const Array<double>& coefficients,
                                    bool cumulative, const std::vector<std::size_t>& axes) {
  const bool sparse = starts.size() != 0;
  const auto n = static_cast<std::size_t>(rows.size());
  check_size("coefficients", sparse ? n : 0, static_cast<std::size_t>(coefficients.size()));
  for (const std::int32_t row : view(rows)) {
    if (row < 0 || static_cast<std::size_t>(row) >= answers) {
      throw py::value_error("rows must lie in [0, " + std::to_string(answers) + "), got " +
                            std::to_string(row));
    }
  }
  const auto s = view(starts);
  if (sparse && (s.front() != 0 || s.back() != static_cast<std::int64_t>(n) || !std::ranges::is_sorted(s))) {
    throw py::value_error("starts must ascend from 0 to the number of entries");
  }
  std::size_t shaped = 1;
  for (const std::size_t size : axes) {
    if (size == 0 || shaped > answers / size) throw py::value_error("axes must be the shape of the answers");
    shaped *= size;
  }
  if (!axes.empty()) check_size("axes' answers", answers, shaped);
  return std::make_shared<LinearMap>(LinearMap{sparse ? s.size() - 1 : n, answers, copied(rows),
                                               copied(starts), copied(coefficients), cumulative, axes});
}

Measured checked_measurement(const JunctionTree& tree, const MeasurementArrays& arrays) {
  const auto& [factor, map, values, weights, holdout] = arrays;
  if (factor < 0 || static_cast<std::size_t>(factor) >= tree.factors.size()) {
    throw py::value_error("a measurement names clique " + std::to_string(factor) + ", the tree has " +
                          std::to_string(tree.factors.size()));
  }
  const std::size_t cells = tree.factors[static_cast<std::size_t>(factor)].layout.small;
  const SharedMap asked = map.value_or(nullptr);
  check_answers(asked.get(), cells, values, weights, holdout, false);
  return {factor, asked, copied(values), copied(weights), copied(holdout)};
}

}  // namespace

std::vector<Measured> checked_measurements(const JunctionTree& tree,
                                           const std::vector<MeasurementArrays>& measurements) {
  std::vector<Measured> checked;
  for (const MeasurementArrays& m : measurements) checked.push_back(checked_measurement(tree, m));
  return checked;
}

void check_answers(const LinearMap* map, std::size_t cells, const Array<double>& values,
                   const Array<double>& weights, const Array<double>& holdout, bool shared) {
  if (map != nullptr) check_size("a map's cells", cells, map->cells);
  check_size("values", map == nullptr ? cells : map->answers, static_cast<std::size_t>(values.size()));
  const auto n = static_cast<std::size_t>(values.size());
  if (!shared || weights.size() != 1) check_size("weights", n, static_cast<std::size_t>(weights.size()));
  if (holdout.size() != 0) check_size("holdout", n, static_cast<std::size_t>(holdout.size()));
}

void bind_measurements(py::module_& m) {
  py::class_<LinearMap, std::shared_ptr<LinearMap>>(m, "LinearMap", "What is asked of the cells of a table.")
      .def(py::init(&make_map), py::arg("answers"), py::arg("rows").noconvert(),
           py::arg("starts").noconvert(), py::arg("coefficients").noconvert(), py::arg("cumulative"),
           py::arg("axes") = std::vector<std::size_t>{},
           "Column i has the entries [starts[i], starts[i + 1]), or without starts one of 1; cumulative: the "
           "answers' cumulative sums; axes: the answers' shape, along each axis n times an answer minus the "
           "sum.");
}

void check_potentials(const JunctionTree& tree, const Array<double>& potentials, int n_threads) {
  check_threads(n_threads);
  check_size("potentials", static_cast<std::size_t>(tree.cost.factor_cells),
             static_cast<std::size_t>(potentials.size()));
}

}  // namespace pypgm::bind
