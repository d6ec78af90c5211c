// Merges measurements of one region, and runs the path kernels on cells or answers.
#include "core/regions/region_terms.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace pypgm {

namespace {

/// The weight-average of two numbers measured of the same, as their joint loss has it; adds to `constant`
/// what that loss is at its least.
double merged(double w1, double y1, double w2, double y2, double* constant) {
  const double share = w2 / (w1 + w2);  // products of two weights may leave the doubles
  *constant += 0.5 * w1 * share * (y1 - y2) * (y1 - y2);
  return y1 + share * (y2 - y1);
}

RegionTerm as_term(RegionMeasurement m) {
  RegionTerm term;
  if (m.map != nullptr) {
    for (auto* sums : {&term.x, &term.z, &term.b}) sums->resize(m.values.size());
  }
  term.map = std::move(m.map);
  term.values = std::move(m.values);
  term.weights = std::move(m.weights);
  term.holdout = std::move(m.holdout);
  term.beyond = m.beyond;
  return term;
}

}  // namespace

void add_measurement(std::vector<RegionTerm>& terms, RegionMeasurement m) {
  const auto whole =
      std::find_if(terms.begin(), terms.end(), [](const RegionTerm& t) { return t.map == nullptr; });
  if (m.map != nullptr || whole == terms.end()) {
    terms.push_back(as_term(std::move(m)));
    return;
  }
  RegionTerm& term = *whole;
  const RegionTerm other = as_term(std::move(m));
  if (term.holdout.size() != other.holdout.size()) {
    throw std::invalid_argument(
        "counts to validate with are needed for all measurements of a region or for none");
  }
  std::vector<double> values(term.values.size());
  std::vector<double> holdout(term.holdout.size());
  double unused = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mine = term.weight(i);
    const double theirs = other.weight(i);
    values[i] = merged(mine, term.values[i], theirs, other.values[i], &term.constant);
    if (holdout.empty()) continue;
    holdout[i] = merged(mine, term.holdout[i], theirs, other.holdout[i], &unused);
    merged(mine, term.held_out(i), theirs, other.held_out(i), &term.held_constant);
  }
  term.values = SharedNumbers(std::move(values));
  term.holdout = SharedNumbers(std::move(holdout));
  if (term.weights.size() < other.weights.size()) {
    term.weights.resize(other.weights.size(), term.weights[0]);
  }
  for (std::size_t i = 0; i < term.weights.size(); ++i) term.weights[i] += other.weight(i);
}

double term_loss(const RegionTerm& term, double total, std::span<const double> answers) {
  double loss = term.constant;
  for (std::size_t i = 0; i < term.values.size(); ++i) {
    const double miss = total * answers[i] - term.values[i];
    loss += 0.5 * term.weight(i) * miss * miss;
  }
  return loss;
}

namespace {

PathTable path_table(const RegionTerm& t, const double* x, const double* z) {
  return {x,
          z,
          t.values.data(),
          t.weights.data(),
          t.holdout.empty() ? nullptr : t.holdout.data(),
          t.beyond,
          t.weights.size() == 1,
          t.values.size()};
}

}  // namespace

void descend_term(RegionTerm& t, double total, double s, double a, std::span<const double> x,
                  std::span<const double> z, std::span<double> theta) {
  if (t.map == nullptr) {
    path_kernels().descend(path_table(t, x.data(), z.data()), total, a, s, theta.data(), nullptr);
    return;
  }
  t.z = t.b;
  std::fill(t.b.begin(), t.b.end(), 0.0);
  path_kernels().descend(path_table(t, t.x.data(), t.z.data()), total, a, s, t.b.data(), nullptr);
  t.map->add_transpose(t.b, theta);
}

void follow_term(RegionTerm& t, double total, double a, std::span<const double> b, std::span<const double> z,
                 std::span<double> x, PathSums& sums) {
  const bool whole = t.map == nullptr;
  if (!whole) t.map->apply(b, t.b);
  double* const mean = whole ? x.data() : t.x.data();
  path_kernels().follow(path_table(t, mean, whole ? z.data() : t.z.data()), whole ? b.data() : t.b.data(),
                        total, a, mean, sums);
  sums += {t.constant, t.held_constant};
}

}  // namespace pypgm
