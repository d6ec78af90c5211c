// Parallel loops over OpenMP threads with work stealing.
#include "core/base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif
#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace pypgm {

namespace {

constexpr std::size_t kMaxChunks = 64;

/// Whether this process was forked off another one after the library was loaded.
std::atomic<bool> is_child{false};

#if !defined(_WIN32)
/// Watches from the start. Where it cannot, for want of memory, a child has the threads it asks for.
[[maybe_unused]] const int watching =
    pthread_atfork(nullptr, nullptr, [] { is_child.store(true, std::memory_order_relaxed); });
#endif

bool is_forked() { return is_child.load(std::memory_order_relaxed); }

}  // namespace

#ifdef _OPENMP

int max_threads() { return is_forked() ? 1 : omp_get_max_threads(); }

int openmp_version() { return _OPENMP; }

namespace {

/// Of a team, whatever is asked for: one a processor, and enough to test teams on small machines.
int most_threads() { return std::max(static_cast<int>(kMaxChunks), omp_get_num_procs()); }

/// The indices of one thread's chunk that are not done yet. The thread takes the first of them; a thread
/// whose own chunk is done steals the last. From one loop to the next a thread thus works on the same tables,
/// which are in its cache, unless another thread is late.
struct alignas(64) Chunk {
  std::atomic<std::uint64_t> range;  ///< begin and end, 32 bits each

  bool take(bool first, std::size_t& index) {
    std::uint64_t now = range.load(std::memory_order_relaxed);
    for (;;) {
      const std::uint64_t begin = now >> 32;
      const std::uint64_t end = now & 0xffffffff;
      if (begin >= end) return false;
      const std::uint64_t next = first ? (begin + 1) << 32 | end : begin << 32 | (end - 1);
      if (!range.compare_exchange_weak(now, next, std::memory_order_relaxed)) continue;
      index = first ? begin : end - 1;
      return true;
    }
  }
};

}  // namespace

void run_team(std::size_t n, int n_threads, void (*call)(const void* body, std::size_t i), const void* body) {
  assert(n <= 0xffffffff);
  if (is_forked()) return parallel_for(n, 1, [&](std::size_t i) { call(body, i); });
  std::exception_ptr failure;
  const Watch* const watch = thread_watch;
  const std::size_t count = std::min(kMaxChunks, static_cast<std::size_t>(n_threads));
  Chunk chunks[kMaxChunks];
  for (std::size_t t = 0; t < count; ++t) chunks[t].range = (n * t / count) << 32 | n * (t + 1) / count;
#pragma omp parallel num_threads(n_threads)
  {
    const WatchScope scope(watch);
    const auto own = static_cast<std::size_t>(omp_get_thread_num());
    std::size_t i = 0;
    for (std::size_t k = 0; k < count && !is_abandoned(watch); ++k) {
      while (!is_abandoned(watch) && chunks[(own + k) % count].take(k == 0, i)) {
        try {
          call(body, i);
        } catch (...) {
#pragma omp critical(pypgm_parallel_for)
          if (!failure) failure = std::current_exception();
        }
      }
    }
  }
  if (failure) std::rethrow_exception(failure);
  leave_if_abandoned();
}

#else

int max_threads() { return 1; }

int openmp_version() { return 0; }

namespace {

int most_threads() { return static_cast<int>(kMaxChunks); }

}  // namespace

void run_team(std::size_t n, int /*n_threads*/, void (*call)(const void* body, std::size_t i),
              const void* body) {
  parallel_for(n, 1, [&](std::size_t i) { call(body, i); });
}

#endif

int threads_for(std::size_t work, int n_threads) {
  const std::size_t useful = work / kGrain;
  // Without asking for the number of processors, a system call.
  if (useful <= 1 || n_threads == 1 || is_forked()) return 1;
  const int wanted = n_threads > 0 ? std::min(n_threads, most_threads()) : max_threads();
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(wanted), useful));
}

}  // namespace pypgm
