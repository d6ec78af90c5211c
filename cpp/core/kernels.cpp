// Compiled once for each instruction set, with PYPGM_ISA its name. Everything here has internal linkage but
// the one table at the end, and no standard template is used: a symbol compiled for a newer machine and
// shared with the rest of the library could otherwise be the one the linker keeps.
#include "core/kernels.hpp"

#include <bit>
#include <cstdint>
#include <limits>

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLanes = 8;

/// exp(x) without branches: x = n ln 2 + r, a polynomial for exp(r), and 2^n in two factors, so that results
/// below the normal range round once and overflow to infinity. The clamps let NaN through.
inline double exp_one(double x) {
  constexpr double kLog2e = 1.4426950408889634074;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  double y = x < -746.0 ? -746.0 : x;
  y = y > 710.0 ? 710.0 : y;
  const double shifted = y * kLog2e + kRound;
  const double n = shifted - kRound;
  const double r = (y - n * kLn2High) - n * kLn2Low;
  // The polynomial of degree 11 with the least relative error, 3.1e-18, for |r| <= ln(2)/2.
  double p = 2.499431505732594e-08;
  p = p * r + 2.7632308621611045e-07;
  p = p * r + 2.755762257459199e-06;
  p = p * r + 2.4801486480130036e-05;
  p = p * r + 0.00019841269432538557;
  p = p * r + 0.0013888888951262375;
  p = p * r + 0.008333333333559387;
  p = p * r + 0.04166666666649262;
  p = p * r + 0.1666666666666617;
  p = p * r + 0.5000000000000018;
  p = p * r + 1.0;
  p = p * r + 1.0;
  // Unsigned arithmetic: wrap-around is meant; the offset keeps the halved exponent non-negative.
  const std::uint64_t k = std::bit_cast<std::uint64_t>(shifted) - std::bit_cast<std::uint64_t>(kRound);
  const std::uint64_t half = ((k + 4096) >> 1) - 2048;
  const double first = std::bit_cast<double>((half + 1023) << 52);
  const double second = std::bit_cast<double>((k - half + 1023) << 52);
  return p * first * second;
}

/// log(x) for normal x > 0: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1))
/// by its series, of which eleven terms leave less than 1e-17.
inline double log_one(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - kRootHalf;
  const double n = static_cast<double>(static_cast<std::int64_t>(bits) >> 52);
  const double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) + kRootHalf);
  const double t = (m - 1.0) / (m + 1.0);
  const double z = t * t;
  double p = 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return n * kLn2High + (2.0 * t + (t * z * p + n * kLn2Low));
}

void log_floored(const double* in, std::size_t n, double floor, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = log_one(in[i] < floor ? floor : in[i]);
}

void exp_shifted(const double* in, std::size_t n, double shift, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = exp_one(in[i] - shift);
}

/// Reduces n values with a fixed number of partial results, so that the loop vectorises and the order of the
/// operations is part of the program, not of the machine.
template <class Op, class Load>
inline double reduce_lanes(std::size_t n, double start, Op op, Load load) {
  if (n < 2 * kLanes) {
    double result = start;
    for (std::size_t i = 0; i < n; ++i) result = op(result, load(i));
    return result;
  }
  double lanes[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = load(l);
  std::size_t i = kLanes;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) lanes[l] = op(lanes[l], load(i + l));
  }
  double result = start;
  for (std::size_t l = 0; l < kLanes; ++l) result = op(result, lanes[l]);
  for (; i < n; ++i) result = op(result, load(i));
  return result;
}

constexpr auto kPlus = [](double a, double b) { return a + b; };
constexpr auto kLarger = [](double a, double b) { return b > a ? b : a; };

double max(const double* in, std::size_t n) {
  return reduce_lanes(n, -kInfinity, kLarger, [=](std::size_t i) { return in[i]; });
}

double sum(const double* in, std::size_t n) {
  return reduce_lanes(n, 0.0, kPlus, [=](std::size_t i) { return in[i]; });
}

