// Work on a thread of its own, and the calling thread that looks for signals meanwhile.
#include "watched.hpp"

#include <chrono>
#include <exception>
#include <future>

namespace pypgm::bind {

void run_watched(const Tick& tick, bool brief, const std::function<void(Watch&)>& work) {
  Watch watch;
  const auto ask = [&] {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!tick.is_none() && tick(watch.steps.load()).cast<bool>()) watch.over = true;
  };
  ask();
  const py::gil_scoped_release unlocked;
  if (brief) return work(watch);
  std::exception_ptr raised;
  std::future<void> done = std::async(std::launch::async, [&] {
    const WatchScope scope(&watch);
    work(watch);
  });
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
