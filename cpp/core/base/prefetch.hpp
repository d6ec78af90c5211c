#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

namespace pypgm {

/// Asks for a table that is about to be read, so that memory is not waited for; of a large one only the
/// beginning, as the machine finds out about the rest by itself.
inline void prefetch([[maybe_unused]] std::span<const double> table) {
#if defined(__GNUC__)
  constexpr std::size_t kLine = 8;  // numbers of a cache line
  constexpr std::size_t kMost = 4096;
  for (std::size_t i = 0; i < std::min(table.size(), kMost); i += kLine) __builtin_prefetch(table.data() + i);
#endif
}

}  // namespace pypgm
