// Binding of raking.
#include "bindings.hpp"
#include "core/records/raking.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

using RakingTarget = std::tuple<Array<std::uint32_t>, Array<double>>;

Array<double> rake_weights(const Array<double>& weights, const std::vector<RakingTarget>& targets,
                           int passes) {
  if (passes < 0) throw py::value_error("passes must be at least 0, got " + std::to_string(passes));
  std::vector<WantedSums> wanted;
  for (const auto& [groups, sums] : targets) {
    check_size("the groups of a target", view(weights).size(), view(groups).size());
    const auto of_cells = view(groups);
    const std::size_t n_groups = view(sums).size();
    if (!are_below(of_cells, n_groups)) {
      throw py::value_error("the groups of a target must be below " + std::to_string(n_groups));
    }
    wanted.push_back({of_cells, view(sums)});
  }
  Array<double> raked = array_of(view(weights));
  const auto out = mutable_view(raked);
  const double operations = static_cast<double>(out.size()) * static_cast<double>(wanted.size()) * passes;
  watched(operations <= kBriefOperations, [&] { rake(wanted, passes, out); });
  return raked;
}

}  // namespace

void bind_raking(py::module_& m) {
  m.def("rake", &rake_weights, py::arg("weights").noconvert(), py::arg("targets"), py::arg("passes"),
        "Weights of cells whose sums over groups, (group of each cell, sum of each group), approach the "
        "targets.");
}

}  // namespace pypgm::bind
