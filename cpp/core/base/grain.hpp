#pragma once
// How much work pays for a thread, and how many plain table entries (reads and writes, about .1 ns each from
// cache) an entry of other work counts as: each with the benchmark that times it, where there is one.
#include <cstddef>

namespace pypgm {

/// Table entries a thread must have before a second thread pays for itself: to wake one takes as long.
/// (`bench/bench_threads.py`)
inline constexpr std::size_t kGrain = 524288;

/// Entries of a piece of work. Pieces do not depend on the number of threads; large work has several for
/// each.
/// (`bench/bench_threads.py`)
inline constexpr std::size_t kPiece = 131072;

/// An exponential of an entry. (`cpp/bench/bench_copy_exp.cpp`)
inline constexpr std::size_t kExpWork = 8;

/// A cell in a pass over a tree, or a product of a contraction. (`cpp/bench/bench_propagation.cpp`)
inline constexpr std::size_t kEffortWork = 8;

/// A parent's cell in a sweep of convex GBP. (`cpp/bench/bench_region_sweep.cpp`)
inline constexpr std::size_t kSweepCellWork = 16;

/// A draw of discrete noise. (`bench/bench_noise.py`)
inline constexpr std::size_t kDrawWork = 16;

/// A term of a conditional of a Markov random field: a lookup with its part of the exponentials.
inline constexpr std::size_t kTermWork = 16;

/// An update of a spin in eight chains, for each neighbour.
inline constexpr std::size_t kSpinUpdateWork = 8;

}  // namespace pypgm
