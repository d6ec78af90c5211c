#pragma once
// The Sparsitron: multiplicative weights for a sparse generalised linear model.
#include <cstddef>
#include <cstdint>
#include <span>

namespace pypgm {

/// Records of one regression, row by row: features in {-1, 0, +1} and labels in {-1, +1}.
struct SignedRecords {
  std::span<const std::int8_t> features;  ///< n_records * n_features
  std::span<const std::int8_t> labels;    ///< n_records
  std::size_t n_features;

  std::size_t size() const { return labels.size(); }
  std::span<const std::int8_t> row(std::size_t record) const {
    return features.subspan(record * n_features, n_features);
  }
};

/// Learns w with ||w||_1 <= radius such that P(y = +1 | x) is near 1 / (1 + exp(-<w, x>)) (Klivans and Meka
/// 2017): one pass of Hedge over the training records, on weights of +x, -x and a feature 0. Of up to
/// n_candidates iterates, evenly spaced, the one with the least squared error on the held-out records is
/// written to `weights`. Requires training records, radius > 0, n_candidates >= 1 and
/// weights.size() == n_features. O((training + candidates * held_out) * n_features) time.
void sparsitron(const SignedRecords& training, const SignedRecords& held_out, double radius,
                std::size_t n_candidates, std::span<double> weights);

}  // namespace pypgm
