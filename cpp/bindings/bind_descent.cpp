#include <memory>
#include <utility>

#include "bind_measurements.hpp"
#include "core/fit/acceleration.hpp"
#include "core/fit/descent.hpp"
#include "core/fit/fitted_potentials.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

constexpr double kRunsOfSweep = 6;  // propagations that fitting takes for a sweep, at most

template <class Solver>
std::unique_ptr<Exclusive<Solver>> make_solver(const std::shared_ptr<JunctionTree>& tree,
                                               const std::vector<MeasurementArrays>& measurements,
                                               double total, const Array<double>& potentials, int n_threads) {
  const int threads = checked_threads(n_threads);
  check_over_cliques(*tree, "potentials", potentials);
  std::vector<Measured> checked;
  const auto cells = [&](std::size_t f) { return tree->factors[f].layout.small; };
  for (const MeasurementArrays& m : measurements) {
    checked.push_back(checked_measurement(m, tree->factors.size(), cells));
  }
  return make_exclusive<Solver>(tree->cost.operations, tree, std::move(checked), total, copied(potentials),
                                threads);
}

Array<double> potentials_of(const std::shared_ptr<JunctionTree>& tree, const Array<double>& marginals,
                            double total, const Array<double>& potentials, int sweeps, int n_threads) {
  const int threads = checked_threads(n_threads);
  check_over_cliques(*tree, "potentials", potentials);
  check_over_cliques(*tree, "marginals", marginals);
  const auto targets = view(marginals);
  const std::vector<double> start = copied(potentials);
  const double operations = kRunsOfSweep * sweeps * tree->cost.operations;
  return array_of(watched(operations <= kBriefOperations,
                          [&] { return fitted_potentials(tree, targets, total, start, sweeps, threads); }));
}

/// What a solver holds, copied.
template <class Solver, class Numbers>
auto array(Numbers (Solver::*numbers)() const) {
  return [numbers](Exclusive<Solver>& self) {
    return self.look([&](Solver& own) { return array_of((own.*numbers)()); });
  };
}

py::tuple as_tuple(const PathSums& p) {
  return py::make_tuple(p.loss, p.held_out_loss, p.slope, p.curvature);
}

}  // namespace

void bind_descent(py::module_& m) {
  py::class_<Exclusive<Descent>>(
      m, "Descent", "Mirror descent for a weighted L2 loss over the marginals of a junction tree.")
      .def(py::init(&make_solver<Descent>), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def("try_step", exclusive_step(&Descent::try_step), py::arg("alpha"),
           "The loss a step leads to. One propagation.")
      .def(
          "change",
          [](Exclusive<Descent>& self) {
            const Change change = self.step([](Descent& own) { return own.change(); });
            return py::make_tuple(change.slope, change.curvature);
          },
          "Slope and curvature of the loss over the last step tried.")
      .def("accept", exclusive_step(&Descent::accept), "Make the last evaluated step the current point.")
      .def("gap", exclusive_step(&Descent::gap), "Bound on the loss above the optimum.")
      .def_property_readonly(
          "loss", [](Exclusive<Descent>& self) { return self.look([](Descent& own) { return own.loss(); }); })
      .def_property_readonly("potentials", array(&Descent::potentials))
      .def_property_readonly("marginals", array(&Descent::marginals));
  py::class_<Exclusive<Acceleration>>(m, "Acceleration",
                                      "Accelerated mirror descent whose answer is an average.")
      .def(py::init(&make_solver<Acceleration>), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def(
          "advance",
          [](Exclusive<Acceleration>& self, double s, double a) {
            return as_tuple(self.step([=](Acceleration& own) { return own.advance(s, a); }));
          },
          py::arg("s"), py::arg("a"), "One step: loss and held-out loss of the average, slope, curvature.")
      .def("gap", exclusive_step(&Acceleration::gap), "Bound on the loss above the optimum.")
      .def("open_window", exclusive_step(&Acceleration::open_window),
           "Begin to average the points of the gradients.")
      .def("lower_bound", exclusive_step(&Acceleration::lower_bound),
           "Bound from below of the least loss, from the steps since the window was opened.")
      .def("level", exclusive_step(&Acceleration::level), "Write the potentials in smaller numbers.")
      .def(
          "join",
          [](Exclusive<Acceleration>& self, const Array<double>& earlier) {
            self.step([from = view(earlier)](Acceleration& own) {
              check_size("earlier", own.average().size(), from.size());
              own.join(from);
            });
          },
          py::arg("earlier").noconvert(),
          "Make the average the mean of itself and of an earlier one; only a fit may follow.")
      .def("loss", exclusive_step(&Acceleration::loss), "The loss of the average.")
      .def_property_readonly("potentials", array(&Acceleration::potentials))
      .def_property_readonly("average", array(&Acceleration::average))
      .def_property_readonly("average_potentials", array(&Acceleration::average_potentials));
  m.def("fitted_potentials", &potentials_of, py::arg("tree"), py::arg("marginals").noconvert(),
        py::arg("total"), py::arg("potentials").noconvert(), py::arg("sweeps"), py::arg("n_threads") = 0,
        "Potentials moved until their marginals are the given ones, as near as so many sweeps come.");
}

}  // namespace pypgm::bind
