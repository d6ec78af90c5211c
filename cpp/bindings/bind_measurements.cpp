#include "bind_measurements.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace pypgm::bind {

namespace {

std::shared_ptr<LinearMap> make_map(std::size_t answers, const Array<std::int32_t>& rows,
                                    const Array<std::int64_t>& starts, const Array<double>& coefficients,
                                    bool cumulative, const std::vector<std::size_t>& axes,
                                    std::size_t width) {
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
  auto map = std::make_shared<LinearMap>(LinearMap{sparse ? s.size() - 1 : n, answers, copied(rows),
                                                   copied(starts), copied(coefficients), cumulative, axes});
  map->find_rows(width);
  return map;
}

/// The numbers of an array, which they keep alive.
SharedNumbers shared(const Array<double>& array) {
  const auto release = [](const void* owner) {
    const py::gil_scoped_acquire locked;
    delete static_cast<const Array<double>*>(owner);
  };
  return {std::shared_ptr<const void>(new Array<double>(array), release), view(array)};
}

}  // namespace

Measured checked_measurement(const MeasurementArrays& arrays, std::size_t n_tables,
                             const std::function<std::size_t(std::size_t)>& cells_of_table) {
  const auto& [table, given, values, weights, held_out, beyond] = arrays;
  const auto index = static_cast<std::size_t>(table);
  if (table < 0 || index >= n_tables) {
    throw py::value_error("a measurement names table " + std::to_string(table) + ", there are " +
                          std::to_string(n_tables));
  }
  const SharedMap map = given.value_or(nullptr);
  const std::size_t cells = cells_of_table(index);
  const auto n = static_cast<std::size_t>(values.size());
  if (map != nullptr) check_size("a map's cells", cells, map->cells);
  check_size("values", map == nullptr ? cells : map->answers, n);
  if (weights.size() != 1) check_size("weights", n, static_cast<std::size_t>(weights.size()));
  if (held_out.size() != 0) check_size("held_out", n, static_cast<std::size_t>(held_out.size()));
  return {table, map, shared(values), copied(weights), shared(held_out), beyond};
}

void bind_measurements(py::module_& m) {
  py::class_<LinearMap, std::shared_ptr<LinearMap>>(m, "LinearMap", "What is asked of the cells of a table.")
      .def(py::init(&make_map), py::arg("answers"), py::arg("rows").noconvert(),
           py::arg("starts").noconvert(), py::arg("coefficients").noconvert(), py::arg("cumulative"),
           py::arg("axes") = std::vector<std::size_t>{}, py::arg("width") = 0,
           "Column i has the entries [starts[i], starts[i + 1]), or without starts one of 1; cumulative: the "
           "answers' cumulative sums; axes: the answers' shape, along each axis n times an answer minus the "
           "sum; width: cells of the rows of a table that may be asked alike, which is then faster.");
}

void check_over_cliques(const JunctionTree& tree, const char* name, const Array<double>& values) {
  if (tree.factored == nullptr) throw py::value_error("the tree is too large to be run");
  check_size(name, whole_cells(tree.cost.factor_cells), static_cast<std::size_t>(values.size()));
}

}  // namespace pypgm::bind
