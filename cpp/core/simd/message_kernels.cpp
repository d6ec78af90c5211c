// Loops of belief propagation, compiled once for each instruction set (PYPGM_ISA is its name; see
// kernels.cpp).
#include "core/simd/message_kernels.hpp"

#include "core/simd/exp_log.hpp"
#include "core/simd/kernel_set.hpp"

namespace pypgm {

namespace {

constexpr double kLeast = std::numeric_limits<double>::denorm_min();
constexpr double kNone = std::numeric_limits<double>::lowest();  // a mean below this is -inf

inline Lanes smaller(Lanes a, Lanes b) { return fill(0.0) - larger(fill(0.0) - a, fill(0.0) - b); }

double distance(const double* rows, std::size_t n_rows, const double* b, std::size_t n) {
  double apart = 0;
  for (std::size_t r = 0; r < n_rows; ++r, rows += n) {
    Lanes sum = fill(0.0);
    for_cells(n, [&](auto at, auto) { sum = sum + absolute(at(rows) - at(b)); });
    apart += sum_lanes(sum);
  }
  return apart;
}

double exp_sum(const double* in, std::size_t n, double shift, double* out) {
  const Lanes shifts = fill(shift);
  Lanes sum = fill(0.0);
  for_cells(n, [&](auto at, auto put) {
    const Lanes weights = exp_lanes(at(in, -kInfinity) - shifts);
    put(out, weights);
    sum = sum + weights;
  });
  return sum_lanes(sum);
}

bool add_logs(const double* rows, double floor, const double* weights, std::size_t n_rows, std::size_t n,
              double* logarithms, double* mean) {
  const Lanes floors = fill(floor);
  bool positive = false;
  for (std::size_t r = 0; r < n_rows; ++r, rows += n, logarithms += n) {
    const Lanes weight = fill(weights[r]);
    Lanes least = fill(kInfinity);
    for_cells(n, [&](auto at, auto put) {
      const Lanes cells = at(rows, 1.0);
      least = smaller(least, cells);
      const Lanes logs = log_lanes(larger(floors, cells));
      put(logarithms, logs);
      put(mean, at(mean) + weight * logs);
    });
    positive = smallest_lane(least) > 0 || positive;
  }
  return positive;
}

void update_messages(const double* mean, const double* logarithms, const double* belief, double floor,
                     double part, const double* weights, std::size_t n_rows, std::size_t n, double* messages,
                     double* rows) {
  const Lanes floors = fill(floor);
  for (std::size_t r = 0; r < n_rows; ++r, logarithms += n, messages += n, rows += n) {
    const Lanes weight = fill(part * weights[r]);
    Lanes sum = fill(0.0);
    Lanes cells = fill(0.0);
    for_cells(n, [&](auto at, auto put) {
      const Lanes means = at(mean, -kInfinity);
      const Lanes moved = at(messages) + weight * zero_below(means, kNone, means - at(logarithms));
      put(messages, moved);
      sum = sum + zero_below(means, kNone, moved);
      cells = cells + zero_below(means, kNone, fill(1.0));
      put(rows, zero_below(means, kNone, at(belief) / larger(floors, at(rows))));
    });
    const double count = sum_lanes(cells);
    const Lanes shift = fill(count > 0 ? sum_lanes(sum) / count : 0.0);
    for_cells(n, [&](auto at, auto put) {
      put(messages, at(messages) - zero_below(at(mean, -kInfinity), kNone, shift));
    });
  }
}

double ratios(const double* target, double* present, std::size_t n, double least, double most,
              bool keep_zeros) {
  const Lanes lowest = fill(least);
  const Lanes highest = fill(most);
  Lanes apart = fill(0.0);
  for_cells(n, [&](auto at, auto put) {
    const Lanes goal = at(target);
    const Lanes has = at(present);
    apart = apart + absolute(goal - has);
    const Lanes scaled = keep_zeros ? smaller(goal, has) : has;  // positive where there is something to scale
    const Lanes ratio = smaller(highest, larger(lowest, goal / has));
    const Lanes others = zero_below(fill(0.0) - scaled, 0.0, fill(1.0));
    put(present, zero_below(scaled, kLeast, ratio) + others);
  });
  return sum_lanes(apart);
}

}  // namespace

PYPGM_KERNEL_SET(MessageKernels, message_kernels) = {distance, exp_sum, add_logs, update_messages, ratios};

}  // namespace pypgm
