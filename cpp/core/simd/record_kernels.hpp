#pragma once
// Rows of tables of excess counts, added up value by value.
#include <cstddef>
#include <cstdint>

namespace pypgm {

/// Numbers behind a row that `least_sum` may read, whatever they are, but does not use.
inline constexpr std::size_t kReadBeyond = 16;

/// The smallest of several numbers, and the first place that holds it.
struct Least {
  float value;
  std::uint32_t at;
};

/// Loops compiled for each instruction set. Numbers may be +inf, not NaN or -inf. All sets return the same
/// bits: sums are taken in one order, and no number is multiplied.
struct RecordKernels {
  /// The least of rows[0][v] + ... + rows[n_rows - 1][v] over v < n. Requires n_rows, n >= 1.
  Least (*least_sum)(const float* const* rows, std::size_t n_rows, std::size_t n);
  /// The sum of the absolute values of those that are finite.
  double (*finite_l1)(const float* in, std::size_t n);
  /// sum[i] += in[i]
  void (*add)(const float* in, std::size_t n, float* sum);
  /// shift[i] += step * values[i]
  void (*add_steps)(const std::uint32_t* values, std::uint32_t step, std::size_t n, std::uint32_t* shift);
  /// sum[i] += cells[shift[i]], less 1 where shift[i] is `now`: what the cells hold without one record there.
  void (*add_cells)(const float* cells, const std::uint32_t* shift, std::uint32_t now, std::size_t n,
                    float* sum);
};

/// The set for the fastest instruction set of this machine.
const RecordKernels& record_kernels();

}  // namespace pypgm
