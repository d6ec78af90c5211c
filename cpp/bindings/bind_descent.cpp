#include <memory>
#include <utility>

#include "bind_measurements.hpp"
#include "core/fit/acceleration.hpp"
#include "core/fit/descent.hpp"

namespace pypgm::bind {

namespace {

template <class Solver>
std::unique_ptr<Solver> make_solver(const std::shared_ptr<JunctionTree>& tree,
                                    const std::vector<MeasurementArrays>& measurements, double total,
                                    const Array<double>& potentials, int n_threads) {
  check_potentials(*tree, potentials, n_threads);
  std::vector<Measured> checked;
  const auto cells = [&](std::size_t f) { return tree->factors[f].layout.small; };
  for (const MeasurementArrays& m : measurements) {
    checked.push_back(checked_measurement(m, tree->factors.size(), cells));
  }
  std::vector<double> start = copied(potentials);
  const py::gil_scoped_release unlocked;
  return std::make_unique<Solver>(tree, std::move(checked), total, std::move(start), n_threads);
}

py::tuple as_tuple(const PathSums& p) { return py::make_tuple(p.loss, p.validation, p.slope, p.curvature); }

}  // namespace

void bind_descent(py::module_& m) {
  py::class_<Descent>(m, "Descent",
                      "Mirror descent for a weighted L2 loss over the marginals of a junction tree.")
      .def(py::init(&make_solver<Descent>), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def("try_step", &Descent::try_step, py::arg("alpha"), py::call_guard<py::gil_scoped_release>(),
           "The loss a step leads to. One propagation.")
      .def(
          "change",
          [](Descent& self) {
            const Change change = self.change();
            return py::make_tuple(change.slope, change.curvature);
          },
          "Slope and curvature of the loss over the last step tried.")
      .def("accept", &Descent::accept, "Make the last evaluated step the current point.")
      .def("gap", &Descent::gap, py::call_guard<py::gil_scoped_release>(),
           "Bound on the loss above the optimum.")
      .def_property_readonly("loss", &Descent::loss)
      .def_property_readonly("potentials", [](const Descent& self) { return array_of(self.potentials()); })
      .def_property_readonly("marginals", [](const Descent& self) { return array_of(self.marginals()); });
  py::class_<Acceleration>(m, "Acceleration", "Accelerated mirror descent whose answer is an average.")
      .def(py::init(&make_solver<Acceleration>), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def(
          "advance",
          [](Acceleration& self, double s, double a) {
            PathSums sums;
            {
              const py::gil_scoped_release unlocked;
              sums = self.advance(s, a);
            }
            return as_tuple(sums);
          },
          py::arg("s"), py::arg("a"), "One step: loss and validation loss of the average, slope, curvature.")
      .def("gap", &Acceleration::gap, py::call_guard<py::gil_scoped_release>(),
           "Bound on the loss above the optimum.")
      .def("open_window", &Acceleration::open_window, "Begin to average the points of the gradients.")
      .def("lower_bound", &Acceleration::lower_bound, py::call_guard<py::gil_scoped_release>(),
           "Bound from below of the least loss, from the steps since the window was opened.")
      .def("settle", &Acceleration::settle, py::arg("sweeps"), py::call_guard<py::gil_scoped_release>(),
           "Fit the potentials until their marginals are the average.")
      .def(
          "set_average",
          [](Acceleration& self, const Array<double>& marginals) {
            check_size("marginals", self.potentials().size(), static_cast<std::size_t>(marginals.size()));
            self.set_average(view(marginals));
          },
          py::arg("marginals").noconvert(), "Make given marginals the average.")
      .def("level", &Acceleration::level, py::call_guard<py::gil_scoped_release>(),
           "Write the potentials in smaller numbers.")
      .def("loss", &Acceleration::loss, py::call_guard<py::gil_scoped_release>(), "The loss of the average.")
      .def_property_readonly("potentials",
                             [](const Acceleration& self) { return array_of(self.potentials()); })
      .def_property_readonly("average", [](const Acceleration& self) { return array_of(self.average()); });
}

}  // namespace pypgm::bind
