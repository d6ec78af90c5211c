#include <algorithm>

#include "bind_measurements.hpp"
#include "core/fit/reparameterise.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

Array<double> levelled(const JunctionTree& tree, const Array<double>& potentials) {
  check_over_cliques(tree, "potentials", potentials);
  Array<double> result = allocate<double>(static_cast<std::size_t>(potentials.size()));
  const auto from = view(potentials);
  const auto out = mutable_view(result);
  watched(static_cast<double>(out.size()) <= kBriefOperations, [&] {
    std::copy(from.begin(), from.end(), out.begin());
    level_potentials(tree, out);
  });
  return result;
}

}  // namespace

void bind_reparameterise(py::module_& m) {
  m.def("levelled", &levelled, py::arg("tree"), py::arg("potentials").noconvert(),
        "Potentials of the same joint distribution in smaller numbers.");
}

}  // namespace pypgm::bind
