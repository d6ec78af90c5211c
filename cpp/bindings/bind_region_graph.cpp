// Bindings of compiled region graphs; checks of scopes and edges.
#include "bind_region_graph.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "watched.hpp"

namespace pypgm::bind {

namespace {

using Edges = std::vector<std::pair<int, int>>;

constexpr std::size_t kBriefRegions = 2000;  // with edges; compiled in some milliseconds

void check_links(const std::vector<std::size_t>& sizes, const std::vector<Scope>& regions,
                 const Edges& edges) {
  check_scopes("regions", sizes.size(), regions);
  const auto known = [&](int r) { return r >= 0 && static_cast<std::size_t>(r) < regions.size(); };
  for (const auto& [parent, child] : edges) {
    if (!known(parent) || !known(child)) throw py::value_error("an edge names a region that is not there");
    const Scope& large = regions[static_cast<std::size_t>(parent)];
    const Scope& small = regions[static_cast<std::size_t>(child)];
    if (small.size() >= large.size() ||
        !std::includes(large.begin(), large.end(), small.begin(), small.end())) {
      throw py::value_error("each child must be a proper part of its parent");
    }
  }
}

}  // namespace

void bind_region_graph(py::module_& m) {
  py::class_<RegionGraph, Graph>(m, "RegionGraph", "A compiled region graph over attribute indices.")
      .def(py::init([](const std::vector<std::size_t>& sizes, const std::vector<Scope>& regions,
                       const Edges& edges) {
             check_sizes(sizes);
             check_links(sizes, regions, edges);
             return watched(regions.size() + edges.size() <= kBriefRegions, [&] {
               return std::make_shared<RegionGraph>(build_region_graph(sizes, regions, edges));
             });
           }),
           py::arg("sizes"), py::arg("regions"), py::arg("edges"))
      .def_readonly("cells", &RegionGraph::cells, "Cells of the tables of all regions.")
      .def_readonly("message_cells", &RegionGraph::message_cells, "Cells of the messages of all edges.")
      .def_readonly("stages", &RegionGraph::stages, "Regions with parents, in the order of a sweep.");
}

}  // namespace pypgm::bind
