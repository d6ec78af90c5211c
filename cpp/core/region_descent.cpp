#include "core/region_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kernels.hpp"
#include "core/reduce.hpp"
#include "core/region_kernels.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kFloor = 1e-250;  // of an average whose logarithm is taken
constexpr int kMoreSweeps = 3;

/// The weight-average of two numbers measured of the same, as their joint loss has it; adds to `constant`
/// what that loss is at its least.
double joined(double w1, double y1, double w2, double y2, double* constant) {
  *constant += 0.5 * w1 * w2 / (w1 + w2) * (y1 - y2) * (y1 - y2);
  return (w1 * y1 + w2 * y2) / (w1 + w2);
}

void sum_groups(std::span<const double> table, std::span<const std::int32_t> groups, std::span<double> sums) {
  std::fill(sums.begin(), sums.end(), 0.0);
  for (std::size_t i = 0; i < groups.size(); ++i) sums[at(groups[i])] += table[i];
}

}  // namespace

RegionDescent::RegionDescent(std::shared_ptr<const RegionGraph> graph, std::vector<double> counting_numbers,
                             double total, int n_threads)
    : graph_(std::move(graph)),
      total_(total),
      gbp_(graph_, std::move(counting_numbers), n_threads),
      terms_(graph_->regions.size()),
      theta_(graph_->cells),
      x_(graph_->cells),
      z_(graph_->cells),
      sums_(graph_->blocks.size()) {}

std::span<double> RegionDescent::table(std::vector<double>& buffer, int region) const {
  const Region& r = graph_->regions[at(region)];
  return std::span<double>(buffer).subspan(r.offset, r.cells);
}

bool RegionDescent::keeps_average(int region) const {
  return external_ || !terms_[at(region)].empty() || graph_->regions[at(region)].up.empty();
}

template <class Body>
void RegionDescent::over_blocks(const Body& body) {
  parallel_for(graph_->blocks.size(), threads_for(graph_->cells, gbp_.threads()), body);
}

void RegionDescent::enter(int region, std::span<const double> own) {
  const auto theta = table(theta_, region);
  kernels().add_scaled(theta.data(), own.data(), gbp_.counting_numbers()[at(region)], theta.size(),
                       theta.data());
}

void RegionDescent::enter(const Scope& scope, std::span<const double> own,
                          std::span<const std::uint8_t> chosen) {
  std::vector<double> scaled(own.size());
  for (int r = 0; at(r) < graph_->regions.size(); ++r) {
    if (chosen[at(r)] == 0) continue;
    const Scope& attributes = graph_->regions[at(r)].attributes;
    std::vector<std::size_t> extents;
    std::vector<std::uint8_t> kept;
    for (const std::int32_t a : attributes) {
      extents.push_back(graph_->sizes[at(a)]);
      kept.push_back(std::binary_search(scope.begin(), scope.end(), a) ? 1 : 0);
    }
    const double kappa = gbp_.counting_numbers()[at(r)];
    std::transform(own.begin(), own.end(), scaled.begin(), [&](double t) { return kappa * t; });
    expand(Expand::add, table(theta_, r), make_layout(extents, kept), scaled, 1);
  }
}

void RegionDescent::measure(RegionMeasurement m) {
  auto& terms = terms_[at(m.region)];
  const bool grouped = !m.groups.empty();
  const auto whole = std::find_if(terms.begin(), terms.end(), [](const Term& t) { return t.groups.empty(); });
  if (grouped || whole == terms.end()) {
    Term term;
    if (grouped) {
      for (auto* sums : {&term.x, &term.z, &term.b}) sums->resize(m.values.size());
    }
    term.groups = std::move(m.groups);
    term.values = std::move(m.values);
    term.weights = std::move(m.weights);
    term.holdout = std::move(m.holdout);
    terms.push_back(std::move(term));
    return;
  }
  Term& term = *whole;
  const auto weight = [](const std::vector<double>& w, std::size_t i) { return w.size() == 1 ? w[0] : w[i]; };
  for (std::size_t i = 0; i < term.values.size(); ++i) {
    const double mine = weight(term.weights, i);
    const double theirs = weight(m.weights, i);
    term.values[i] = joined(mine, term.values[i], theirs, m.values[i], &term.constant);
    if (!term.holdout.empty()) {
      term.holdout[i] = joined(mine, term.holdout[i], theirs, m.holdout[i], &term.held_constant);
    }
  }
  if (term.weights.size() < m.weights.size()) term.weights.resize(m.weights.size(), term.weights[0]);
  for (std::size_t i = 0; i < term.weights.size(); ++i) term.weights[i] += weight(m.weights, i);
}

