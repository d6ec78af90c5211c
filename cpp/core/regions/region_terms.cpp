// Merges measurements of one region, and runs the path kernels on cells or group sums.
#include "core/regions/region_terms.hpp"

#include <algorithm>
#include <utility>

namespace pypgm {

namespace {

/// The weighted mean of two measurements of one number, at which their joint loss is least; adds that least
/// value to `constant`.
double merged(double w1, double y1, double w2, double y2, double* constant) {
  *constant += 0.5 * w1 * w2 / (w1 + w2) * (y1 - y2) * (y1 - y2);
  return (w1 * y1 + w2 * y2) / (w1 + w2);
}

RegionTerm as_term(RegionMeasurement m) {
  RegionTerm term;
  if (!m.groups.empty()) {
    for (auto* sums : {&term.x, &term.z, &term.b}) sums->resize(m.values.size());
  }
  term.groups = std::move(m.groups);
  term.values = std::move(m.values);
  term.weights = std::move(m.weights);
  term.holdout = std::move(m.holdout);
  term.beyond = m.beyond;
  return term;
}

}  // namespace

void add_measurement(std::vector<RegionTerm>& terms, RegionMeasurement m) {
  const auto whole =
      std::find_if(terms.begin(), terms.end(), [](const RegionTerm& t) { return t.groups.empty(); });
  if (!m.groups.empty() || whole == terms.end()) {
    terms.push_back(as_term(std::move(m)));
    return;
  }
  RegionTerm& term = *whole;
  const RegionTerm other = as_term(std::move(m));
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

void sum_groups(std::span<const double> belief, std::span<const std::int32_t> groups,
                std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < groups.size(); ++i) sums[static_cast<std::size_t>(groups[i])] += belief[i];
}

double term_loss(const RegionTerm& term, double total, std::span<const double> sums) {
  double loss = term.constant;
  for (std::size_t i = 0; i < term.values.size(); ++i) {
    const double miss = total * sums[i] - term.values[i];
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
  if (t.groups.empty()) {
    path_kernels().descend(path_table(t, x.data(), z.data()), total, a, s, theta.data(), nullptr);
    return;
  }
  t.z = t.b;
  std::fill(t.b.begin(), t.b.end(), 0.0);
  path_kernels().descend(path_table(t, t.x.data(), t.z.data()), total, a, s, t.b.data(), nullptr);
  for (std::size_t i = 0; i < theta.size(); ++i) theta[i] += t.b[static_cast<std::size_t>(t.groups[i])];
}

void follow_term(RegionTerm& t, double total, double a, double share, std::span<const double> b,
                 std::span<const double> z, std::span<double> x, std::span<double> y, PathSums& sums) {
  const bool whole = t.groups.empty();
  if (!whole) sum_groups(b, t.groups, t.b);
  double* const mean = whole ? x.data() : t.x.data();
  double* const second = y.empty() ? nullptr : whole ? y.data() : t.y.data();
  path_kernels().follow(path_table(t, mean, whole ? z.data() : t.z.data()), whole ? b.data() : t.b.data(),
                        total, a, share, mean, second, sums);
  sums += {t.constant, t.held_constant, t.held_constant};
}

}  // namespace pypgm
