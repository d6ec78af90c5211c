#pragma once
#include <cstddef>
#include <functional>

namespace pypgm {

/// Entries a thread must have before a second one pays for itself.
inline constexpr std::size_t kGrain = 131072;

/// Number of threads for `work` table entries: the number asked for (0: all the machine has),
/// but never so many that one gets less than kGrain entries.
int threads_for(std::size_t work, int n_threads);

/// Calls body(i) for i in [0, n), in any order, on up to n_threads threads; n_threads <= 1 makes no team.
/// The first exception is rethrown after the loop. Bodies must write to disjoint places.
void parallel_for(std::size_t n, int n_threads, const std::function<void(std::size_t)>& body);

/// Threads the machine offers to one parallel region; 1 without OpenMP.
int max_threads();

/// The OpenMP version date this was compiled with (yyyymm), 0 without OpenMP.
int openmp_version();

}  // namespace pypgm
