#pragma once
#include <cstddef>

namespace pypgm {

/// Steps of message passing over the cells of one marginal, compiled once for each instruction set.
struct MessageKernels {
  /// Sum of |a - b|.
  double (*distance)(const double* a, const double* b, std::size_t n);
  /// out = exp(in - shift), of differences as exp_shifted has them; returns its sum. in == out is allowed.
  double (*exp_sum)(const double* in, std::size_t n, double shift, double* out);
  /// logarithm = log(max(marginal, floor)), and mean += weight * logarithm. Returns whether all cells of the
  /// marginal are positive. Requires a normal floor > 0 and finite numbers.
  bool (*take_up)(const double* marginal, double floor, double weight, std::size_t n, double* logarithm,
                  double* mean);
  /// Where mean is above -inf: message += weight * (mean - logarithm), less a constant that lets these cells
  /// add up to 0, and marginal becomes belief / max(marginal, floor); elsewhere marginal becomes 0.
  void (*answer)(const double* mean, const double* logarithm, const double* belief, double floor,
                 double weight, std::size_t n, double* message, double* marginal);
  /// now becomes target / now within [least, most], 1 where now is 0, or where target is, if such cells are
  /// to stay. Returns the sum of |target - now|. Requires numbers that are not negative.
  double (*ratios)(const double* target, double* now, std::size_t n, double least, double most, bool stay);
};

/// The fastest set of loops this machine runs.
const MessageKernels& message_kernels();

}  // namespace pypgm
