// Compiled once for each instruction set, with PYPGM_ISA its name; see kernels.cpp for the rules of such a
// file.
#include "core/contraction_kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kLanes = 16;

/// Sums n products with a fixed number of partial sums.
template <class Load>
inline double sum_lanes(std::size_t n, Load load) {
  double result = 0;
  std::size_t i = 0;
  if (n >= 2 * kLanes) {
    double lanes[kLanes] = {};
    for (; i + kLanes <= n; i += kLanes) {
      for (std::size_t l = 0; l < kLanes; ++l) lanes[l] += load(i + l);
    }
    for (std::size_t l = 0; l < kLanes; ++l) result += lanes[l];
  }
  for (; i < n; ++i) result += load(i);
  return result;
}

// Innermost runs, named by what moves in them by one cell.

struct Dot {  // both tables
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    *out += sum_lanes(loop.size, [=](std::size_t i) { return left[i] * right[i]; });
  }
};

struct Sum {  // the left table
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    *out += *right * sum_lanes(loop.size, [=](std::size_t i) { return left[i]; });
  }
};

struct Multiply {  // all three
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    for (std::size_t i = 0; i < loop.size; ++i) out[i] += left[i] * right[i];
  }
};

struct Scale {  // the left table and the product
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    const double factor = *right;
    for (std::size_t i = 0; i < loop.size; ++i) out[i] += factor * left[i];
  }
};

struct Strided {
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    if (loop.out == 0) {
      double sum = 0;
      for (std::size_t i = 0; i < loop.size; ++i) sum += left[i * loop.left] * right[i * loop.right];
      *out += sum;
      return;
    }
    for (std::size_t i = 0; i < loop.size; ++i) {
      out[i * loop.out] += left[i * loop.left] * right[i * loop.right];
    }
  }
};

/// out[j] += sum over k of right[k] * left[k, j], four rows at a time, each cell in the order of k.
void scale_rows(const double* left, const double* right, double* out, const Loop& rows, const Loop& row) {
  std::size_t k = 0;
  for (; k + 4 <= rows.size; k += 4) {
    const double f0 = right[k * rows.right];
    const double f1 = right[(k + 1) * rows.right];
    const double f2 = right[(k + 2) * rows.right];
    const double f3 = right[(k + 3) * rows.right];
    const double* l0 = left + k * rows.left;
    const double* l1 = l0 + rows.left;
    const double* l2 = l1 + rows.left;
    const double* l3 = l2 + rows.left;
    for (std::size_t j = 0; j < row.size; ++j) {
      double sum = out[j];
      sum += f0 * l0[j];
      sum += f1 * l1[j];
      sum += f2 * l2[j];
      sum += f3 * l3[j];
      out[j] = sum;
    }
  }
  for (; k < rows.size; ++k) Scale::run(left + k * rows.left, right + k * rows.right, out, row);
}

template <class Row>
void rows_of(const double* left, const double* right, double* out, const Loop& rows, const Loop& row) {
  for (std::size_t i = 0; i < rows.size; ++i) {
    Row::run(left + i * rows.left, right + i * rows.right, out + i * rows.out, row);
  }
}

/// Two loops in both of which out moves, the inner one in long strides: in blocks, so that cache lines are
/// used whole.
void transposed(const double* left, const double* right, double* out, const Loop& rows, const Loop& row) {
  constexpr std::size_t kBlock = 16;
  for (std::size_t i = 0; i < rows.size; i += kBlock) {
    const Loop some_rows{rows.size - i < kBlock ? rows.size - i : kBlock, rows.left, rows.right, rows.out};
    for (std::size_t j = 0; j < row.size; j += kBlock) {
      const Loop some{row.size - j < kBlock ? row.size - j : kBlock, row.left, row.right, row.out};
      rows_of<Strided>(left + i * rows.left + j * row.left, right + i * rows.right + j * row.right,
                       out + i * rows.out + j * row.out, some_rows, some);
    }
  }
}

/// The two innermost loops; of the two tables that are read, the left one moves where only one does.
void two_loops(const double* left, const double* right, double* out, const Loop& rows, const Loop& row) {
  if (row.out > 1 && rows.out != 0) return transposed(left, right, out, rows, row);
  if (row.left != 1 || row.right > 1 || row.out > 1) return rows_of<Strided>(left, right, out, rows, row);
  if (row.right == 0 && row.out == 1 && rows.out == 0) return scale_rows(left, right, out, rows, row);
  if (row.right == 0) {
    return row.out == 1 ? rows_of<Scale>(left, right, out, rows, row)
                        : rows_of<Sum>(left, right, out, rows, row);
  }
  return row.out == 1 ? rows_of<Multiply>(left, right, out, rows, row)
                      : rows_of<Dot>(left, right, out, rows, row);
}

void walk(const double* left, const double* right, double* out, const Loop* loops, std::size_t n) {
  if (n == 2) return two_loops(left, right, out, loops[0], loops[1]);
  const Loop& loop = loops[0];
  for (std::size_t i = 0; i < loop.size; ++i) {
    walk(left + i * loop.left, right + i * loop.right, out + i * loop.out, loops + 1, n - 1);
  }
}

void contract(const double* left, const double* right, double* out, const Loop* loops, std::size_t n) {
  const Loop once{1, 0, 0, 0};
  if (n >= 2) return walk(left, right, out, loops, n);
  if (n == 0) {
    *out += *left * *right;
    return;
  }
  two_loops(left, right, out, once, loops[0]);
}

double largest(const double* in, std::size_t n) {
  constexpr auto kMagnitude = [](double x) { return x < 0 ? -x : x; };
  double lanes[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const double x = kMagnitude(in[i + l]);
      lanes[l] = x > lanes[l] ? x : lanes[l];
    }
  }
  double result = 0;
  for (std::size_t l = 0; l < kLanes; ++l) result = lanes[l] > result ? lanes[l] : result;
  for (; i < n; ++i) {
    const double x = kMagnitude(in[i]);
    result = x > result ? x : result;
  }
  return result;
}

}  // namespace

#define PYPGM_JOIN_(a, b) a##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)

extern const ContractionKernels PYPGM_JOIN(contraction_kernels_, PYPGM_ISA);
const ContractionKernels PYPGM_JOIN(contraction_kernels_, PYPGM_ISA) = {contract, largest};

}  // namespace pypgm