int RegionDescent::begin(double tolerance, int max_sweeps) {
  if (!spread_zeros(*graph_, theta_)) return -1;
  gbp_.refresh(theta_);
  int sweeps = 0;
  while (sweeps < max_sweeps) {
    ++sweeps;
    if (gbp_.sweep() <= tolerance) break;
  }
  sum_terms();
  restart(true);
  return sweeps;
}

void RegionDescent::sum_terms() {
  for (int r = 0; at(r) < terms_.size(); ++r) {
    for (Term& t : terms_[at(r)]) {
      if (!t.groups.empty()) sum_groups(gbp_.belief(r), t.groups, t.b);
    }
  }
}

/// z <- b, and theta -= s * gradient at x + a (z - x).
void RegionDescent::descend(int region, double s, double a) {
  const RegionKernels& k = region_kernels();
  const auto theta = table(theta_, region);
  const auto z = table(z_, region);
  const auto b = gbp_.belief(region);
  std::copy(b.begin(), b.end(), z.begin());
  for (Term& t : terms_[at(region)]) {
    const bool one = t.weights.size() == 1;
    if (t.groups.empty()) {
      k.descend(table(x_, region).data(), z.data(), t.values.data(), t.weights.data(), one, total_, a, s,
                theta.size(), theta.data());
      continue;
    }
    t.z = t.b;
    std::fill(t.b.begin(), t.b.end(), 0.0);
    k.descend(t.x.data(), t.z.data(), t.values.data(), t.weights.data(), one, total_, a, s, t.b.size(),
              t.b.data());
    for (std::size_t i = 0; i < theta.size(); ++i) theta[i] += t.b[at(t.groups[i])];
  }
}

void RegionDescent::follow(int region, double a, Sums& sums) {
  const RegionKernels& k = region_kernels();
  const auto b = gbp_.belief(region);
  const auto x = table(x_, region);
  bool averaged = false;
  for (Term& t : terms_[at(region)]) {
    const bool whole = t.groups.empty();
    if (!whole) sum_groups(b, t.groups, t.b);
    k.follow(whole ? b.data() : t.b.data(), whole ? table(z_, region).data() : t.z.data(), t.values.data(),
             t.holdout.empty() ? nullptr : t.holdout.data(), t.weights.data(), t.weights.size() == 1, total_,
             a, t.values.size(), whole ? x.data() : t.x.data(), sums.data());
    sums[0] += t.constant;
    sums[1] += t.held_constant;
    sums[4] += t.constant;
    averaged = averaged || whole;
  }
  if (averaged) return;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += a * (b[i] - x[i]);
}

template <class Before, class After>
RegionProgress RegionDescent::step(double s, double stretch, double loose, const Before& before,
                                   const After& after) {
  gbp_.extrapolate(stretch);
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    for (int r = begin; r < end; ++r) {
      before(r);
      gbp_.refresh(r, theta_);
    }
  });
  RegionProgress progress{};
  do {
    progress.feasibility = gbp_.sweep();
    ++progress.sweeps;
  } while (progress.feasibility > loose && progress.sweeps <= kMoreSweeps);
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    sums_[block].fill(0.0);
    for (int r = begin; r < end; ++r) {
      if (keeps_average(r)) after(r, sums_[block]);
    }
  });
  double bound = 0;
  for (const Sums& sums : sums_) {
    progress.loss += sums[0];
    progress.validation += sums[1];
    progress.slope += sums[2];
    progress.curvature += sums[3];
    bound += sums[4];
  }
  if (!external_) record(s, bound);
  return progress;
}

RegionProgress RegionDescent::advance(double s, double a, double stretch, double loose) {
  return step(
      s, stretch, loose,
      [&](int r) {
        if (!terms_[at(r)].empty()) descend(r, s, a);
      },
      [&](int r, Sums& sums) { follow(r, a, sums); });
}

RegionProgress RegionDescent::advance_along(std::span<const double> gradient, double s, double a,
                                            double stretch, double loose) {
  external_ = true;
  const Kernels& k = kernels();
  const auto part = [&](int r) {
    const Region& region = graph_->regions[at(r)];
    return gradient.subspan(region.offset, region.cells);
  };
  return step(
      s, stretch, loose,
      [&](int r) {
        const auto b = gbp_.belief(r);
        const auto theta = table(theta_, r);
        std::copy(b.begin(), b.end(), table(z_, r).begin());
        k.add_scaled(theta.data(), part(r).data(), -s, theta.size(), theta.data());
      },
      [&](int r, Sums& sums) {
        const auto b = gbp_.belief(r);
        const auto x = table(x_, r);
        sums[2] +=
            k.dot(part(r).data(), b.data(), b.size()) - k.dot(part(r).data(), table(z_, r).data(), b.size());
        for (std::size_t i = 0; i < x.size(); ++i) x[i] += a * (b[i] - x[i]);
      });
}

void RegionDescent::mean(double a, std::span<double> out) {
  const auto b = gbp_.beliefs();
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = total_ * (x_[i] + a * (b[i] - x_[i]));
}

