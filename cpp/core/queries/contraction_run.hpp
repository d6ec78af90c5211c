#pragma once
#include <span>

#include "core/base/watch.hpp"
#include "core/queries/contraction.hpp"

namespace pypgm {

enum class Semiring { sum, log_sum, max };

/// Runs a contraction and writes the returned tables, in the order of `outputs`.
///
/// Semiring::sum: out[k] * exp(log_scales[k]) is the sum of products; the largest magnitude of out[k] lies
/// within 2^-64 and 2^64, or out[k] is 0. Nothing overflows, and where underflow may have taken more than
/// 2^-57 of the largest entry of an answer, all is done again with an exponent for each cell, which takes up
/// to four times the memory. Semiring::log_sum and Semiring::max: the natural logs of the sums, each entry as
/// exact as the next, and of the largest products; log_scales are 0. Weights must not be negative there.
///
/// leaves[i] holds the cells of leaf i in C order; finite, or -inf as a logarithm. Any n_threads gives the
/// same bits. Steps of the watch are those of the contraction; once it is abandoned the answers mean nothing.
void run_contraction(const Contraction& contraction, std::span<const std::span<const double>> leaves,
                     Semiring semiring, std::span<const std::span<double>> out, std::span<double> log_scales,
                     int n_threads, Watch& watch);

}  // namespace pypgm
