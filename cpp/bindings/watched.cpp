// Work, and now and then a look at signals and at what its caller wants.
#include "watched.hpp"

#include <chrono>
#include <exception>
#include <future>
#include <system_error>
#include <thread>

namespace pypgm::bind {

namespace {

/// Sets the flag some twenty times a second, for the length of a scope: a clock read at each step of the work
/// would cost more than the steps do. Where the system has no thread left the flag stays as it is, and the
/// work is not interrupted.
class Ticking {
 public:
  explicit Ticking(std::atomic<bool>& due) {
    try {
      ended_ = std::async(std::launch::async, [&due, end = end_.get_future()] {
        while (end.wait_for(std::chrono::milliseconds(50)) != std::future_status::ready) due = true;
      });
    } catch (const std::system_error&) {
    }
  }
  ~Ticking() { end_.set_value(); }
  Ticking(const Ticking&) = delete;
  Ticking& operator=(const Ticking&) = delete;

 private:
  std::promise<void> end_;
  std::future<void> ended_;  // waits for the thread as it is destroyed
};

/// The GIL released for the length of a scope, and taken in between. A thread that asks for it while Python
/// ends gets it no more, and is ended by an exception that must not pass through the frames of the work:
/// it waits for the end of the process instead.
class Unlocked {
 public:
  Unlocked() : state_(PyEval_SaveThread()) {}
  ~Unlocked() { lock(); }
  Unlocked(const Unlocked&) = delete;
  Unlocked& operator=(const Unlocked&) = delete;

  void lock() noexcept {
    try {
      PyEval_RestoreThread(state_);
    } catch (...) {
      for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
    }
  }
  void unlock() { state_ = PyEval_SaveThread(); }

 private:
  PyThreadState* state_;
};

}  // namespace

void run_watched(const Tick& tick, bool brief, const std::function<void(Watch&)>& work, OnSignal on_signal) {
  Watch watch;
  const auto ask = [&] {
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!tick.is_none() && tick(watch.steps.load()).cast<bool>()) watch.over = true;
  };
  ask();
  std::exception_ptr raised;
  {
    Unlocked unlocked;
    if (brief) {
      const WatchScope none(nullptr);  // a handler of a signal may call this inside another's work
      return work(watch);
    }
    watch.ask = [&] {
      if (watch.abandoned) return;
      unlocked.lock();
      try {
        ask();
      } catch (...) {
        if (raised || on_signal == OnSignal::abandon) watch.over = watch.abandoned = true;
        if (!raised) raised = std::current_exception();
      }
      unlocked.unlock();
    };
    try {
      const WatchScope scope(&watch);
      const Ticking ticking(watch.due);
      work(watch);
    } catch (const Abandoned&) {
      if (!raised) throw;
    }
  }
  if (raised) std::rethrow_exception(raised);
}

}  // namespace pypgm::bind
