// Coordinate descent over records and attributes on the sum of squared excesses.
#include "core/records/record_refinement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/base/xoshiro.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kOffers = 4;      // values considered for each record and attribute in a sweep
constexpr double kWorthwhile = 4e-2;    // a sweep that lowers the distance by a smaller part is the last
constexpr double kForbidden = 0x1p40;   // added to the excess of structural zeros: counts there stay exact
constexpr std::uint32_t kBlock = 1024;  // records between two looks at the watch
constexpr std::uint32_t kLooks = 8;     // looks at the distance in a sweep

/// A target that an attribute belongs to.
struct Use {
  std::size_t target;
  std::size_t step;  ///< in the target's table, of one value of the attribute
};

/// Where an attribute of a target stands in its table.
struct Place {
  std::size_t attribute = 0;
  std::size_t step = 0;  ///< 0 where a target has no more attributes
};

class Refinement {
 public:
  Refinement(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
             std::span<const RecordTarget> targets)
      : sizes_(sizes), uses_(columns.size()) {
    rows_ = columns.empty() ? 0 : columns[0].size();
    records_.resize(rows_ * columns.size());
    for (std::size_t a = 0; a < columns.size(); ++a) {
      for (std::size_t row = 0; row < rows_; ++row) records_[row * columns.size() + a] = columns[a][row];
    }
    for (const RecordTarget& target : targets) axes_ = std::max(axes_, target.attributes.size());
    places_.resize(axes_ * targets.size());
    for (const RecordTarget& target : targets) add(target);
    for (std::size_t row = 0; row < rows_; ++row) {
      visit(row);
      for (const std::size_t cell : cell_) excess_[cell] += 1;
    }
  }

  void write(std::span<std::vector<std::int32_t>> columns) const {
    for (std::size_t a = 0; a < columns.size(); ++a) {
      for (std::size_t row = 0; row < rows_; ++row) columns[a][row] = records_[row * columns.size() + a];
    }
  }

  double distance() const {
    double sum = 0;
    for (const double x : excess_) sum += std::abs(x >= kForbidden ? x - kForbidden : x);
    return sum;
  }

