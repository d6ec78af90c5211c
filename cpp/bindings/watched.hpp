#pragma once
// Long calls of the core that Ctrl-C, a time limit or a callback ends.
#include <pybind11/pybind11.h>

#include <chrono>
#include <exception>
#include <future>

#include "core/base/watch.hpp"

namespace pypgm::bind {

namespace py = pybind11;

/// Called with the steps done so far, before the work and some twenty times a second; true ends the work.
/// None asks nothing.
using Tick = py::object;

inline constexpr double kBriefOperations = 1e7;  // that take some milliseconds

/// Calls work(watch) on a thread of its own, without the GIL, while the calling thread looks for signals and
/// asks `tick`. What either raises (KeyboardInterrupt) ends the work and is rethrown once the work has
/// returned. Work shorter than the thread is worth is called directly with `brief`. OpenMP gives a thread the
/// default number of threads, not the caller's: `work` has to be told that number.
template <class Work>
void run_watched(const Tick& tick, bool brief, const Work& work) {
  Watch watch;
  const auto ask = [&] {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!tick.is_none() && tick(watch.steps.load()).cast<bool>()) watch.over = true;
  };
  ask();
  const py::gil_scoped_release unlocked;
  if (brief) return work(watch);
  std::exception_ptr raised;
  std::future<void> done = std::async(std::launch::async, [&] { work(watch); });
  while (done.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) {
    if (raised) continue;
    const py::gil_scoped_acquire locked;
    try {
      ask();
    } catch (...) {
      raised = std::current_exception();
      watch.over = watch.abandoned = true;
    }
  }
  if (raised) std::rethrow_exception(raised);
  done.get();
}

}  // namespace pypgm::bind
