#include "core/fit/fused_descent.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/threads.hpp"
#include "core/simd/kernels.hpp"

// A weight w is known to a relative rounding, and so its logarithm to an absolute one: no worse than the
// potential itself where that is above 1. Multiplying by exp(x) adds one rounding an iteration.
//
// Each part knows bounds of the logarithms of its weights, less the clique's shift. A step widens them by its
// longest move; where they may be kDrift too wide they are measured again. With no weight in a part below
// exp(kFloor) before, moves of at most kLeap and bounds off by kDrift, none leaves the range of numbers. What
// goes below, or leaps, is kept as potentials from then on.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kDrift = 4.0;  // how far the largest weight may move away from 1, too
constexpr double kLeap = 16.0;
constexpr double kFloor = -600.0;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

FusedDescent::FusedDescent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements,
                           double total, const std::vector<double>& potentials, double alpha, int n_threads)
    : shared_(std::move(tree)),
      tree_(*shared_),
      loss_(tree_, std::move(measurements)),
      total_(total),
      n_threads_(n_threads),
      work_(tree_),
      rows_(make_row_nodes(tree_)),
      thetas_(std::make_unique_for_overwrite<double[]>(potentials.size())),
      gathered_(tree_.factors.size()),
      gradients_(tree_.factors.size()) {
  for (int f = 0; f < static_cast<int>(tree_.factors.size()); ++f) {
    const Placement& place = tree_.factors[at(f)];
    const bool whole = !loss_.cellwise(f);
    if (whole) gradients_[at(f)].resize(place.layout.small);
    if (whole && place.view.fills) gathered_[at(f)].resize(place.layout.small);
    add_parts(f, slice(tree_, potentials, f));
  }
  first_part_.push_back(parts_.size());
  losses_.resize(parts_.size());
  for (Kept& kept : kept_) {
    kept.cells = std::make_unique_for_overwrite<double[]>(potentials.size());
    kept.scalings = work_.scalings;
    kept.parts = parts_;
    kept.alphas.reserve(kKeepEvery);
  }
  save(kept_[0]);
  kept_[0].alphas.push_back(alpha);
  least_ = pass(alpha);
}

/// Cuts a clique into its parts, the node's blocks where it fills one, and weighs them.
void FusedDescent::add_parts(int factor, std::span<const double> potentials) {
  const Placement& place = tree_.factors[at(factor)];
  const Blocks& blocks = tree_.nodes[at(place.node)].blocks;
  const double largest = kernels().max(potentials.data(), potentials.size());
  const double shift = largest == -kInfinity ? 0.0 : largest;
  work_.scalings[at(factor)].shift = shift;
  first_part_.push_back(parts_.size());
  for (std::size_t begin = 0, k = 0; begin < potentials.size(); ++k) {
    const std::size_t cells = place.view.fills && loss_.cellwise(factor)
                                  ? block_at(blocks, k).cells
                                  : std::min(kBlockCells, potentials.size() - begin);
    const double* from = potentials.data() + begin;
    const Extent extent = kernels().extent(from, cells);
    Part part{factor, place.offset + begin, cells, extent.least - shift, extent.largest - shift};
    part.logarithms = part.low < kFloor;
    if (part.logarithms) std::copy_n(from, cells, thetas_.get() + part.begin);
    kernels().exp_shifted(from, cells, shift, work_.weights.data() + part.begin);
    parts_.push_back(part);
    begin += cells;
  }
  work_.scalings[at(factor)] = scaling_of(factor);
}