double RegionDescent::loss_of(int region, std::span<const double> beliefs) {
  const Region& r = graph_->regions[at(region)];
  const auto b = beliefs.subspan(r.offset, r.cells);
  double loss = 0;
  for (Term& t : terms_[at(region)]) {
    if (!t.groups.empty()) sum_groups(b, t.groups, t.z);
    const double* sums = t.groups.empty() ? b.data() : t.z.data();
    loss += t.constant;
    for (std::size_t i = 0; i < t.values.size(); ++i) {
      const double miss = total_ * sums[i] - t.values[i];
      loss += 0.5 * t.weights[t.weights.size() == 1 ? 0 : i] * miss * miss;
    }
  }
  return loss;
}

double RegionDescent::loss_of(std::span<const double> beliefs) {
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    sums_[block].fill(0.0);
    for (int r = begin; r < end; ++r) sums_[block][0] += loss_of(r, beliefs);
  });
  double loss = 0;
  for (const Sums& sums : sums_) loss += sums[0];
  return loss;
}

double RegionDescent::loss() { return loss_of(x_); }

double RegionDescent::loss_of_beliefs() { return loss_of(gbp_.beliefs()); }

bool RegionDescent::restart(bool always) {
  if (!always && loss_of_beliefs() >= loss()) return false;
  const auto b = gbp_.beliefs();
  std::copy(b.begin(), b.end(), x_.begin());
  for (auto& terms : terms_) {
    for (Term& t : terms) t.x = t.b;
  }
  return true;
}

/// theta + messages from below - messages to above, of one region.
void RegionDescent::exponent(int region, std::span<double> out) {
  const Kernels& k = kernels();
  const Region& r = graph_->regions[at(region)];
  const auto theta = table(theta_, region);
  const std::span<const double> messages = gbp_.messages();
  std::copy(theta.begin(), theta.end(), out.begin());
  for (const int e : r.up) {
    k.add_scaled(out.data(), messages.data() + graph_->edges[at(e)].offset, -1.0, r.cells, out.data());
  }
  for (const int e : r.down) {
    const RegionEdge& edge = graph_->edges[at(e)];
    k.add(out.data(), out.data(), messages.data() + edge.offset, edge.layout.axes.data(),
          edge.layout.axes.size());
  }
}

void RegionDescent::open_window() {
  window_.resize(graph_->cells);
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    for (int r = begin; r < end; ++r) exponent(r, table(window_, r));
  });
  window_steps_ = 0;
  window_bound_ = 0;
}

void RegionDescent::record(double s, double bound) {
  window_steps_ += s;
  window_bound_ += s * bound;
}

double RegionDescent::lower_bound() {
  if (window_.empty() || window_steps_ == 0) return -kInfinity;
  // The room of z, which only a step in progress needs.
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    sums_[block].fill(0.0);
    for (int r = begin; r < end; ++r) {
      const auto now = table(z_, r);
      const auto then = table(window_, r);
      exponent(r, now);
      double top = -kInfinity;
      for (std::size_t i = 0; i < now.size(); ++i) {
        // A structural zero, -inf - -inf, is larger than nothing.
        const double moved = now[i] - then[i];
        if (moved > top) top = moved;
      }
      sums_[block][0] += top;
    }
  });
  double moved = 0;
  for (const Sums& sums : sums_) moved += sums[0];
  return (window_bound_ - total_ * moved) / window_steps_;
}

std::pair<double, int> RegionDescent::settle(double tolerance, int max_sweeps) {
  const auto kappa = gbp_.counting_numbers();
  for (int r = 0; at(r) < graph_->regions.size(); ++r) {
    const Region& region = graph_->regions[at(r)];
    const auto x = table(x_, r);
    if (!keeps_average(r)) {
      const RegionEdge& edge = graph_->edges[at(region.up.front())];
      reduce_sum(table(x_, edge.parent), edge.layout, x, gbp_.threads());
    }
  }
  over_blocks([&](std::size_t block) {
    const auto [begin, end] = graph_->blocks[block];
    for (int r = begin; r < end; ++r) {
      const auto theta = table(theta_, r);
      const auto logarithm = table(z_, r);
      region_kernels().log_floored(table(x_, r).data(), theta.size(), kFloor, logarithm.data());
      for (std::size_t i = 0; i < theta.size(); ++i) {
        if (theta[i] != -kInfinity) theta[i] = kappa[at(r)] * logarithm[i];
      }
    }
  });
  gbp_.reset();
  gbp_.refresh(theta_);
  std::pair<double, int> reached{kInfinity, 0};
  while (reached.second < max_sweeps && reached.first > tolerance) {
    reached.first = gbp_.sweep();
    ++reached.second;
  }
  sum_terms();
  return reached;
}

}  // namespace pypgm
