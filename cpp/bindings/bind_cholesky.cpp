// Bindings of products and Cholesky factors of dense matrices.
#include "bindings.hpp"
#include "core/fit/cholesky.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

/// Rows and columns of a matrix, of which neither may be 0.
std::pair<std::size_t, std::size_t> checked_shape(const char* name, const Array<double>& matrix) {
  if (matrix.ndim() != 2 || matrix.size() == 0) {
    throw py::value_error(std::string(name) + " must be a matrix of at least one entry");
  }
  return {static_cast<std::size_t>(matrix.shape(0)), static_cast<std::size_t>(matrix.shape(1))};
}

Array<double> matrix_of(std::size_t rows, std::size_t columns) {
  if (multiply_cells(rows, columns) >= kTooManyCells) throw std::bad_alloc();
  return Array<double>({static_cast<py::ssize_t>(rows), static_cast<py::ssize_t>(columns)});
}

Array<double> product_of_rows(const Array<double>& left, const Array<double>& right) {
  const auto [n_left, inner] = checked_shape("left", left);
  const auto [n_right, same] = checked_shape("right", right);
  check_size("a row of right", inner, same);
  Array<double> product = matrix_of(n_left, n_right);
  const auto out = mutable_view(product);
  const double operations = static_cast<double>(out.size()) * static_cast<double>(inner);
  watched(operations <= kBriefOperations, [&, n = inner] { multiply_rows(view(left), view(right), n, out); });
  return product;
}

Array<double> cholesky(const Array<double>& matrix) {
  const auto [n_rows, n] = checked_shape("matrix", matrix);
  if (n_rows < n) throw py::value_error("matrix must have at least as many rows as columns");
  Array<double> root = matrix_of(n_rows, n);
  const auto from = view(matrix);
  const auto out = mutable_view(root);
  std::copy(from.begin(), from.end(), out.begin());
  const double operations = static_cast<double>(out.size()) * static_cast<double>(n) / 2;
  watched(operations <= kBriefOperations, [&, columns = n] { factorise(out, columns); });
  return root;
}

}  // namespace

void bind_cholesky(py::module_& m) {
  m.def("product_of_rows", &product_of_rows, py::arg("left").noconvert(), py::arg("right").noconvert(),
        "The inner product of each row of one matrix with each row of another, on one thread.");
  m.def("cholesky", &cholesky, py::arg("matrix").noconvert(),
        "The lower Cholesky factor L of the first rows, as many as columns, and further rows B as B L^-T, on "
        "one thread. Pivots that are nothing but rounding make their column zero.");
}

}  // namespace pypgm::bind
