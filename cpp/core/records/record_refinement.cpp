// Coordinate descent over records and attributes on the sum of squared excesses.
#include "core/records/record_refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "core/base/threads.hpp"
#include "core/base/xoshiro.hpp"
#include "core/simd/record_kernels.hpp"

namespace pypgm {

namespace {

constexpr double kWorthwhile = 0.2;  // a sweep that lowers the distance by a smaller part is the last
constexpr float kLeastGain = 1e-3F;  // of a move: below that it may be rounding
constexpr float kMisplaced =
    0x1p20F;  // excess of a structural zero for the record in it: any other is better
constexpr std::size_t kManyValues = 512;      // of an attribute, that are considered for one record
constexpr std::uint32_t kVisits = 1024;       // records between two looks at the watch
constexpr std::size_t kCellsPerVisit = 8;     // cells for a record visited between two looks at the distance
constexpr std::size_t kBlockCodes = 1 << 20;  // of a block of records: it stays in the cache
constexpr std::size_t kBlockRows = 1 << 16;
constexpr std::size_t kTogether = 64;    // consecutive records that stay together
constexpr std::size_t kBeside = 4;       // blocks refined beside each other, whatever the threads
constexpr std::size_t kVisitWork = 256;  // table entries that a record counts as, for each attribute

constexpr float kInfinite = std::numeric_limits<float>::infinity();

/// Records spread evenly over the table: chunks first, first + n_blocks, ... of it, with their codes side by
/// side.
class Block {
 public:
  void read(std::span<const CodeColumn> columns, std::size_t first, std::size_t n_blocks) {
    first_ = first;
    n_blocks_ = n_blocks;
    width_ = columns.size();
    n_rows_ = 0;
    each_chunk(n_records(columns), [&](std::size_t, std::size_t, std::size_t length) { n_rows_ += length; });
    codes_.resize(n_rows_ * width_);
    for (std::size_t a = 0; a < width_; ++a) {
      std::visit([&](auto column) { each_code(column, a, [](auto& code, auto& mine) { mine = code; }); },
                 columns[a]);
    }
  }

  void write(std::span<const CodeColumn> columns) {
    for (std::size_t a = 0; a < width_; ++a) {
      const auto back = [](auto& code, auto& mine) {
        code = static_cast<std::decay_t<decltype(code)>>(mine);
      };
      std::visit([&](auto column) { each_code(column, a, back); }, columns[a]);
    }
  }

  std::size_t n_rows() const { return n_rows_; }
  std::int32_t* record(std::size_t row) { return codes_.data() + row * width_; }

 private:
  template <class Body>
  void each_chunk(std::size_t rows, const Body& body) {
    std::size_t mine = 0;
    for (std::size_t at = first_ * kTogether; at < rows; at += n_blocks_ * kTogether) {
      const std::size_t length = std::min(kTogether, rows - at);
      body(at, mine, length);
      mine += length;
    }
  }
  template <class Column, class Body>
  void each_code(Column column, std::size_t attribute, const Body& body) {
    each_chunk(column.size(), [&](std::size_t at, std::size_t mine, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) body(column[at + i], codes_[(mine + i) * width_ + attribute]);
    });
  }

  std::size_t first_ = 0;
  std::size_t n_blocks_ = 1;
  std::size_t n_rows_ = 0;
  std::size_t width_ = 0;
  std::vector<std::int32_t> codes_;
};

/// Moves the records of one block at a time, given the excesses they should remove.
class Mover {
 public:
  Mover(std::span<const std::size_t> sizes, const ExcessTables& tables) : sizes_(sizes), tables_(tables) {
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      if (sizes[a] > 1 && !tables.uses(a).empty()) attributes_.push_back(a);
      rows_.resize(std::max(rows_.size(), tables.uses(a).size()));
    }
  }

  std::vector<float> own;      ///< excesses of a block that is refined beside others
  std::int64_t misplaced = 0;  ///< change of the number of records in structural zeros

