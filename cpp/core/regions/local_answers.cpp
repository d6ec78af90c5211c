// Proportional fitting while the marginals can all be met, then entropic mirror descent on their squared
// differences.
#include "core/regions/local_answers.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/fit/proportional_fitting.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

constexpr double kMet = 1e-13;       // mean L1 distance at which targets count as met: rounding
constexpr double kMetLarge = 1e-8;   // the same once a table has taken kCheapVisits
constexpr double kNearlyMet = 1e-6;  // where no more is to be had: regions agree no better, no record tells
constexpr int kSlowSweeps = 8;       // over so many sweeps ...
constexpr double kProgress = 0.9;    // ... the distance must fall to this part, or the targets are at odds
constexpr double kSmallGap = 1e-5;   // of the objective, where descent ends
constexpr double kGrowth = 1.5;
constexpr double kCaution = 0.9;
constexpr double kLongest = 1e5;  // of a step, over the safe one
// Cells that sweeps visit at most, and sweeps that are taken all the same. Where regions contradict each
// other the last steps of hundreds change an answer by less than 1e-3 in L1: the mean error of 69 triples of
// columns of up to 501 values is the same to 1e-4 of itself, in a fifth of the time (bench_performance.py).
constexpr std::size_t kMostVisits = 4'000'000;
constexpr std::size_t kFewestSweeps = 25;
constexpr std::size_t kCheapVisits = 2'000'000;

