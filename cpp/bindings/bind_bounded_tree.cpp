#include <memory>
#include <utility>

#include "bind_measurements.hpp"
#include "core/fit/proportional_fitting.hpp"
#include "core/plan/bounded_tree.hpp"
#include "exclusive.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr std::size_t kBriefTrials =
    3000;  // pairs times attributes, for which trees are tried in milliseconds

std::vector<std::uint8_t> choose(const std::vector<std::size_t>& sizes, const std::vector<Scope>& pairs,
                                 std::size_t forced, double max_cells, std::size_t patience,
                                 const Tick& tick) {
  check_sizes(sizes);
  check_scopes("scopes", sizes.size(), pairs);
  std::vector<std::uint8_t> taken;
  run_watched(tick, pairs.size() * sizes.size() <= kBriefTrials,
              [&](Watch& watch) { taken = choose_pairs(sizes, pairs, forced, max_cells, patience, watch); });
  return taken;
}

std::unique_ptr<Exclusive<ProportionalFitting>> make_fitting(const std::shared_ptr<JunctionTree>& tree,
                                                             const Array<double>& targets,
                                                             const Array<double>& potentials, double total,
                                                             int n_threads) {
  const int threads = checked_threads(n_threads);
  check_over_cliques(*tree, "targets", targets);
  check_over_cliques(*tree, "potentials", potentials);
  return make_exclusive<ProportionalFitting>(tree->cost.operations, tree, copied(targets), copied(potentials),
                                             total, threads);
}

}  // namespace

void bind_bounded_tree(py::module_& m) {
  m.def("choose_pairs", &choose, py::arg("sizes"), py::arg("pairs"), py::arg("forced"), py::arg("max_cells"),
        py::arg("patience"), py::arg("tick") = py::none(),
        "1 for each pair, in the order given, that keeps the junction tree small enough.");
  using Fitting = Exclusive<ProportionalFitting>;
  py::class_<Fitting>(m, "ProportionalFitting",
                      "Iterative proportional fitting while a junction tree is walked.")
      .def(py::init(&make_fitting), py::arg("tree"), py::arg("targets").noconvert(),
           py::arg("potentials").noconvert(), py::arg("total"), py::arg("n_threads") = 0)
      .def("sweep", exclusive(&ProportionalFitting::sweep),
           "One walk; the mean L1 distance from the targets before it, for a total of 1.")
      .def_property_readonly(
          "potentials",
          [](Fitting& self) { return self.look([](auto& own) { return array_of(own.potentials()); }); })
      .def_property_readonly("tables", [](Fitting& self) {
        const std::vector<double>* tables = self.run([](auto& own) { return &own.tables(); });
        return self.look([&](auto&) { return array_of(*tables); });
      });
}

}  // namespace pypgm::bind
