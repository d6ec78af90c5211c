// Logistic regressions on integers, compiled once for each instruction set (see kernels.cpp).
#include "core/simd/logistic_kernels.hpp"

#include "core/simd/kernel_set.hpp"

namespace pypgm {

namespace {

void respond(const std::int16_t* feature, std::int32_t amount, std::int64_t scale, const std::int16_t* table,
             const std::int16_t* labels, std::size_t size, std::int32_t* margins, std::int16_t* responses) {
  for (std::size_t m = 0; m < size; ++m) margins[m] += amount * feature[m];
  std::int32_t positions[kLogisticBlock];
  constexpr std::int64_t kHalf = std::int64_t{1} << 31;
  for (std::size_t m = 0; m < size; ++m) {
    const std::int64_t position = (margins[m] * scale + kHalf) >> 32;
    positions[m] = static_cast<std::int32_t>(kLogisticBins - labels[m] * position);
  }
  for (std::size_t m = 0; m < size; ++m) {
    responses[m] = static_cast<std::int16_t>(labels[m] * table[positions[m]]);
  }
}

void accumulate(const std::int16_t* responses, const std::int16_t* features, std::size_t n_features,
                std::size_t stride, std::int64_t* sums) {
  static_assert(kLogisticRows == 4);
  for (std::size_t f = 0; f < n_features; ++f) {
    const std::int16_t* feature = features + f * kLogisticBlock;
    std::int32_t sum[kLogisticRows] = {};
    for (std::size_t m = 0; m < kLogisticBlock; ++m) {
      const std::int32_t x = feature[m];
      sum[0] += responses[m] * x;
      sum[1] += responses[kLogisticBlock + m] * x;
      sum[2] += responses[2 * kLogisticBlock + m] * x;
      sum[3] += responses[3 * kLogisticBlock + m] * x;
    }
    for (std::size_t r = 0; r < kLogisticRows; ++r) sums[r * stride + f] += sum[r];
  }
}

}  // namespace

PYPGM_KERNEL_SET(LogisticKernels, logistic_kernels) = {respond, accumulate};

}  // namespace pypgm
