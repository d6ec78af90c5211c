// Bindings of sampling from Markov random fields; checks of models and plans.
#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "core/mrf/potential_sampling.hpp"
#include "core/mrf/spin_sampling.hpp"
#include "core/tables/layout.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr std::size_t kBriefUpdates = 100'000;  // updates of nodes that take a few milliseconds
constexpr std::size_t kMostCodes = 256;
constexpr std::size_t kMostSteps = std::size_t{1} << 32;

void check_finite(const char* name, std::span<const double> values) {
  if (!std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); })) {
    throw py::value_error(std::string(name) + " must be finite");
  }
}

/// A model, which borrows its numbers and owns the indices that nobody may change once they are checked.
struct CheckedSpins {
  std::vector<std::uint32_t> neighbours, starts;
  SpinModel model;
};

CheckedSpins checked_model(const Array<double>& fields, const Array<double>& couplings,
                           const Array<std::uint32_t>& neighbours, const Array<std::uint32_t>& starts) {
  const auto n = static_cast<std::size_t>(fields.size());
  check_size("starts", n + 1, static_cast<std::size_t>(starts.size()));
  check_size("neighbours", static_cast<std::size_t>(couplings.size()),
             static_cast<std::size_t>(neighbours.size()));
  CheckedSpins own{copied(neighbours), copied(starts), {}};
  const std::span<const std::uint32_t> rows = own.starts;
  const std::span<const std::uint32_t> ends = own.neighbours;
  if (rows.front() != 0 || rows.back() != couplings.size() || !std::is_sorted(rows.begin(), rows.end())) {
    throw py::value_error("starts must ascend from 0 to the number of couplings");
  }
  if (std::any_of(ends.begin(), ends.end(), [=](std::uint32_t node) { return node >= n; })) {
    throw py::value_error("neighbours must be below the number of nodes, " + std::to_string(n));
  }
  check_finite("fields", view(fields));
  check_finite("couplings", view(couplings));
  own.model = {fields.data(), couplings.data(), ends.data(), rows.data(), n};
  return own;
}

GibbsPlan make_plan(std::size_t n_chains, std::size_t burn_in, std::size_t thin, std::size_t n_draws,
                    std::uint64_t seed) {
  if (n_chains == 0 || thin == 0) throw py::value_error("n_chains and thin must be positive");
  const GibbsPlan plan{n_chains, burn_in, thin, n_draws, seed};
  const std::size_t most = std::max({n_chains, plan.n_records(), plan.n_sweeps()});
  if (most >= kMostSteps) {
    throw py::value_error("chains, records and sweeps must be below 2^32, got " + std::to_string(most));
  }
  return plan;
}

Array<std::uint8_t> allocate_codes(std::size_t n_nodes, std::size_t n_records) {
  if (multiply_cells(n_nodes, n_records) == kTooManyCells) throw std::bad_alloc();
  return Array<std::uint8_t>({static_cast<py::ssize_t>(n_nodes), static_cast<py::ssize_t>(n_records)});
}

bool is_brief(std::size_t n_nodes, const GibbsPlan& plan) {
  const auto sweeps =
      static_cast<double>(plan.burn_in) + static_cast<double>(plan.thin) * double(plan.n_draws);
  return sweeps * double(plan.n_chains) * double(n_nodes) <= double{kBriefUpdates};
}

Array<std::uint8_t> gibbs_spins(const Array<double>& fields, const Array<double>& couplings,
                                const Array<std::uint32_t>& neighbours, const Array<std::uint32_t>& starts,
                                const GibbsPlan& plan, int n_threads) {
  const int threads = checked_threads(n_threads);
  const CheckedSpins own = checked_model(fields, couplings, neighbours, starts);
  const SpinModel& model = own.model;
  Array<std::uint8_t> codes = allocate_codes(model.n, plan.n_records());
  const auto out = mutable_view(codes);
  run_watched(py::none(), is_brief(model.n, plan),
              [&](const Watch& watch) { sample_spins(model, plan, out, threads, watch); });
  return codes;
}

