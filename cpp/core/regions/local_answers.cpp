#include "core/regions/local_answers.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

constexpr double kMet = 1e-13;  // mean L1 distance at which targets count as met: rounding
constexpr double kNearlyMet =
    1e-8;  // the same, where no more is to be had: regions agree no better with each other
constexpr int kSlowSweeps = 8;      // over so many sweeps ...
constexpr double kProgress = 0.9;   // ... the distance must fall to this part, or the targets are at odds
constexpr double kSmallGap = 1e-5;  // of the objective, where descent ends
constexpr double kLargestRatio = 1e100;
constexpr double kGrowth = 1.5;
constexpr double kCaution = 0.9;
constexpr double kLongest = 1e5;  // of a step, over the safe one
// Cells that sweeps visit at most, and sweeps that are taken all the same. Where regions contradict each
// other the last steps of hundreds change an answer by less than 1e-3 in L1, and take minutes in 8 million
// cells.
constexpr std::size_t kMostVisits = 200'000'000;
constexpr std::size_t kFewestSweeps = 25;

class Solver {
 public:
  Solver(const LocalProblem& problem, LocalAnswer& answer, int n_threads)
      : problem_(problem), answer_(answer), n_threads_(n_threads), table_(answer.table) {
    table_.assign(problem.start.begin(), problem.start.end());
    const Kernels& k = kernels();
    k.scale(table_.data(), table_.size(), 1 / k.sum(table_.data(), table_.size()));
    std::size_t cells = 0;
    for (const LocalTarget& t : problem.targets) cells += t.values.size();
    now_.resize(cells);
    next_.resize(cells);
  }

  /// Proportional fitting; tells whether the targets are met, or all but met.
  bool fit(int iterations) {
    std::vector<double> seen;
    double distance = kInfinity;
    while (answer_.iterations < iterations) {
      distance = sweep();
      ++answer_.iterations;
      if (distance <= kMet) return true;
      seen.push_back(distance);
      const std::size_t n = seen.size();
      if (n > kSlowSweeps && distance > kProgress * seen[n - 1 - kSlowSweeps]) break;
    }
    return distance <= kNearlyMet;
  }

  void descend(int iterations) {
    if (problem_.targets.empty()) return;
    const Kernels& k = kernels();
    if (!(k.sum(table_.data(), table_.size()) > 0.5)) restart();
    const std::size_t n = table_.size();
    log_.resize(n);
    gradient_.resize(n);
    trial_.resize(n);
    for (std::size_t i = 0; i < n; ++i) log_[i] = std::log(table_[i]);
    const double safe = 2.0 / static_cast<double>(problem_.targets.size());
    double step = safe;
    double loss = residuals(table_, now_);
    while (true) {
      steepest();
      answer_.gap = gap();
      if (answer_.gap <= kSmallGap * loss || answer_.iterations >= iterations) return;
      ++answer_.iterations;
      double slope = 0;
      double curvature = 0;
      double moved = try_step(step, slope, curvature);
      while (moved > loss && step > safe) {
        step = std::max(safe, step / 4);
        moved = try_step(step, slope, curvature);
      }
      if (moved >= loss) return;  // as low as rounding lets it be
      accept(step);
      loss = moved;
      const double permitted = curvature > 0 ? -kCaution * step * slope / curvature : step;
      step = std::clamp(permitted, safe, std::min(kGrowth * step, kLongest * safe));
    }
  }

  /// Scales to a sum of 1 and measures the distance from the targets, which bounds the gap too.
  void finish() {
    const Kernels& k = kernels();
    k.scale(table_.data(), table_.size(), 1 / k.sum(table_.data(), table_.size()));
    answer_.gap = std::min(answer_.gap, residuals(table_, now_));
    double distance = 0;
    for (const double r : now_) distance += std::abs(r);
    answer_.violation = distance / static_cast<double>(std::max<std::size_t>(1, problem_.targets.size()));
  }

 private:
  /// Calls body(target, its part of the buffer).
  template <class Body>
  void for_targets(std::vector<double>& buffer, const Body& body) {
    std::size_t offset = 0;
    for (const LocalTarget& target : problem_.targets) {
      body(target, std::span(buffer).subspan(offset, target.values.size()));
      offset += target.values.size();
    }
  }

