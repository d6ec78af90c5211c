#pragma once
// Inner loops of logistic regressions on integers: margins, responses and their sums over features.
#include <cstddef>
#include <cstdint>

namespace pypgm {

/// Records that are worked on together; a sum of so many responses fits 32 bits.
inline constexpr std::size_t kLogisticBlock = 256;

/// Regressions whose sums are formed side by side, so that a feature is loaded once for all of them.
inline constexpr std::size_t kLogisticRows = 4;

/// Positions of a margin on either side of 0: the table of responses has 2 * kLogisticBins + 1 entries.
inline constexpr std::int64_t kLogisticBins = 8192;

/// Loops compiled for each instruction set; integers throughout, so the sets give the same numbers.
struct LogisticKernels {
  /// margins[m] += amount * feature[m]; position = margins[m] * scale / 2^32, rounded half up; responses[m] =
  /// y table[kLogisticBins - y position] with y = labels[m] in {-1, 0, +1}. Positions must lie within
  /// kLogisticBins. size <= kLogisticBlock.
  void (*respond)(const std::int16_t* feature, std::int32_t amount, std::int64_t scale,
                  const std::int16_t* table, const std::int16_t* labels, std::size_t size,
                  std::int32_t* margins, std::int16_t* responses);
  /// sums[r * stride + f] += sum over m of responses[r][m] * features[f][m] for r < kLogisticRows, f <
  /// n_features. Rows of responses and features have kLogisticBlock entries, features in [-1, 1].
  void (*accumulate)(const std::int16_t* responses, const std::int16_t* features, std::size_t n_features,
                     std::size_t stride, std::int64_t* sums);
};

/// The set for the fastest instruction set of this machine.
const LogisticKernels& logistic_kernels();

}  // namespace pypgm
