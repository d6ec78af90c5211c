#include "core/repair.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

namespace pypgm {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();

class Repair {
 public:
  Repair(const RowRepair& table, Xoshiro& random) : table_(table), random_(random), choice_(table.n_new) {}

  void run(std::span<const std::int64_t> missing) {
    std::vector<std::size_t> lacking;
    std::vector<std::size_t> surplus;
    for (std::size_t row = 0; row < missing.size(); ++row) {
      lacking.insert(lacking.end(), static_cast<std::size_t>(std::max<std::int64_t>(missing[row], 0)), row);
      surplus.insert(surplus.end(), static_cast<std::size_t>(std::max<std::int64_t>(-missing[row], 0)), row);
    }
    shuffle<std::size_t>(lacking, random_);
    shuffle<std::size_t>(surplus, random_);
    move_pairs(lacking, surplus);
    if (lacking.empty() && surplus.empty()) return;
    prepare_chains(surplus);
    for (const std::size_t row : lacking) {
      if (!move_along_chain(row)) take(row);
    }
    for (std::size_t row = 0; row < wanted_.size(); ++row) {
      for (; wanted_[row] > 0; --wanted_[row]) give(row);
    }
  }

 private:
  double weight(std::size_t row, std::size_t value) const {
    return table_.weights[row * table_.n_new + value];
  }
  std::int32_t& count(std::size_t row, std::size_t value) const {
    return table_.counts[row * table_.n_new + value];
  }

  /// A new value with probability proportional to choice_, or kNone if that is 0 everywhere.
  std::size_t choose() {
    double sum = 0;
    for (const double weight : choice_) sum += weight;
    if (!(sum > 0)) return kNone;
    double left = random_.uniform() * sum;
    std::size_t chosen = kNone;
    for (std::size_t value = 0; value < choice_.size(); ++value) {
      if (choice_[value] == 0) continue;
      chosen = value;
      left -= choice_[value];
      if (left < 0) break;
    }
    return chosen;
  }

  /// Direct moves; what is left in both lists has no value in common.
  void move_pairs(std::vector<std::size_t>& lacking, std::vector<std::size_t>& surplus) {
    const std::size_t pairs = std::min(lacking.size(), surplus.size());
    std::size_t left = 0;
    for (std::size_t pair = 0; pair < pairs; ++pair) {
      for (std::size_t value = 0; value < table_.n_new; ++value) {
        choice_[value] = count(surplus[pair], value) > 0 ? weight(lacking[pair], value) : 0;
      }
      const std::size_t value = choose();
      if (value != kNone) {
        ++count(lacking[pair], value);
        --count(surplus[pair], value);
      } else {
        lacking[left] = lacking[pair];
        surplus[left] = surplus[pair];
        ++left;
      }
    }
    const auto drop = [left, pairs](std::vector<std::size_t>& rows) {
      rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(left),
                 rows.begin() + static_cast<std::ptrdiff_t>(pairs));
    };
    drop(lacking);
    drop(surplus);
  }

  void prepare_chains(const std::vector<std::size_t>& surplus) {
    n_rows_ = table_.targets.size();
    wanted_.assign(n_rows_, 0);
    for (const std::size_t row : surplus) ++wanted_[row];
    row_sums_.assign(n_rows_, 0);
    column_counts_.assign(table_.column_sums.size(), 0);
    for (std::size_t row = 0; row < n_rows_; ++row) {
      for (std::size_t value = 0; value < table_.n_new; ++value) {
        row_sums_[row] += weight(row, value);
        column_counts_[table_.column_of[value]] += count(row, value);
      }
    }
    values_of_.assign(table_.column_sums.size(), {});
    for (std::size_t value = 0; value < table_.n_new; ++value) {
      values_of_[table_.column_of[value]].push_back(value);
    }
    reached_.assign(n_rows_ + values_of_.size() + 1, 0);
    from_.assign(reached_.size(), kNone);
    cell_.assign(reached_.size(), kNone);
  }

  double expected(std::size_t row, std::size_t value) const {
    return table_.targets[row] * weight(row, value) / row_sums_[row];
  }
  bool may_gain(std::size_t row, std::size_t value) const {
    return weight(row, value) > 0 && count(row, value) + 1 < expected(row, value) + 2;
  }
  bool may_lose(std::size_t row, std::size_t value) const {
    return count(row, value) > 0 && count(row, value) - 1 > expected(row, value) - 2;
  }