double dot(const double* a, const double* b, std::size_t n) {
  return reduce_lanes(n, 0.0, kPlus, [=](std::size_t i) { return a[i] * b[i]; });
}

void scale(double* table, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) table[i] *= factor;
}

void add_scaled(const double* a, const double* b, double factor, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + factor * b[i];
}

double residuals(const double* table, const double* value, const double* weight, std::size_t n,
                 double* gradient) {
  return 0.5 * reduce_lanes(n, 0.0, kPlus, [=](std::size_t i) {
           const double difference = table[i] - value[i];
           const double weighted = weight[i] * difference;
           gradient[i] += weighted;
           return weighted * difference;
         });
}

double squares(const double* table, const double* value, const double* weight, std::size_t n) {
  return 0.5 * reduce_lanes(n, 0.0, kPlus, [=](std::size_t i) {
           const double difference = table[i] - value[i];
           return weight[i] * difference * difference;
         });
}

template <bool kOne>
void descend_with(const double* x, const double* z, const double* y, const double* w, double total, double a,
                  double step, std::size_t n, double* theta) {
  for (std::size_t i = 0; i < n; ++i) {
    theta[i] -= step * w[kOne ? 0 : i] * (total * (x[i] + a * (z[i] - x[i])) - y[i]);
  }
}

void descend(const double* x, const double* z, const double* y, const double* w, bool one_weight,
             double total, double a, double step, std::size_t n, double* theta) {
  if (one_weight) {
    descend_with<true>(x, z, y, w, total, a, step, n, theta);
  } else {
    descend_with<false>(x, z, y, w, total, a, step, n, theta);
  }
}

/// One lane of `follow`.
template <bool kOne, bool kHeld>
inline void follow_one(const double* b, const double* z, const double* y, const double* held, const double* w,
                       double total, double a, std::size_t i, double* x, double* loss, double* validation,
                       double* slope, double* curvature, double* bound) {
  const double weight = w[kOne ? 0 : i];
  const double d = b[i] - z[i];
  const double v = total * (x[i] + a * (z[i] - x[i]));
  const double g = weight * (v - y[i]);
  x[i] += a * (b[i] - x[i]);
  const double miss = total * x[i] - y[i];
  *loss += 0.5 * weight * miss * miss;
  if (kHeld) {
    const double miss_held = total * x[i] - held[i];
    *validation += 0.5 * weight * miss_held * miss_held;
  }
  *slope += g * d;
  *curvature += weight * d * d;
  *bound -= 0.5 * g * (v + y[i]);
}

template <bool kOne, bool kHeld>
void follow_with(const double* b, const double* z, const double* y, const double* held, const double* w,
                 double total, double a, std::size_t n, double* x, double* sums) {
  double lanes[5][kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      follow_one<kOne, kHeld>(b, z, y, held, w, total, a, i + l, x, &lanes[0][l], &lanes[1][l], &lanes[2][l],
                              &lanes[3][l], &lanes[4][l]);
    }
  }
  for (; i < n; ++i) {
    follow_one<kOne, kHeld>(b, z, y, held, w, total, a, i, x, &lanes[0][0], &lanes[1][0], &lanes[2][0],
                            &lanes[3][0], &lanes[4][0]);
  }
  for (std::size_t s = 0; s < 5; ++s) {
    for (std::size_t l = 0; l < kLanes; ++l) sums[s] += lanes[s][l];
  }
}

void follow(const double* b, const double* z, const double* y, const double* held, const double* w,
            bool one_weight, double total, double a, std::size_t n, double* x, double* sums) {
  if (one_weight) {
    held == nullptr ? follow_with<true, false>(b, z, y, held, w, total, a, n, x, sums)
                    : follow_with<true, true>(b, z, y, held, w, total, a, n, x, sums);
  } else {
    held == nullptr ? follow_with<false, false>(b, z, y, held, w, total, a, n, x, sums)
                    : follow_with<false, true>(b, z, y, held, w, total, a, n, x, sums);
  }
}