py::tuple coupled_spins(const Array<double>& fields, const Array<double>& couplings,
                        const Array<std::uint32_t>& neighbours, const Array<std::uint32_t>& starts,
                        std::size_t n_records, std::uint64_t seed, std::size_t max_sweeps, int n_threads) {
  const int threads = checked_threads(n_threads);
  const CheckedSpins own = checked_model(fields, couplings, neighbours, starts);
  const SpinModel& model = own.model;
  if (couplings.size() > 0 && *std::min_element(couplings.data(), couplings.data() + couplings.size()) < 0) {
    throw py::value_error("couplings must be at least 0");
  }
  if (n_records == 0 || max_sweeps == 0 || n_records >= kMostSteps || max_sweeps >= kMostSteps) {
    throw py::value_error("n_records and max_sweeps must be positive and below 2^32");
  }
  Array<std::uint8_t> codes = allocate_codes(model.n, n_records);
  const auto out = mutable_view(codes);
  std::size_t sweeps = 0;
  run_watched(py::none(), false, [&](const Watch& watch) {
    sweeps = couple_from_past(model, n_records, seed, max_sweeps, out, threads, watch);
  });
  return py::make_tuple(codes, sweeps);
}

PotentialModel make_model(std::vector<std::size_t> sizes, const std::vector<std::vector<std::size_t>>& scopes,
                          std::span<const double> values) {
  for (const std::size_t size : sizes) {
    if (size == 0 || size > kMostCodes) {
      throw py::value_error("a node must have 1 to 256 codes, got " + std::to_string(size));
    }
  }
  std::size_t needed = 0;
  for (const auto& scope : scopes) {
    std::size_t cells = 1;
    for (std::size_t axis = 0; axis < scope.size(); ++axis) {
      if (scope[axis] >= sizes.size() || (axis > 0 && scope[axis] <= scope[axis - 1])) {
        throw py::value_error("a scope must ascend within the " + std::to_string(sizes.size()) + " nodes");
      }
      cells = multiply_cells(cells, sizes[scope[axis]]);
    }
    needed = add_cells(needed, cells);
  }
  check_size("values", needed, values.size());
  check_finite("values", values);
  return {std::move(sizes), scopes, values};
}

Array<std::uint8_t> gibbs_potentials(std::vector<std::size_t> sizes,
                                     const std::vector<std::vector<std::size_t>>& scopes,
                                     const Array<double>& values, const GibbsPlan& plan, int n_threads) {
  const int threads = checked_threads(n_threads);
  Array<std::uint8_t> codes = allocate_codes(sizes.size(), plan.n_records());
  const auto out = mutable_view(codes);
  const auto given = view(values);
  const bool brief = is_brief(sizes.size(), plan) && given.size() <= kBriefUpdates;
  run_watched(py::none(), brief, [&](const Watch& watch) {
    sample_potentials(make_model(std::move(sizes), scopes, given), plan, out, threads, watch);
  });
  return codes;
}

}  // namespace

void bind_mrf_sampling(py::module_& m) {
  py::class_<GibbsPlan>(m, "GibbsPlan",
                        "Chains, sweeps before the first record and between two, records of each.")
      .def(py::init(&make_plan), py::arg("n_chains"), py::arg("burn_in"), py::arg("thin"), py::arg("n_draws"),
           py::arg("seed"));
  m.def("gibbs_spins", &gibbs_spins, py::arg("fields").noconvert(), py::arg("couplings").noconvert(),
        py::arg("neighbours").noconvert(), py::arg("starts").noconvert(), py::arg("plan"),
        py::arg("n_threads"), "Records of a binary pairwise model by Gibbs sampling, one row a node.");
  m.def("coupled_spins", &coupled_spins, py::arg("fields").noconvert(), py::arg("couplings").noconvert(),
        py::arg("neighbours").noconvert(), py::arg("starts").noconvert(), py::arg("n_records"),
        py::arg("seed"), py::arg("max_sweeps"), py::arg("n_threads"),
        "Independent records by coupling from the past, one row a node, and the sweeps that took (0: too "
        "many).");
  m.def("gibbs_potentials", &gibbs_potentials, py::arg("sizes"), py::arg("scopes"),
        py::arg("values").noconvert(), py::arg("plan"), py::arg("n_threads"),
        "Records of log-potentials by Gibbs sampling, one row a node.");
}

}  // namespace pypgm::bind