  /// A breadth-first search over rows, columns and the pool of the columns' room. A row gains in a column,
  /// the column takes that from another row or from the pool, which takes it from another column. What a
  /// failed search has reached cannot reach a surplus row later either, so its marks stay.
  bool move_along_chain(std::size_t start) {
    if (reached_[start] != 0) return false;
    queue_.assign(1, start);
    reached_[start] = 1;
    for (std::size_t next = 0; next < queue_.size(); ++next) {
      const std::size_t vertex = queue_[next];
      if (vertex < n_rows_ && wanted_[vertex] > 0) {
        apply_chain(start, vertex);
        for (const std::size_t seen : queue_) reached_[seen] = 0;
        return true;
      }
      spread(vertex);
    }
    return false;
  }

  void spread(std::size_t vertex) {
    const std::size_t pool = reached_.size() - 1;
    if (vertex == pool) {
      for (std::size_t column = 0; column < values_of_.size(); ++column) {
        if (has_spare(column)) reach(n_rows_ + column, pool, kNone);
      }
    } else if (vertex < n_rows_) {
      for (std::size_t value = 0; value < table_.n_new; ++value) {
        if (may_gain(vertex, value)) reach(n_rows_ + table_.column_of[value], vertex, value);
      }
    } else {
      const std::size_t column = vertex - n_rows_;
      for (const std::size_t value : values_of_[column]) {
        for (std::size_t row = 0; row < n_rows_; ++row) {
          if (reached_[row] == 0 && may_lose(row, value)) reach(row, vertex, value);
        }
      }
      if (has_room(column)) reach(pool, vertex, kNone);
    }
  }

  void reach(std::size_t vertex, std::size_t from, std::size_t value) {
    if (reached_[vertex] != 0) return;
    reached_[vertex] = 1;
    from_[vertex] = from;
    cell_[vertex] = value;
    queue_.push_back(vertex);
  }

  void apply_chain(std::size_t start, std::size_t end) {
    const std::size_t pool = reached_.size() - 1;
    --wanted_[end];
    for (std::size_t vertex = end; vertex != start; vertex = from_[vertex]) {
      const std::size_t from = from_[vertex];
      if (vertex < n_rows_) {
        --count(vertex, cell_[vertex]);
      } else if (vertex == pool) {
        ++column_counts_[from - n_rows_];
      } else if (from == pool) {
        --column_counts_[vertex - n_rows_];
      } else {
        ++count(from, cell_[vertex]);
      }
    }
  }

  bool has_room(std::size_t column) const {
    return static_cast<double>(column_counts_[column] + 1) <= std::ceil(table_.column_sums[column]);
  }
  bool has_spare(std::size_t column) const {
    return static_cast<double>(column_counts_[column] - 1) >= std::floor(table_.column_sums[column]);
  }

  /// Adds a record to a row, in a column that has room if one admits it.
  void take(std::size_t row) {
    std::size_t chosen = kNone;
    for (const bool anywhere : {false, true}) {
      for (std::size_t value = 0; value < table_.n_new; ++value) {
        choice_[value] = anywhere || has_room(table_.column_of[value]) ? weight(row, value) : 0;
      }
      chosen = choose();
      if (chosen != kNone) break;
    }
    assert(chosen != kNone);
    ++count(row, chosen);
    ++column_counts_[table_.column_of[chosen]];
  }

  /// Takes a record from a row, from a column that has one to spare if there is one.
  void give(std::size_t row) {
    std::size_t chosen = kNone;
    for (const bool anywhere : {false, true}) {
      for (std::size_t value = 0; value < table_.n_new; ++value) {
        choice_[value] = anywhere || has_spare(table_.column_of[value]) ? count(row, value) : 0;
      }
      chosen = choose();
      if (chosen != kNone) break;
    }
    assert(chosen != kNone);
    --count(row, chosen);
    --column_counts_[table_.column_of[chosen]];
  }

  const RowRepair& table_;
  Xoshiro& random_;
  std::vector<double> choice_;
  std::size_t n_rows_ = 0;
  std::vector<std::size_t> wanted_;  ///< of each row: records it has too many
  std::vector<double> row_sums_;     ///< of weights
  std::vector<std::int64_t> column_counts_;
  std::vector<std::vector<std::size_t>> values_of_;  ///< of each column: its new values
  std::vector<char> reached_;                        ///< of each row, column and the pool
  std::vector<std::size_t> from_;
  std::vector<std::size_t> cell_;  ///< the new value by which a vertex was reached
  std::vector<std::size_t> queue_;
};

}  // namespace

void repair_rows(const RowRepair& table, std::span<const std::int64_t> missing, Xoshiro& random) {
  Repair(table, random).run(missing);
}

}  // namespace pypgm