/// Walks a layout and hands its innermost runs to Row::shared (run present in the small table) or Row::apart.
/// `extra` lies like the small table.
template <class Row, class Large, class Small>
void walk(Large* large, const double* extra, Small* small, const Axis* axes, std::size_t n_axes) {
  if (n_axes == 0) {
    Row::shared(large, extra, small, 1);
    return;
  }
  const Axis& axis = axes[0];
  if (n_axes == 1) {
    if (axis.small != 0) {
      Row::shared(large, extra, small, axis.size);
    } else {
      Row::apart(large, extra, small, axis.size);
    }
    return;
  }
  if (n_axes == 2) {
    const std::size_t n = axes[1].size;
    if (axes[1].small != 0) {
      for (std::size_t i = 0; i < axis.size; ++i) Row::shared(large + i * axis.large, extra, small, n);
    } else {
      for (std::size_t i = 0; i < axis.size; ++i) {
        Row::apart(large + i * axis.large, extra + i * axis.small, small + i * axis.small, n);
      }
    }
    return;
  }
  for (std::size_t i = 0; i < axis.size; ++i) {
    walk<Row>(large + i * axis.large, extra + i * axis.small, small + i * axis.small, axes + 1, n_axes - 1);
  }
}

template <class Op>
struct ExpandRow {
  static void shared(double* large, const double* /*extra*/, const double* small, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) large[i] = Op::apply(large[i], small[i]);
  }
  static void apart(double* large, const double* /*extra*/, const double* small, std::size_t n) {
    const double value = *small;
    for (std::size_t i = 0; i < n; ++i) large[i] = Op::apply(large[i], value);
  }
};

struct Assign {
  static double apply(double /*a*/, double b) { return b; }
};
struct Add {
  static double apply(double a, double b) { return a + b; }
};
struct Multiply {
  static double apply(double a, double b) { return a * b; }
};

struct SumRow {
  static void shared(const double* large, const double* /*extra*/, double* small, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) small[i] += large[i];
  }
  static void apart(const double* large, const double* /*extra*/, double* small, std::size_t n) {
    *small += sum(large, n);
  }
};

struct MaxRow {
  static void shared(const double* large, const double* /*extra*/, double* small, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) small[i] = kLarger(small[i], large[i]);
  }
  static void apart(const double* large, const double* /*extra*/, double* small, std::size_t n) {
    *small = kLarger(*small, max(large, n));
  }
};

struct ExpRow {
  static void shared(const double* large, const double* shift, double* small, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) small[i] += exp_one(large[i] - shift[i]);
  }
  static void apart(const double* large, const double* shift, double* small, std::size_t n) {
    const double s = *shift;
    *small += reduce_lanes(n, 0.0, kPlus, [=](std::size_t i) { return exp_one(large[i] - s); });
  }
};

template <class Op>
void expand(double* large, const double* small, const Axis* axes, std::size_t n_axes) {
  walk<ExpandRow<Op>>(large, small, small, axes, n_axes);
}

template <class Row>
void reduce(const double* large, double* small, const Axis* axes, std::size_t n_axes) {
  walk<Row>(large, static_cast<const double*>(small), small, axes, n_axes);
}

void reduce_exp(const double* large, const double* shift, double* small, const Axis* axes,
                std::size_t n_axes) {
  walk<ExpRow>(large, shift, small, axes, n_axes);
}

}  // namespace

#define PYPGM_JOIN_(a, b) a##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)
#define PYPGM_TEXT_(a) #a
#define PYPGM_TEXT(a) PYPGM_TEXT_(a)

extern const Kernels PYPGM_JOIN(kernels_, PYPGM_ISA);
const Kernels PYPGM_JOIN(kernels_, PYPGM_ISA) = {
    PYPGM_TEXT(PYPGM_ISA),
    exp_shifted,
    log_floored,
    max,
    sum,
    dot,
    scale,
    add_scaled,
    residuals,
    squares,
    descend,
    follow,
    expand<Assign>,
    expand<Add>,
    expand<Multiply>,
    reduce<SumRow>,
    reduce<MaxRow>,
    reduce_exp,
};

}  // namespace pypgm
