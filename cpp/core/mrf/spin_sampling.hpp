#pragma once
// Records of binary pairwise models: Gibbs sampling, and perfect sampling by coupling from the past.
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/watch.hpp"
#include "core/simd/spin_kernels.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// A plan of Gibbs sampling: chains start from independent uniform states, take `burn_in` sweeps, and then
/// give a record every `thin` >= 1 sweeps, n_draws of them each.
struct GibbsPlan {
  std::size_t n_chains;
  std::size_t burn_in;
  std::size_t thin;
  std::size_t n_draws;
  std::uint64_t seed;

  /// Saturated at kTooManyCells, as is the number of sweeps of a chain.
  [[nodiscard]] std::size_t n_records() const { return multiply_cells(n_chains, n_draws); }
  [[nodiscard]] std::size_t n_sweeps() const { return add_cells(burn_in, multiply_cells(thin, n_draws)); }
};

/// Row i of `codes` becomes the codes (0 for spin -1, 1 for +1) of node i; record d * n_chains + c is draw d
/// of chain c. The bits depend on the plan alone, not on n_threads. Requires codes.size() == n * n_records().
/// A watch that is over leaves the codes undefined.
void sample_spins(const SpinModel& model, const GibbsPlan& plan, std::span<std::uint8_t> codes, int n_threads,
                  const Watch& watch);

/// Independent records exactly from the model (Propp and Wilson 1996), eight at a time: starting from all -1
/// and all +1 at sweep -T, doubling T until both meet at 0. Codes are laid out as above, n_records a row.
/// Requires couplings >= 0. Returns the largest T that was needed, or 0 if some records had not met from
/// -max_sweeps; the codes are then undefined.
std::size_t couple_from_past(const SpinModel& model, std::size_t n_records, std::uint64_t seed,
                             std::size_t max_sweeps, std::span<std::uint8_t> codes, int n_threads,
                             const Watch& watch);

}  // namespace pypgm
