// Bindings of convex generalised belief propagation.
#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "bind_region_graph.hpp"
#include "core/regions/convex_gbp.hpp"
#include "core/regions/local_polytope.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

/// Propagation with potentials of its own.
class Propagation {
 public:
  Propagation(const Graph& graph, const std::vector<double>& counting_numbers, std::vector<double> potentials,
              int n_threads)
      : gbp_(graph, counting_numbers, n_threads), theta_(std::move(potentials)) {
    possible = propagate_zeros(*graph, theta_);
    gbp_.refresh(theta_);
  }

  void set_potentials(std::span<const double> potentials) {
    check_size("potentials", theta_.size(), potentials.size());
    std::ranges::copy(potentials, theta_.begin());
    gbp_.refresh(theta_);
  }
  void set_messages(std::span<const double> messages) {
    check_size("messages", gbp_.messages().size(), messages.size());
    std::ranges::copy(messages, gbp_.messages().begin());
    gbp_.refresh(theta_);
  }
  double sweep() { return gbp_.sweep(); }
  double flood(double damping) {
    const double feasibility = gbp_.flood(damping);
    gbp_.refresh(theta_);
    return feasibility;
  }
  /// Refreshes beliefs and the dual value from the present messages.
  double finish() {
    gbp_.refresh(theta_);
    return gbp_.feasibility();
  }
  ConvexGbp& core() { return gbp_; }
  const std::vector<double>& theta() const { return theta_; }

  bool possible = true;  ///< whether structural zeros leave every region some weight

 private:
  ConvexGbp gbp_;
  std::vector<double> theta_;
};

std::unique_ptr<Exclusive<Propagation>> make_propagation(const Graph& graph,
                                                         const Array<double>& counting_numbers,
                                                         const Array<double>& potentials, int n_threads) {
  const int threads = checked_threads(n_threads);
  check_size("potentials", graph->cells, static_cast<std::size_t>(potentials.size()));
  return make_exclusive<Propagation>(sweep_operations(*graph), graph,
                                     checked_counting_numbers(*graph, counting_numbers), copied(potentials),
                                     threads);
}

}  // namespace

void bind_convex_gbp(py::module_& m) {
  m.def(
      "consistent_value",
      [](const Graph& graph, const Array<double>& counting_numbers, const Array<double>& potentials,
         const Array<double>& beliefs) {
        check_size("counting_numbers", graph->regions.size(),
                   static_cast<std::size_t>(counting_numbers.size()));
        check_size("potentials", graph->cells, static_cast<std::size_t>(potentials.size()));
        check_size("beliefs", graph->cells, static_cast<std::size_t>(beliefs.size()));
        const auto kappa = view(counting_numbers);
        const auto theta = view(potentials);
        std::vector<double> b = copied(beliefs);
        return watched(sweep_operations(*graph) <= kBriefOperations,
                       [&] { return consistent_value(*graph, kappa, theta, std::move(b)); });
      },
      py::arg("graph"), py::arg("counting_numbers").noconvert(), py::arg("potentials").noconvert(),
      py::arg("beliefs").noconvert(), "The value of locally consistent beliefs near the given ones.");
  using Object = Exclusive<Propagation>;
  const auto array = [](const auto& numbers) {
    return [numbers](Object& self) {
      return self.look([&](Propagation& own) { return array_of(std::span<const double>(numbers(own))); });
    };
  };
  py::class_<Object>(m, "ConvexGbp", "Beliefs and messages of a region graph.")
      .def(py::init(&make_propagation), py::arg("graph"), py::arg("counting_numbers").noconvert(),
           py::arg("potentials").noconvert(), py::arg("n_threads") = 0)
      .def_property_readonly(
          "possible", [](Object& self) { return self.look([](Propagation& own) { return own.possible; }); },
          "Whether every region has some weight left.")
      .def("sweep", exclusive(&Propagation::sweep),
           "Update all children once, stage by stage; the feasibility before.")
      .def("flood", exclusive(&Propagation::flood), py::arg("damping"),
           "Update all messages at once; the feasibility before.")
      .def("finish", exclusive(&Propagation::finish), "Refresh beliefs from the messages; their feasibility.")
      .def(
          "set_potentials",
          [](Object& self, const Array<double>& potentials) {
            self.run([from = view(potentials)](Propagation& own) { own.set_potentials(from); });
          },
          py::arg("potentials").noconvert())
      .def(
          "set_messages",
          [](Object& self, const Array<double>& messages) {
            self.run([from = view(messages)](Propagation& own) { own.set_messages(from); });
          },
          py::arg("messages").noconvert())
      .def_property_readonly(
          "dual", [](Object& self) { return self.look([](Propagation& own) { return own.core().dual(); }); })
      .def_property_readonly("potentials", array([](auto& own) -> auto& { return own.theta(); }))
      .def_property_readonly("messages", array([](auto& own) { return own.core().messages(); }))
      .def_property_readonly("beliefs", array([](auto& own) { return own.core().beliefs(); }));
}

}  // namespace pypgm::bind
