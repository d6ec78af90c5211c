#pragma once
// The stream a draw comes from, shared by the bindings of noise and selection.
#include <mutex>
#include <optional>
#include <utility>

#include "bindings.hpp"
#include "core/noise/random_bits.hpp"
#include "watched.hpp"

namespace pypgm::bind {

/// A stream owned by Python. Threads that draw from it at the same time take turns.
struct SharedWords {
  explicit SharedWords(std::uint64_t seed) : words(seed) {}
  SeededWords words;
  std::mutex turn;
};

/// None, or a stream that is owned by Python.
using MaybeSeeded = std::optional<SharedWords*>;

inline constexpr std::size_t kBriefDraws = 100'000;  // that take some milliseconds

/// draw(stream) without the GIL and, unless it is `brief`, watched; the stream is that of a run that is
/// declared not private, or, where there is none, the secure one of the thread that draws.
template <class Draw>
auto drawn(MaybeSeeded words, bool brief, const Draw& draw) {
  if (words && *words == nullptr)
    throw py::type_error("words was never made: its __init__ has not been called");
  return watched(brief, [&] {
    if (!words) return draw(static_cast<WordStream&>(secure_words()));
    const std::scoped_lock own((*words)->turn);
    return draw(static_cast<WordStream&>((*words)->words));
  });
}

}  // namespace pypgm::bind