  /// Visits every record once, unless the watch is over or the distance is `enough` before.
  void sweep(Xoshiro& draws, double enough, Watch& watch) {
    // The order of rows differs from sweep to sweep: a random stride coprime to their number.
    if (rows_ == 0) return;
    const auto n = static_cast<std::uint32_t>(rows_);
    std::uint32_t stride = n == 1 ? 1 : 1 + draws.below(n - 1);
    while (std::gcd(stride, n) != 1) stride = stride % n + 1;
    std::size_t row = draws.below(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i % kBlock == 0) {
        if (watch.is_over()) return;
        watch.count(std::min(kBlock, n - i));
      }
      if ((i + 1) % (n / kLooks + kBlock) == 0 && distance() <= enough) return;
      visit(row);
      for (std::size_t a = 0; a < uses_.size(); ++a) {
        if (sizes_[a] > 1 && !uses_[a].empty()) offer(a, draws);
      }
      row += stride;
      if (row >= rows_) row -= rows_;
    }
  }

 private:
  void add(const RecordTarget& target) {
    const std::size_t index = cell_.size();
    std::size_t cells = 1;
    for (std::size_t k = target.attributes.size(); k-- > 0;) {
      uses_[target.attributes[k]].push_back({index, cells});
      places_[k * (places_.size() / axes_) + index] = {target.attributes[k], cells};
      cells *= sizes_[target.attributes[k]];
    }
    begin_.push_back(excess_.size());
    cell_.push_back(0);
    for (const double count : target.values) excess_.push_back(count == 0 ? kForbidden : -count);
  }

  /// Makes a record the present one: finds its cell of each target.
  void visit(std::size_t row) {
    record_ = std::span(records_).subspan(row * uses_.size(), uses_.size());
    std::copy(begin_.begin(), begin_.end(), cell_.begin());
    const Place* place = places_.data();
    for (std::size_t k = 0; k < axes_; ++k) {
      for (std::size_t& cell : cell_) {
        cell += place->step * static_cast<std::size_t>(record_[place->attribute]);
        ++place;
      }
    }
  }

  /// Values to consider instead of the present one, and how many: all others of a few; of many the one that a
  /// target lacks most, and some drawn at random.
  std::pair<std::array<std::size_t, kOffers>, std::size_t> offers(std::size_t attribute, std::size_t now,
                                                                  Xoshiro& draws) const {
    const std::vector<Use>& uses = uses_[attribute];
    const std::size_t size = sizes_[attribute];
    const bool all = size <= kOffers + 1;
    const std::size_t n = all ? size - 1 : kOffers;
    std::array<std::size_t, kOffers> values{};
    for (std::size_t k = 0; k < n; ++k) {
      values[k] = all ? k + (k >= now ? 1 : 0) : draws.below(static_cast<std::uint32_t>(size));
    }
    if (!all) values[0] = lacking(uses[draws.below(static_cast<std::uint32_t>(uses.size()))], size, now);
    return {values, n};
  }

  /// The value that would bring the present record to the cell of a target that lacks most records.
  std::size_t lacking(const Use& use, std::size_t size, std::size_t now) const {
    const double* const cells = excess_.data() + (cell_[use.target] - now * use.step);
    std::size_t best = 0;
    for (std::size_t value = 1; value < size; ++value) {
      if (cells[value * use.step] < cells[best * use.step]) best = value;
    }
    return best;
  }

  void offer(std::size_t attribute, Xoshiro& draws) {
    const std::vector<Use>& uses = uses_[attribute];
    const auto now = static_cast<std::size_t>(record_[attribute]);
    // The change of the loss by leaving the present value; no move helps if every cell lacks records.
    double excess = 0;
    bool worth = false;
    for (const Use& use : uses) {
      double x = excess_[cell_[use.target]];
      if (x >= kForbidden) x -= kForbidden;
      excess += x;
      worth = worth || x > 0;
    }
    if (!worth) return;
    const auto [offered, n] = offers(attribute, now, draws);
    std::array<double, kOffers> there{};
    for (const Use& use : uses) {
      const std::size_t base = cell_[use.target] - now * use.step;
      for (std::size_t k = 0; k < n; ++k) there[k] += excess_[base + offered[k] * use.step];
    }
    std::size_t best = now;
    double least = -1e-9;
    for (std::size_t k = 0; k < n; ++k) {
      const double change = 2 * (static_cast<double>(uses.size()) - excess + there[k]);
      if (offered[k] == now || change >= least) continue;
      least = change;
      best = offered[k];
    }
    if (best == now) return;
    for (const Use& use : uses) {
      std::size_t& cell = cell_[use.target];
      excess_[cell] -= 1;
      cell = cell - now * use.step + best * use.step;
      excess_[cell] += 1;
    }
    record_[attribute] = static_cast<std::int32_t>(best);
  }

  std::span<const std::size_t> sizes_;
  std::vector<std::vector<Use>> uses_;  ///< by attribute
  std::vector<Place> places_;           ///< the first of every target, then the second of every one ...
  std::size_t axes_ = 0;                ///< of the target that has most
  std::vector<double> excess_;          ///< count minus target of each cell, target after target
  std::vector<std::size_t> begin_;      ///< by target: its first cell
  std::vector<std::int32_t> records_;   ///< one record's values after the other
  std::size_t rows_ = 0;
  std::span<std::int32_t> record_;  ///< the present one
  std::vector<std::size_t> cell_;   ///< by target: that of the present record
};

}  // namespace

double refine_records(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, double enough, std::uint64_t seed,
                      Watch& watch) {
  Xoshiro draws(seed);
  Refinement refinement(columns, sizes, targets);
  double distance = refinement.distance();
  for (int i = 0; i < sweeps && distance > enough && !watch.is_over(); ++i) {
    refinement.sweep(draws, enough, watch);
    const double before = distance;
    distance = refinement.distance();
    if (before - distance <= kWorthwhile * before) break;
  }
  refinement.write(columns);
  return distance;
}

}  // namespace pypgm
