// Parallel loops over OpenMP threads with work stealing.
#include "core/base/threads.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <chrono>
#include <cstdint>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

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

/// How long a thread waits awake: longer than loops of one pass lie apart, and no longer than waking it
/// takes.
constexpr std::chrono::microseconds kAwake{20};

/// Returns once the value is no longer `old`: awake for a short time, then asleep.
void wait_while(const std::atomic<int>& value, int old) {
  const auto end = std::chrono::steady_clock::now() + kAwake;
  do {
    if (value.load(std::memory_order_acquire) != old) return;
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

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

/// Whether the thread is in a loop: loops inside it have no helpers.
thread_local bool is_inside = false;

/// A loop: what is called, and the indices that are left of it.
struct Loop {
  Chunk chunks[kMaxChunks];
  std::size_t count;  ///< of chunks, and of threads at most
  void (*call)(const void* body, std::size_t i);
  const void* body;
  const Watch* watch = thread_watch;
  std::exception_ptr failure{};

  Loop(std::size_t n, std::size_t n_threads, void (*call_)(const void*, std::size_t), const void* body_)
      : count(std::min(kMaxChunks, n_threads)), call(call_), body(body_) {
    for (std::size_t t = 0; t < count; ++t) chunks[t].range = (n * t / count) << 32 | n * (t + 1) / count;
  }

  /// The share of one of its threads.
  void run(std::size_t own) {
    const WatchScope scope(watch);
    const bool outer = std::exchange(is_inside, true);
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
    is_inside = outer;
  }
};

/// Threads that help whoever has a loop, one loop at a time: one OpenMP team for the life of the process. A
/// team a loop costs less only while its threads wait awake, milliseconds each time, which others lack; and
/// who makes it waits for a thread that comes late, here for none but those that have begun.
class Helpers {
 public:
  /// Runs the loop with helpers, of which there may be none; false, if they help another.
  bool run(Loop& loop) {
    if (busy_.test_and_set(std::memory_order_acquire)) return false;
    grow(static_cast<int>(loop.count) - 1);
    loop_ = &loop;
    inside_.store(0, std::memory_order_release);
    loops_.fetch_add(1, std::memory_order_release);
    loops_.notify_all();
    loop.run(0);
    for (int now = inside_.fetch_add(kClosed) + kClosed; now != kClosed; now = inside_.load()) {
      wait_while(inside_, now);
    }
    busy_.clear(std::memory_order_release);
    return true;
  }

 private:
  static constexpr int kClosed = -(1 << 30);

  /// Threads that end with the process. The first of a team only keeps it: where OpenMP binds threads to
  /// processors, it has that of the caller.
  void grow(int wanted) {
    if (wanted <= size_) return;
    try {
      std::thread([this, more = wanted - size_] {
#pragma omp parallel num_threads(more + 1)
        if (omp_get_thread_num() > 0) serve();
      }).detach();
      size_ = wanted;
    } catch (const std::system_error&) {
      // The system has no thread left: the loop is its caller's alone.
    }
  }

  [[noreturn]] void serve() {
    for (int seen = 0;;) {
      wait_while(loops_, seen);
      seen = loops_.load(std::memory_order_acquire);
      int now = inside_.load(std::memory_order_relaxed);
      while (now >= 0 && !inside_.compare_exchange_weak(now, now + 1, std::memory_order_acquire)) {
      }
      if (now < 0) continue;
      if (static_cast<std::size_t>(now) + 1 < loop_->count) loop_->run(static_cast<std::size_t>(now) + 1);
      if (inside_.fetch_sub(1, std::memory_order_acq_rel) - 1 == kClosed) inside_.notify_one();
    }
  }

  std::atomic_flag busy_;
  int size_ = 0;
  Loop* loop_ = nullptr;
  std::atomic<int> loops_{0};         ///< so far; one more wakes the helpers
  std::atomic<int> inside_{kClosed};  ///< helpers in the loop, and kClosed once none may begin
};

}  // namespace

void run_team(std::size_t n, int n_threads, void (*call)(const void* body, std::size_t i), const void* body) {
  assert(n <= 0xffffffff);
  // Never destroyed: helpers may outlive what is destroyed at exit.
  static Helpers& helpers = *new Helpers;
  Loop loop(n, static_cast<std::size_t>(n_threads), call, body);
  if (is_forked() || is_inside || !helpers.run(loop))
    return parallel_for(n, 1, [&](std::size_t i) { call(body, i); });
  if (loop.failure) std::rethrow_exception(loop.failure);
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
