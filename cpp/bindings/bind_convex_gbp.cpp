// Bindings of convex generalised belief propagation.
#include <memory>
#include <utility>

#include "bind_region_graph.hpp"
#include "core/regions/convex_gbp.hpp"
#include "core/regions/local_polytope.hpp"

namespace pypgm::bind {

namespace {

/// Propagation with potentials of its own.
class Propagation {
 public:
  Propagation(const Graph& graph, const Array<double>& counting_numbers, const Array<double>& potentials,
              int n_threads)
      : gbp_(graph, checked_counting_numbers(*graph, counting_numbers), n_threads) {
    check_threads(n_threads);
    check_size("potentials", graph->cells, static_cast<std::size_t>(potentials.size()));
    theta_ = copied(potentials);
    possible = propagate_zeros(*graph, theta_);
    gbp_.refresh(theta_);
  }

  void set_potentials(const Array<double>& potentials) {
    check_size("potentials", theta_.size(), static_cast<std::size_t>(potentials.size()));
    std::copy_n(potentials.data(), potentials.size(), theta_.begin());
    gbp_.refresh(theta_);
  }
  void set_messages(const Array<double>& messages) {
    check_size("messages", gbp_.messages().size(), static_cast<std::size_t>(messages.size()));
    std::copy_n(messages.data(), messages.size(), gbp_.messages().begin());
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
        const py::gil_scoped_release unlocked;
        return consistent_value(*graph, kappa, theta, std::move(b));
      },
      py::arg("graph"), py::arg("counting_numbers").noconvert(), py::arg("potentials").noconvert(),
      py::arg("beliefs").noconvert(), "The value of locally consistent beliefs near the given ones.");
  py::class_<Propagation>(m, "ConvexGbp", "Beliefs and messages of a region graph.")
      .def(py::init<const Graph&, const Array<double>&, const Array<double>&, int>(), py::arg("graph"),
           py::arg("counting_numbers").noconvert(), py::arg("potentials").noconvert(),
           py::arg("n_threads") = 0)
      .def_readonly("possible", &Propagation::possible, "Whether every region has some weight left.")
      .def("sweep", &Propagation::sweep, py::call_guard<py::gil_scoped_release>(),
           "Update all children once, stage by stage; the feasibility before.")
      .def("flood", &Propagation::flood, py::arg("damping"), py::call_guard<py::gil_scoped_release>(),
           "Update all messages at once; the feasibility before.")
      .def("finish", &Propagation::finish, py::call_guard<py::gil_scoped_release>(),
           "Refresh beliefs from the messages; their feasibility.")
      .def("set_potentials", &Propagation::set_potentials, py::arg("potentials").noconvert())
      .def("set_messages", &Propagation::set_messages, py::arg("messages").noconvert())
      .def_property_readonly("dual", [](Propagation& self) { return self.core().dual(); })
      .def_property_readonly("potentials", [](Propagation& self) { return array_of(self.theta()); })
      .def_property_readonly("messages", [](Propagation& self) { return array_of(self.core().messages()); })
      .def_property_readonly("beliefs", [](Propagation& self) { return array_of(self.core().beliefs()); });
}

}  // namespace pypgm::bind
