#include "core/fit/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr std::uint64_t kSeed = 0x626f756e64;
constexpr std::size_t kDraws = 20000;
constexpr int kNewtonSteps = 2;     // of a round: inference is cheap beside them
constexpr int kProducts = 60;       // of a Newton step
constexpr double kResidual = 1e-4;  // squared, that a Newton step leaves
constexpr double kLeft = 0.3;  // of the gap, that raising may leave: what is not known yet exceeds the rest
constexpr double kTau = 0.3;   // times total / gap
constexpr double kLeastTau = 0.01;  // for want of a higher bound
constexpr double kShort = 0.3;  // of a Newton step: where it is cut to less, the multipliers move too fast
constexpr double kWhole = 0.6;  // where it is not, they may move faster again
constexpr double kSmallestTau = 0.002;
constexpr double kLost = 10;  // times the gap, that r's bound may be below the best
constexpr double kKept = 3;   // times the excess of the last look, that a column may be away from the minimum
constexpr std::size_t kColumnsACell = 100;  // of an average clique

}  // namespace

Certificate::Certificate(std::shared_ptr<const JunctionTree> tree, const std::vector<Measured>& measurements,
                         double total, std::span<const double> potentials, std::span<const double> marginals,
                         int n_threads)
    : tree_(std::move(tree)),
      total_(total),
      n_threads_(n_threads),
      assignments_(*tree_),
      lower_(-kInfinity),
      bound_(-kInfinity),
      rows_(measurements.size()),
      active_(measurements.size()),
      kappa_(kTau) {
  for (const Measured& m : measurements) {
    const std::size_t offset = y_.size();
    const Scope& scope = tree_->scopes[at(m.factor)];
    Question question{m.factor, offset, m.rows, std::vector<std::size_t>(scope.size(), 1)};
    for (std::size_t i = scope.size(); i-- > 1;) {
      question.steps[i - 1] = question.steps[i] * tree_->sizes[at(scope[i])];
    }
    point_.resize(offset + m.values.size(), 0.0);
    const Placement& place = tree_->factors[at(m.factor)];
    for (std::size_t cell = 0; cell < place.layout.small; ++cell) {
      point_[offset + (m.rows.empty() ? cell : at(m.rows[cell]))] += marginals[place.offset + cell] / total;
    }
    for (std::size_t k = 0; k < m.values.size(); ++k) {
      const double scale = std::sqrt(m.weights[k]);
      scale_.push_back(scale);
      y_.push_back(m.values[k] * scale);
      point_[offset + k] *= scale;
    }
    questions_.push_back(std::move(question));
  }
  r_.resize(y_.size() + 1);
  for (std::size_t i = 0; i < y_.size(); ++i) r_[i] = total * point_[i] - y_[i];
  loss_ = 0.5 * dot(std::span(r_).first(y_.size()), std::span(r_).first(y_.size()));
  base_.resize(potentials.size());
  for (std::size_t i = 0; i < base_.size(); ++i) base_[i] = potentials[i] == -kInfinity ? -kInfinity : 0.0;
  most_columns_ = std::max<std::size_t>(
      1, kColumnsACell * potentials.size() / std::max<std::size_t>(1, questions_.size()));
  masses_.assign(1, total / kOfPoint);
  add(assignments_.draw(potentials, std::min(kDraws, most_columns_ / 4), kSeed, n_threads));
  r_.back() = -bound_at(r_);
  best_ = r_;
  bound_ = lower_;
  add(heaviest(-kInfinity));
}

/// Moves nu so that the masses sum to the total.
void Certificate::balance() {
  const auto excess = [&](double by) {
    double sum = -total_;
    for (std::size_t j = 0; j < masses_.size(); ++j) {
      const double records = j < columns() ? 1.0 : kOfPoint;
      sum += records * std::max(0.0, masses_[j] - tau_ * (levels_[j] - records * by));
    }
    return sum;
  };
  double low = -1;
  double high = 1;
  while (excess(high) < 0) high *= 2;
  while (excess(low) > 0) low *= 2;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (excess(middle) < 0 ? low : high) = middle;
  }
  r_.back() += high;
  for (std::size_t j = 0; j < levels_.size(); ++j) levels_[j] -= (j < columns() ? 1.0 : kOfPoint) * high;
}

