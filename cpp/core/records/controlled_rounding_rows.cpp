// Sets row counts by direct moves between pairs, then by value, then along chains found breadth-first.
#include "core/records/controlled_rounding_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/watch.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kNoCell = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kPartners = 8;  // rows tried for a common value
// Weight of moves towards the means against moves by shares. Without the former, counts drift further from
// their means; without the latter, rare values gain. From 1 to 4 the bias of a count is a few hundredths of a
// record, at worst 0.15 (many means near one half).
constexpr double kPreference = 2;

class RowCounts {
 public:
  RowCounts(TwoWayTable& table, Xoshiro& random)
      : table_(table), random_(random), n_rows_(table.n_rows()), n_new_(table.n_new()), choice_(n_new_) {}

  void run() {
    std::vector<std::size_t> lacking;
    std::vector<std::size_t> surplus;
    for (std::size_t row = 0; row < n_rows_; ++row) {
      leave_if_abandoned();
      const auto begin = table_.counts.begin() + static_cast<std::ptrdiff_t>(row * n_new_);
      const std::int64_t sum =
          std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(n_new_), std::int64_t{0});
      const std::int64_t missing = table_.row_counts[row] - sum;
      std::vector<std::size_t>& list = missing > 0 ? lacking : surplus;
      list.insert(list.end(), static_cast<std::size_t>(std::abs(missing)), row);
    }
    shuffle<std::size_t>(lacking, random_);
    shuffle<std::size_t>(surplus, random_);
    move_pairs(lacking, surplus);
    move_by_value(lacking, surplus);
    if (lacking.empty() && surplus.empty()) return;
    count_columns();
    if (!lacking.empty() && !surplus.empty()) move_chains(lacking, surplus);
    for (const std::size_t row : lacking) change(row, 1);
    for (const std::size_t row : surplus) change(row, -1);
  }

 private:
  double weight(std::size_t row, std::size_t value) const { return table_.weights[row * n_new_ + value]; }
  std::int32_t& count(std::size_t row, std::size_t value) { return table_.counts[row * n_new_ + value]; }

  /// The mean of a cell minus its count, in records.
  double shortfall(std::size_t row, std::size_t value) { return table_.mean(row, value) - count(row, value); }

  /// A new value with probability proportional to choice_, or kNoCell if that is 0 everywhere.
  std::size_t choose() {
    const double sum = std::accumulate(choice_.begin(), choice_.end(), 0.0);
    if (!(sum > 0)) return kNoCell;
    double left = random_.uniform() * sum;
    std::size_t chosen = kNoCell;
    for (std::size_t value = 0; value < n_new_ && left >= 0; ++value) {
      if (choice_[value] == 0) continue;
      chosen = value;
      left -= choice_[value];
    }
    return chosen;
  }

  /// A new value that one row may gain and the other lose, or kNoCell. The gains favour moves that leave both
  /// cells at the floor or ceiling of their means; the shares keep rare values from being chosen if there is
  /// no such move. If both vanish, the weights of the gaining row decide.
  std::size_t choose_common(std::size_t to, std::size_t from) {
    leave_if_abandoned();
    for (const bool vanished : {false, true}) {
      for (std::size_t value = 0; value < n_new_; ++value) {
        choice_[value] = 0;
        if (count(from, value) == 0 || !(weight(to, value) > 0)) continue;
        const double gains = std::max(shortfall(to, value), 0.0) * std::max(-shortfall(from, value), 0.0);
        const double shares = table_.share(to, value) * table_.share(from, value);
        choice_[value] = vanished ? weight(to, value) : kPreference * gains + shares;
      }
      const std::size_t value = choose();
      if (value != kNoCell) return value;
    }
    return kNoCell;
  }

  /// Direct moves between random pairs. The rows left in the lists had no common value.
  void move_pairs(std::vector<std::size_t>& lacking, std::vector<std::size_t>& surplus) {
    const std::size_t pairs = std::min(lacking.size(), surplus.size());
    std::size_t left = 0;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      std::size_t value = kNoCell;
      for (std::size_t other = pair; other < std::min(pairs, pair + kPartners) && value == kNoCell; ++other) {
        value = choose_common(lacking[pair], surplus[other]);
        if (value != kNoCell) std::swap(surplus[pair], surplus[other]);
      }
      if (value != kNoCell) {
        ++count(lacking[pair], value);
        --count(surplus[pair], value);
      } else {
        lacking[left] = lacking[pair];
        surplus[left++] = surplus[pair];
      }
    }
    for (std::vector<std::size_t>* rows : {&lacking, &surplus}) {
      rows->erase(rows->begin() + static_cast<std::ptrdiff_t>(left),
                  rows->begin() + static_cast<std::ptrdiff_t>(pairs));
    }
  }

  /// Direct moves between rows that were not paired: each row that lacks a record looks for a surplus row
  /// with a value it admits. The rows left have none.
  void move_by_value(std::vector<std::size_t>& lacking, std::vector<std::size_t>& surplus) {
    if (lacking.empty() || surplus.empty()) return;
    std::vector<std::vector<std::size_t>> holders(n_new_);  // of each value: indices in surplus
    for (std::size_t i = 0; i < surplus.size(); ++i) {
      leave_if_abandoned();
      for (std::size_t value = 0; value < n_new_; ++value) {
        if (count(surplus[i], value) > 0) holders[value].push_back(i);
      }
    }
    std::erase_if(lacking, [&](std::size_t row) {
      for (;;) {
        leave_if_abandoned();
        for (std::size_t value = 0; value < n_new_; ++value) {
          choice_[value] = holders[value].empty() ? 0 : weight(row, value);
        }
        const std::size_t value = choose();
        if (value == kNoCell) return false;
        const std::size_t i = holders[value].back();
        const std::size_t from = surplus[i];
        holders[value].pop_back();
        if (from == kNoCell || count(from, value) == 0) continue;
        surplus[i] = kNoCell;
        ++count(row, value);
        --count(from, value);
        return true;
      }
    });
    std::erase(surplus, kNoCell);
  }

  void count_columns() {
    column_counts_.assign(table_.n_columns, 0);
    values_of_.assign(table_.n_columns, {});
    for (std::size_t value = 0; value < n_new_; ++value) {
      leave_if_abandoned();
      values_of_[table_.column_of[value]].push_back(value);
      for (std::size_t row = 0; row < n_rows_; ++row)
        column_counts_[table_.column_of[value]] += count(row, value);
    }
  }

  /// Whether a column may change by 1 or -1 without leaving the floor and ceiling of its mean.
  bool has_slack(std::size_t column, int by) const {
    const auto after = static_cast<double>(column_counts_[column] + by);
    const double mean = table_.column_means[column];
    return by > 0 ? after <= std::ceil(mean) : after >= std::floor(mean);
  }

  /// Whether a cell that may change by 1 or -1 stays less than 2 from its two expectations.
  bool is_near(std::size_t row, std::size_t value, int by) {
    const double given = static_cast<double>(table_.row_counts[row]) * table_.share(row, value);
    const double mean = table_.mean(row, value);
    const double after = count(row, value) + by;
    return std::abs(after - mean) < 2 && std::abs(after - given) < 2;
  }

  /// Moves along chains. The rows left in the lists had none.
  void move_chains(std::vector<std::size_t>& lacking, std::vector<std::size_t>& surplus) {
    too_many_.assign(n_rows_, 0);
    for (const std::size_t row : surplus) ++too_many_[row];
    const std::size_t vertices = n_rows_ + table_.n_columns + 1;
    reached_.assign(vertices, 0);
    from_.assign(vertices, kNoCell);
    value_.assign(vertices, kNoCell);
    std::erase_if(lacking, [this](std::size_t row) { return move_along_chain(row); });
    surplus.clear();
    for (std::size_t row = 0; row < n_rows_; ++row) {
      surplus.insert(surplus.end(), static_cast<std::size_t>(too_many_[row]), row);
    }
  }

  /// A breadth-first search over rows, columns and the pool of the columns' slack. A row gains in a column,
  /// the column takes the record from another row or from the pool, the pool takes it from another column.
  /// Vertices that a failed search reached lead to no surplus row later either, so their marks stay.
  bool move_along_chain(std::size_t start) {
    if (reached_[start] != 0) return false;
    queue_.assign(1, start);
    reached_[start] = 1;
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      leave_if_abandoned();
      const std::size_t vertex = queue_[next];
      if (vertex < n_rows_ && too_many_[vertex] > 0) {
        apply_chain(start, vertex);
        for (const std::size_t seen : queue_) reached_[seen] = 0;
        return true;
      }
      if (vertex < n_rows_) {
        search_row(vertex);
      } else if (vertex < pool()) {
        search_column(vertex);
      } else {
        for (std::size_t column = 0; column < table_.n_columns; ++column) {
          if (has_slack(column, -1)) reach(n_rows_ + column, vertex, kNoCell);
        }
      }
    }
    return false;
  }

  std::size_t pool() const { return n_rows_ + table_.n_columns; }

  void search_row(std::size_t row) {
    for (std::size_t value = 0; value < n_new_; ++value) {
      if (weight(row, value) > 0 && is_near(row, value, 1))
        reach(n_rows_ + table_.column_of[value], row, value);
    }
  }

  void search_column(std::size_t vertex) {
    const std::size_t column = vertex - n_rows_;
    for (const std::size_t value : values_of_[column]) {
      for (std::size_t row = 0; row < n_rows_; ++row) {
        if (count(row, value) > 0 && is_near(row, value, -1)) reach(row, vertex, value);
      }
    }
    if (has_slack(column, 1)) reach(pool(), vertex, kNoCell);
  }

  void reach(std::size_t vertex, std::size_t from, std::size_t value) {
    if (reached_[vertex] != 0) return;
    reached_[vertex] = 1;
    from_[vertex] = from;
    value_[vertex] = value;
    queue_.push_back(vertex);
  }

  void apply_chain(std::size_t start, std::size_t end) {
    --too_many_[end];
    for (std::size_t vertex = end; vertex != start; vertex = from_[vertex]) {
      const std::size_t from = from_[vertex];
      if (vertex < n_rows_) {
        --count(vertex, value_[vertex]);
      } else if (vertex == pool()) {
        ++column_counts_[from - n_rows_];
      } else if (from == pool()) {
        --column_counts_[vertex - n_rows_];
      } else {
        ++count(from, value_[vertex]);
      }
    }
  }

  /// Adds a record to a row (by = 1) or removes one (by = -1): in a cell whose count moves towards its mean
  /// and whose column has slack; else in such a cell; else in such a column; else in any admitted cell.
  void change(std::size_t row, int by) {
    leave_if_abandoned();
    std::size_t chosen = kNoCell;
    for (int tier = 0; tier < 4 && chosen == kNoCell; ++tier) {
      for (std::size_t value = 0; value < n_new_; ++value) {
        const bool admitted = by > 0 ? weight(row, value) > 0 : count(row, value) > 0;
        const bool slack = tier == 1 || tier == 3 || has_slack(table_.column_of[value], by);
        const double worth = tier < 2
                                 ? std::max(by * shortfall(row, value), 0.0)
                                 : (by > 0 ? weight(row, value) : static_cast<double>(count(row, value)));
        choice_[value] = admitted && slack ? worth : 0;
      }
      chosen = choose();
    }
    assert(chosen != kNoCell);
    count(row, chosen) += by;
    column_counts_[table_.column_of[chosen]] += by;
  }

  TwoWayTable& table_;
  Xoshiro& random_;
  std::size_t n_rows_;
  std::size_t n_new_;
  std::vector<double> choice_;
  std::vector<std::int64_t> column_counts_;
  std::vector<std::vector<std::size_t>> values_of_;  ///< of each column: its new values
  std::vector<std::int64_t> too_many_;               ///< of each row: records to lose
  std::vector<char> reached_;                        ///< of each row, column and the pool
  std::vector<std::size_t> from_;
  std::vector<std::size_t> value_;  ///< the new value by which a vertex was reached
  std::vector<std::size_t> queue_;
};

}  // namespace

void set_row_counts(TwoWayTable& table, Xoshiro& random) { RowCounts(table, random).run(); }

}  // namespace pypgm
