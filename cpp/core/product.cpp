#include "core/product.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "core/kernels.hpp"
#include "core/reduce.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kTiny = 1e-307;  // what one exponential or product may lose when it underflows

/// out = exp(in - max in), in chunks beside each other; returns the maximum. A table of -inf becomes a table
/// of 0 at scale 0.
double scaled_exp(std::span<const double> in, std::span<double> out, int threads) {
  const std::size_t step = threads > 1 ? kGrain : std::max<std::size_t>(1, in.size());
  const std::size_t chunks = (in.size() + step - 1) / step;
  const auto cells = [&](std::size_t c) { return std::min(step, in.size() - c * step); };
  std::vector<double> tops(chunks);
  parallel_for(chunks, threads,
               [&](std::size_t c) { tops[c] = kernels().max(in.data() + c * step, cells(c)); });
  const double top = *std::max_element(tops.begin(), tops.end());
  const double shift = top == -kInfinity ? 0.0 : top;
  parallel_for(chunks, threads, [&](std::size_t c) {
    kernels().exp_shifted(in.data() + c * step, cells(c), shift, out.data() + c * step);
  });
  return shift;
}

}  // namespace

void Product::take(const Layout& layout, std::span<const double> factor) {
  const Expand op = empty_ ? Expand::assign : (space_ == Space::linear ? Expand::multiply : Expand::add);
  expand(op, table_, layout, factor, threads_);
  empty_ = false;
  loss_ += kTiny;
}

void Product::take_logarithms(const Layout& layout, std::span<const double> factor, std::span<double> room) {
  if (space_ != Space::linear) return take(layout, factor);
  if (empty_ && layout.small == layout.large) {
    scale_ += scaled_exp(factor, table_, threads_);
    empty_ = false;
    loss_ += kTiny;
    return;
  }
  scale_ += scaled_exp(factor, room, threads_);
  take(layout, room);
}

void Product::finish() {
  if (empty_) std::fill(table_.begin(), table_.end(), space_ == Space::linear ? 1.0 : 0.0);
}

}  // namespace pypgm
