// Draws of joint assignments: one upward pass, then down the steps of the factored tree for each draw.
#include "core/exact/draw.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/inference.hpp"

namespace pypgm {

namespace {

/// Where the cells of one operand lie: at the codes of known attributes, and of each choice of the free ones.
struct Side {
  const Weights* table = nullptr;  ///< null for the number 1
  std::vector<std::int32_t> known;
  std::vector<std::size_t> strides;
  std::vector<std::size_t> offsets;  ///< by choice
};

/// A step as draws see it.
struct Choice {
  Scope free;
  Side a, b;
};

class Drawing {
 public:
  Drawing(const Observation& observation, const FactoredWork& work)
      : sizes_(observation.tree.sizes), factored_(observation.factored()), work_(work) {
    std::vector<std::uint8_t> is_known(sizes_.size(), 0);
    for (auto step = factored_.steps.rbegin(); step != factored_.steps.rend(); ++step) {
      Choice choice;
      for (const int value : {step->a, step->b}) {
        if (value < 0) continue;
        for (const std::int32_t x : factored_.values[at(value)].attributes) {
          if (is_known[at(x)] == 0) {
            is_known[at(x)] = 1;
            choice.free.push_back(x);
          }
        }
      }
      if (choice.free.empty()) continue;
      choice.a = side_of(step->a, choice.free);
      choice.b = side_of(step->b, choice.free);
      choices_.push_back(std::move(choice));
    }
  }

  /// Gives all free attributes their codes.
  void draw(std::span<const double> uniforms, std::size_t rows, std::size_t row,
            std::span<std::int32_t> codes) const {
    for (const Choice& choice : choices_) {
      const double uniform = uniforms[row * sizes_.size() + at(choice.free.front())];
      std::size_t cell = chosen(choice, uniform, rows, row, codes);
      for (std::size_t i = choice.free.size(); i-- > 0;) {
        const std::size_t size = sizes_[at(choice.free[i])];
        codes[at(choice.free[i]) * rows + row] = static_cast<std::int32_t>(cell % size);
        cell /= size;
      }
    }
  }

 private:
  Side side_of(int value, const Scope& free) const {
    Side side;
    if (value < 0) return side;
    side.table = &work_.values[at(value)];
    const Scope& axes = factored_.values[at(value)].attributes;
    side.offsets.assign(1, 0);
    for (const std::int32_t x : free) {
      const bool is_axis = std::find(axes.begin(), axes.end(), x) != axes.end();
      const std::size_t stride = is_axis ? stride_of(sizes_, axes, x) : 0;
      std::vector<std::size_t> longer;
      for (const std::size_t begin : side.offsets) {
        for (std::size_t code = 0; code < sizes_[at(x)]; ++code) longer.push_back(begin + code * stride);
      }
      side.offsets.swap(longer);
    }
    for (const std::int32_t x : axes) {
      if (std::find(free.begin(), free.end(), x) != free.end()) continue;
      side.known.push_back(x);
      side.strides.push_back(stride_of(sizes_, axes, x));
    }
    return side;
  }

  static std::size_t begin_of(const Side& side, std::size_t rows, std::size_t row,
                              std::span<const std::int32_t> codes) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < side.known.size(); ++i) {
      begin += side.strides[i] * at(codes[at(side.known[i]) * rows + row]);
    }
    return begin;
  }

  static std::size_t chosen(const Choice& choice, double uniform, std::size_t rows, std::size_t row,
                            std::span<const std::int32_t> codes) {
    const std::size_t a = begin_of(choice.a, rows, row, codes), b = begin_of(choice.b, rows, row, codes);
    const bool extended = exponents_of(choice.a) != nullptr || exponents_of(choice.b) != nullptr;
    const std::size_t n = choice.a.offsets.size();
    double largest = -kInfinity;  // exponent of a cell with weight
    for (std::size_t i = 0; extended && i < n; ++i) {
      if (weight(choice, a, b, i) > 0) largest = std::max(largest, exponent(choice, a, b, i));
    }
    const auto scaled = [&](std::size_t i) {
      const double w = weight(choice, a, b, i);
      return extended && w > 0 ? w * std::exp2(exponent(choice, a, b, i) - largest) : w;
    };
    double total = 0;
    std::size_t last = 0;  // with any weight
    for (std::size_t i = 0; i < n; ++i) {
      const double w = scaled(i);
      if (w > 0) last = i;
      total += w;
    }
    const double wanted = uniform * total;
    double sum = 0;
    for (std::size_t i = 0; i < last; ++i) {
      sum += scaled(i);
      if (sum > wanted) return i;
    }
    return last;
  }

  static const double* exponents_of(const Side& side) {
    return side.table == nullptr ? nullptr : side.table->operand().exponents;
  }

  static double weight(const Choice& choice, std::size_t a, std::size_t b, std::size_t i) {
    const double left = choice.a.table->cells[a + choice.a.offsets[i]];
    return choice.b.table == nullptr ? left : left * choice.b.table->cells[b + choice.b.offsets[i]];
  }

  static double exponent(const Choice& choice, std::size_t a, std::size_t b, std::size_t i) {
    const double* left = exponents_of(choice.a);
    const double* right = exponents_of(choice.b);
    return (left == nullptr ? 0.0 : left[a + choice.a.offsets[i]]) +
           (right == nullptr ? 0.0 : right[b + choice.b.offsets[i]]);
  }

  const std::vector<std::size_t>& sizes_;
  const FactoredTree& factored_;
  const FactoredWork& work_;
  std::vector<Choice> choices_;
};

}  // namespace

double draw_assignments(const JunctionTree& tree, std::span<const double> potentials,
                        std::span<const Evidence> evidence, std::span<const double> uniforms,
                        std::span<std::int32_t> codes, int n_threads, Watch* watch) {
  assert(tree.factored != nullptr);
  const Observation observation(tree, potentials, evidence);
  if (observation.log_weight == -kInfinity) return -kInfinity;
  FactoredWork work(observation.factored());
  work.watch = watch;
  const double log_z = factored_log_partition(observation, work, n_threads);
  if (log_z == -kInfinity || is_abandoned(watch)) return log_z;
  const std::size_t n = tree.sizes.size();
  const std::size_t rows = n == 0 ? 0 : codes.size() / n;
  for (std::size_t a = 0; a < n; ++a) std::fill_n(codes.data() + a * rows, rows, observation.codes[a]);
  const Drawing drawing(observation, work);
  parallel_for(rows, threads_for(kEffortWork * static_cast<double>(rows * n), n_threads),
               [&](std::size_t row) { drawing.draw(uniforms, rows, row, codes); });
  return log_z + observation.log_weight;
}

}  // namespace pypgm
