#include <memory>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "core/acceleration.hpp"
#include "core/descent.hpp"

namespace pypgm::bind {

namespace {

/// (clique index, group of each cell or empty, values, weights, held-out values or empty)
using MeasurementArrays = std::tuple<int, Array<std::int32_t>, Array<double>, Array<double>, Array<double>>;

std::vector<double> copy(const Array<double>& array) { return {array.data(), array.data() + array.size()}; }

GroupedMeasurement checked_measurement(const JunctionTree& tree, const MeasurementArrays& arrays) {
  const auto& [factor, groups, values, weights, holdout] = arrays;
  if (factor < 0 || static_cast<std::size_t>(factor) >= tree.factors.size()) {
    throw py::value_error("a measurement names clique " + std::to_string(factor) + ", the tree has " +
                          std::to_string(tree.factors.size()));
  }
  const std::size_t cells = tree.factors[static_cast<std::size_t>(factor)].layout.small;
  const auto n_values = static_cast<std::size_t>(values.size());
  if (groups.size() == 0) {
    check_size("values", cells, n_values);
  } else {
    check_size("groups", cells, static_cast<std::size_t>(groups.size()));
  }
  check_size("weights", n_values, static_cast<std::size_t>(weights.size()));
  if (holdout.size() != 0) check_size("holdout", n_values, static_cast<std::size_t>(holdout.size()));
  for (const std::int32_t g : view(groups)) {
    if (g < 0 || static_cast<std::size_t>(g) >= n_values) {
      throw py::value_error("groups must lie in [0, " + std::to_string(n_values) + "), got " +
                            std::to_string(g));
    }
  }
  return {factor, {groups.data(), groups.data() + groups.size()}, copy(values), copy(weights), copy(holdout)};
}

template <class Solver>
std::unique_ptr<Solver> make_solver(const std::shared_ptr<JunctionTree>& tree,
                                    const std::vector<MeasurementArrays>& measurements, double total,
                                    const Array<double>& potentials, int n_threads) {
  check_threads(n_threads);
  check_size("potentials", static_cast<std::size_t>(tree->cost.factor_cells),
             static_cast<std::size_t>(potentials.size()));
  std::vector<GroupedMeasurement> checked;
  for (const MeasurementArrays& m : measurements) checked.push_back(checked_measurement(*tree, m));
  std::vector<double> start = copy(potentials);
  const py::gil_scoped_release unlocked;
  return std::make_unique<Solver>(tree, std::move(checked), total, std::move(start), n_threads);
}

Array<double> to_array(const std::vector<double>& values) {
  return Array<double>(static_cast<py::ssize_t>(values.size()), values.data());
}

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
      .def_property_readonly("potentials", [](const Descent& self) { return to_array(self.potentials()); })
      .def_property_readonly("marginals", [](const Descent& self) { return to_array(self.marginals()); });
  py::class_<Acceleration>(m, "Acceleration", "Accelerated mirror descent whose answer is an average.")
      .def(py::init(&make_solver<Acceleration>), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def(
          "advance",
          [](Acceleration& self, double s, double a) {
            Progress progress{};
            {
              const py::gil_scoped_release unlocked;
              progress = self.advance(s, a);
            }
            return py::make_tuple(progress.loss, progress.validation, progress.slope, progress.curvature);
          },
          py::arg("s"), py::arg("a"), "One step: loss and validation loss of the average, slope, curvature.")
      .def("restart", &Acceleration::restart, py::call_guard<py::gil_scoped_release>(),
           "Start the average anew where the last point is better.")
      .def("gap", &Acceleration::gap, py::call_guard<py::gil_scoped_release>(),
           "Bound on the loss above the optimum.")
      .def("settle", &Acceleration::settle, py::arg("sweeps"), py::call_guard<py::gil_scoped_release>(),
           "Fit the potentials to the average by proportional fitting.")
      .def(
          "set_average",
          [](Acceleration& self, const Array<double>& marginals) {
            check_size("marginals", self.potentials().size(), static_cast<std::size_t>(marginals.size()));
            self.set_average(view(marginals));
          },
          py::arg("marginals").noconvert(), "Make given marginals the average.")
      .def("loss", &Acceleration::loss, py::call_guard<py::gil_scoped_release>(), "The loss of the average.")
      .def_property_readonly("potentials",
                             [](const Acceleration& self) { return to_array(self.potentials()); })
      .def_property_readonly("average", [](const Acceleration& self) { return to_array(self.average()); });
}

}  // namespace pypgm::bind
