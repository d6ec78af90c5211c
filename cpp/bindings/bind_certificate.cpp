#include <memory>
#include <vector>

#include "bind_measurements.hpp"
#include "core/fit/certificate.hpp"

namespace pypgm::bind {

namespace {

std::unique_ptr<Certificate> make_certificate(const std::shared_ptr<JunctionTree>& tree,
                                              const std::vector<MeasurementArrays>& measurements,
                                              double total, const Array<double>& potentials,
                                              const Array<double>& marginals, int n_threads) {
  check_potentials(*tree, potentials, n_threads);
  check_size("marginals", static_cast<std::size_t>(potentials.size()),
             static_cast<std::size_t>(marginals.size()));
  if (tree->factored == nullptr) throw py::value_error("a certificate needs a tree with implicit cliques");
  const std::vector<Measured> checked = checked_measurements(*tree, measurements);
  for (const Measured& m : checked) {
    if (m.question != Question::sums) throw py::value_error("a certificate needs questions that are sums");
  }
  const auto given = view(potentials);
  const auto point = view(marginals);
  const py::gil_scoped_release unlocked;
  return std::make_unique<Certificate>(tree, checked, total, given, point, n_threads);
}

}  // namespace

void bind_certificate(py::module_& m) {
  py::class_<Certificate>(m, "Certificate",
                          "Bounds from below the least weighted L2 loss, by column generation.")
      .def(py::init(&make_certificate), py::arg("tree"), py::arg("measurements"), py::arg("total"),
           py::arg("potentials").noconvert(), py::arg("marginals").noconvert(), py::arg("n_threads") = 0)
      .def("round", &Certificate::round, py::call_guard<py::gil_scoped_release>(),
           "Find more columns; return the highest bound so far.")
      .def_static(
          "suits", [](const JunctionTree& tree) { return tree.factored != nullptr; }, py::arg("tree"),
          "Whether inference goes with implicit cliques.");
}

}  // namespace pypgm::bind
