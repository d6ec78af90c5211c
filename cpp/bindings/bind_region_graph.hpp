#pragma once
// Helpers shared by the bindings of region graphs.
#include <memory>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "core/regions/region_graph.hpp"

namespace pypgm::bind {

using Graph = std::shared_ptr<RegionGraph>;

/// Operations of a sweep, roughly: those with exponentials count more.
inline double sweep_operations(const RegionGraph& graph) {
  double cells = static_cast<double>(graph.cells);
  for (const RegionEdge& edge : graph.edges) cells += static_cast<double>(graph.layout(edge).large);
  return 8 * cells;
}

/// An array that takes over a buffer instead of copying it.
inline Array<double> array_taking(std::vector<double> values) {
  auto* buffer = new std::vector<double>(std::move(values));
  const py::capsule keeper(buffer, [](void* p) { delete static_cast<std::vector<double>*>(p); });
  return Array<double>(static_cast<py::ssize_t>(buffer->size()), buffer->data(), keeper);
}

inline std::vector<double> checked_counting_numbers(const RegionGraph& graph, const Array<double>& kappa) {
  check_size("counting_numbers", graph.regions.size(), static_cast<std::size_t>(kappa.size()));
  for (const double k : view(kappa)) {
    if (!(k > 0)) throw py::value_error("counting_numbers must be positive, got " + std::to_string(k));
  }
  return copied(kappa);
}

}  // namespace pypgm::bind
