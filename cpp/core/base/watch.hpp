#pragma once
// How a long call is ended early, and how its caller sees how far it is: `run_watched` in the bindings sets
// the flag on Ctrl-C, a time limit or a callback.
#include <atomic>
#include <cstddef>

namespace pypgm {

/// Shared by a long call and the thread that waits for it. The call looks at `over` and counts at its natural
/// steps (a sweep over one target, a block of records): small enough that less than half a second lies
/// between two.
struct Watch {
  std::atomic<bool> over{false};       ///< set by whoever waits: end with the best so far
  std::atomic<bool> abandoned{false};  ///< as well: nobody wants the result any more
  std::atomic<std::size_t> steps{0};   ///< done so far; what a step is, each call says

  bool is_over() const { return over.load(std::memory_order_relaxed); }
  void count(std::size_t n = 1) { steps.fetch_add(n, std::memory_order_relaxed); }
};

/// Whether nobody wants the result any more; without a watch somebody does.
inline bool is_abandoned(const Watch* watch) {
  return watch != nullptr && watch->abandoned.load(std::memory_order_relaxed);
}

}  // namespace pypgm