double FusedDescent::pass(double alpha) {
  NodeHooks hooks;
  hooks.weighed = true;
  hooks.marginal = [&](int f, std::size_t block, std::size_t begin, std::span<const double> cells) {
    const bool fills = tree_.factors[at(f)].view.fills;
    if (!loss_.cellwise(f) && fills) {
      std::copy(cells.begin(), cells.end(), gathered_[at(f)].data() + begin);
    } else if (!loss_.cellwise(f)) {
      step_whole(f, cells, alpha);
    } else if (fills) {
      step(first_part_[at(f)] + block, cells.data(), alpha);
    } else {
      const double* from = cells.data() - tree_.factors[at(f)].offset;
      for (std::size_t k = first_part_[at(f)]; k < first_part_[at(f) + 1]; ++k) {
        step(k, from + parts_[k].begin, alpha);
      }
    }
  };
  hooks.after = [&](const TreeNode& node, int threads) {
    for (const int f : node.factors) {
      if (!gathered_[at(f)].empty()) step_whole(f, gathered_[at(f)], alpha);
      weigh(f, threads);
    }
  };
  hooks.logarithms = [&](const TreeNode& node) {
    for (const int f : node.factors) {
      for (std::size_t k = first_part_[at(f)]; k < first_part_[at(f) + 1]; ++k) {
        if (parts_[k].logarithms) continue;
        write_logarithms(parts_[k], work_.scalings[at(f)], work_.weights.data(), thetas_.get());
      }
    }
  };
  hooks.rows = rows_;
  hooks.step = [&](const RowNode& row, const RowTables& tables) { return step_rows(row, tables, alpha); };
  const std::span<const double> thetas(thetas_.get(), work_.weights.size());
  if (propagate(tree_, thetas, {}, total_, work_, n_threads_, hooks) == -kInfinity) {
    throw std::invalid_argument("the potentials leave no joint assignment any weight");
  }
  return std::accumulate(losses_.begin(), losses_.end(), 0.0);
}

void FusedDescent::step(std::size_t part, const double* marginal, double alpha) {
  Part& here = parts_[part];
  const L2Loss::Cells& cells = loss_.cells(here.factor);
  const std::size_t begin = here.begin - tree_.factors[at(here.factor)].offset;
  const bool first = begin == 0;
  if (cells.values.empty()) return;
  alignas(64) double moves[kBlockCells];
  double largest = 0;
  const double loss = kernels().moves(marginal, cells.values.data() + begin,
                                      cells.weights.empty() ? nullptr : cells.weights.data() + begin,
                                      cells.weight, alpha, here.cells, moves, &largest);
  losses_[part] = loss + (first ? cells.constant : 0.0);
  move(here, moves, largest);
}

/// The steps of all blocks of a clique whose marginal is the product of its weights and the tables; false if
/// it must be there as such.
bool FusedDescent::step_rows(const RowNode& row, const RowTables& tables, double alpha) {
  const L2Loss::Cells& cells = loss_.cells(row.factor);
  const std::size_t first = first_part_[at(row.factor)];
  const std::size_t end = first_part_[at(row.factor) + 1];
  if (!loss_.cellwise(row.factor) || cells.values.empty()) return false;
  for (std::size_t k = first; k < end; ++k) {
    if (parts_[k].logarithms) return false;
  }
  const Placement& place = tree_.factors[at(row.factor)];
  const Blocks& blocks = tree_.nodes[at(place.node)].blocks;
  for (std::size_t k = first; k < end; ++k) {
    Part& part = parts_[k];
    const Block block = block_at(blocks, k - first);
    const RowStep step{cells.values.data() + block.begin,
                       cells.weights.empty() ? nullptr : cells.weights.data() + block.begin,
                       cells.weight,
                       alpha,
                       kLeap,
                       thetas_.get() + part.begin};
    const RowMoves moves = row_kernels().step(row.rows_of(block), work_.weights.data() + part.begin,
                                              row.tables_at(tables, block), step);
    losses_[k] = moves.loss + (k == first ? cells.constant : 0.0);
    moves.leapt ? leap(part) : widen(part, moves.largest);
  }
  return true;
}

void FusedDescent::step_whole(int factor, std::span<const double> marginal, double alpha) {
  std::vector<double>& gradient = gradients_[at(factor)];
  losses_[first_part_[at(factor)]] = loss_.gradient(factor, marginal, gradient);
  for (double& g : gradient) g *= -alpha;
  for (std::size_t k = first_part_[at(factor)]; k < first_part_[at(factor) + 1]; ++k) {
    const double* moves = gradient.data() + (parts_[k].begin - tree_.factors[at(factor)].offset);
    const Extent extent = kernels().extent(moves, parts_[k].cells);
    move(parts_[k], moves, std::max(-extent.least, extent.largest));
  }
}

/// Takes a step by `moves`, the largest of which is so large.
void FusedDescent::move(Part& part, const double* moves, double largest) {
  if (!part.logarithms && !(largest <= kLeap)) take_logarithms(part);
  if (part.logarithms) {
    double* const theta = thetas_.get() + part.begin;
    kernels().add_scaled(theta, moves, 1.0, part.cells, theta);
    weigh_logarithms(part);
    return;
  }
  kernels().grow(work_.weights.data() + part.begin, moves, part.cells, largest);
  widen(part, largest);
}

