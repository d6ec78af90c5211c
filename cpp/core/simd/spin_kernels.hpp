#pragma once
// Heat-bath updates of binary pairwise models, eight chains at a time.
#include <cstddef>
#include <cstdint>

namespace pypgm {

/// Chains that are updated together.
inline constexpr std::size_t kSpinChains = 8;

/// p(s) ~ exp(sum_i fields[i] s_i + sum_{i<j} J_ij s_i s_j) over spins s in {-1, +1}^n. The neighbours of
/// node i and their couplings J_ij stand at starts[i] .. starts[i + 1].
struct SpinModel {
  const double* fields;
  const double* couplings;
  const std::uint32_t* neighbours;
  const std::uint32_t* starts;  ///< n + 1 of them
  std::size_t n;
};

/// Sweeps compiled for each instruction set. Spins are rows [n][kSpinChains] of -1.0 and +1.0, random states
/// [4][kSpinChains], a xoshiro256++ a chain. A node becomes +1 where its log odds, 2 (field + sum of
/// couplings times spins), exceed a logistic variate.
struct SpinKernels {
  /// Updates all nodes once, in their order.
  void (*sweep)(const SpinModel& model, std::uint64_t* random, double* spins);
  /// The same from two starts with the same variates. With couplings >= 0, low <= high stays true: sums of
  /// products are rounded in one order, and rounding is monotone.
  void (*sweep_both)(const SpinModel& model, std::uint64_t* random, double* low, double* high);
};

/// The set for the fastest instruction set of this machine.
const SpinKernels& spin_kernels();

}  // namespace pypgm
