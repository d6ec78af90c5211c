// Coordinate descent over records and attributes on the sum of squared excesses.
#include "core/records/record_refinement.hpp"

#include <algorithm>
#include <vector>

#include "core/base/threads.hpp"
#include "core/base/xoshiro.hpp"
#include "core/records/joint_moves.hpp"
#include "core/records/record_block.hpp"
#include "core/records/record_mover.hpp"
#include "core/simd/record_kernels.hpp"

namespace pypgm {

namespace {

constexpr double kWorthwhile = 0.1;  // a sweep that lowers the distance by a smaller part is the last
constexpr std::size_t kBlockCodes = 1 << 20;  // of a block of records: it stays in the cache
constexpr std::size_t kLeastRows = 64;        // of a block
constexpr std::size_t kMostRows = 1 << 16;
constexpr std::size_t kBeside = 4;      // blocks refined beside each other, whatever the threads
constexpr std::size_t kCodeWork = 256;  // table entries that refining a code counts as

class Refinement {
 public:
  Refinement(std::span<const CodeColumn> columns, std::span<const std::size_t> sizes,
             std::span<const RecordTarget> targets, std::uint64_t seed, int n_threads, Watch& watch)
      : columns_(columns),
        tables_(sizes, targets),
        joint_(sizes, targets),
        draws_(seed),
        n_threads_(n_threads),
        watch_(watch) {
    const std::size_t rows = n_records(columns);
    const std::size_t block_rows =
        std::clamp(kBlockCodes / std::max<std::size_t>(columns.size(), 1), kLeastRows, kMostRows);
    n_blocks_ = std::max<std::size_t>(1, (rows + block_rows - 1) / block_rows);
    // Copies of the excesses must cost less than a block's visits.
    const bool many = n_blocks_ >= 2 * kBeside && tables_.size() <= block_rows * columns.size();
    beside_ = many ? kBeside : 1;
    blocks_.resize(beside_);
    for (std::size_t b = 0; b < beside_; ++b) movers_.emplace_back(sizes, tables_, joint_);
    excess_.resize(tables_.size() + kReadBeyond);
    misplaced_ = tables_.fill(columns, targets, cells(), n_threads);
  }

  double distance() const {
    return kernels_.finite_l1(excess_.data(), tables_.n_cells()) + static_cast<double>(misplaced_);
  }
  bool is_parallel() const { return beside_ > 1; }
  void end_parallel() { beside_ = 1; }

  void sweep(double enough) {
    for (std::size_t first = 0; first < n_blocks_ && !watch_.is_over(); first += beside_) {
      if (beside_ == 1) {
        one(first, enough);
      } else {
        several(first, std::min(beside_, n_blocks_ - first));
      }
      if (distance() <= enough) return;
    }
  }

 private:
  std::span<float> cells() { return std::span(excess_).first(tables_.size()); }
  RecordMover::Order order() {
    const std::uint64_t bits = draws_.bits();
    return {static_cast<std::uint32_t>(bits), static_cast<std::uint32_t>(bits >> 32)};
  }

  void one(std::size_t block, double enough) {
    movers_[0].misplaced = 0;
    if (n_blocks_ > 1 || blocks_[0].n_rows() == 0) blocks_[0].read(columns_, block, n_blocks_);
    const std::int64_t before = misplaced_;
    movers_[0].sweep(blocks_[0], excess_.data(), order(), watch_, [&] {
      misplaced_ = before + movers_[0].misplaced;
      return distance() <= enough;
    });
    misplaced_ = before + movers_[0].misplaced;
    blocks_[0].write(columns_);
  }

  /// Each of the blocks removes its share of the excess; what they leave is added up.
  void several(std::size_t first, std::size_t n) {
    std::vector<RecordMover::Order> orders;
    for (std::size_t b = 0; b < n; ++b) orders.push_back(order());
    for (float& x : cells()) x /= static_cast<float>(n);
    const int threads = threads_for(n * kBlockCodes * kCodeWork, n_threads_);
    parallel_for(n, threads, [&](std::size_t b) {
      RecordMover& mover = movers_[b];
      mover.own = excess_;
      mover.misplaced = 0;
      blocks_[b].read(columns_, first + b, n_blocks_);
      mover.sweep(blocks_[b], mover.own.data(), orders[b], watch_, [] { return false; });
      blocks_[b].write(columns_);
    });
    std::fill(excess_.begin(), excess_.end(), 0.0F);
    for (std::size_t b = 0; b < n; ++b) {
      kernels_.add(movers_[b].own.data(), tables_.size(), excess_.data());
      misplaced_ += movers_[b].misplaced;
    }
  }

  std::span<const CodeColumn> columns_;
  ExcessTables tables_;
  JointMoves joint_;
  Xoshiro draws_;
  int n_threads_;
  Watch& watch_;
  const RecordKernels& kernels_ = record_kernels();
  std::size_t n_blocks_ = 1;
  std::size_t beside_ = 1;
  std::vector<RecordBlock> blocks_;
  std::vector<RecordMover> movers_;
  std::vector<float> excess_;
  std::int64_t misplaced_ = 0;
};

}  // namespace

double refine_records(std::span<const CodeColumn> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, double enough, std::uint64_t seed,
                      int n_threads, Watch& watch) {
  Refinement refinement(columns, sizes, targets, seed, n_threads, watch);
  double distance = refinement.distance();
  for (int i = 0; i < sweeps && distance > enough && !watch.is_over(); ++i) {
    refinement.sweep(enough);
    const double before = distance;
    distance = refinement.distance();
    if (before - distance > kWorthwhile * before) continue;
    // Shares of small excesses are too small for a move: the rest is one block's after the other.
    if (!refinement.is_parallel()) break;
    refinement.end_parallel();
  }
  return distance;
}

}  // namespace pypgm