  double sweep() {
    double distance = 0;
    for_targets(now_, [&](const LocalTarget& target, std::span<double> part) {
      reduce_sum(table_, target.layout, part, n_threads_);
      for (std::size_t i = 0; i < part.size(); ++i) {
        distance += std::abs(part[i] - target.values[i]);
        part[i] = part[i] > 0 ? std::min(target.values[i] / part[i], kLargestRatio) : 1.0;
      }
      expand(Expand::multiply, table_, target.layout, part, n_threads_);
    });
    return distance / static_cast<double>(std::max<std::size_t>(1, problem_.targets.size()));
  }

  /// Fitting has left no weight: zeros of the targets rule everything out. Begins again from the start.
  void restart() {
    std::copy(problem_.start.begin(), problem_.start.end(), table_.begin());
    const Kernels& k = kernels();
    k.scale(table_.data(), table_.size(), 1 / k.sum(table_.data(), table_.size()));
  }

  /// Marginals less targets; returns half their squared norm.
  double residuals(const std::vector<double>& table, std::vector<double>& out) {
    for_targets(out, [&](const LocalTarget& target, std::span<double> part) {
      reduce_sum(table, target.layout, part, n_threads_);
      for (std::size_t i = 0; i < part.size(); ++i) part[i] -= target.values[i];
    });
    return 0.5 * kernels().dot(out.data(), out.data(), out.size());
  }

  void steepest() {
    std::fill(gradient_.begin(), gradient_.end(), 0.0);
    for_targets(now_, [&](const LocalTarget& target, std::span<double> part) {
      expand(Expand::add, gradient_, target.layout, part, n_threads_);
    });
  }

  double gap() const {
    double least = kInfinity;
    for (std::size_t i = 0; i < table_.size(); ++i) {
      if (log_[i] > -kInfinity) least = std::min(least, gradient_[i]);
    }
    return kernels().dot(gradient_.data(), table_.data(), table_.size()) - least;
  }

  double try_step(double step, double& slope, double& curvature) {
    const Kernels& k = kernels();
    const std::size_t n = table_.size();
    k.add_scaled(log_.data(), gradient_.data(), -step, n, trial_.data());
    peak_ = k.max(trial_.data(), n);
    k.exp_shifted(trial_.data(), n, peak_, trial_.data());
    weight_ = k.sum(trial_.data(), n);
    k.scale(trial_.data(), n, 1 / weight_);
    const double loss = residuals(trial_, next_);
    slope = curvature = 0;
    for (std::size_t i = 0; i < now_.size(); ++i) {
      const double change = next_[i] - now_[i];
      slope += now_[i] * change;
      curvature += change * change;
    }
    return loss;
  }

  void accept(double step) {
    const double shift = peak_ + std::log(weight_);
    for (std::size_t i = 0; i < log_.size(); ++i) log_[i] = log_[i] - step * gradient_[i] - shift;
    std::swap(table_, trial_);
    std::swap(now_, next_);
  }

  const LocalProblem& problem_;
  LocalAnswer& answer_;
  int n_threads_;
  std::vector<double>& table_;
  std::vector<double> now_, next_;  ///< by target: residuals
  std::vector<double> log_, gradient_, trial_;
  double peak_ = 0;
  double weight_ = 1;
};

}  // namespace

LocalAnswer solve_locally(const LocalProblem& problem, int iterations, int n_threads) {
  LocalAnswer answer;
  const std::size_t cells = std::max<std::size_t>(1, problem.start.size());
  const int affordable = static_cast<int>(std::max(kFewestSweeps, kMostVisits / cells));
  const int sweeps = std::min(iterations, affordable);
  Solver solver(problem, answer, n_threads);
  if (!solver.fit(sweeps)) solver.descend(2 * sweeps);
  solver.finish();
  return answer;
}

std::vector<LocalAnswer> solve_locally(std::span<const LocalProblem> problems, int iterations,
                                       int n_threads) {
  std::vector<LocalAnswer> answers(problems.size());
  std::size_t work = 0;
  for (const LocalProblem& p : problems) work += 20 * p.start.size() * (1 + p.targets.size());
  const int inside = problems.size() == 1 ? n_threads : 1;
  parallel_for(problems.size(), threads_for(work, n_threads),
               [&](std::size_t i) { answers[i] = solve_locally(problems[i], iterations, inside); });
  return answers;
}

}  // namespace pypgm
