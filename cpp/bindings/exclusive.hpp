#pragma once
// Objects of the core that calls change: one call at a time.
#include <memory>
#include <stdexcept>
#include <utility>

#include "bindings.hpp"
#include "watched.hpp"

namespace pypgm::bind {

/// A step of a solver, which Python calls again and again, is watched from this many operations on: some
/// 50 ms, of which watching is a thousandth. Shorter ones end before anybody would notice.
inline constexpr double kBriefStep = 5e7;

/// An object of which a call was ended midway is called again.
struct HalfDone : std::runtime_error {
  HalfDone() : std::runtime_error("a call of this object was interrupted: make a new one") {}
};

/// An object whose calls change it. A call while another one is in it, from a second thread or from a handler
/// of a signal, raises RuntimeError: to wait could be for ever. Every call after one that was ended midway
/// raises HalfDone. Its state is guarded by the GIL; the object itself is worked on without.
template <class T>
class Exclusive {
 public:
  /// `operations`: of a call, for which it is decided whether the call is watched.
  template <class... Given>
  explicit Exclusive(double operations, Given&&... given)
      : own_(std::forward<Given>(given)...), operations_(operations) {}

  /// body(object), without the GIL and watched, if it may take long; `times`: as long as so many calls.
  template <class Body>
  auto run(const Body& body, double times = 1, OnSignal on_signal = OnSignal::abandon) {
    return taken([&] {
      return watched(
          operations_ * times <= kBriefStep, [&] { return done(body); }, on_signal);
    });
  }

  /// The same for a step of a search, of which the best point is wanted when Ctrl-C ends it: the step is done
  /// first, unless Ctrl-C comes again.
  template <class Body>
  auto step(const Body& body, double times = 1) {
    return run(body, times, OnSignal::finish);
  }

  /// body(object), with the GIL: for what takes no time.
  template <class Body>
  auto look(const Body& body) {
    return taken([&] { return done(body); });
  }

 private:
  struct Turn {
    explicit Turn(bool& flag) : busy(flag) { busy = true; }
    ~Turn() { busy = false; }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    bool& busy;
  };

  template <class Body>
  auto taken(const Body& body) {
    if (busy_) throw std::runtime_error("another call of this object is running: each thread needs its own");
    if (half_done_) throw HalfDone();
    const Turn turn(busy_);
    return body();
  }

  template <class Body>
  auto done(const Body& body) {
    try {
      return body(own_);
    } catch (const std::logic_error&) {
      throw;  // refused, and nothing was done
    } catch (const py::value_error&) {
      throw;
    } catch (...) {
      half_done_ = true;
      throw;
    }
  }

  T own_;
  double operations_;
  bool busy_ = false;
  bool half_done_ = false;
};

/// Makes an object, watched as its calls are.
template <class T, class... Given>
std::unique_ptr<Exclusive<T>> make_exclusive(double operations, Given&&... given) {
  return watched(operations <= kBriefStep,
                 [&] { return std::make_unique<Exclusive<T>>(operations, std::forward<Given>(given)...); });
}

/// A method of the object as one of its binding.
template <class T, class R, class... Given>
auto exclusive(R (T::*method)(Given...), OnSignal on_signal = OnSignal::abandon) {
  return [=](Exclusive<T>& self, Given... given) -> R {
    return self.run([&](T& own) -> R { return (own.*method)(given...); }, 1, on_signal);
  };
}

/// The same of a step; see Exclusive::step.
template <class T, class R, class... Given>
auto exclusive_step(R (T::*method)(Given...)) {
  return exclusive(method, OnSignal::finish);
}

}  // namespace pypgm::bind