/// The bound where the heaviest assignment weighs this.
double Certificate::dual(std::span<const double> r, double largest) const {
  const auto answers = r.first(y_.size());
  return -0.5 * dot(answers, answers) - dot(y_, answers) - total_ * largest;
}

/// The bound that the known columns give.
double Certificate::restricted_bound() const { return dual(r_, -(r_.back() + least_level())); }

/// Gradient of the augmented Lagrangian; its active columns.
void Certificate::gradient(std::vector<double>& out) {
  const std::size_t n = y_.size();
  active_columns_.clear();
  std::vector<double> x;
  for (std::size_t j = 0; j < columns(); ++j) {
    const double mass = masses_[j] - tau_ * levels_[j];
    if (mass <= 0) continue;
    active_columns_.push_back(j);
    x.push_back(mass);
  }
  parallel_for(rows_.size(), threads_for(x.size() * rows_.size(), n_threads_), [&](std::size_t q) {
    active_[q].resize(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) active_[q][k] = rows_[q][active_columns_[k]];
  });
  const double of_point = std::max(0.0, masses_.back() - tau_ * levels_.back());
  std::vector<double> sums(n, 0.0);
  scatter(active_, x, sums);
  out.resize(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = r_[i] + y_[i] - scale_[i] * sums[i] - kOfPoint * of_point * point_[i];
  }
  out[n] = std::accumulate(x.begin(), x.end(), kOfPoint * of_point - total_);
}

/// Conjugate gradients, preconditioned by the diagonal.
void Certificate::newton_direction(std::span<const double> gradient) {
  const std::size_t n = y_.size();
  const bool point = masses_.back() - tau_ * levels_.back() > 0;
  const double of_point = point ? tau_ * kOfPoint * kOfPoint : 0.0;
  std::vector<double> ones(active_columns_.size(), 1.0);
  std::vector<double> counts(n, 0.0);
  scatter(active_, ones, counts);
  std::vector<double> inverse(n + 1);
  for (std::size_t i = 0; i < n; ++i) {
    inverse[i] = 1 / (1 + tau_ * scale_[i] * scale_[i] * counts[i] + of_point * point_[i] * point_[i]);
  }
  inverse[n] = 1 / (1e-12 + tau_ * static_cast<double>(ones.size()) + of_point);
  std::vector<double> residual(n + 1), z(n + 1), p(n + 1), product(n + 1), scaled(n), sums(n);
  std::vector<double>& along = ones;
  change_.assign(n + 1, 0.0);
  for (std::size_t i = 0; i <= n; ++i) p[i] = z[i] = inverse[i] * (residual[i] = -gradient[i]);
  double rz = dot(residual, z);
  const double enough = kResidual * rz;
  for (int k = 0; k < kProducts && rz > enough; ++k) {
    for (std::size_t i = 0; i < n; ++i) scaled[i] = scale_[i] * p[i];
    gather(active_, scaled, along);
    double sum = 0;
    for (double& t : along) sum += t = tau_ * (t - p[n]);
    std::fill(sums.begin(), sums.end(), 0.0);
    scatter(active_, along, sums);
    const double towards = of_point * (dot(point_, std::span(p).first(n)) - p[n]);
    for (std::size_t i = 0; i < n; ++i) product[i] = p[i] + scale_[i] * sums[i] + towards * point_[i];
    product[n] = -sum - towards;
    const double step = rz / dot(p, product);
    for (std::size_t i = 0; i <= n; ++i) {
      change_[i] += step * p[i];
      residual[i] -= step * product[i];
      z[i] = inverse[i] * residual[i];
    }
    const double next = dot(residual, z);
    for (std::size_t i = 0; i <= n; ++i) p[i] = z[i] + next / rz * p[i];
    rz = next;
  }
}

