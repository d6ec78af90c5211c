#include "core/queries/contraction_logs.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// Calls body(left offset, right offset, out offset, innermost loop) for each innermost run.
template <class Body>
void for_rows(const std::vector<Loop>& loops, std::size_t depth, Loop from, const Body& body) {
  if (loops.empty()) return body(from, Loop{1, 0, 0, 0});
  if (depth + 1 == loops.size()) return body(from, loops[depth]);
  const Loop& loop = loops[depth];
  for (std::size_t i = 0; i < loop.size; ++i) {
    for_rows(loops, depth + 1, from, body);
    from.left += loop.left;
    from.right += loop.right;
    from.out += loop.out;
  }
}

}  // namespace

void largest_products(const std::vector<Loop>& loops, const Loop& from, const LogFactors& logs, double* out) {
  for_rows(loops, 0, from, [&](const Loop& start, const Loop& row) {
    for (std::size_t i = 0; i < row.size; ++i) {
      double* largest = out + start.out + i * row.out;
      const double log = logs.left[start.left + i * row.left] + logs.right[start.right + i * row.right];
      if (log > *largest) *largest = log;
    }
  });
}

void sum_products(const std::vector<Loop>& loops, const Loop& from, const LogFactors& logs,
                  const double* tops, double* sums) {
  constexpr std::size_t kChunk = 256;
  double terms[kChunk];
  for_rows(loops, 0, from, [&](const Loop& start, const Loop& row) {
    for (std::size_t begin = 0; begin < row.size; begin += kChunk) {
      const std::size_t n = std::min(kChunk, row.size - begin);
      const std::size_t l = start.left + begin * row.left;
      const std::size_t r = start.right + begin * row.right;
      const std::size_t o = start.out + begin * row.out;
      for (std::size_t i = 0; i < n; ++i) {
        const double top = tops[o + i * row.out];
        terms[i] =
            logs.left[l + i * row.left] + logs.right[r + i * row.right] - (top == -kInfinity ? 0.0 : top);
      }
      kernels().exp_shifted(terms, n, 0.0, terms);
      for (std::size_t i = 0; i < n; ++i) {
        const double sign = logs.left_signs == nullptr
                                ? 1.0
                                : logs.left_signs[l + i * row.left] * logs.right_signs[r + i * row.right];
        sums[o + i * row.out] += sign * terms[i];
      }
    }
  });
}

}  // namespace pypgm
