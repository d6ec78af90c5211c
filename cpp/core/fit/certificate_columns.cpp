// The columns of a certificate: which assignments it knows, and what r gives them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/fit/certificate.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

void Certificate::gather(const Rows& rows, std::span<const double> r, std::span<double> out) const {
  const std::size_t n = out.size();
  constexpr std::size_t kColumns = 4096;
  const std::size_t pieces = (n + kColumns - 1) / kColumns;
  parallel_for(pieces, threads_for(n * rows.size(), n_threads_), [&](std::size_t piece) {
    const std::size_t begin = piece * kColumns;
    const std::size_t end = std::min(n, begin + kColumns);
    std::fill(out.begin() + static_cast<std::ptrdiff_t>(begin),
              out.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
    for (std::size_t q = 0; q < rows.size(); ++q) {
      const double* const answers = r.data() + questions_[q].offset;
      const std::int32_t* const row = rows[q].data();
      for (std::size_t j = begin; j < end; ++j) out[j] += answers[row[j]];
    }
  });
}

void Certificate::scatter(const Rows& rows, std::span<const double> x, std::span<double> out) const {
  parallel_for(rows.size(), threads_for(x.size() * rows.size(), n_threads_), [&](std::size_t q) {
    double* const answers = out.data() + questions_[q].offset;
    const std::int32_t* const row = rows[q].data();
    for (std::size_t j = 0; j < x.size(); ++j) answers[row[j]] += x[j];
  });
}

void Certificate::levels(std::span<const double> r, std::vector<double>& out) const {
  std::vector<double> scaled(scale_.size());
  for (std::size_t i = 0; i < scaled.size(); ++i) scaled[i] = scale_[i] * r[i];
  out.resize(masses_.size());
  gather(rows_, scaled, std::span(out).first(columns()));
  const double nu = r.back();
  for (std::size_t j = 0; j < columns(); ++j) out[j] -= nu;
  const double of_point = kernels().dot(point_.data(), r.data(), point_.size());
  out.back() = kOfPoint * (of_point - nu);
}

double Certificate::least_level() const {
  return std::min(levels_.back() / kOfPoint, *std::min_element(levels_.begin(), levels_.end() - 1));
}

/// The heaviest assignments through each cell that has one above a weight.
std::vector<std::int32_t> Certificate::heaviest(double above) {
  std::vector<std::int32_t> records;
  const auto through = assignments_.through();
  const std::size_t n_attributes = tree_->sizes.size();
  for (std::size_t f = 0; f < tree_->factors.size(); ++f) {
    const Placement& place = tree_->factors[f];
    for (std::size_t cell = 0; cell < place.layout.small; ++cell) {
      const double weight = through[place.offset + cell];
      if (weight <= above) continue;
      records.resize(records.size() + n_attributes);
      assignments_.heaviest(static_cast<int>(f), cell, std::span(records).last(n_attributes));
    }
  }
  return records;
}

/// Forgets columns without a multiplier that are further above the least level than this.
void Certificate::prune(double far) {
  const std::size_t n = columns();
  std::vector<std::size_t> kept;
  for (std::size_t j = 0; j < n; ++j) {
    if (masses_[j] > 0 || levels_[j] < far) kept.push_back(j);
  }
  if (kept.size() > most_columns_) {
    std::nth_element(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(most_columns_), kept.end(),
                     [&](std::size_t i, std::size_t j) {
                       return std::make_pair(levels_[i], i) < std::make_pair(levels_[j], j);
                     });
    kept.resize(most_columns_);
    std::sort(kept.begin(), kept.end());
  }
  for (auto& rows : rows_) {
    for (std::size_t k = 0; k < kept.size(); ++k) rows[k] = rows[kept[k]];
    rows.resize(kept.size());
  }
  for (std::size_t k = 0; k < kept.size(); ++k) masses_[k] = masses_[kept[k]];
  masses_[kept.size()] = masses_.back();
  masses_.resize(kept.size() + 1);
}

void Certificate::add(std::span<const std::int32_t> records) {
  const std::size_t width = tree_->sizes.size();
  std::vector<std::span<const std::int32_t>> distinct;
  for (std::size_t i = 0; i < records.size(); i += width) distinct.push_back(records.subspan(i, width));
  const auto less = [](auto a, auto b) {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  };
  const auto same = [](auto a, auto b) { return std::equal(a.begin(), a.end(), b.begin()); };
  std::sort(distinct.begin(), distinct.end(), less);
  distinct.erase(std::unique(distinct.begin(), distinct.end(), same), distinct.end());
  for (std::size_t q = 0; q < questions_.size(); ++q) {
    const Question& question = questions_[q];
    const Scope& scope = tree_->scopes[at(question.factor)];
    for (const auto& codes : distinct) {
      std::size_t cell = 0;
      for (std::size_t i = 0; i < scope.size(); ++i) cell += question.steps[i] * at(codes[at(scope[i])]);
      rows_[q].push_back(question.rows.empty() ? static_cast<std::int32_t>(cell) : question.rows[cell]);
    }
  }
  masses_.insert(masses_.end() - 1, distinct.size(), 0.0);
}

}  // namespace pypgm
