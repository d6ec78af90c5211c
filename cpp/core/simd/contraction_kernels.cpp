// Compiled once for each instruction set, with PYPGM_ISA its name; see kernels.cpp for the rules of such a
// file.
#include "core/simd/contraction_kernels.hpp"

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kSums = 16;
constexpr std::size_t kPacked = 1024;  // numbers of a block that is brought in order
constexpr std::size_t kAtHand = 8192;  // numbers of the rows that are summed with one weight after the other
constexpr std::size_t kRepeats = 4;    // how often it must be read for that

/// Sums n products with a fixed number of partial sums.
template <class Load>
inline double sum_products(std::size_t n, Load load) {
  double result = 0;
  std::size_t i = 0;
  if (n >= 2 * kSums) {
    double sums[kSums] = {};
    for (; i + kSums <= n; i += kSums) {
      for (std::size_t l = 0; l < kSums; ++l) sums[l] += load(i + l);
    }
    for (std::size_t l = 0; l < kSums; ++l) result += sums[l];
  }
  for (; i < n; ++i) result += load(i);
  return result;
}

// Innermost runs, named by what moves in them by one cell.

struct Dot {  // both tables
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    *out += sum_products(loop.size, [=](std::size_t i) { return left[i] * right[i]; });
  }
};

struct Sum {  // the left table
  static void run(const double* left, const double* right, double* out, const Loop& loop) {
    *out += *right * sum_products(loop.size, [=](std::size_t i) { return left[i]; });
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
    const Part factors = same(factor);
    std::size_t i = 0;
    for (; i + kPartLanes <= loop.size; i += kPartLanes) {
      Part sum;
      Part cells;
      read(sum, out + i);
      read(cells, left + i);
      store(out + i, sum + factors * cells);
    }
    for (; i < loop.size; ++i) out[i] += factor * left[i];
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

/// out[j] += sum over k of right[k] * left[k, j], each cell in the order of k, for so many lanes of cells
/// that stay in registers, the last of them with `last` cells.
template <std::size_t width>
inline void scale_lanes(const double* left, const double* right, double* out, const Loop& rows,
                        std::size_t last) {
  constexpr std::size_t kTail = (width - 1) * kLanes;
  Lanes sums[width];
  for (std::size_t c = 0; c + 1 < width; ++c) sums[c] = load(out + c * kLanes);
  sums[width - 1] = last == kLanes ? load(out + kTail) : load_some(out + kTail, last);
  for (std::size_t k = 0; k < rows.size; ++k, left += rows.left, right += rows.right) {
    const Lanes factor = fill(*right);
    for (std::size_t c = 0; c + 1 < width; ++c) sums[c] = sums[c] + factor * load(left + c * kLanes);
    const Lanes tail = last == kLanes ? load(left + kTail) : load_some(left + kTail, last);
    sums[width - 1] = sums[width - 1] + factor * tail;
  }
  for (std::size_t c = 0; c + 1 < width; ++c) store(out + c * kLanes, sums[c]);
  last == kLanes ? store(out + kTail, sums[width - 1]) : store_some(out + kTail, last, sums[width - 1]);
}

void scale_rows(const double* left, const double* right, double* out, const Loop& rows, const Loop& row) {
  constexpr std::size_t kWidest = 4;
  std::size_t j = 0;
  for (; j + kWidest * kLanes <= row.size; j += kWidest * kLanes) {
    scale_lanes<kWidest>(left + j, right, out + j, rows, kLanes);
  }
  const std::size_t rest = row.size - j;
  if (rest == 0) return;
  const std::size_t last = (rest - 1) % kLanes + 1;
  const auto some = rest > 3 * kLanes   ? scale_lanes<4>
                    : rest > 2 * kLanes ? scale_lanes<3>
                    : rest > kLanes     ? scale_lanes<2>
                                        : scale_lanes<1>;
  some(left + j, right, out + j, rows, last);
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

/// Whether a small block of the left table is read again and again with strides, for rows that are summed:
/// these add in the same order however the block lies.
bool repeats(const Loop& outer, const Loop& rows, const Loop& row) {
  const bool summed = rows.out == 0 && row.out == 1 && row.right == 0;
  return summed && outer.left == 0 && outer.size >= kRepeats && rows.left == 1 && row.left > 1 &&
         rows.size * row.size <= kPacked;
}

/// Three loops over such a block, brought in order first.
void packed(const double* left, const double* right, double* out, const Loop* loops) {
  const Loop rows{loops[1].size, loops[2].size, loops[1].right, loops[1].out};
  const Loop row{loops[2].size, 1, loops[2].right, loops[2].out};
  double block[kPacked];
  for (std::size_t i = 0; i < rows.size; ++i) {
    for (std::size_t j = 0; j < row.size; ++j) block[i * row.size + j] = left[i + j * loops[2].left];
  }
  for (std::size_t i = 0; i < loops[0].size; ++i) {
    two_loops(block, right + i * loops[0].right, out + i * loops[0].out, rows, row);
  }
}

/// Whether rows of the left table are summed with many weights, each sum a row of the product: an outer loop
/// over rows, one over the weights, and perhaps one more over rows, which together are one run of them.
bool sums_rows(const Loop* loops, std::size_t n) {
  const Loop& row = loops[n - 1];
  const bool rows = loops[0].out == 0 && loops[1].left == 0 && loops[1].out != 0;
  if (!rows || row.left != 1 || row.right != 0 || row.out != 1) return false;
  if (n == 3) return true;
  const Loop& inner = loops[2];
  return n == 4 && inner.out == 0 && loops[0].left == inner.size * inner.left &&
         loops[0].right == inner.size * inner.right;
}

/// The same, for so many rows at a time as the machine keeps at hand. Each cell is still added to in the
/// order of the rows.
void sum_rows(const double* left, const double* right, double* out, const Loop* loops, std::size_t n) {
  const Loop& row = loops[n - 1];
  const Loop inner = n == 4 ? loops[2] : Loop{1, loops[0].left, loops[0].right, 0};
  const std::size_t count = loops[0].size * inner.size;
  const std::size_t most = row.size < kAtHand ? kAtHand / row.size : 1;
  for (std::size_t k = 0; k < count; k += most) {
    const Loop some{count - k < most ? count - k : most, inner.left, inner.right, 0};
    for (std::size_t m = 0; m < loops[1].size; ++m) {
      scale_rows(left + k * inner.left, right + k * inner.right + m * loops[1].right, out + m * loops[1].out,
                 some, row);
    }
  }
}

void walk(const double* left, const double* right, double* out, const Loop* loops, std::size_t n) {
  if (n == 2) return two_loops(left, right, out, loops[0], loops[1]);
  if (n == 3 && repeats(loops[0], loops[1], loops[2])) return packed(left, right, out, loops);
  if (n <= 4 && sums_rows(loops, n)) return sum_rows(left, right, out, loops, n);
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
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t l = 0; l < kSums; ++l) {
      const double x = kMagnitude(in[i + l]);
      sums[l] = x > sums[l] ? x : sums[l];
    }
  }
  double result = 0;
  for (std::size_t l = 0; l < kSums; ++l) result = sums[l] > result ? sums[l] : result;
  for (; i < n; ++i) {
    const double x = kMagnitude(in[i]);
    result = x > result ? x : result;
  }
  return result;
}

}  // namespace

PYPGM_KERNEL_SET(ContractionKernels, contraction_kernels) = {contract, largest};

}  // namespace pypgm
