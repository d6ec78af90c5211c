#pragma once
// Loops of belief propagation and proportional fitting over the cells of one marginal.
#include <cstddef>

namespace pypgm {

/// Steps of message passing over the cells of one marginal, compiled for each instruction set.
struct MessageKernels {
  /// Sum of |a - b|.
  double (*distance)(const double* a, const double* b, std::size_t n);
  /// out = exp(in - shift), with the limits of exp_shifted; returns its sum. in == out is allowed.
  double (*exp_sum)(const double* in, std::size_t n, double shift, double* out);
  /// logarithm = log(max(marginal, floor)), and mean += weight * logarithm. Returns whether all cells of the
  /// marginal are positive. Requires a normal floor > 0 and finite numbers.
  bool (*add_log)(const double* marginal, double floor, double weight, std::size_t n, double* logarithm,
                  double* mean);
  /// Where mean > -inf: message += weight * (mean - logarithm), minus a constant so that these cells sum to
  /// 0; marginal becomes belief / max(marginal, floor) there and 0 elsewhere.
  void (*update_message)(const double* mean, const double* logarithm, const double* belief, double floor,
                         double weight, std::size_t n, double* message, double* marginal);
  /// present becomes target / present, clamped to [least, most]; 1 where present is 0, and where target is 0
  /// if keep_zeros. Returns the sum of |target - present|. Requires non-negative numbers.
  double (*ratios)(const double* target, double* present, std::size_t n, double least, double most,
                   bool keep_zeros);
};

/// The set for the fastest instruction set of this machine.
const MessageKernels& message_kernels();

}  // namespace pypgm
