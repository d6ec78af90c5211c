#pragma once
// Loops of belief propagation and proportional fitting over the cells of one marginal.
#include <cstddef>

namespace pypgm {

/// Steps of message passing over marginals, compiled for each instruction set. `rows` are tables of n cells
/// each, one after the other: what several parents have for the same child.
struct MessageKernels {
  /// Sum of |rows - b| over all rows.
  double (*distance)(const double* rows, std::size_t n_rows, const double* b, std::size_t n);
  /// out = exp(in - shift), with the limits of exp_shifted; returns its sum. in == out is allowed.
  double (*exp_sum)(const double* in, std::size_t n, double shift, double* out);
  /// logarithms = log(max(rows, floor)), and mean += the sum of weights * logarithms. Returns whether all
  /// cells of some row are positive. Requires a normal floor > 0 and finite numbers.
  bool (*add_logs)(const double* rows, double floor, const double* weights, std::size_t n_rows, std::size_t n,
                   double* logarithms, double* mean);
  /// For each row, where mean > -inf: message += part * weight * (mean - logarithm), minus a constant so that
  /// these cells sum to 0; a cell of the row becomes belief / max(cell, floor) there and 0 elsewhere.
  void (*update_messages)(const double* mean, const double* logarithms, const double* belief, double floor,
                          double part, const double* weights, std::size_t n_rows, std::size_t n,
                          double* messages, double* rows);
  /// present becomes target / present, clamped to [least, most]; 1 where present is 0, and where target is 0
  /// if keep_zeros. Returns the sum of |target - present|. Requires non-negative numbers.
  double (*ratios)(const double* target, double* present, std::size_t n, double least, double most,
                   bool keep_zeros);
};

/// The set for the fastest instruction set of this machine.
const MessageKernels& message_kernels();

}  // namespace pypgm
