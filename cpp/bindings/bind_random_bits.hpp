#pragma once
// The stream a draw comes from, shared by the bindings of noise and selection.
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
