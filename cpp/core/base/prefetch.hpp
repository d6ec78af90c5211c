#pragma once
// A hint to the processor that a table is about to be read.
#include <algorithm>
#include <cstddef>
#include <span>

namespace pypgm {

/// Requests the cache lines of a table that is about to be read. Of a large table only the beginning is
/// requested: the hardware prefetcher recognises the rest of a sequential pass.
inline void prefetch([[maybe_unused]] std::span<const double> table) {
#if defined(__GNUC__)
  constexpr std::size_t kLine = 8;     // doubles in a cache line
  constexpr std::size_t kMost = 4096;  // doubles requested at most
  for (std::size_t i = 0; i < std::min(table.size(), kMost); i += kLine) __builtin_prefetch(table.data() + i);
#endif
}

}  // namespace pypgm
