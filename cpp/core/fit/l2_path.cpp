// Runs the loops over cells or answers; what a term answers to a table is computed once.
#include "core/fit/l2_path.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

PathTable path_table(const L2Term& t, const double* x, const double* z) {
  return {x,
          z,
          t.values.data(),
          t.weights.data(),
          t.held_out.empty() ? nullptr : t.held_out.data(),
          t.beyond,
          t.weights.size() == 1,
          t.values.size()};
}

}  // namespace

void L2Path::start(const L2Loss& loss, int table, std::span<const double> cells) {
  const std::vector<L2Term>& terms = loss.terms(table);
  std::vector<Answers>& answers = answers_[at(table)];
  answers.resize(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (terms[i].map == nullptr) continue;
    for (auto* own : {&answers[i].x, &answers[i].z, &answers[i].next}) own->resize(terms[i].values.size());
    terms[i].map->apply(cells, answers[i].next);
    answers[i].x = answers[i].next;
  }
}

void L2Path::descend(const L2Loss& loss, int table, double s, double a, std::span<const double> x,
                     std::span<const double> z, std::span<double> theta, double* window, double* mean) {
  const std::vector<L2Term>& terms = loss.terms(table);
  // The term of single cells, the first if there is one, comes last, when theta is whole.
  for (std::size_t i = terms.size(); i-- > 0;) {
    const L2Term& t = terms[i];
    if (t.map == nullptr) {
      return path_kernels().descend(path_table(t, x.data(), z.data()), loss.total(), a, s, theta.data(),
                                    window, mean);
    }
    Answers& own = answers_[at(table)][i];
    own.z.swap(own.next);
    std::fill(own.next.begin(), own.next.end(), 0.0);
    path_kernels().descend(path_table(t, own.x.data(), own.z.data()), loss.total(), a, s, own.next.data(),
                           nullptr, nullptr);
    t.map->add_transpose(own.next, theta);
  }
  const double length = s * loss.total();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (window != nullptr) window[i] += length * (x[i] + a * (z[i] - x[i]));
    if (mean != nullptr && theta[i] > -kInfinity) mean[i] += a * (theta[i] - mean[i]);
  }
}

void L2Path::follow(const L2Loss& loss, int table, double a, std::span<const double> next,
                    std::span<const double> z, std::span<double> x, PathSums& sums) {
  bool moved = false;
  const std::vector<L2Term>& terms = loss.terms(table);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const L2Term& t = terms[i];
    sums += {t.constant, t.held_out_constant};
    if (t.map == nullptr) {
      const PathTable cells = path_table(t, x.data(), z.data());
      path_kernels().follow(cells, next.data(), loss.total(), a, x.data(), sums);
      moved = true;
      continue;
    }
    Answers& own = answers_[at(table)][i];
    t.map->apply(next, own.next);
    const PathTable cells = path_table(t, own.x.data(), own.z.data());
    path_kernels().follow(cells, own.next.data(), loss.total(), a, own.x.data(), sums);
  }
  if (!moved) move_average(x, next, a);
}

void move_average(std::span<double> x, std::span<const double> to, double a) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += a * (to[i] - x[i]);
}

}  // namespace pypgm
