#include <limits>

#include "bind_measurements.hpp"
#include "core/exact/tangent.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

py::tuple bound_tangent(const JunctionTree& tree, const Array<double>& potentials,
                        const Array<double>& direction, double total, int n_threads) {
  const int threads = checked_threads(n_threads);
  check_over_cliques(tree, "potentials", potentials);
  check_over_cliques(tree, "direction", direction);
  const auto cells = static_cast<std::size_t>(potentials.size());
  Array<double> marginals = allocate<double>(cells);
  Array<double> change = allocate<double>(cells);
  const auto theta = view(potentials);
  const auto along = view(direction);
  const auto mu = mutable_view(marginals);
  const auto out = mutable_view(change);
  const double log_z = watched(tree.cost.operations <= kBriefStep,
                               [&] { return tangent(tree, theta, along, total, mu, out, threads); });
  if (log_z == -std::numeric_limits<double>::infinity()) {
    throw py::value_error("the potentials leave no joint assignment any weight");
  }
  return py::make_tuple(marginals, change);
}

}  // namespace

void bind_tangent(py::module_& m) {
  m.def("tangent", &bound_tangent, py::arg("tree"), py::arg("potentials").noconvert(),
        py::arg("direction").noconvert(), py::arg("total"), py::arg("n_threads") = 0,
        "Marginals of the given cliques, and their derivative along a direction of the potentials.");
}

}  // namespace pypgm::bind
