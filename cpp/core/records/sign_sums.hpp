#pragma once
// Sums over records of products of signs, for many sets of signs.
#include <cstddef>
#include <cstdint>
#include <span>

namespace pypgm {

/// odd[s] = the number of records of which an odd number of the signs in set s are -1, a set bit. Row r of the
/// signs is words[r * n_words ..], 64 records a word; set s is sets[s * order ..], rows below n_rows.
/// Independent of n_threads. Requires order >= 1, sets.size() == odd.size() * order.
void count_odd_signs(std::span<const std::uint64_t> words, std::size_t n_words,
                     std::span<const std::uint16_t> sets, std::size_t order, std::span<std::int64_t> odd,
                     int n_threads);

}  // namespace pypgm
