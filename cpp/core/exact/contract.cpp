#include "core/exact/contract.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/base/threads.hpp"
#include "core/simd/contract_kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kMostPieces = 16;
constexpr std::size_t kRows = 6;  // a kernel takes at a time
constexpr std::size_t kLanes = 64;

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

void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads) {
  contract_by(contract_kernels().sums, 0.0, loops, a, b, out, n_threads);
}

void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads) {
  contract_by(contract_kernels().maxima, -std::numeric_limits<double>::infinity(), loops, a, b, out,
              n_threads);
}

}  // namespace pypgm
