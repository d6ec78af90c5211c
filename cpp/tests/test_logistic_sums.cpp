// Sums of logistic regressions against the definition, record by record.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/mrf/logistic_sums.hpp"
#include "core/simd/logistic_kernels.hpp"

namespace {

using namespace pypgm;

struct LogisticProblem {
  std::size_t n_records;
  std::size_t n_attributes;
  std::vector<std::uint8_t> codes;
  std::vector<RecordFeature> features;
  std::vector<RecordLabel> labels;
  std::vector<std::int16_t> table;
};

LogisticProblem make_problem(std::size_t n_records) {
  std::mt19937 random(static_cast<unsigned>(n_records));
  LogisticProblem p{n_records, 5, {}, {}, {}, {}};
  for (std::size_t i = 0; i < n_records * p.n_attributes; ++i) p.codes.push_back(random() % 3);
  p.features = {{{}, -1}, {{0}, -1}, {{1, 3}, -1}, {{2}, 1}, {{2}, 2}, {{4}, 0}, {{0, 1, 2}, -1}};
  for (std::size_t i = 0; i < 37; ++i)
    p.labels.push_back({i % 5, static_cast<int>(i % 3), static_cast<int>((i + 1) % 3)});
  for (std::int64_t i = 0; i <= 2 * kLogisticBins; ++i)
    p.table.push_back(static_cast<std::int16_t>(2 * i - i / 7));
  return p;
}

int feature_of(const LogisticProblem& p, std::size_t f, std::size_t m) {
  int value = 1;
  for (const std::size_t a : p.features[f].attributes) {
    const int code = p.codes[a * p.n_records + m];
    value *= p.features[f].code < 0 ? (code == 0 ? -1 : 1) : (code == p.features[f].code ? 1 : 0);
  }
  return value;
}

/// Margins and sums of one step, by the definition.
std::vector<std::int64_t> reference(const LogisticProblem& p, const std::vector<std::uint32_t>& chosen,
                                    const std::vector<std::int32_t>& amounts, std::int64_t scale,
                                    std::vector<std::int64_t>& margins) {
  std::vector<std::int64_t> sums(p.labels.size() * p.features.size());
  for (std::size_t r = 0; r < p.labels.size(); ++r) {
    for (std::size_t m = 0; m < p.n_records; ++m) {
      std::int64_t& z = margins[r * p.n_records + m];
      z += std::int64_t{amounts[r]} * feature_of(p, chosen[r], m);
      const int code = p.codes[p.labels[r].attribute * p.n_records + m];
      const int y = (code == p.labels[r].positive ? 1 : 0) - (code == p.labels[r].negative ? 1 : 0);
      const std::int64_t position = (z * scale + (std::int64_t{1} << 31)) >> 32;
      const int response = y * p.table[static_cast<std::size_t>(kLogisticBins - y * position)];
      for (std::size_t f = 0; f < p.features.size(); ++f)
        sums[r * p.features.size() + f] += response * feature_of(p, f, m);
    }
  }
  return sums;
}

}  // namespace

TEST_CASE("sums of responses are those of the definition, whatever the number of threads") {
  for (const std::size_t n_records : {std::size_t{0}, std::size_t{1}, std::size_t{255}, std::size_t{3000}}) {
    const LogisticProblem p = make_problem(n_records);
    LogisticSums one(p.codes, p.n_attributes, p.features, p.labels, p.table);
    LogisticSums many(p.codes, p.n_attributes, p.features, p.labels, p.table);
    std::vector<std::int64_t> margins(p.labels.size() * n_records);
    std::vector<std::int64_t> sums(p.labels.size() * p.features.size());
    std::vector<std::int64_t> threaded(sums.size());
    std::mt19937 random(7);
    for (std::int64_t t = 0; t < 6; ++t) {
      std::vector<std::uint32_t> chosen(p.labels.size());
      std::vector<std::int32_t> amounts(p.labels.size());
      for (std::size_t r = 0; r < chosen.size(); ++r) {
        chosen[r] = static_cast<std::uint32_t>(random() % p.features.size());
        amounts[r] = static_cast<std::int32_t>(t) * (random() % 2 == 0 ? 1 : -1);
      }
      const std::int64_t scale = t == 0 ? 0 : (kLogisticBins << 33) / ((t + 1) * (t + 2));
      one.step(chosen, amounts, scale, sums, 1);
      many.step(chosen, amounts, scale, threaded, 3);
      CHECK(sums == reference(p, chosen, amounts, scale, margins));
      CHECK(threaded == sums);
    }
  }
}
