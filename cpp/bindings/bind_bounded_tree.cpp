#include <memory>
#include <utility>

#include "bindings.hpp"
#include "core/fit/proportional_fitting.hpp"
#include "core/plan/bounded_tree.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr std::size_t kBriefTrials =
    3000;  // pairs times attributes, for which trees are tried in milliseconds

std::vector<std::uint8_t> choose(const std::vector<std::size_t>& sizes, const std::vector<Scope>& pairs,
                                 std::size_t forced, double max_cells, std::size_t patience,
                                 const Tick& tick) {
  check_scopes("scopes", sizes.size(), pairs);
  std::vector<std::uint8_t> taken;
  run_watched(tick, pairs.size() * sizes.size() <= kBriefTrials,
              [&](Watch& watch) { taken = choose_pairs(sizes, pairs, forced, max_cells, patience, watch); });
  return taken;
}

std::unique_ptr<ProportionalFitting> make_fitting(const std::shared_ptr<JunctionTree>& tree,
                                                  const Array<double>& targets,
                                                  const Array<double>& potentials, double total,
                                                  int n_threads) {
  check_threads(n_threads);
  const auto cells = static_cast<std::size_t>(tree->cost.factor_cells);
  check_size("targets", cells, static_cast<std::size_t>(targets.size()));
  check_size("potentials", cells, static_cast<std::size_t>(potentials.size()));
  std::vector<double> goal = copied(targets);
  std::vector<double> logs = copied(potentials);
  const py::gil_scoped_release unlocked;
  return std::make_unique<ProportionalFitting>(tree, std::move(goal), std::move(logs), total, n_threads);
}

}  // namespace

void bind_bounded_tree(py::module_& m) {
  m.def("choose_pairs", &choose, py::arg("sizes"), py::arg("pairs"), py::arg("forced"), py::arg("max_cells"),
        py::arg("patience"), py::arg("tick") = py::none(),
        "1 for each pair, in the order given, that keeps the junction tree small enough.");
  py::class_<ProportionalFitting>(m, "ProportionalFitting",
                                  "Iterative proportional fitting while a junction tree is walked.")
      .def(py::init(&make_fitting), py::arg("tree"), py::arg("targets").noconvert(),
           py::arg("potentials").noconvert(), py::arg("total"), py::arg("n_threads") = 0)
      .def("sweep", &ProportionalFitting::sweep, py::call_guard<py::gil_scoped_release>(),
           "One walk; the mean L1 distance from the targets before it, for a total of 1.")
      .def_property_readonly("potentials",
                             [](const ProportionalFitting& self) { return array_of(self.potentials()); })
      .def_property_readonly("tables", [](ProportionalFitting& self) { return array_of(self.tables()); });
}

}  // namespace pypgm::bind