/// Where the augmented Lagrangian, convex and piecewise quadratic, has lost nine tenths of its slope.
double Certificate::step_length() const {
  const std::size_t n = y_.size();
  const auto change = std::span(change_).first(n);
  const double linear = dot(std::span(r_).first(n), change) + dot(y_, change) - total_ * change_[n];
  const double square = dot(change, change);
  const auto slope = [&](double t) {
    double sum = linear + t * square;
    for (std::size_t j = 0; j < masses_.size(); ++j) {
      sum -= std::max(0.0, masses_[j] - tau_ * (levels_[j] + t * changes_[j])) * changes_[j];
    }
    return sum;
  };
  const double first = slope(0);
  double low = 0;
  double high = 1;
  double at_low = first;
  double at_high = slope(1);
  double t = 1;
  for (int i = 0; i < 12 && at_high > 0.1 * std::abs(first); ++i) {
    const double width = high - low;
    t = std::clamp((low * at_high - high * at_low) / (at_high - at_low), low + 0.1 * width,
                   high - 0.1 * width);
    const double here = slope(t);
    if (std::abs(here) < 0.1 * std::abs(first)) break;
    (here > 0 ? high : low) = t;
    (here > 0 ? at_high : at_low) = here;
  }
  return t;
}

/// A few Newton steps towards the highest bound that the known columns give; returns how much of the first
/// was taken.
double Certificate::raise() {
  const double gap = loss_ - lower_;
  tau_ = kappa_ * total_ / gap;
  levels(r_, levels_);
  balance();
  std::vector<double> slope;
  double first = 1;
  for (int step = 0; step < kNewtonSteps; ++step) {
    gradient(slope);
    if (loss_ - restricted_bound() <= kLeft * gap) break;
    newton_direction(slope);
    levels(change_, changes_);
    const double t = step_length();
    if (step == 0) first = t;
    for (std::size_t i = 0; i < r_.size(); ++i) r_[i] += t * change_[i];
    for (std::size_t j = 0; j < levels_.size(); ++j) levels_[j] += t * changes_[j];
  }
  for (std::size_t j = 0; j < masses_.size(); ++j) {
    masses_[j] = std::max(0.0, masses_[j] - tau_ * levels_[j]);
  }
  return first;
}

/// Sets how fast the multipliers move: slower without a higher bound or where Newton steps are cut short.
void Certificate::steer(bool rose, double step) {
  if (!rose && kappa_ > kLeastTau) kappa_ = std::max(kappa_ / 2, kLeastTau);
  if (step < kShort) {
    kappa_ = std::max(0.7 * kappa_, kSmallestTau);
  } else if (step > kWhole && kappa_ < kLeastTau) {
    kappa_ = std::min(1.3 * kappa_, kLeastTau);
  }
}

double Certificate::round() {
  if (!(lower_ < loss_)) return lower_;
  const double before = lower_;
  if (bound_ < lower_ - kLost * (loss_ - lower_)) r_ = best_;
  const double step = raise();
  // Between the best so far and what the known columns want, the bound is mostly higher than at either.
  std::vector<double> middle(r_.size());
  for (std::size_t i = 0; i < middle.size(); ++i) middle[i] = (best_[i] + r_[i]) / 2;
  bound_ = look(r_, true);
  steer(lower_ > before, step);
  look(middle, false);
  return lower_;
}

/// Bounds the least loss at r, and keeps the best r; returns the weight of the heaviest assignment.
double Certificate::bound_at(std::span<const double> r) {
  std::vector<double> potentials = base_;
  for (const Question& q : questions_) {
    const Placement& place = tree_->factors[at(q.factor)];
    for (std::size_t cell = 0; cell < place.layout.small; ++cell) {
      const std::size_t i = q.offset + (q.rows.empty() ? cell : at(q.rows[cell]));
      potentials[place.offset + cell] -= scale_[i] * r[i];
    }
  }
  const double largest = assignments_.maximise(potentials, n_threads_);
  const double bound = dual(r, largest);
  if (bound > lower_) {
    lower_ = bound;
    best_.assign(r.begin(), r.end());
  }
  return largest;
}

/// Takes note of the assignments through cells whose A' r is below that of all known; forgets, if it may,
/// what is far above; returns the bound at r.
double Certificate::look(std::span<const double> r, bool forgets) {
  const double largest = bound_at(r);
  levels(r, levels_);
  const double nearest = least_level();
  const double level = r.back() + nearest;
  if (forgets) {
    for (double& above : levels_) above -= nearest;
    prune(kKept * std::max(0.0, largest + level));
  }
  add(heaviest(-level));
  return dual(r, largest);
}

}  // namespace pypgm
