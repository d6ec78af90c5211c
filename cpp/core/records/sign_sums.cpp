// Products of signs in blocks of records, so that all signs of a block stay in cache for every set.
#include "core/records/sign_sums.hpp"

#include <algorithm>
#include <cassert>

#include "core/base/threads.hpp"
#include "core/base/watch.hpp"
#include "core/simd/sign_kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kSetsOfChunk = 2048;

}  // namespace

void count_odd_signs(std::span<const std::uint64_t> words, std::size_t n_words,
                     std::span<const std::uint16_t> sets, std::size_t order, std::span<std::int64_t> odd,
                     int n_threads) {
  assert(order >= 1 && sets.size() == odd.size() * order);
  const SignKernels& kernels = sign_kernels();
  const std::size_t chunks = (odd.size() + kSetsOfChunk - 1) / kSetsOfChunk;
  parallel_for(chunks, threads_for(odd.size() * n_words * order, n_threads), [&](std::size_t chunk) {
    const std::size_t begin = chunk * kSetsOfChunk;
    const std::size_t end = std::min(odd.size(), begin + kSetsOfChunk);
    std::fill(odd.begin() + static_cast<std::ptrdiff_t>(begin),
              odd.begin() + static_cast<std::ptrdiff_t>(end), 0);
    for (std::size_t first = 0; first < n_words; first += kSignBlock) {
      leave_if_abandoned();
      const std::size_t size = std::min(kSignBlock, n_words - first);
      for (std::size_t s = begin; s < end; ++s) {
        odd[s] += kernels.count_odd(words.data() + first, n_words, sets.data() + s * order, order, size);
      }
    }
  });
}

}  // namespace pypgm
