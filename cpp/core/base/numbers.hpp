#pragma once
#include <cstddef>
#include <limits>

namespace pypgm {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kLog2e = 1.4426950408889634074;

/// A non-negative number of any integer type as an index.
template <class T>
constexpr std::size_t at(T i) {
  return static_cast<std::size_t>(i);
}

}  // namespace pypgm
