#pragma once
// What a pass over cells can cost least on this machine: processor seconds of a plain copy and of a plain
// pass of vectorised exponentials, measured where they are compared with.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstddef>
#include <ctime>
#include <vector>

#include "core/simd/kernels.hpp"

namespace limits {

class Stopwatch {
 public:
  /// Processor seconds of an iteration since the watch was made.
  double seconds(const benchmark::State& state) const {
    return static_cast<double>(std::clock() - started_) / CLOCKS_PER_SEC /
           static_cast<double>(state.iterations());
  }

 private:
  std::clock_t started_ = std::clock();
};

/// The median of nine, each of many passes.
template <class Pass>
double seconds_of(std::size_t cells, const Pass& pass) {
  std::vector<double> seconds;
  const std::size_t repeats = std::max<std::size_t>(1, 10'000'000 / cells);
  for (int k = 0; k < 9; ++k) {
    const std::clock_t started = std::clock();
    for (std::size_t r = 0; r < repeats; ++r) {
      pass();
      benchmark::ClobberMemory();
    }
    seconds.push_back(static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC /
                      static_cast<double>(repeats));
  }
  std::nth_element(seconds.begin(), seconds.begin() + 4, seconds.end());
  return seconds[4];
}

inline double copy_pass(std::size_t cells) {
  const std::vector<double> in(cells, -0.5);
  std::vector<double> out(cells);
  return seconds_of(cells, [&] { std::copy(in.begin(), in.end(), out.begin()); });
}

inline double exp_pass(std::size_t cells) {
  const std::vector<double> in(cells, -0.5);
  std::vector<double> out(cells);
  return seconds_of(cells, [&] { pypgm::kernels().exp_shifted(in.data(), cells, 0.0, out.data()); });
}

/// Adds which part of the speed of a plain copy, and of a plain exp pass, over as many cells is reached.
inline void compare(benchmark::State& state, const Stopwatch& watch, std::size_t cells) {
  const double own = watch.seconds(state);
  state.counters["of_copy"] = copy_pass(cells) / own;
  state.counters["of_exp"] = exp_pass(cells) / own;
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(cells));
}

}  // namespace limits
