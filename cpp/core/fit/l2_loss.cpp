// Merges measurements of one table; value, gradient and curvature.
#include "core/fit/l2_loss.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// The weighted mean of two measured counts; adds to `constant` the least of their joint loss.
double merged(double w1, double y1, double w2, double y2, double& constant) {
  const double share = w2 / (w1 + w2);  // products of two weights may leave the doubles
  constant += 0.5 * w1 * share * (y1 - y2) * (y1 - y2);
  return y1 + share * (y2 - y1);
}

/// Makes two measurements of the same cells, or by the same map, one.
void merge(L2Term& term, const L2Term& other) {
  std::vector<double> values(term.values.size());
  std::vector<double> held_out(term.held_out.size());
  double unused = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mine = term.weight(i);
    const double theirs = other.weight(i);
    values[i] = merged(mine, term.values[i], theirs, other.values[i], term.constant);
    if (held_out.empty()) continue;
    held_out[i] = merged(mine, term.held_out[i], theirs, other.held_out[i], unused);
    merged(mine, term.to_validate(i), theirs, other.to_validate(i), term.held_out_constant);
  }
  term.values = SharedNumbers(std::move(values));
  term.held_out = SharedNumbers(std::move(held_out));
  if (term.weights.size() < other.weights.size()) {
    term.weights.resize(other.weights.size(), term.weights[0]);
  }
  for (std::size_t i = 0; i < term.weights.size(); ++i) term.weights[i] += other.weight(i);
}

/// Half the weighted squares of the distances between cells and counts (0 if null), whose gradient is written
/// unless it is null; see Kernels.
double squares(const L2Term& t, std::span<const double> cells, const double* counts, double* gradient) {
  const double* const each = t.weights.size() == 1 ? nullptr : t.weights.data();
  return kernels().residuals(cells.data(), counts, each, t.weights[0], cells.size(), gradient);
}

}  // namespace

void L2Loss::add(Measured m) {
  if (std::exchange(empty_, false)) validates_ = !m.held_out.empty();
  if (m.held_out.size() != (validates_ ? m.values.size() : 0)) {
    throw std::invalid_argument("held-out counts are needed for all measurements or for none");
  }
  std::vector<L2Term>& terms = terms_[at(m.table)];
  L2Term term{std::move(m), 0, 0, {}};
  const auto same = std::ranges::find(terms, term.map, [](const L2Term& t) { return t.map; });
  if (same != terms.end()) return merge(*same, term);
  if (term.map == nullptr) {
    terms.insert(terms.begin(), std::move(term));
  } else {
    term.answers.resize(term.values.size());
    terms.push_back(std::move(term));
  }
}

double L2Loss::value(int table, std::span<const double> cells) {
  double loss = 0;
  for (L2Term& t : terms_[at(table)]) {
    if (t.map != nullptr) t.map->apply(cells, t.answers);
    const double* const answers = t.map == nullptr ? cells.data() : t.answers.data();
    loss += t.constant;
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      const double miss = total_ * answers[i] - t.values[i];
      loss += 0.5 * t.weight(i) * miss * miss;
    }
  }
  return loss;
}

double L2Loss::gradient(int table, std::span<const double> cells, std::span<double> gradient) {
  std::vector<L2Term>& terms = terms_[at(table)];
  if (terms.empty() || terms[0].map != nullptr) std::fill(gradient.begin(), gradient.end(), 0.0);
  double loss = 0;
  for (L2Term& t : terms) {
    loss += t.constant;
    if (t.map == nullptr) {  // the first
      loss += squares(t, cells, t.values.data(), gradient.data());
      continue;
    }
    t.map->apply(cells, t.answers);
    for (std::size_t i = 0; i < t.answers.size(); ++i) {
      const double miss = t.answers[i] - t.values[i];
      t.answers[i] = t.weight(i) * miss;
      loss += 0.5 * miss * t.answers[i];
    }
    t.map->add_transpose(t.answers, gradient);
  }
  return loss;
}

double L2Loss::curvature(int table, std::span<const double> difference) {
  double sum = 0;
  for (L2Term& t : terms_[at(table)]) {
    if (t.map != nullptr) t.map->apply(difference, t.answers);
    sum +=
        2 * squares(t, t.map == nullptr ? difference : std::span<const double>(t.answers), nullptr, nullptr);
  }
  return sum;
}

}  // namespace pypgm
