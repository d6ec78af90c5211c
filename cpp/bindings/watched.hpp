#pragma once
// Long calls of the core that Ctrl-C, a time limit or a callback ends.
#include <pybind11/pybind11.h>

#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/base/watch.hpp"

namespace pypgm::bind {

namespace py = pybind11;

/// Called with the steps done so far, before the work and some twenty times a second; true ends the work.
/// None asks nothing.
using Tick = py::object;

inline constexpr double kBriefOperations = 1e7;  // that take some milliseconds

/// What a signal does to the work it finds: ends it midway, or waits for its end, unless another one comes.
enum class OnSignal { abandon, finish };

/// Calls work(watch) without the GIL; its looks at `watch` look for signals and ask `tick`. What either
/// raises (KeyboardInterrupt) ends the work and is rethrown once it has returned or thrown Abandoned. Work
/// too short for anybody to wait for is called with `brief`, and nobody is asked.
void run_watched(const Tick& tick, bool brief, const std::function<void(Watch&)>& work,
                 OnSignal on_signal = OnSignal::abandon);

/// What work() returns, called in the same way; nobody asks it how far it is.
template <class Work>
auto watched(bool brief, const Work& work, OnSignal on_signal = OnSignal::abandon) {
  using Result = std::invoke_result_t<const Work&>;
  if constexpr (std::is_void_v<Result>) {
    run_watched(
        py::none(), brief, [&](Watch&) { work(); }, on_signal);
  } else {
    std::optional<Result> result;
    run_watched(
        py::none(), brief, [&](Watch&) { result.emplace(work()); }, on_signal);
    return std::move(*result);
  }
}

}  // namespace pypgm::bind
