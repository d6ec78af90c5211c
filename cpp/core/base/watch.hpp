#pragma once
// How a long call is ended early, and how its caller sees how far it is: `run_watched` in the bindings sets
// the flags on Ctrl-C, a time limit or a callback.
#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace pypgm {

/// What a long call looks at, and counts in, at its natural steps (a sweep over one target, a block of
/// records): small enough that less than half a second lies between two. Now and then a look of the thread
/// that made the watch asks its caller whether to go on.
struct Watch {
  std::atomic<bool> over{false};         ///< set by `ask`: end with the best so far
  std::atomic<bool> abandoned{false};    ///< as well: nobody wants the result any more
  std::atomic<std::size_t> steps{0};     ///< done so far; what a step is, each call says
  mutable std::atomic<bool> due{false};  ///< time to ask; set by a thread that does nothing else
  std::function<void()> ask;             ///< does not throw
  const std::thread::id asking = std::this_thread::get_id();

  bool is_over() const { return seen(over); }
  bool is_abandoned() const { return seen(abandoned); }
  void count(std::size_t n = 1) { steps.fetch_add(n, std::memory_order_relaxed); }

 private:
  bool seen(const std::atomic<bool>& flag) const {
    if (due.load(std::memory_order_relaxed) && asking == std::this_thread::get_id()) {
      due.store(false, std::memory_order_relaxed);
      ask();
    }
    return flag.load(std::memory_order_relaxed);
  }
};

/// Whether nobody wants the result any more; without a watch somebody does.
inline bool is_abandoned(const Watch* watch) { return watch != nullptr && watch->is_abandoned(); }

/// Thrown out of work that nobody wants any more. What it was working on is left half done.
struct Abandoned : std::exception {
  const char* what() const noexcept override { return "the call was interrupted"; }
};

/// What the calling thread's work is watched by; null: nothing. A loop deep inside any call can so be left
/// without a watch in every signature on the way to it. It says whether the work goes on, never what it does.
inline constinit thread_local const Watch* thread_watch = nullptr;

/// Lets a watch be that of the calling thread for the length of a scope.
class WatchScope {
 public:
  explicit WatchScope(const Watch* watch) : outer_(std::exchange(thread_watch, watch)) {}
  ~WatchScope() { thread_watch = outer_; }
  WatchScope(const WatchScope&) = delete;
  WatchScope& operator=(const WatchScope&) = delete;

 private:
  const Watch* outer_;
};

/// Throws Abandoned if nobody wants the calling thread's work any more. parallel_for calls it before each i.
/// What takes less than microseconds looks the watch up once, before the loop.
inline void leave_if_abandoned(const Watch* watch = thread_watch) {
  if (is_abandoned(watch)) throw Abandoned();
}

}  // namespace pypgm
