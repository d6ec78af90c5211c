// Work, and now and then a look at signals and at what its caller wants.
#include "watched.hpp"

#include <chrono>
#include <exception>
#include <future>

namespace pypgm::bind {

namespace {

/// Sets the flag some twenty times a second, for the length of a scope: a clock read at each step of the work
/// would cost more than the steps do.
class Ticking {
 public:
  explicit Ticking(std::atomic<bool>& due)
      : ended_(std::async(std::launch::async, [&due, end = end_.get_future()] {
          while (end.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) due = true;
        })) {}
  ~Ticking() { end_.set_value(); }
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;

 private:
  std::promise<void> end_;
  std::future<void> ended_;  // waits for the thread as it is destroyed
};

}  // namespace

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
  watch.ask = [&] {
    if (raised) return;
    const py::gil_scoped_acquire locked;
    try {
      ask();
    } catch (...) {
      raised = std::current_exception();
      watch.over = watch.abandoned = true;
    }
  };
  try {
    const WatchScope scope(&watch);
    const Ticking ticking(watch.due);
    work(watch);
  } catch (const Abandoned&) {
    if (!raised) throw;
  }
  if (raised) std::rethrow_exception(raised);
}

}  // namespace pypgm::bind
