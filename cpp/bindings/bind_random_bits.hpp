#pragma once
// What the bindings of noise and selection share: the stream a draw comes from.
#include <optional>

#include "core/noise/random_bits.hpp"

namespace pypgm::bind {

/// None, or a stream that is owned by Python.
using MaybeSeeded = std::optional<SeededWords*>;

/// The stream of a run that is declared not private, or, where there is none, the thread's secure stream.
inline WordStream& stream(MaybeSeeded words) {
  if (words) return **words;
  return secure_words();
}

}  // namespace pypgm::bind
