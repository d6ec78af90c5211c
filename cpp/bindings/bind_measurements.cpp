#include "bind_measurements.hpp"

#include <cstdint>
#include <string>

namespace pypgm::bind {

namespace {

Measured checked_measurement(const JunctionTree& tree, const SumArrays& arrays, bool prefixes) {
  const auto& [factor, groups, values, weights, holdout] = arrays;
  if (factor < 0 || static_cast<std::size_t>(factor) >= tree.factors.size()) {
    throw py::value_error("a measurement names clique " + std::to_string(factor) + ", the tree has " +
                          std::to_string(tree.factors.size()));
  }
  const std::size_t cells = tree.factors[static_cast<std::size_t>(factor)].layout.small;
  const auto n_values = static_cast<std::size_t>(values.size());
  if (groups.size() == 0 || prefixes) check_size("values", cells, n_values);
  if (groups.size() != 0) check_size("groups", cells, static_cast<std::size_t>(groups.size()));
  check_size("weights", n_values, static_cast<std::size_t>(weights.size()));
  if (holdout.size() != 0) check_size("holdout", n_values, static_cast<std::size_t>(holdout.size()));
  for (const std::int32_t g : view(groups)) {
    if (g < 0 || static_cast<std::size_t>(g) >= n_values) {
      throw py::value_error("groups must lie in [0, " + std::to_string(n_values) + "), got " +
                            std::to_string(g));
    }
  }
  return {factor,          {groups.data(), groups.data() + groups.size()}, copied(values), copied(weights),
          copied(holdout), prefixes ? Question::prefixes : Question::sums};
}

}  // namespace

std::vector<Measured> checked_measurements(const JunctionTree& tree,
                                           const std::vector<MeasurementArrays>& measurements) {
  std::vector<Measured> checked;
  for (const MeasurementArrays& m : measurements) {
    if (const auto* sums = std::get_if<SumArrays>(&m)) {
      checked.push_back(checked_measurement(tree, *sums, false));
    } else {
      const auto& [factor, order, values, weights, holdout, prefixes] = std::get<QuestionArrays>(m);
      checked.push_back(checked_measurement(tree, {factor, order, values, weights, holdout}, prefixes));
    }
  }
  return checked;
}

void check_potentials(const JunctionTree& tree, const Array<double>& potentials, int n_threads) {
  check_threads(n_threads);
  check_size("potentials", static_cast<std::size_t>(tree.cost.factor_cells),
             static_cast<std::size_t>(potentials.size()));
}

}  // namespace pypgm::bind
