#pragma once
// What the bindings of noise and selection share: the stream a draw comes from.
#include "core/random_bits.hpp"

namespace pypgm::bind {

/// The stream of a run that is declared not private, or, where there is none, the thread's secure stream.
inline WordStream& stream(SeededWords* words) {
  if (words != nullptr) return *words;
  return secure_words();
}

}  // namespace pypgm::bind
