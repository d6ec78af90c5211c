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

double distance(const double* a, const double* b, std::size_t n) {
  Lanes sum = fill(0.0);
  for_cells(n, [&](auto at, auto) { sum = sum + absolute(at(a) - at(b)); });
  return sum_lanes(sum);
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

bool add_log(const double* marginal, double floor, double weight, std::size_t n, double* logarithm,
             double* mean) {
  const Lanes floors = fill(floor);
  const Lanes weights = fill(weight);
  Lanes least = fill(kInfinity);
  for_cells(n, [&](auto at, auto put) {
    const Lanes cells = at(marginal, 1.0);
    least = smaller(least, cells);
    const Lanes logs = log_lanes(larger(floors, cells));
    put(logarithm, logs);
    put(mean, at(mean) + weights * logs);
  });
  return smallest_lane(least) > 0;
}

void update_message(const double* mean, const double* logarithm, const double* belief, double floor,
                    double weight, std::size_t n, double* message, double* marginal) {
  const Lanes floors = fill(floor);
  const Lanes weights = fill(weight);
  Lanes sum = fill(0.0);
  Lanes cells = fill(0.0);
  for_cells(n, [&](auto at, auto put) {
    const Lanes means = at(mean, -kInfinity);
    const Lanes moved = at(message) + weights * zero_below(means, kNone, means - at(logarithm));
    put(message, moved);
    sum = sum + zero_below(means, kNone, moved);
    cells = cells + zero_below(means, kNone, fill(1.0));
    put(marginal, zero_below(means, kNone, at(belief) / larger(floors, at(marginal))));
  });
  const double count = sum_lanes(cells);
  const Lanes shift = fill(count > 0 ? sum_lanes(sum) / count : 0.0);
  for_cells(n, [&](auto at, auto put) {
    put(message, at(message) - zero_below(at(mean, -kInfinity), kNone, shift));
  });
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

PYPGM_KERNEL_SET(MessageKernels, message_kernels) = {distance, exp_sum, add_log, update_message, ratios};

}  // namespace pypgm
