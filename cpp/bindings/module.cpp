// Everything the compiled core offers to Python, one line a stem.
#include "bindings.hpp"
#include "core/simd/kernels.hpp"
#include "exclusive.hpp"
#include "unsuitable.hpp"

namespace pypgm::bind {
void bind_bounded_tree(py::module_& m);
void bind_build_info(py::module_& m);
void bind_cholesky(py::module_& m);
void bind_contraction(py::module_& m);
void bind_convex_gbp(py::module_& m);
void bind_descent(py::module_& m);
void bind_enumeration(py::module_& m);
void bind_junction_tree(py::module_& m);
void bind_local_answers(py::module_& m);
void bind_logistic_sums(py::module_& m);
void bind_measurements(py::module_& m);
void bind_mrf_sampling(py::module_& m);
void bind_noise(py::module_& m);
void bind_raking(py::module_& m);
void bind_random_bits(py::module_& m);
void bind_record_refinement(py::module_& m);
void bind_reduce(py::module_& m);
void bind_region_acceleration(py::module_& m);
void bind_region_graph(py::module_& m);
void bind_reparameterise(py::module_& m);
void bind_sampling(py::module_& m);
void bind_selection(py::module_& m);
void bind_sign_sums(py::module_& m);
void bind_sparsitron(py::module_& m);
void bind_tangent(py::module_& m);
}  // namespace pypgm::bind

PYBIND11_MODULE(_core, m) {
  using namespace pypgm::bind;
  m.doc() = "Compiled kernels, plans and exact noise of pypgm.";
  m.attr("__version__") = PYPGM_VERSION;
  pypgm::kernels();  // an import with an instruction set this machine lacks is an ImportError
  pybind11::register_exception<HalfDone>(m, "HalfDone", PyExc_RuntimeError);
  bind_build_info(m);
  bind_junction_tree(m);
  bind_contraction(m);
  bind_cholesky(m);
  bind_logistic_sums(m);
  bind_measurements(m);
  bind_descent(m);
  bind_reparameterise(m);
  bind_raking(m);
  bind_random_bits(m);
  bind_local_answers(m);
  bind_noise(m);
  bind_enumeration(m);
  bind_record_refinement(m);
  bind_reduce(m);
  bind_region_graph(m);
  bind_convex_gbp(m);
  bind_region_acceleration(m);
  bind_mrf_sampling(m);
  bind_sampling(m);
  bind_selection(m);
  bind_sign_sums(m);
  bind_sparsitron(m);
  bind_bounded_tree(m);
  bind_tangent(m);
  hide_arguments(m);  // the last two: of all that is bound
  refuse_pickles(m);
}