/// Bounds the weights of a part that moved by no more than `largest`.
void FusedDescent::widen(Part& part, double largest) {
  part.low -= largest;
  part.high += largest;
  part.drift += largest;
  if (part.drift > kDrift) measure(part);
}

/// Makes the moves the rows of a part left over, which are where its potentials will be, and keeps it as
/// potentials.
void FusedDescent::leap(Part& part) {
  const double shift = work_.scalings[at(part.factor)].shift;
  for (std::size_t i = part.begin; i < part.begin + part.cells; ++i) {
    thetas_[i] += std::log(work_.weights[i]) + shift;
  }
  part.logarithms = true;
  weigh_logarithms(part);
}

/// The weights of a part that is kept as potentials.
void FusedDescent::weigh_logarithms(Part& part) {
  const double shift = work_.scalings[at(part.factor)].shift;
  const double* const theta = thetas_.get() + part.begin;
  const Extent extent = kernels().extent(theta, part.cells);
  part.low = extent.least - shift;
  part.high = extent.largest - shift;
  kernels().exp_shifted(theta, part.cells, shift, work_.weights.data() + part.begin);
}

/// Makes the bounds of a part's weights sharp.
void FusedDescent::measure(Part& part) {
  const Extent spread = kernels().spread(work_.weights.data() + part.begin, part.cells);
  part.low = std::log(spread.least);
  part.high = std::log(spread.largest);
  part.drift = 0;
  if (part.low < kFloor) take_logarithms(part);
}

/// Keeps a part as potentials from now on.
void FusedDescent::take_logarithms(Part& part) {
  write_logarithms(part, work_.scalings[at(part.factor)], work_.weights.data(), thetas_.get());
  part.logarithms = true;
}

void FusedDescent::write_logarithms(const Part& part, const Scaling& scaling, const double* cells,
                                    double* out) const {
  for (std::size_t i = part.begin; i < part.begin + part.cells; ++i) {
    out[i] = std::log(cells[i]) + scaling.shift;
  }
}

/// What is known of the weights of a clique.
Scaling FusedDescent::scaling_of(int factor) const {
  Scaling scaling{work_.scalings[at(factor)].shift, kInfinity, -kInfinity};
  const std::size_t end = at(factor) + 1 < first_part_.size() ? first_part_[at(factor) + 1] : parts_.size();
  for (std::size_t k = first_part_[at(factor)]; k < end; ++k) {
    scaling.low = std::min(scaling.low, parts_[k].low);
    scaling.high = std::max(scaling.high, parts_[k].high);
  }
  if (scaling.high == -kInfinity) scaling.low = scaling.high = 0;
  return scaling;
}

/// Prepares the weights of a clique, all parts of which have moved, for the next pass.
void FusedDescent::weigh(int factor, int threads) {
  Scaling scaling = scaling_of(factor);
  if (!(std::abs(scaling.high) < kDrift)) {
    for (std::size_t k = first_part_[at(factor)]; k < first_part_[at(factor) + 1]; ++k) {
      if (parts_[k].drift > 0) measure(parts_[k]);
    }
    scaling = scaling_of(factor);
  }
  if (!(std::abs(scaling.high) < kDrift)) {
    scale_anew(factor, scaling.high, threads);
    scaling = scaling_of(factor);
  }
  work_.scalings[at(factor)] = scaling;
}

/// Divides the weights of a clique by exp(high).
void FusedDescent::scale_anew(int factor, double high, int threads) {
  const std::size_t first = first_part_[at(factor)];
  parallel_for(first_part_[at(factor) + 1] - first, threads, [&](std::size_t k) {
    Part& part = parts_[first + k];
    if (!part.logarithms && part.low - high < kFloor) take_logarithms(part);
    double* const weights = work_.weights.data() + part.begin;
    if (part.logarithms) {
      kernels().exp_shifted(thetas_.get() + part.begin, part.cells, work_.scalings[at(factor)].shift + high,
                            weights);
    } else {
      kernels().scale(weights, part.cells, std::exp(-high));
    }
    part.low -= high;
    part.high -= high;
  });
  work_.scalings[at(factor)].shift += high;
}

}  // namespace pypgm
