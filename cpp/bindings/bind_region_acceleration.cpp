// Bindings of accelerated descent over a local polytope.
#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bind_measurements.hpp"
#include "bind_region_graph.hpp"
#include "core/regions/region_acceleration.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

/// Which calls make sense: those that fill it, those that use it, and what is left when something was taken.
enum class Stage { filling, running, without_potentials, over };

struct StagedDescent {
  StagedDescent(const Graph& graph, std::vector<double> counting_numbers, double total, int n_threads)
      : run(graph, std::move(counting_numbers), total, n_threads) {}

  /// The descent, if it is at this stage.
  RegionAcceleration& at(Stage needed) {
    if (stage == needed) return run;
    if (needed == Stage::filling)
      throw std::logic_error("begin() was called: nothing can be entered any more");
    throw std::logic_error(stage == Stage::filling ? "begin() has to come first, and to find some weight"
                                                   : "the potentials or beliefs were taken out");
  }
  const RegionGraph& graph() { return run.propagation().graph(); }

  RegionAcceleration run;
  Stage stage = Stage::filling;
};

using Object = Exclusive<StagedDescent>;

std::unique_ptr<Object> make_descent(const Graph& graph, const Array<double>& counting_numbers, double total,
                                     int n_threads) {
  const int threads = checked_threads(n_threads);
  return make_exclusive<StagedDescent>(sweep_operations(*graph), graph,
                                       checked_counting_numbers(*graph, counting_numbers), total, threads);
}

void enter(Object& self, int region, const Array<double>& table) {
  self.run([&, from = view(table)](StagedDescent& own) {
    const auto& regions = own.graph().regions;
    if (region < 0 || static_cast<std::size_t>(region) >= regions.size()) {
      throw py::value_error("no region has index " + std::to_string(region));
    }
    check_size("table", regions[static_cast<std::size_t>(region)].cells, from.size());
    own.at(Stage::filling).enter(region, from);
  });
}

void enter_elsewhere(Object& self, std::int32_t attribute, const Array<double>& table) {
  self.run([&, from = view(table)](StagedDescent& own) {
    const auto& sizes = own.graph().sizes;
    if (attribute < 0 || static_cast<std::size_t>(attribute) >= sizes.size()) {
      throw py::value_error("no attribute has index " + std::to_string(attribute));
    }
    check_size("table", sizes[static_cast<std::size_t>(attribute)], from.size());
    own.at(Stage::filling).enter_elsewhere(attribute, from);
  });
}

void measure(Object& self, const MeasurementArrays& measurement) {
  self.look([&](StagedDescent& own) {
    const std::vector<Region>& regions = own.graph().regions;
    const auto cells = [&](std::size_t r) { return regions[r].cells; };
    own.at(Stage::filling).measure(checked_measurement(measurement, regions.size(), cells));
  });
}

int begin(Object& self, double tolerance, int max_sweeps) {
  const auto begun = [=](StagedDescent& own) {
    const int sweeps = own.at(Stage::filling).begin(tolerance, max_sweeps);
    if (sweeps >= 0) own.stage = Stage::running;
    return sweeps;
  };
  return self.run(begun, std::max(1, max_sweeps));
}

py::tuple as_tuple(const RegionProgress& p) {
  const PathSums& s = p.sums;
  return py::make_tuple(s.loss, s.held_out_loss, s.slope, s.curvature, p.feasibility, p.sweeps);
}

void join(Object& self, const Array<double>& earlier) {
  self.step([&, from = view(earlier)](StagedDescent& own) {
    check_size("earlier", own.graph().cells, from.size());
    own.at(Stage::running).join(from);
  });
}

py::tuple advance_along(Object& self, const Array<double>& gradient, double s, double a, double stretch,
                        double loose) {
  return as_tuple(self.step([&, g = view(gradient)](StagedDescent& own) {
    check_size("gradient", own.graph().cells, g.size());
    return own.at(Stage::running).advance_along(g, s, a, stretch, loose);
  }));
}

Array<double> mean(Object& self, double a) {
  Array<double> out = allocate<double>(
      self.look([](StagedDescent& own) { return own.at(Stage::running).potentials().size(); }));
  self.step([&, to = mutable_view(out)](StagedDescent& own) { own.at(Stage::running).mean(a, to); });
  return out;
}

