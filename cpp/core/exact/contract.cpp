// Contractions of two tables of weights: the loops cut into parts of equal work, each run by a kernel.
#include "core/exact/contract.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/simd/contract_kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kMostPieces = 16;         // of work that is brief
constexpr std::size_t kLongestPart = 1U << 26;  // products of a part: some 0.05 s
constexpr std::size_t kRows = 6;                // a kernel takes at a time
constexpr std::size_t kLanes = 64;

void run(ContractKernel kernel, const Loops& loops, std::size_t axis, const double* a, const double* b,
         double* out) {
  if (axis == loops.outer.size()) return kernel(loops, a, b, out);
  const LoopAxis& loop = loops.outer[axis];
  for (std::size_t i = 0; i < loop.size; ++i) {
    run(kernel, loops, axis + 1, a + i * loop.a, b + i * loop.b, out + i * loop.out);
  }
}

/// Narrows the loops to one half of the outermost that runs over cells of the answer and can be cut; a
/// kernel's own loops are cut between as many rows and lanes as it takes at a time. False where none can be
/// cut.
bool halve(Loops& loops, bool upper, const double*& a, const double*& b, double*& out) {
  const auto cut = [&](LoopAxis& axis, std::size_t grain) {
    const std::size_t first = axis.size / grain / 2 * grain;
    if (axis.out == 0 || first == 0) return false;
    if (upper) {
      a += first * axis.a;
      b += first * axis.b;
      out += first * axis.out;
    }
    axis.size = upper ? axis.size - first : first;
    return true;
  };
  for (LoopAxis& axis : loops.outer) {
    if (cut(axis, 1)) return true;
  }
  return cut(loops.batch, 1) || cut(loops.rows, kRows) || cut(loops.lanes, kLanes);
}

/// Runs part p of 2^k, found by k cuts in half. Where fewer can be made, some parts are empty.
void run_part(ContractKernel kernel, Loops loops, std::size_t p, std::size_t parts, const double* a,
              const double* b, double* out) {
  for (std::size_t bit = parts / 2; bit > 0; bit /= 2) {
    if (!halve(loops, (p & bit) != 0, a, b, out) && (p & bit) != 0) return;
  }
  run(kernel, loops, 0, a, b, out);
}

void contract_by(ContractKernel kernel, double empty, const Loops& loops, const double* a, const double* b,
                 double* out, int n_threads, const Watch* watch) {
  if (loops.swapped) std::swap(a, b);
  if (!loops.fresh) std::fill_n(out, loops.cells, empty);
  // The parts depend on the work alone, so that every cell is met by the same instructions for any n_threads.
  const std::size_t wanted =
      std::max(std::min(kMostPieces, kEffortWork * loops.effort / kPiece), loops.effort / kLongestPart);
  const std::size_t parts = std::bit_floor(std::max<std::size_t>(1, wanted));
  if (parts == 1) return run(kernel, loops, 0, a, b, out);
  parallel_for(parts, threads_for(kEffortWork * loops.effort, n_threads), [&](std::size_t p) {
    if (!is_abandoned(watch)) run_part(kernel, loops, p, parts, a, b, out);
  });
}

}  // namespace

void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads,
              const Watch* watch) {
  contract_by(contract_kernels().sums, 0.0, loops, a, b, out, n_threads, watch);
}

void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads,
                     const Watch* watch) {
  contract_by(contract_kernels().maxima, -kInfinity, loops, a, b, out, n_threads, watch);
}

}  // namespace pypgm
