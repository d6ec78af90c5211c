// Cuts reductions and expansions for threads without changing the order of summation.
#include "core/simd/reduce.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kShortRun = 64;
constexpr std::size_t kLongestSlice = 1U << 26;  // cells; some 0.05 s, after which a watch is looked at

/// Runs body(axes, large offset, small offset) over slices of a layout, cut along one of the two outer runs.
/// A reduction is cut along a run the small table has, so that no two slices write the same cell; one without
/// such a run (a sum of the whole table) is not cut.
template <class Body>
void for_slices(const Layout& layout, bool reduction, int n_threads, const Body& body) {
  const int threads = threads_for(layout.large, n_threads);
  const auto& axes = layout.axes;
  std::size_t cut = 0;
  if (reduction && !axes.empty() && axes[0].small == 0) cut = 1;
  // Rows of a short last run are summed fastest whole.
  if (reduction && cut + 1 == axes.size() && axes[cut].size < kShortRun) cut = axes.size();
  const std::size_t wanted = std::max(at(threads), layout.large / kLongestSlice);
  if (wanted <= 1 || cut >= axes.size()) {
    leave_if_abandoned();
    body(AxisRange(layout), std::size_t{0}, std::size_t{0});
    return;
  }
  const std::size_t total = axes[cut].size;
  const std::size_t pieces = std::min(wanted, total);
  parallel_for(pieces, threads, [&](std::size_t piece) {
    const std::size_t begin = total * piece / pieces;
    const std::size_t end = total * (piece + 1) / pieces;
    std::vector<Axis> slice = axes;
    slice[cut].size = end - begin;
    body(AxisRange{slice.data(), slice.size()}, begin * axes[cut].large, begin * axes[cut].small);
  });
}

void reduce_with(Kernels::Reduce kernel, double start, std::span<const double> large, const Layout& layout,
                 std::span<double> small, int n_threads) {
  assert(large.size() == layout.large && small.size() == layout.small);
  std::fill(small.begin(), small.end(), start);
  for_slices(layout, true, n_threads, [&](AxisRange axes, std::size_t from_large, std::size_t from_small) {
    kernel(large.data() + from_large, small.data() + from_small, axes);
  });
}

}  // namespace

void reduce_sum(std::span<const double> large, const Layout& layout, std::span<double> small, int n_threads) {
  reduce_with(kernels().reduce_sum, 0.0, large, layout, small, n_threads);
}

void reduce_max(std::span<const double> large, const Layout& layout, std::span<double> small, int n_threads) {
  reduce_with(kernels().reduce_max, -kInfinity, large, layout, small, n_threads);
}

void reduce_logsumexp(std::span<const double> large, const Layout& layout, std::span<double> small,
                      std::span<double> scratch, int n_threads) {
  assert(scratch.size() == small.size());
  reduce_max(large, layout, scratch, n_threads);
  // A row of -inf has no maximum to subtract; around 0 its sum is 0 and its logarithm -inf.
  for (double& shift : scratch) {
    if (std::isinf(shift) && shift < 0) shift = 0.0;
  }
  std::fill(small.begin(), small.end(), 0.0);
  for_slices(layout, true, n_threads, [&](AxisRange axes, std::size_t from_large, std::size_t from_small) {
    kernels().exp_rows(large.data() + from_large, scratch.data() + from_small, nullptr,
                       small.data() + from_small, axes);
  });
  for (std::size_t j = 0; j < small.size(); ++j) small[j] = std::log(small[j]) + scratch[j];
}

void expand(Expand op, std::span<double> large, const Layout& layout, std::span<const double> small,
            int n_threads) {
  assert(large.size() == layout.large && small.size() == layout.small);
  const Kernels& k = kernels();
  for_slices(layout, false, n_threads, [&](AxisRange axes, std::size_t from_large, std::size_t from_small) {
    double* to = large.data() + from_large;
    const double* from = small.data() + from_small;
    if (op == Expand::assign) return k.assign(to, from, axes);
    (op == Expand::add ? k.add : k.multiply)(to, to, from, axes);
  });
}

}  // namespace pypgm
