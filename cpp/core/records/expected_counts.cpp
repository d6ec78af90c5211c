// Levels the excesses of columns row by row.
#include "core/records/expected_counts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

constexpr double kSettled = 1e-4;  // records that a column may be off, or that a sweep too little moves
constexpr int kSweeps = 100;       // over all rows; without zeros one settles it

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Changes column means so that they sum to the records of all rows: within floor and ceiling if possible.
void match_total(std::vector<double>& means, double records) {
  const double expected = sum_of(means);
  const double missing = records - expected;
  if (std::abs(missing) <= kSettled) return;
  std::vector<double> slack;
  slack.reserve(means.size());
  for (const double mean : means) {
    slack.push_back(missing > 0 ? std::ceil(mean) - mean : mean - std::floor(mean));
  }
  const double most = sum_of(slack);
  const bool fits = most >= std::abs(missing) - kSettled;
  for (std::size_t c = 0; c < means.size(); ++c) {
    means[c] += missing * (fits ? slack[c] / most : means[c] / expected);
  }
}

/// Counts of cells whose rows keep their sums while columns approach their means.
class Levelling {
 public:
  Levelling(const TwoWayTable& table, std::vector<double> shares)
      : table_(table),
        shares_(std::move(shares)),
        excess_(table.column_means.size()),
        up_(excess_.size()),
        down_(excess_.size()),
        move_(excess_.size()) {
    for (std::size_t c = 0; c < excess_.size(); ++c) excess_[c] = -table.column_means[c];
    counts_.reserve(shares_.size());
    for (const double count : table.row_counts) {
      for (const std::uint32_t column : table.column_of) {
        counts_.push_back(count * shares_[counts_.size()]);
        excess_[column] += counts_.back();
      }
    }
  }

  std::vector<double> run(Xoshiro& random) {
    std::vector<std::uint32_t> rows(table_.n_rows());
    std::iota(rows.begin(), rows.end(), 0U);
    shuffle(std::span(rows), random);
    double moved = kInfinity;
    for (int sweep = 0; sweep < kSweeps && moved > kSettled; ++sweep) {
      moved = 0;
      for (const std::uint32_t row : rows) {
        if (is_level()) return std::move(counts_);
        moved += level(row);
      }
    }
    return std::move(counts_);
  }

 private:
  bool is_level() const {
    return std::ranges::all_of(excess_, [](double x) { return std::abs(x) <= kSettled; });
  }

  /// Moves records of a row between columns, towards the mean of their excesses; returns how many.
  double level(std::size_t row) {
    std::ranges::fill(up_, 0.0);
    std::ranges::fill(down_, 0.0);
    for_values(row, [&](std::size_t column, double& /*count*/, double up, double down) {
      up_[column] += up;
      down_[column] += down;
    });
    double sum = 0;
    double n = 0;
    for (std::size_t c = 0; c < excess_.size(); ++c) {
      if (up_[c] + down_[c] == 0) continue;
      sum += excess_[c];
      ++n;
    }
    double gained = 0;
    double lost = 0;
    for (std::size_t c = 0; c < excess_.size(); ++c) {
      move_[c] = std::clamp(sum / n - excess_[c], -down_[c], up_[c]);
      (move_[c] > 0 ? gained : lost) += std::abs(move_[c]);
    }
    const double moved = std::min(gained, lost);
    if (moved == 0) return 0;
    for (std::size_t c = 0; c < excess_.size(); ++c) {
      move_[c] *= moved / (move_[c] > 0 ? gained : lost);
      excess_[c] += move_[c];
    }
    for_values(row, [&](std::size_t column, double& count, double up, double down) {
      const double move = move_[column];
      if (move != 0)
        count = std::max(0.0, count + move * (move > 0 ? up / up_[column] : down / down_[column]));
    });
    return moved;
  }

  /// Calls body(column, count, how much it may gain, how much it may lose) for each new value of a row.
  template <class Body>
  void for_values(std::size_t row, const Body& body) {
    for (std::size_t value = 0; value < table_.n_new(); ++value) {
      const std::size_t cell = row * table_.n_new() + value;
      const double share = shares_[cell];
      if (share == 0) continue;
      const auto [least, most] = std::minmax({table_.row_counts[row] * share, table_.row_means[row] * share});
      body(table_.column_of[value], counts_[cell], std::max(0.0, least + 1 - counts_[cell]),
           std::max(0.0, counts_[cell] - std::max(0.0, most - 1)));
    }
  }

  const TwoWayTable& table_;
  std::vector<double> shares_;  ///< of each cell in its row
  std::vector<double> counts_;  ///< of each cell
  std::vector<double> excess_;  ///< of each column: its counts minus its mean
  std::vector<double> up_;      ///< of each column: what the cells of a row may gain
  std::vector<double> down_;    ///< and lose
  std::vector<double> move_;
};

}  // namespace

std::vector<double> expected_counts(TwoWayTable table, std::vector<double> shares, Xoshiro& random) {
  match_total(table.column_means, sum_of(table.row_counts));
  return Levelling(table, std::move(shares)).run(random);
}

}  // namespace pypgm
