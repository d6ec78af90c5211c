#pragma once
// Long calls of the core that Ctrl-C, a time limit or a callback ends.
#include <pybind11/pybind11.h>

#include <functional>

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
void run_watched(const Tick& tick, bool brief, const std::function<void(Watch&)>& work);

}  // namespace pypgm::bind
