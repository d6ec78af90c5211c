#pragma once
// Threads: parallel_for, and how many threads a given amount of work is worth. The one place with OpenMP.
#include <algorithm>
#include <cstddef>
#include <span>

#include "core/base/grain.hpp"
#include "core/base/watch.hpp"

namespace pypgm {

/// Number of threads for `work` table entries: the number asked for (0: all the machine has),
/// limited so that each gets at least kGrain entries. One in a forked child.
int threads_for(std::size_t work, int n_threads);

/// Calls call(body, i) for i in [0, n), n < 2^32, in any order, on n_threads > 1 threads.
void run_team(std::size_t n, int n_threads, void (*call)(const void* body, std::size_t i), const void* body);

/// Calls body(i) for i in [0, n), in any order, on up to n_threads threads; n_threads <= 1 makes no team.
/// The first exception is rethrown after the loop. Bodies must write to disjoint memory. No allocation.
/// Throws Abandoned, before the next i, once nobody wants the work any more.
template <class Body>
void parallel_for(std::size_t n, int n_threads, const Body& body) {
  if (n_threads <= 1 || n <= 1) {
    for (std::size_t i = 0; i < n; ++i) {
      leave_if_abandoned();
      body(i);
    }
    return;
  }
  run_team(
      n, n_threads, [](const void* self, std::size_t i) { (*static_cast<const Body*>(self))(i); }, &body);
}

/// Calls body(step, threads inside it) for steps that do not depend on each other, of which work(step) table
/// entries: beside each other, or, where one outweighs the rest, one after the other with all threads inside.
template <class Work, class Body>
void for_level(std::span<const int> steps, int n_threads, const Work& work, const Body& body) {
  std::size_t total = 0;
  std::size_t largest = 0;
  for (const int s : steps) {
    total += work(s);
    largest = std::max<std::size_t>(largest, work(s));
  }
  const int threads = threads_for(total, n_threads);
  if (threads <= 1 || 2 * largest > total) {
    for (const int s : steps) {
      leave_if_abandoned();
      body(s, threads);
    }
    return;
  }
  // In blocks, so that a step of a microsecond does not pay for being handed out.
  const std::size_t n_blocks = std::min(steps.size(), 16 * static_cast<std::size_t>(threads));
  parallel_for(n_blocks, threads, [&](std::size_t b) {
    const std::size_t end = steps.size() * (b + 1) / n_blocks;
    for (std::size_t i = steps.size() * b / n_blocks; i < end; ++i) body(steps[i], 1);
  });
}

/// Threads the machine offers to one parallel region; 1 without OpenMP, and in a forked child: the team of
/// its parent, which a child takes for its own, has no threads there, and waiting for them never ends.
int max_threads();

/// The OpenMP version date this was compiled with (yyyymm), 0 without OpenMP.
int openmp_version();

}  // namespace pypgm
