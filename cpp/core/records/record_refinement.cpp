// Coordinate descent over records and attributes on the sum of squared excesses.
#include "core/records/record_refinement.hpp"

#include <cmath>
#include <numeric>

#include "core/base/xoshiro.hpp"

namespace pypgm {

namespace {

constexpr int kOffers = 4;            // values considered for each record and attribute in a sweep
constexpr double kWorthwhile = 1e-2;  // a sweep that lowers the distance by a smaller part is the last

/// The excess (count minus target) of each cell of one target, and the step of each of its attributes.
struct Excess {
  std::vector<std::size_t> attributes;
  std::vector<std::size_t> steps;
  std::vector<double> cells;
  std::vector<std::uint8_t> forbidden;
  double weight;
};

/// A target that an attribute belongs to.
struct Use {
  std::size_t target;
  std::size_t step;  ///< in the target's table, of one value of the attribute
};

class Refinement {
 public:
  Refinement(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
             std::span<const RecordTarget> targets)
      : columns_(columns), sizes_(sizes), uses_(columns.size()) {
    rows_ = columns.empty() ? 0 : columns[0].size();
    for (const RecordTarget& target : targets) add(target);
    cell_.resize(excess_.size());
  }

  double distance() const {
    double sum = 0;
    for (const Excess& e : excess_) {
      for (const double x : e.cells) sum += std::abs(x);
    }
    return sum;
  }

  void sweep(Xoshiro& draws) {
    // The order of rows differs from sweep to sweep: a random stride coprime to their number.
    if (rows_ == 0) return;
    const auto n = static_cast<std::uint32_t>(rows_);
    std::uint32_t stride = n == 1 ? 1 : 1 + draws.below(n - 1);
    while (std::gcd(stride, n) != 1) stride = stride % n + 1;
    std::size_t row = draws.below(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::size_t a = 0; a < columns_.size(); ++a) {
        if (sizes_[a] > 1 && !uses_[a].empty()) offer(row, a, draws);
      }
      row += stride;
      if (row >= rows_) row -= rows_;
    }
  }

 private:
  void add(const RecordTarget& target) {
    Excess e{target.attributes, std::vector<std::size_t>(target.attributes.size()), {}, {}, 1.0};
    std::size_t cells = 1;
    for (std::size_t k = target.attributes.size(); k-- > 0;) {
      e.steps[k] = cells;
      uses_[target.attributes[k]].push_back({excess_.size(), cells});
      cells *= sizes_[target.attributes[k]];
    }
    e.cells.resize(cells);
    e.forbidden.resize(cells);
    for (std::size_t i = 0; i < cells; ++i) {
      e.cells[i] = -target.values[i];
      e.forbidden[i] = target.values[i] == 0 ? 1 : 0;
    }
    for (std::size_t row = 0; row < rows_; ++row) e.cells[cell(e, row)] += 1;
    excess_.push_back(std::move(e));
  }

  std::size_t cell(const Excess& e, std::size_t row) const {
    std::size_t index = 0;
    for (std::size_t k = 0; k < e.attributes.size(); ++k) {
      index += e.steps[k] * static_cast<std::size_t>(columns_[e.attributes[k]][row]);
    }
    return index;
  }

  void offer(std::size_t row, std::size_t attribute, Xoshiro& draws) {
    const std::vector<Use>& uses = uses_[attribute];
    const auto now = static_cast<std::size_t>(columns_[attribute][row]);
    // The change of the loss by leaving the present value; no move helps if every cell lacks records.
    double leaving = 0;
    bool worth = false;
    for (const Use& use : uses) {
      const Excess& e = excess_[use.target];
      cell_[use.target] = cell(e, row);
      const double x = e.cells[cell_[use.target]];
      leaving += e.weight * (1 - 2 * x);
      worth = worth || x > 0;
    }
    if (!worth) return;
    const auto size = static_cast<std::uint32_t>(sizes_[attribute]);
    const bool all = size <= kOffers + 1;
    std::size_t best = now;
    double least = -1e-9;
    for (std::uint32_t k = 0; k < (all ? size : static_cast<std::uint32_t>(kOffers)); ++k) {
      const std::size_t value = all ? k : draws.below(size);
      if (value == now) continue;
      const double change = leaving + entering(uses, now, value);
      if (change < least) {
        least = change;
        best = value;
      }
    }
    if (best == now) return;
    for (const Use& use : uses) {
      Excess& e = excess_[use.target];
      const std::size_t from = cell_[use.target];
      e.cells[from] -= 1;
      e.cells[from - now * use.step + best * use.step] += 1;
    }
    columns_[attribute][row] = static_cast<std::int32_t>(best);
  }

  double entering(const std::vector<Use>& uses, std::size_t now, std::size_t value) const {
    double change = 0;
    for (const Use& use : uses) {
      const Excess& e = excess_[use.target];
      const std::size_t to = cell_[use.target] - now * use.step + value * use.step;
      if (e.forbidden[to] != 0) return 1e300;
      change += e.weight * (1 + 2 * e.cells[to]);
    }
    return change;
  }

  std::span<std::vector<std::int32_t>> columns_;
  std::span<const std::size_t> sizes_;
  std::vector<std::vector<Use>> uses_;  ///< by attribute
  std::vector<Excess> excess_;
  std::vector<std::size_t> cell_;  ///< by target: the cell of the present record
  std::size_t rows_ = 0;
};

}  // namespace

double refine_records(std::span<std::vector<std::int32_t>> columns, std::span<const std::size_t> sizes,
                      std::span<const RecordTarget> targets, int sweeps, std::uint64_t seed) {
  Xoshiro draws(seed);
  Refinement refinement(columns, sizes, targets);
  double distance = refinement.distance();
  for (int i = 0; i < sweeps; ++i) {
    refinement.sweep(draws);
    const double before = distance;
    distance = refinement.distance();
    if (before - distance <= kWorthwhile * before) break;
  }
  return distance;
}

}  // namespace pypgm
