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

/// An object whose calls change it. A call while another one is in it, from a second thread or from a handler
/// of a signal, raises RuntimeError: to wait could be for ever. So does every call after one that was ended
/// midway. Its state is guarded by the GIL; the object itself is worked on without.
template <class T>
class Exclusive {
 public:
  /// `operations`: of a call, for which it is decided whether the call is watched.
  template <class... Given>
  explicit Exclusive(double operations, Given&&... given)
      : own_(std::forward<Given>(given)...), operations_(operations) {}

  /// body(object), without the GIL and watched, if it may take long; `times`: as long as so many calls.
  template <class Body>
  auto run(const Body& body, double times = 1) {
    return taken([&] { return watched(operations_ * times <= kBriefStep, [&] { return body(own_); }); });
  }

  /// body(object), with the GIL: for what takes no time.
  template <class Body>
  auto look(const Body& body) {
    return taken([&] { return body(own_); });
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
    if (broken_) throw std::runtime_error("a call of this object was interrupted: make a new one");
    const Turn turn(busy_);
    try {
      return body();
    } catch (const std::logic_error&) {
      throw;  // refused, and nothing was done
    } catch (const py::value_error&) {
      throw;
    } catch (...) {
      broken_ = true;
      throw;
    }
  }

  T own_;
  double operations_;
  bool busy_ = false;
  bool broken_ = false;
};

/// Makes an object, watched as its calls are.
template <class T, class... Given>
std::unique_ptr<Exclusive<T>> make_exclusive(double operations, Given&&... given) {
  return watched(operations <= kBriefStep,
                 [&] { return std::make_unique<Exclusive<T>>(operations, std::forward<Given>(given)...); });
}

/// A method of the object as one of its binding.
template <class T, class R, class... Given>
auto exclusive(R (T::*method)(Given...)) {
  return [method](Exclusive<T>& self, Given... given) -> R {
    return self.run([&](T& own) -> R { return (own.*method)(given...); });
  };
}

}  // namespace pypgm::bind
