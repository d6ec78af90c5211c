#pragma once
#include <cstddef>

namespace pypgm {

/// Entries a thread must have before a second one pays for itself.
inline constexpr std::size_t kGrain = 262144;

/// Entries that take as long as one whose exponential is taken.
inline constexpr std::size_t kExpWork = 8;

/// Entries that a unit of work counts as within passes over a tree: one follows the other, the team is awake.
inline constexpr std::size_t kEffortWork = 8;

/// Entries of the pieces that large work is cut into, for any number of threads: several for each of them.
inline constexpr std::size_t kPiece = 131072;

/// Number of threads for `work` table entries: the number asked for (0: all the machine has),
/// but never so many that one gets less than kGrain entries.
int threads_for(std::size_t work, int n_threads);

/// Calls call(body, i) for i in [0, n), n < 2^32, in any order, on n_threads > 1 threads.
void run_team(std::size_t n, int n_threads, void (*call)(const void* body, std::size_t i), const void* body);

/// Calls body(i) for i in [0, n), in any order, on up to n_threads threads; n_threads <= 1 makes no team.
/// The first exception is rethrown after the loop. Bodies must write to disjoint places. No allocation.
template <class Body>
void parallel_for(std::size_t n, int n_threads, const Body& body) {
  if (n_threads <= 1 || n <= 1) {
    for (std::size_t i = 0; i < n; ++i) body(i);
    return;
  }
  run_team(
      n, n_threads, [](const void* self, std::size_t i) { (*static_cast<const Body*>(self))(i); }, &body);
}

/// Threads the machine offers to one parallel region; 1 without OpenMP.
int max_threads();

/// The OpenMP version date this was compiled with (yyyymm), 0 without OpenMP.
int openmp_version();

}  // namespace pypgm
