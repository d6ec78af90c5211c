// Sums over records in blocks: features are expanded from codes as small integers, so that sums are exact.
#include "core/mrf/logistic_sums.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

#include "core/base/threads.hpp"
#include "core/base/watch.hpp"
#include "core/simd/logistic_kernels.hpp"

namespace pypgm {

namespace {

// Of a thread, so that it expands features for some use.
constexpr std::size_t kFewestRows = 4 * kLogisticRows;

}  // namespace

LogisticSums::LogisticSums(std::span<const std::uint8_t> codes, std::size_t n_attributes,
                           std::vector<RecordFeature> features, std::vector<RecordLabel> labels,
                           std::vector<std::int16_t> table)
    : codes_(codes),
      n_records_(n_attributes == 0 ? 0 : codes.size() / n_attributes),
      features_(std::move(features)),
      labels_(std::move(labels)),
      table_(std::move(table)),
      margins_(n_records_ * labels_.size()) {
  assert(codes.size() == n_records_ * n_attributes);
  assert(table_.size() == 2 * kLogisticBins + 1);
}

void LogisticSums::expand(std::size_t first, std::size_t size, std::int16_t* features) const {
  for (std::size_t f = 0; f < features_.size(); ++f) {
    std::int16_t* out = features + f * kLogisticBlock;
    std::fill(out, out + size, std::int16_t{1});
    for (const std::size_t attribute : features_[f].attributes) {
      const std::uint8_t* codes = codes_.data() + attribute * n_records_ + first;
      const int code = features_[f].code;
      for (std::size_t m = 0; m < size; ++m) {
        const int value = code < 0 ? (codes[m] == 0 ? -1 : 1) : (codes[m] == code ? 1 : 0);
        out[m] = static_cast<std::int16_t>(out[m] * value);
      }
    }
    std::fill(out + size, out + kLogisticBlock, std::int16_t{0});
  }
}

void LogisticSums::label(const RecordLabel& label, std::size_t first, std::size_t size,
                         std::int16_t* out) const {
  const std::uint8_t* codes = codes_.data() + label.attribute * n_records_ + first;
  for (std::size_t m = 0; m < size; ++m) {
    out[m] = static_cast<std::int16_t>((codes[m] == label.positive ? 1 : 0) -
                                       (codes[m] == label.negative ? 1 : 0));
  }
}

void LogisticSums::rows(std::size_t begin, std::size_t end, std::span<const std::uint32_t> chosen,
                        std::span<const std::int32_t> amounts, std::int64_t scale,
                        std::span<std::int64_t> sums) {
  const std::size_t q = features_.size();
  std::vector<std::int16_t> features(q * kLogisticBlock);
  std::vector<std::int64_t> quad(kLogisticRows * q);
  std::array<std::int16_t, kLogisticBlock> labels{};
  for (std::size_t first = 0; first < n_records_; first += kLogisticBlock) {
    leave_if_abandoned();
    const std::size_t size = std::min(kLogisticBlock, n_records_ - first);
    expand(first, size, features.data());
    for (std::size_t row = begin; row < end; row += kLogisticRows) {
      std::array<std::int16_t, kLogisticRows * kLogisticBlock> responses{};  // rows beyond the end give zeros
      const std::size_t n_rows = std::min(kLogisticRows, end - row);
      for (std::size_t r = 0; r < n_rows; ++r) {
        label(labels_[row + r], first, size, labels.data());
        logistic_kernels().respond(features.data() + chosen[row + r] * kLogisticBlock, amounts[row + r],
                                   scale, table_.data(), labels.data(), size,
                                   margins_.data() + (row + r) * n_records_ + first,
                                   responses.data() + r * kLogisticBlock);
      }
      std::fill(quad.begin(), quad.end(), 0);
      logistic_kernels().accumulate(responses.data(), features.data(), q, q, quad.data());
      for (std::size_t i = 0; i < n_rows * q; ++i) sums[row * q + i] += quad[i];
    }
  }
}

void LogisticSums::step(std::span<const std::uint32_t> chosen, std::span<const std::int32_t> amounts,
                        std::int64_t scale, std::span<std::int64_t> sums, int n_threads) {
  const std::size_t n = labels_.size();
  assert(chosen.size() == n && amounts.size() == n && sums.size() == n * features_.size());
  std::fill(sums.begin(), sums.end(), 0);
  const int threads = threads_for(n * n_records_ * (features_.size() + kExpWork), n_threads);
  const std::size_t chunks =
      std::max<std::size_t>(1, std::min<std::size_t>(static_cast<std::size_t>(threads), n / kFewestRows));
  parallel_for(chunks, threads, [&](std::size_t i) {
    rows(n * i / chunks, n * (i + 1) / chunks, chosen, amounts, scale, sums);
  });
}

}  // namespace pypgm
