#include "core/l2_loss.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/kernels.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

L2Loss::L2Loss(const JunctionTree& tree, std::vector<GroupedMeasurement> measurements)
    : measurements_(std::move(measurements)), losses_(tree.factors.size()) {
  for (const Placement& place : tree.factors) {
    slices_.push_back({place.offset, place.layout.small, {}, {}});
    cells_ += place.layout.small;
  }
  std::size_t longest = 0;
  for (std::size_t m = 0; m < measurements_.size(); ++m) {
    Slice& slice = slices_[at(measurements_[m].factor)];
    slice.measurements.push_back(static_cast<int>(m));
    const std::size_t rows = measurements_[m].values.size();
    if (!measurements_[m].groups.empty()) slice.sums.resize(std::max(slice.sums.size(), rows));
    longest = std::max(longest, rows);
  }
  zeros_.resize(longest);
}

double L2Loss::one(const GroupedMeasurement& m, std::span<const double> table, Against against,
                   std::span<double> gradient, std::vector<double>& sums) const {
  const double* target = against == Against::values
                             ? m.values.data()
                             : (against == Against::holdout ? m.holdout.data() : zeros_.data());
  const Kernels& k = kernels();
  if (m.groups.empty()) {
    return gradient.empty()
               ? k.squares(table.data(), target, m.weights.data(), table.size())
               : k.residuals(table.data(), target, m.weights.data(), table.size(), gradient.data());
  }
  const std::size_t rows = m.values.size();
  std::fill_n(sums.begin(), rows, 0.0);
  for (std::size_t i = 0; i < table.size(); ++i) sums[at(m.groups[i])] += table[i];
  double loss = 0;
  for (std::size_t j = 0; j < rows; ++j) {
    const double residual = sums[j] - target[j];
    sums[j] = m.weights[j] * residual;
    loss += 0.5 * residual * sums[j];
  }
  for (std::size_t i = 0; i < gradient.size(); ++i) gradient[i] += sums[at(m.groups[i])];
  return loss;
}

double L2Loss::run(std::span<const double> tables, Against against, std::span<double> gradient,
                   int n_threads) {
  assert(tables.size() == cells_);
  parallel_for(slices_.size(), threads_for(cells_, n_threads), [&](std::size_t f) {
    Slice& slice = slices_[f];
    const auto table = tables.subspan(slice.offset, slice.cells);
    const auto out = gradient.empty() ? gradient : gradient.subspan(slice.offset, slice.cells);
    std::fill(out.begin(), out.end(), 0.0);
    losses_[f] = 0;
    for (const int m : slice.measurements)
      losses_[f] += one(measurements_[at(m)], table, against, out, slice.sums);
  });
  double loss = 0;
  for (const double part : losses_) loss += part;
  return loss;
}

double L2Loss::gradient(std::span<const double> marginals, std::span<double> gradient, int n_threads) {
  return run(marginals, Against::values, gradient, n_threads);
}

double L2Loss::value(std::span<const double> marginals, int n_threads) {
  return run(marginals, Against::values, {}, n_threads);
}

double L2Loss::validation(std::span<const double> marginals, int n_threads) {
  return run(marginals, Against::holdout, {}, n_threads);
}

double L2Loss::curvature(std::span<const double> difference, int n_threads) {
  return 2 * run(difference, Against::nothing, {}, n_threads);
}

}  // namespace pypgm
