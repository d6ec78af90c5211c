// Bindings of accelerated descent over a local polytope.
#include <memory>
#include <utility>

#include "bind_measurements.hpp"
#include "bind_region_graph.hpp"
#include "core/regions/region_descent.hpp"

namespace pypgm::bind {

namespace {

std::unique_ptr<RegionDescent> make(const Graph& graph, const Array<double>& counting_numbers, double total,
                                    int n_threads) {
  check_threads(n_threads);
  return std::make_unique<RegionDescent>(graph, checked_counting_numbers(*graph, counting_numbers), total,
                                         n_threads);
}

void enter(RegionDescent& self, int region, const Array<double>& table) {
  const RegionGraph& graph = self.propagation().graph();
  if (region < 0 || static_cast<std::size_t>(region) >= graph.regions.size()) {
    throw py::value_error("no region has index " + std::to_string(region));
  }
  check_size("table", graph.regions[static_cast<std::size_t>(region)].cells,
             static_cast<std::size_t>(table.size()));
  self.enter(region, view(table));
}

void enter_elsewhere(RegionDescent& self, std::int32_t attribute, const Array<double>& table) {
  const RegionGraph& graph = self.propagation().graph();
  if (attribute < 0 || static_cast<std::size_t>(attribute) >= graph.sizes.size()) {
    throw py::value_error("no attribute has index " + std::to_string(attribute));
  }
  check_size("table", graph.sizes[static_cast<std::size_t>(attribute)],
             static_cast<std::size_t>(table.size()));
  self.enter_elsewhere(attribute, view(table));
}

void measure(RegionDescent& self, const MeasurementArrays& measurement) {
  const std::vector<Region>& regions = self.propagation().graph().regions;
  const auto cells = [&](std::size_t r) { return regions[r].cells; };
  self.measure(checked_measurement(measurement, regions.size(), cells));
}

py::tuple as_tuple(const RegionProgress& p) {
  const PathSums& s = p.sums;
  return py::make_tuple(s.loss, s.validation, s.slope, s.curvature, p.feasibility, p.sweeps);
}

}  // namespace

void bind_region_descent(py::module_& m) {
  py::class_<RegionDescent>(m, "RegionDescent", "Accelerated mirror descent over a local polytope.")
      .def(py::init(&make), py::arg("graph"), py::arg("counting_numbers").noconvert(), py::arg("total"),
           py::arg("n_threads") = 0)
      .def("enter", &enter, py::arg("region"), py::arg("table").noconvert(),
           "Add log-probabilities to the start of a region.")
      .def(
          "enter_elsewhere", &enter_elsewhere, py::arg("attribute"), py::arg("table").noconvert(),
          "Add log-probabilities of an attribute's values to the start of the regions that were not entered.")
      .def("measure", &measure, py::arg("measurement"),
           "Measure a region: (index, map, None: every cell, values, weights, holdout, beyond). Values and "
           "holdout are not copied; unless holdout is empty, holdout + beyond (holdout - values) validates.")
      .def("begin", &RegionDescent::begin, py::arg("tolerance"), py::arg("max_sweeps"),
           py::call_guard<py::gil_scoped_release>(),
           "Sweep until the start is locally consistent; the number of sweeps, -1 if no weight is left.")
      .def(
          "advance",
          [](RegionDescent& self, double s, double a, double stretch, double loose) {
            RegionProgress progress;
            {
              const py::gil_scoped_release unlocked;
              progress = self.advance(s, a, stretch, loose);
            }
            return as_tuple(progress);
          },
          py::arg("s"), py::arg("a"), py::arg("stretch"), py::arg("loose"),
          "One step: loss and validation loss of the average, slope, curvature, feasibility, sweeps.")
      .def(
          "advance_along",
          [](RegionDescent& self, const Array<double>& gradient, double s, double a, double stretch,
             double loose) {
            check_size("gradient", self.potentials().size(), static_cast<std::size_t>(gradient.size()));
            const auto g = view(gradient);
            RegionProgress progress;
            {
              const py::gil_scoped_release unlocked;
              progress = self.advance_along(g, s, a, stretch, loose);
            }
            return as_tuple(progress);
          },
          py::arg("gradient").noconvert(), py::arg("s"), py::arg("a"), py::arg("stretch"), py::arg("loose"),
          "One step along a gradient; of what is measured only the slope is known.")
      .def(
          "mean",
          [](RegionDescent& self, double a) {
            Array<double> out = allocate<double>(self.potentials().size());
            self.mean(a, mutable_view(out));
            return out;
          },
          py::arg("a"), "Counts between the average (a = 0) and the last beliefs (a = 1).")
      .def("restart", &RegionDescent::restart, py::call_guard<py::gil_scoped_release>(),
           "Start the average at the last point.")
      .def("loss", &RegionDescent::loss, py::call_guard<py::gil_scoped_release>(), "The loss of the average.")
      .def("loss_of_beliefs", &RegionDescent::loss_of_beliefs, py::call_guard<py::gil_scoped_release>(),
           "The loss of the last beliefs.")
      .def("open_window", &RegionDescent::open_window, py::call_guard<py::gil_scoped_release>(),
           "Open a window of steps for the lower bound.")
      .def("record", &RegionDescent::record, py::arg("s"), py::arg("bound"),
           "Add a step of an external loss to the window.")
      .def("lower_bound", &RegionDescent::lower_bound, py::call_guard<py::gil_scoped_release>(),
           "A lower bound of the loss, from the steps in the window.")
      .def("fit_potentials", &RegionDescent::fit_potentials, py::arg("tolerance"), py::arg("max_sweeps"),
           py::call_guard<py::gil_scoped_release>(),
           "Fit potentials to the result; feasibility and number of sweeps.")
      .def(
          "take_potentials", [](RegionDescent& self) { return array_taking(self.release_potentials()); },
          "Move the potentials out; only `take_beliefs` may be called afterwards.")
      .def(
          "take_beliefs",
          [](RegionDescent& self) { return array_taking(self.propagation().release_beliefs()); },
          "Move the beliefs out; the object must not be used afterwards.");
}

}  // namespace pypgm::bind
