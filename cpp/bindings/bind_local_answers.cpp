#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "core/base/threads.hpp"
#include "core/regions/local_answers.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

/// (axes kept, cells)
using TargetArrays = std::pair<std::vector<std::uint8_t>, Array<double>>;
/// (shape, start, targets)
using ProblemArrays = std::tuple<std::vector<std::size_t>, Array<double>, std::vector<TargetArrays>>;

LocalProblem checked_problem(const ProblemArrays& arrays) {
  const auto& [shape, start, targets] = arrays;
  std::size_t cells = 1;
  for (const std::size_t size : shape) {
    if (size == 0) throw py::value_error("every axis needs at least one entry, got a size of 0");
    cells = multiply_cells(cells, size);
  }
  check_size("start", cells, static_cast<std::size_t>(start.size()));
  LocalProblem problem{view(start), {}};
  for (const auto& [kept, values] : targets) {
    check_size("kept", shape.size(), kept.size());
    Layout layout = make_layout(shape, kept);
    check_size("target", layout.small, static_cast<std::size_t>(values.size()));
    problem.targets.push_back({std::move(layout), view(values)});
  }
  return problem;
}

/// Cells times targets that are solved for in less than a tenth of a second, whatever it takes.
constexpr std::size_t kBrief = 1U << 16;

py::list solve(const std::vector<ProblemArrays>& problems, int iterations, int n_threads, const Tick& tick) {
  std::vector<LocalProblem> checked;
  std::size_t work = 0;
  for (const ProblemArrays& p : problems) {
    checked.push_back(checked_problem(p));
    work = add_cells(work, checked.back().start.size() * (1 + checked.back().targets.size()));
  }
  const int threads = checked_threads(n_threads);
  std::vector<LocalAnswer> answers;
  run_watched(tick, work <= kBrief,
              [&](Watch& watch) { answers = solve_locally(checked, iterations, threads, watch); });
  py::list result;
  for (const LocalAnswer& a : answers) {
    result.append(py::make_tuple(array_of(a.table), a.violation, a.gap, a.iterations));
  }
  return result;
}

}  // namespace

void bind_local_answers(py::module_& m) {
  m.def("solve_locally", &solve, py::arg("problems"), py::arg("iterations"), py::arg("n_threads") = 0,
        py::arg("tick") = py::none(),
        "For each (shape, start, [(axes kept, target)]): the nearest table, its violation, gap, iterations. "
        "tick(sweeps so far) is called now and then and ends the work where it returns true.");
}

}  // namespace pypgm::bind
