// Heat-bath sweeps, compiled once for each instruction set (PYPGM_ISA is its name; see kernels.cpp).
#include "core/simd/spin_kernels.hpp"

#include "core/simd/exp_log.hpp"
#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

static_assert(kSpinChains == kLanes);

inline Bits flipped(Bits a, Bits b) {
  return each<Bits>([](auto x, auto y) { return x ^ y; }, a, b);
}
inline Bits rotated(Bits a, int n) { return (a << n) | (a >> (64 - n)); }

/// Eight xoshiro256++ side by side (see base/xoshiro.hpp).
struct RandomLanes {
  Bits word[4];

  Bits next() {
    const Bits result = rotated(word[0] + word[3], 23) + word[0];
    const Bits shifted = word[1] << 17;
    word[2] = flipped(word[2], word[0]);
    word[3] = flipped(word[3], word[1]);
    word[1] = flipped(word[1], word[2]);
    word[0] = flipped(word[0], word[3]);
    word[2] = flipped(word[2], shifted);
    word[3] = rotated(word[3], 45);
    return result;
  }
};

inline RandomLanes load_random(const std::uint64_t* random) {
  return {{load_mask(random), load_mask(random + kLanes), load_mask(random + 2 * kLanes),
           load_mask(random + 3 * kLanes)}};
}

inline void store_random(const RandomLanes& lanes, std::uint64_t* random) {
  for (std::size_t w = 0; w < 4; ++w) std::memcpy(random + w * kLanes, &lanes.word[w], sizeof(Bits));
}

/// log(u / (1 - u)) of a uniform u, an odd multiple of 2^-53: neither u nor 1 - u is 0, and both are exact.
inline Lanes logistic(RandomLanes& random) {
  const Bits mantissa = random.next() >> 12;
  const Lanes above_one = numbers(mantissa | bits(fill(1.0)));  // in [1, 2), a multiple of 2^-52
  const Lanes u = above_one - fill(1.0 - 0x1p-53);
  return log_lanes(u) - log_lanes(fill(1.0) - u);
}

inline Lanes log_odds(const SpinModel& model, std::size_t node, const double* spins) {
  Lanes sum = fill(model.fields[node]);
  for (std::uint32_t e = model.starts[node]; e < model.starts[node + 1]; ++e) {
    sum = sum + fill(model.couplings[e]) * load(spins + model.neighbours[e] * kLanes);
  }
  return sum + sum;
}

inline void update(const SpinModel& model, std::size_t node, Lanes threshold, double* spins) {
  const auto sign = [](Part x, Part t) { return x > t ? fill_part(1.0) : fill_part(-1.0); };
  store(spins + node * kLanes, each<Lanes>(sign, log_odds(model, node, spins), threshold));
}

void sweep(const SpinModel& model, std::uint64_t* random, double* spins) {
  RandomLanes lanes = load_random(random);
  for (std::size_t node = 0; node < model.n; ++node) update(model, node, logistic(lanes), spins);
  store_random(lanes, random);
}

void sweep_both(const SpinModel& model, std::uint64_t* random, double* low, double* high) {
  RandomLanes lanes = load_random(random);
  for (std::size_t node = 0; node < model.n; ++node) {
    const Lanes threshold = logistic(lanes);
    update(model, node, threshold, low);
    update(model, node, threshold, high);
  }
  store_random(lanes, random);
}

}  // namespace

PYPGM_KERNEL_SET(SpinKernels, spin_kernels) = {sweep, sweep_both};

}  // namespace pypgm
