#include <memory>
#include <utility>

#include "bind_measurements.hpp"
#include "core/fit/acceleration.hpp"
#include "core/fit/descent.hpp"
#include "core/fit/fitted_potentials.hpp"

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

Array<double> potentials_of(const std::shared_ptr<JunctionTree>& tree, const Array<double>& marginals,
                            double total, const Array<double>& potentials, int sweeps, int n_threads) {
  check_potentials(*tree, potentials, n_threads);
  check_size("marginals", static_cast<std::size_t>(potentials.size()),
             static_cast<std::size_t>(marginals.size()));
  std::vector<double> start = copied(potentials);
  std::vector<double> fitted;
  {
    const py::gil_scoped_release unlocked;
    fitted = fitted_potentials(tree, view(marginals), total, start, sweeps, n_threads);
  }
  return array_of(fitted);
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
      .def("level", &Acceleration::level, py::call_guard<py::gil_scoped_release>(),
           "Write the potentials in smaller numbers.")
      .def("loss", &Acceleration::loss, py::call_guard<py::gil_scoped_release>(), "The loss of the average.")
      .def_property_readonly("potentials",
                             [](const Acceleration& self) { return array_of(self.potentials()); })
      .def_property_readonly("average", [](const Acceleration& self) { return array_of(self.average()); });
  m.def("fitted_potentials", &potentials_of, py::arg("tree"), py::arg("marginals").noconvert(),
        py::arg("total"), py::arg("potentials").noconvert(), py::arg("sweeps"), py::arg("n_threads") = 0,
        "Potentials moved until their marginals are the given ones, as near as so many sweeps come.");
}

}  // namespace pypgm::bind
