// Bindings of record refinement.
#include <algorithm>
#include <utility>
#include <variant>

#include "bindings.hpp"
#include "core/records/record_refinement.hpp"
#include "core/tables/layout.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr std::size_t kBriefRows = 100;  // that take less time than watching them

/// (attributes, cells)
using TableArrays = std::pair<std::vector<std::size_t>, Array<double>>;

std::vector<RecordTarget> checked_targets(const std::vector<std::size_t>& sizes,
                                          const std::vector<TableArrays>& arrays) {
  std::vector<RecordTarget> targets;
  for (const auto& [attributes, values] : arrays) {
    std::size_t cells = 1;
    for (const std::size_t a : attributes) {
      if (a >= sizes.size()) throw py::value_error("attribute " + std::to_string(a) + " is out of range");
      cells = multiply_cells(cells, sizes[a]);
    }
    check_size("target", cells, static_cast<std::size_t>(values.size()));
    targets.push_back({attributes, view(values)});
  }
  return targets;
}

/// The codes of an attribute, an array of the type it came in.
using CodeArray = std::variant<Array<std::int8_t>, Array<std::int16_t>, Array<std::int32_t>>;

/// A copy to be changed, and its view.
template <class Code>
std::pair<py::object, CodeColumn> checked_copy(const Array<Code>& array, std::size_t rows, std::size_t size) {
  check_size("a column", rows, static_cast<std::size_t>(array.size()));
  const auto values = view(array);
  const auto outside = [&](Code v) { return v < 0 || static_cast<std::size_t>(v) >= size; };
  if (std::any_of(values.begin(), values.end(), outside)) {
    throw py::value_error("a column must hold codes below " + std::to_string(size));
  }
  Array<Code> copy = array_of(values);
  const CodeColumn column = mutable_view(copy);
  return {std::move(copy), column};
}

py::tuple refine(const std::vector<CodeArray>& columns, const std::vector<std::size_t>& sizes,
                 const std::vector<TableArrays>& targets, int sweeps, double enough, std::uint64_t seed,
                 const Tick& tick, int n_threads) {
  check_size("sizes", columns.size(), sizes.size());
  check_sizes(sizes);
  const auto length = [](const auto& array) { return static_cast<std::size_t>(array.size()); };
  const std::size_t rows = columns.empty() ? 0 : std::visit(length, columns[0]);
  const int threads = checked_threads(n_threads);
  const std::vector<RecordTarget> goals = checked_targets(sizes, targets);
  py::list refined;
  std::vector<CodeColumn> records;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto copy = [&](const auto& array) { return checked_copy(array, rows, sizes[i]); };
    const auto [array, column] = std::visit(copy, columns[i]);
    refined.append(array);
    records.push_back(column);
  }
  double distance = 0;
  run_watched(tick, rows <= kBriefRows, [&](Watch& watch) {
    distance = refine_records(records, sizes, goals, sweeps, enough, seed, threads, watch);
  });
  return py::make_tuple(refined, distance);
}

}  // namespace

void bind_record_refinement(py::module_& m) {
  m.def("refine_records", &refine, py::arg("columns"), py::arg("sizes"), py::arg("targets"),
        py::arg("sweeps"), py::arg("enough"), py::arg("seed"), py::arg("tick") = py::none(),
        py::arg("n_threads") = 1,
        "Columns whose counts are nearer to the targets, [(attributes, counts)], and the L1 distance left. "
        "tick(records visited) is called now and then and ends the work where it returns true.");
}

}  // namespace pypgm::bind
