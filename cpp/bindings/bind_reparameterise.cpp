#include <algorithm>

#include "bindings.hpp"
#include "core/fit/reparameterise.hpp"

namespace pypgm::bind {

namespace {

Array<double> levelled(const JunctionTree& tree, const Array<double>& potentials) {
  check_size("potentials", static_cast<std::size_t>(tree.cost.factor_cells),
             static_cast<std::size_t>(potentials.size()));
  Array<double> result = allocate<double>(static_cast<std::size_t>(potentials.size()));
  const auto from = view(potentials);
  const auto out = mutable_view(result);
  const py::gil_scoped_release unlocked;
  std::copy(from.begin(), from.end(), out.begin());
  level_potentials(tree, out);
  return result;
}

}  // namespace

void bind_reparameterise(py::module_& m) {
  m.def("levelled", &levelled, py::arg("tree"), py::arg("potentials").noconvert(),
        "Potentials of the same joint distribution in smaller numbers.");
}

}  // namespace pypgm::bind