  /// Visits each record once, in an order of its own, unless the watch is over or `done`, asked now and then,
  /// says so.
  template <class Done>
  void sweep(Block& block, float* excess, std::pair<std::uint32_t, std::uint32_t> draws, Watch& watch,
             const Done& done) {
    if (block.n_rows() == 0) return;
    const auto n = static_cast<std::uint32_t>(block.n_rows());
    std::uint32_t stride = n == 1 ? 1 : 1 + draws.first % (n - 1);
    while (std::gcd(stride, n) != 1) stride = stride % n + 1;
    std::size_t row = draws.second % n;
    excess_ = excess;
    const std::size_t look = std::max<std::size_t>(kVisits, tables_.n_cells() / kCellsPerVisit);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i % kVisits == 0) {
        if (watch.is_over()) return;
        watch.count(std::min(kVisits, n - i));
      }
      if ((i + 1) % look == 0 && done()) return;
      for (const std::size_t a : attributes_) offer(a, block.record(row), i);
      row += stride;
      if (row >= n) row -= n;
    }
  }

 private:
  /// Changes the record's value of an attribute to the best one if that is better.
  void offer(std::size_t attribute, std::int32_t* record, std::uint32_t visit) {
    const auto uses = tables_.uses(attribute);
    const auto now = static_cast<std::size_t>(record[attribute]);
    // The change of the loss by leaving the present value. Records leave cells that have too many.
    float left = 0;
    bool worth = false;
    for (std::size_t k = 0; k < uses.size(); ++k) {
      rows_[k] = excess_ + tables_.start(uses[k].row, record);
      const float x = rows_[k][now] == kInfinite ? kMisplaced : rows_[k][now];
      left += x;
      worth = worth || x > 0;
    }
    if (!worth) return;
    std::size_t n = sizes_[attribute];
    std::size_t first = 0;
    if (n > kManyValues) {
      // One block of them, the next one for the next record.
      const std::size_t n_blocks = (n + kManyValues - 1) / kManyValues;
      first = visit % n_blocks * kManyValues;
      n = std::min(kManyValues, n - first);
      for (std::size_t k = 0; k < uses.size(); ++k) rows_[k] += first;
    }
    const Least least = kernels_.least_sum(rows_.data(), uses.size(), n);
    const float change = static_cast<float>(uses.size()) - left + least.value;
    if (change < -kLeastGain && first + least.at != now) move(attribute, record, first + least.at);
  }

  void move(std::size_t attribute, std::int32_t* record, std::size_t value) {
    const auto now = static_cast<std::size_t>(record[attribute]);
    for (const ExcessTables::Use& use : tables_.uses(attribute)) {
      float* const row = excess_ + tables_.start(use.row, record);
      misplaced += (row[value] == kInfinite ? 1 : 0) - (row[now] == kInfinite ? 1 : 0);
      row[now] -= 1;
      row[value] += 1;
      for (const ExcessTables::View& twin : tables_.twins(use)) {
        float* const cells = excess_ + tables_.start(twin, record);
        cells[now * twin.own] -= 1;
        cells[value * twin.own] += 1;
      }
    }
    record[attribute] = static_cast<std::int32_t>(value);
  }

  std::span<const std::size_t> sizes_;
  const ExcessTables& tables_;
  const RecordKernels& kernels_ = record_kernels();
  std::vector<std::size_t> attributes_;  ///< that have other values and a target
  std::vector<const float*> rows_;
  float* excess_ = nullptr;
};

class Refinement {
 public:
  Refinement(std::span<const CodeColumn> columns, std::span<const std::size_t> sizes,
             std::span<const RecordTarget> targets, std::uint64_t seed, int n_threads, Watch& watch)
      : columns_(columns), tables_(sizes, targets), draws_(seed), n_threads_(n_threads), watch_(watch) {
    const std::size_t rows = n_records(columns);
    const std::size_t block_rows =
        std::clamp(kBlockCodes / std::max<std::size_t>(columns.size(), 1), kTogether, kBlockRows);
    n_blocks_ = std::max<std::size_t>(1, (rows + block_rows - 1) / block_rows);
    // Copies of the excesses must cost less than a block's visits.
    const bool many = n_blocks_ >= 2 * kBeside && tables_.size() <= block_rows * columns.size();
    beside_ = many ? kBeside : 1;
    blocks_.resize(beside_);
    for (std::size_t b = 0; b < beside_; ++b) movers_.emplace_back(sizes, tables_);
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
  std::pair<std::uint32_t, std::uint32_t> order() {
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
    std::vector<std::pair<std::uint32_t, std::uint32_t>> orders;
    for (std::size_t b = 0; b < n; ++b) orders.push_back(order());
    for (float& x : cells()) x /= static_cast<float>(n);
    const int threads = threads_for(n * kBlockCodes * kVisitWork, n_threads_);
    parallel_for(n, threads, [&](std::size_t b) {
      Mover& mover = movers_[b];
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
  Xoshiro draws_;
  int n_threads_;
  Watch& watch_;
  const RecordKernels& kernels_ = record_kernels();
  std::size_t n_blocks_ = 1;
  std::size_t beside_ = 1;
  std::vector<Block> blocks_;
  std::vector<Mover> movers_;
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
