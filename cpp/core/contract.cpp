#include "core/contract.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <limits>
#include <utility>

#include "core/kernels.hpp"
#include "core/layout.hpp"
#include "core/threads.hpp"

namespace pypgm {

extern const ContractKernels contract_baseline;
#ifdef PYPGM_X86
extern const ContractKernels contract_avx2;
extern const ContractKernels contract_avx512;
#endif

namespace {

constexpr std::size_t kMostPieces = 16;
constexpr std::size_t kCellEffort = 8;  // products a written cell takes as long as
constexpr std::size_t kRows = 6;        // a kernel takes at a time
constexpr std::size_t kLanes = 64;

ContractKernels chosen_kernels() {
#ifdef PYPGM_X86
  if (std::strcmp(kernels().instruction_set, "avx512") == 0) return contract_avx512;
  if (std::strcmp(kernels().instruction_set, "avx2") == 0) return contract_avx2;
#endif
  return contract_baseline;
}

/// Axes that are there, neighbours in the same tables merged, outermost first.
std::vector<LoopAxis> merged_axes(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b,
                                  std::uint64_t out) {
  std::vector<LoopAxis> axes;
  std::size_t cells_a = 1;
  std::size_t cells_b = 1;
  std::size_t cells_out = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    const std::uint64_t bit = std::uint64_t{1} << i;
    if (((a | b | out) & bit) == 0 || sizes[i] == 1) continue;
    const bool in_a = (a & bit) != 0;
    const bool in_b = (b & bit) != 0;
    const bool in_out = (out & bit) != 0;
    const bool same = !axes.empty() && (axes.back().a != 0) == in_a && (axes.back().b != 0) == in_b &&
                      (axes.back().out != 0) == in_out;
    if (same) {
      axes.back().size = multiply_cells(axes.back().size, sizes[i]);
    } else {
      axes.push_back({sizes[i], in_a ? cells_a : 0, in_b ? cells_b : 0, in_out ? cells_out : 0});
    }
    if (in_a) cells_a = multiply_cells(cells_a, sizes[i]);
    if (in_b) cells_b = multiply_cells(cells_b, sizes[i]);
    if (in_out) cells_out = multiply_cells(cells_out, sizes[i]);
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

void swap_factors(std::vector<LoopAxis>& axes) {
  for (LoopAxis& axis : axes) std::swap(axis.a, axis.b);
}

/// Takes the largest axis for which `fits` holds out of the list; one of size 1 if there is none.
template <class Fits>
LoopAxis take_largest(std::vector<LoopAxis>& axes, const Fits& fits) {
  auto best = axes.end();
  for (auto axis = axes.begin(); axis != axes.end(); ++axis) {
    if (fits(*axis) && (best == axes.end() || axis->size > best->size)) best = axis;
  }
  if (best == axes.end()) return {};
  const LoopAxis taken = *best;
  axes.erase(best);
  return taken;
}

bool row_of_a(const LoopAxis& axis) { return axis.a != 0 && axis.b == 0 && axis.out != 0; }

const ContractKernels& chosen() {
  static const ContractKernels kernels = chosen_kernels();
  return kernels;
}

void run(ContractKernel kernel, const Loops& loops, std::size_t axis, const double* a, const double* b,
         double* out) {
  if (axis == loops.outer.size()) return kernel(loops, a, b, out);
  const LoopAxis& loop = loops.outer[axis];
  for (std::size_t i = 0; i < loop.size; ++i) {
    run(kernel, loops, axis + 1, a + i * loop.a, b + i * loop.b, out + i * loop.out);
  }
}

/// How loops are cut for threads: outer ones over cells of the answer into combinations of their indices, or
/// one of the kernel's into stretches of `grain` entries, as many as it takes at a time.
struct Cut {
  std::size_t outer = 0;  ///< how many outer loops
  LoopAxis Loops::*axis = nullptr;
  std::size_t grain = 1;
  std::size_t units = 1;  ///< combinations or stretches
};

Cut cut_of(const Loops& loops) {
  Cut cut;
  for (; cut.outer < loops.outer.size() && loops.outer[cut.outer].out != 0; ++cut.outer) {
    cut.units *= loops.outer[cut.outer].size;
  }
  if (cut.units > 1) return cut;
  const std::pair<LoopAxis Loops::*, std::size_t> axes[] = {
      {&Loops::batch, 1}, {&Loops::rows, kRows}, {&Loops::lanes, kLanes}};
  for (const auto& [axis, grain] : axes) {
    const std::size_t units = (loops.*axis).size / grain;
    if ((loops.*axis).out != 0 && units > 1) return {0, axis, grain, units};
  }
  return cut;
}

/// Runs the units [begin, end) of a cut.
void run_units(ContractKernel kernel, const Loops& loops, const Cut& cut, std::size_t begin, std::size_t end,
               const double* a, const double* b, double* out) {
  if (cut.axis != nullptr) {
    Loops part = loops;
    LoopAxis& axis = part.*cut.axis;
    const std::size_t first = begin * cut.grain;
    axis.size = (end == cut.units ? axis.size : end * cut.grain) - first;
    return run(kernel, part, 0, a + first * axis.a, b + first * axis.b, out + first * axis.out);
  }
  for (std::size_t u = begin; u < end; ++u) {
    LoopAxis at;
    std::size_t rest = u;
    for (std::size_t k = cut.outer; k-- > 0; rest /= loops.outer[k].size) {
      const std::size_t i = rest % loops.outer[k].size;
      at.a += i * loops.outer[k].a;
      at.b += i * loops.outer[k].b;
      at.out += i * loops.outer[k].out;
    }
    run(kernel, loops, cut.outer, a + at.a, b + at.b, out + at.out);
  }
}

void contract_by(ContractKernel kernel, double empty, const Loops& loops, const double* a, const double* b,
                 double* out, int n_threads) {
  if (loops.swapped) std::swap(a, b);
  if (!loops.fresh) std::fill_n(out, loops.cells, empty);
  const Cut cut = cut_of(loops);
  const std::size_t parts = std::min({kMostPieces, kEffortWork * loops.effort / kPiece, cut.units});
  if (parts < 2) return run(kernel, loops, 0, a, b, out);
  // The parts depend on the work alone, so that every cell is met by the same instructions for any n_threads.
  parallel_for(parts, threads_for(kEffortWork * loops.effort, n_threads), [&](std::size_t p) {
    run_units(kernel, loops, cut, cut.units * p / parts, cut.units * (p + 1) / parts, a, b, out);
  });
}

}  // namespace

Loops make_loops(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b, std::uint64_t out) {
  assert(sizes.size() <= 64);
  Loops loops;
  std::vector<LoopAxis> axes = merged_axes(sizes, a, b, out);
  loops.cells = 1;
  loops.work = 1;
  for (const LoopAxis& axis : axes) {
    loops.work = multiply_cells(loops.work, axis.size);
    if (axis.out != 0) loops.cells = multiply_cells(loops.cells, axis.size);
  }
  if (!axes.empty()) {
    loops.lanes = axes.back();
    axes.pop_back();
    const bool only_a = loops.lanes.a != 0 && loops.lanes.b == 0;
    const bool in_both = (loops.lanes.a != 0) == (loops.lanes.b != 0);
    loops.swapped = only_a || (in_both && std::none_of(axes.begin(), axes.end(), row_of_a));
    if (loops.swapped) {
      swap_factors(axes);
      std::swap(loops.lanes.a, loops.lanes.b);
    }
  }
  loops.effort = loops.work + multiply_cells(kCellEffort, loops.cells);
  loops.rows = take_largest(axes, row_of_a);
  loops.sums = take_largest(axes, [](const LoopAxis& axis) { return axis.out == 0; });
  loops.outer = std::move(axes);
  loops.fresh =
      std::all_of(loops.outer.begin(), loops.outer.end(), [](const LoopAxis& x) { return x.out != 0; });
  // An outer loop over cells of the answer comes first, so that there is one to cut for threads.
  std::stable_partition(loops.outer.begin(), loops.outer.end(), [](const LoopAxis& x) { return x.out != 0; });
  if (!loops.outer.empty()) {
    loops.batch = loops.outer.back();
    loops.outer.pop_back();
  }
  return loops;
}

void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads) {
  contract_by(chosen().sums, 0.0, loops, a, b, out, n_threads);
}

void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads) {
  contract_by(chosen().maxima, -std::numeric_limits<double>::infinity(), loops, a, b, out, n_threads);
}

}  // namespace pypgm
