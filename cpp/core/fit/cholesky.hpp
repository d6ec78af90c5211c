#pragma once
// Products and Cholesky factors of dense matrices of some hundred rows, on the calling thread alone: the
// threads of a BLAS wait awake for each other, which takes many times the work on matrices of this size.
#include <cstddef>
#include <span>

namespace pypgm {

/// out[i, j] = sum_k left[i, k] right[j, k]: a matrix times the transpose of another, with `inner` columns
/// each. Requires inner >= 1, out.size() == rows of left * rows of right.
void multiply_rows(std::span<const double> left, std::span<const double> right, std::size_t inner,
                   std::span<double> out);

/// Replaces the symmetric matrix M in the first n rows, of n columns, by its lower Cholesky factor L, zeros
/// above the diagonal, and further rows B by B L^-T. Only the lower triangle of M is read.
/// M may be semidefinite: a pivot that is nothing but rounding makes its column zero.
/// Requires n >= 1, rows.size() at least n * n and a multiple of n.
void factorise(std::span<double> rows, std::size_t n);

}  // namespace pypgm