Array<double> take_potentials(Object& self) {
  return array_taking(self.look([](StagedDescent& own) {
    auto taken = own.at(Stage::running).release_potentials();
    own.stage = Stage::without_potentials;
    return taken;
  }));
}

Array<double> take_beliefs(Object& self) {
  return array_taking(self.look([](StagedDescent& own) {
    RegionAcceleration& run = own.at(own.stage == Stage::without_potentials ? own.stage : Stage::running);
    own.stage = Stage::over;
    return run.propagation().release_beliefs();
  }));
}

/// A method of a descent that has begun; `times` the longest of its arguments. Most are steps; see
/// Exclusive::step.
template <class R, class... Given>
auto running(R (RegionAcceleration::*method)(Given...), OnSignal on_signal = OnSignal::finish) {
  return [=](Object& self, Given... given) -> R {
    const double times = std::max({1.0, static_cast<double>(given)...});
    return self.run([&](StagedDescent& own) -> R { return (own.at(Stage::running).*method)(given...); },
                    times, on_signal);
  };
}

}  // namespace

void bind_region_acceleration(py::module_& m) {
  py::class_<Object>(m, "RegionAcceleration", "Accelerated mirror descent over a local polytope.")
      .def(py::init(&make_descent), py::arg("graph"), py::arg("counting_numbers").noconvert(),
           py::arg("total"), py::arg("n_threads") = 0)
      .def("enter", &enter, py::arg("region"), py::arg("table").noconvert(),
           "Add log-probabilities to the start of a region.")
      .def(
          "enter_elsewhere", &enter_elsewhere, py::arg("attribute"), py::arg("table").noconvert(),
          "Add log-probabilities of an attribute's values to the start of the regions that were not entered.")
      .def("measure", &measure, py::arg("measurement"),
           "Measure a region: (index, map, None: every cell, values, weights, held_out, beyond). Values and "
           "held_out are not copied; unless held_out is empty, held_out + beyond (held_out - values) "
           "validates.")
      .def("begin", &begin, py::arg("tolerance"), py::arg("max_sweeps"),
           "Sweep until the start is locally consistent; the number of sweeps, -1 if no weight is left.")
      .def(
          "advance",
          [](Object& self, double s, double a, double stretch, double loose) {
            return as_tuple(running(&RegionAcceleration::advance)(self, s, a, stretch, loose));
          },
          py::arg("s"), py::arg("a"), py::arg("stretch"), py::arg("loose"),
          "One step: loss and held-out loss of the average, slope, curvature, feasibility, sweeps.")
      .def("advance_along", &advance_along, py::arg("gradient").noconvert(), py::arg("s"), py::arg("a"),
           py::arg("stretch"), py::arg("loose"),
           "One step along a gradient; of what is measured only the slope is known.")
      .def("mean", &mean, py::arg("a"), "Counts between the average (a = 0) and the last beliefs (a = 1).")
      .def("join", &join, py::arg("earlier").noconvert(),
           "Make the average the mean of itself and of an earlier one, in counts; only a fit may follow.")
      .def("restart", running(&RegionAcceleration::restart), "Start the average at the last point.")
      .def("loss", running(&RegionAcceleration::loss), "The loss of the average.")
      .def("loss_of_beliefs", running(&RegionAcceleration::loss_of_beliefs), "The loss of the last beliefs.")
      .def("open_window", running(&RegionAcceleration::open_window),
           "Open a window of steps for the lower bound.")
      .def("record", running(&RegionAcceleration::record), py::arg("s"), py::arg("bound"),
           "Add a step of an external loss to the window.")
      .def("lower_bound", running(&RegionAcceleration::lower_bound),
           "A lower bound of the loss, from the steps in the window.")
      .def("fit_potentials", running(&RegionAcceleration::fit_potentials, OnSignal::abandon),
           py::arg("tolerance"), py::arg("max_sweeps"),
           "Fit potentials to the result; feasibility and number of sweeps.")
      .def("take_potentials", &take_potentials, "Move the potentials out; only `take_beliefs` may follow.")
      .def("take_beliefs", &take_beliefs, "Move the beliefs out; nothing may follow.");
}

}  // namespace pypgm::bind
