#include "core/l2_loss.hpp"

#include <algorithm>
#include <utility>

#include "core/kernels.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

L2Loss::L2Loss(const JunctionTree& tree, std::vector<GroupedMeasurement> measurements)
    : measurements_(std::move(measurements)),
      measurements_of_(tree.factors.size()),
      sums_(tree.factors.size()) {
  for (std::size_t i = 0; i < measurements_.size(); ++i) {
    const GroupedMeasurement& m = measurements_[i];
    const std::size_t rows = m.values.size();
    measurements_of_[at(m.factor)].push_back(static_cast<int>(i));
    std::vector<double>& sums = sums_[at(m.factor)];
    if (!m.groups.empty()) sums.resize(std::max(sums.size(), rows));
    zeros_.resize(std::max(zeros_.size(), rows));
    validates_ = validates_ || !m.holdout.empty();
  }
}

double L2Loss::term(const GroupedMeasurement& m, std::span<const double> table, Against against,
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

double L2Loss::term(int factor, std::span<const double> table, Against against, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double loss = 0;
  for (const int m : measurements_of_[at(factor)]) {
    loss += term(measurements_[at(m)], table, against, gradient, sums_[at(factor)]);
  }
  return loss;
}

double L2Loss::gradient(int factor, std::span<const double> table, std::span<double> gradient) {
  return term(factor, table, Against::values, gradient);
}

double L2Loss::value(int factor, std::span<const double> table) {
  return term(factor, table, Against::values, {});
}

double L2Loss::validation(int factor, std::span<const double> table) {
  return term(factor, table, Against::holdout, {});
}

double L2Loss::curvature(int factor, std::span<const double> difference) {
  return 2 * term(factor, difference, Against::nothing, {});
}

}  // namespace pypgm