class Solver {
 public:
  Solver(const LocalProblem& problem, LocalAnswer& answer, int n_threads, Watch& watch)
      : problem_(problem), answer_(answer), n_threads_(n_threads), watch_(watch), table_(answer.table) {
    restart();
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
      const double found = sweep();
      if (watch_.is_over()) break;  // an unfinished sweep has not seen all targets
      distance = found;
      count();
      const bool is_cheap = table_.size() * seen.size() < kCheapVisits;
      if (distance <= (is_cheap ? kMet : kMetLarge)) return true;
      seen.push_back(distance);
      const std::size_t n = seen.size();
      if (n > kSlowSweeps && distance > kProgress * seen[n - 1 - kSlowSweeps]) break;
    }
    return distance <= kNearlyMet;
  }

  void descend(int iterations) {
    if (problem_.targets.empty()) return;
    if (!(sum(table_) > 0.5)) restart();
    for (std::vector<double>* table : {&log_, &gradient_, &trial_}) {
      if (!watch_.is_over()) table->resize(table_.size());
    }
    if (watch_.is_over()) return;
    for_pieces([&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) log_[i] = std::log(table_[i]);
    });
    const double safe = 2.0 / static_cast<double>(problem_.targets.size());
    double step = safe;
    double loss = residuals(table_, now_);
    while (true) {
      steepest();
      if (watch_.is_over()) return;
      answer_.gap = gap();
      if (answer_.gap <= kSmallGap * loss || answer_.iterations >= iterations) return;
      count();
      double slope = 0;
      double curvature = 0;
      double moved = try_step(step, slope, curvature);
      while (moved > loss && step > safe && !watch_.is_over()) {
        step = std::max(safe, step / 4);
        moved = try_step(step, slope, curvature);
      }
      if (watch_.is_over() || moved >= loss) return;  // as low as rounding lets it be
      accept(step);
      loss = moved;
      const double permitted = curvature > 0 ? -kCaution * step * slope / curvature : step;
      step = std::clamp(permitted, safe, std::min(kGrowth * step, kLongest * safe));
    }
  }

  /// Scales to a sum of 1 and measures the distance from the targets, which bounds the gap too.
  void finish() {
    finishing_ = true;
    scale(table_, 1 / sum(table_));
    answer_.gap = std::min(answer_.gap, residuals(table_, now_));
    double distance = 0;
    for (const double r : now_) distance += std::abs(r);
    answer_.violation = distance / static_cast<double>(std::max<std::size_t>(1, problem_.targets.size()));
  }

 private:
  void count() {
    ++answer_.iterations;
    watch_.count();
  }

  /// Calls body(target, its part of the buffer), until time is over.
  template <class Body>
  void for_targets(std::vector<double>& buffer, const Body& body) {
    std::size_t offset = 0;
    for (const LocalTarget& target : problem_.targets) {
      if (finishing_ ? watch_.is_abandoned() : watch_.is_over()) return;
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

  /// The table is the start once more: fitting may leave no weight where zeros of the targets rule all out.
  void restart() {
    table_.assign(problem_.start.begin(), problem_.start.end());
    scale(table_, 1 / sum(table_));
  }

  /// Calls body(piece, begin, end) for pieces of the table, the same ones for any number of threads; an
  /// abandoned answer is left unfinished.
  template <class Body>
  void for_pieces(const Body& body) {
    const std::size_t n = problem_.start.size();
    const std::size_t pieces = (n + kPiece - 1) / kPiece;
    by_piece_.resize(pieces);
    parallel_for(pieces, threads_for(n, n_threads_), [&](std::size_t p) {
      if (!watch_.abandoned) body(p, p * kPiece, std::min(n, (p + 1) * kPiece));
    });
  }

  double sum_of_pieces() const { return std::accumulate(by_piece_.begin(), by_piece_.end(), 0.0); }

  double sum(const std::vector<double>& table) {
    for_pieces([&](std::size_t p, std::size_t begin, std::size_t end) {
      by_piece_[p] = kernels().sum(table.data() + begin, end - begin);
    });
    return sum_of_pieces();
  }

  void scale(std::vector<double>& table, double factor) {
    for_pieces([&](std::size_t, std::size_t begin, std::size_t end) {
      kernels().scale(table.data() + begin, end - begin, factor);
    });
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

  double gap() {
    for_pieces([&](std::size_t p, std::size_t begin, std::size_t end) {
      double least = kInfinity;
      for (std::size_t i = begin; i < end; ++i) {
        least = std::min(least, log_[i] > -kInfinity ? gradient_[i] : kInfinity);
      }
      by_piece_[p] = least;
    });
    const double least = *std::min_element(by_piece_.begin(), by_piece_.end());
    for_pieces([&](std::size_t p, std::size_t begin, std::size_t end) {
      by_piece_[p] = kernels().dot(gradient_.data() + begin, table_.data() + begin, end - begin);
    });
    return sum_of_pieces() - least;
  }

  double try_step(double step, double& slope, double& curvature) {
    const Kernels& k = kernels();
    for_pieces([&](std::size_t p, std::size_t begin, std::size_t end) {
      k.add_scaled(log_.data() + begin, gradient_.data() + begin, -step, end - begin, trial_.data() + begin);
      by_piece_[p] = k.max(trial_.data() + begin, end - begin);
    });
    peak_ = *std::max_element(by_piece_.begin(), by_piece_.end());
    for_pieces([&](std::size_t p, std::size_t begin, std::size_t end) {
      k.exp_shifted(trial_.data() + begin, end - begin, peak_, trial_.data() + begin);
      by_piece_[p] = k.sum(trial_.data() + begin, end - begin);
    });
    weight_ = sum_of_pieces();
    scale(trial_, 1 / weight_);
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
    for_pieces([&](std::size_t, std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) log_[i] = log_[i] - step * gradient_[i] - shift;
    });
    std::swap(table_, trial_);
    std::swap(now_, next_);
  }

  const LocalProblem& problem_;
  LocalAnswer& answer_;
  int n_threads_;
  Watch& watch_;
  bool finishing_ = false;
  std::vector<double>& table_;
  std::vector<double> now_, next_;  ///< by target: residuals
  std::vector<double> log_, gradient_, trial_;
  std::vector<double> by_piece_;  ///< sums or extremes
  double peak_ = 0;
  double weight_ = 1;
};

}  // namespace

LocalAnswer solve_locally(const LocalProblem& problem, int iterations, int n_threads, Watch& watch) {
  LocalAnswer answer;
  const std::size_t cells = std::max<std::size_t>(1, problem.start.size());
  const int affordable = static_cast<int>(std::max(kFewestSweeps, kMostVisits / cells));
  const int sweeps = std::min(iterations, affordable);
  Solver solver(problem, answer, n_threads, watch);
  if (!solver.fit(sweeps) && !watch.is_over()) solver.descend(2 * sweeps);
  solver.finish();
  return answer;
}

std::vector<LocalAnswer> solve_locally(std::span<const LocalProblem> problems, int iterations, int n_threads,
                                       Watch& watch) {
  std::vector<LocalAnswer> answers(problems.size());
  std::size_t work = 0;
  for (const LocalProblem& p : problems) work += 20 * p.start.size() * (1 + p.targets.size());
  const int inside = problems.size() == 1 ? n_threads : 1;
  parallel_for(problems.size(), threads_for(work, n_threads),
               [&](std::size_t i) { answers[i] = solve_locally(problems[i], iterations, inside, watch); });
  return answers;
}

}  // namespace pypgm
