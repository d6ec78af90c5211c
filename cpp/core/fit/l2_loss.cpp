#include "core/fit/l2_loss.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// Half the weighted squares by which two measurements of the same cells stand off their mean.
double merge_values(const L2Loss::Cells& cells, std::vector<double>& values, const std::vector<double>& more,
                    const std::vector<double>& weights) {
  double constant = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double old = cells.weights[i];
    const double share = weights[i] / (old + weights[i]);
    const double difference = more[i] - values[i];
    constant += 0.5 * old * share * difference * difference;
    values[i] += share * difference;
  }
  return constant;
}

bool all_equal(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [&](double x) { return x == numbers.front(); });
}

}  // namespace

L2Loss::L2Loss(const JunctionTree& tree, std::vector<Measured> measurements)
    : cells_(tree.factors.size()), others_of_(tree.factors.size()), answers_(tree.factors.size()) {
  validates_ = !measurements.empty() && !measurements.front().holdout.empty();
  for (const Measured& m : measurements) {
    if (m.holdout.size() != (validates_ ? m.values.size() : 0)) {
      throw std::invalid_argument("held-out counts are needed for all measurements or for none");
    }
  }
  for (Measured& m : measurements) {
    if (m.map == nullptr) {
      merge(std::move(m));
      continue;
    }
    std::vector<double>& answers = answers_[at(m.factor)];
    answers.resize(std::max(answers.size(), m.values.size()));
    zeros_.resize(std::max(zeros_.size(), m.values.size()));
    others_of_[at(m.factor)].push_back(static_cast<int>(others_.size()));
    others_.push_back(std::move(m));
  }
  for (Cells& cells : cells_) {
    if (cells.weights.empty() || !all_equal(cells.weights)) continue;
    cells.weight = cells.weights.front();
    cells.weights = {};
  }
}

void L2Loss::merge(Measured m) {
  Cells& cells = cells_[at(m.factor)];
  if (cells.values.empty()) {
    cells.values = std::move(m.values);
    cells.holdout = std::move(m.holdout);
    cells.weights = std::move(m.weights);
    return;
  }
  cells.constant += merge_values(cells, cells.values, m.values, m.weights);
  if (!cells.holdout.empty()) {
    cells.holdout_constant += merge_values(cells, cells.holdout, m.holdout, m.weights);
  }
  for (std::size_t i = 0; i < cells.weights.size(); ++i) cells.weights[i] += m.weights[i];
}

double L2Loss::cells_term(const Cells& cells, std::span<const double> table, Against against,
                          std::span<double> gradient) const {
  if (cells.values.empty()) return 0;
  const bool nothing = against == Against::nothing;
  const double* target =
      nothing ? nullptr : (against == Against::values ? cells.values.data() : cells.holdout.data());
  const double constant =
      nothing ? 0.0 : (against == Against::values ? cells.constant : cells.holdout_constant);
  const double* weights = cells.weights.empty() ? nullptr : cells.weights.data();
  return constant + kernels().residuals(table.data(), target, weights, cells.weight, table.size(),
                                        gradient.empty() ? nullptr : gradient.data());
}

double L2Loss::answers_term(const Measured& m, std::span<const double> table, Against against,
                            std::span<double> gradient, std::vector<double>& answers) const {
  const double* target = against == Against::values
                             ? m.values.data()
                             : (against == Against::holdout ? m.holdout.data() : zeros_.data());
  const auto scratch = std::span<double>(answers).first(m.values.size());
  m.map->apply(table, scratch);
  double loss = 0;
  for (std::size_t j = 0; j < scratch.size(); ++j) {
    const double residual = scratch[j] - target[j];
    scratch[j] = m.weights[j] * residual;
    loss += 0.5 * residual * scratch[j];
  }
  if (!gradient.empty()) m.map->add_transpose(scratch, gradient);
  return loss;
}

double L2Loss::term(int factor, std::span<const double> table, Against against, std::span<double> gradient) {
  std::fill(gradient.begin(), gradient.end(), 0.0);
  double loss = cells_term(cells_[at(factor)], table, against, gradient);
  for (const int m : others_of_[at(factor)]) {
    loss += answers_term(others_[at(m)], table, against, gradient, answers_[at(factor)]);
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
