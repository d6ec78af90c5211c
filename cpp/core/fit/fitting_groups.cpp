#include "core/fit/fitting_groups.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/numbers.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kFewCells = 2048;  // of a table in which every marginal is fitted by itself
constexpr double kBounds[] = {1.0 / 4, 1.0 / 16, 1.0 / 64, 1.0 / 256};  // of a part's cells
constexpr double kVisits = 2;      // of each cell for one marginal: summed and scaled
constexpr double kPartVisits = 4;  // of each cell of a part beside those of its marginals

struct Part {
  Scope scope;
  double cells;
  std::vector<int> factors;
};

/// Parts, and the factors that are fitted in the table itself.
struct Grouping {
  std::vector<Part> parts;
  std::vector<int> alone;
  double visits = 0;
};

Scope joined(const Scope& a, const Scope& b) {
  Scope both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

class Grouper {
 public:
  Grouper(std::span<const std::size_t> sizes, std::span<const Scope> scopes)
      : sizes_(sizes), scopes_(scopes) {}

  FittingGroup group(const Scope& scope, std::span<const int> factors) const {
    FittingGroup group;
    group.cells = cells_of(sizes_, scope);
    const Grouping grouping = cheapest(static_cast<double>(group.cells), factors);
    group.goals = goals(scope, grouping.alone);
    for (const Part& part : grouping.parts) {
      group.parts.push_back(this->group(part.scope, part.factors));
      group.parts.back().place = nested_layout(sizes_, scope, part.scope);
      group.parts.back().around = goals(scope, part.factors);
    }
    return group;
  }

 private:
  std::vector<FittingGroup::Goal> goals(const Scope& scope, const std::vector<int>& factors) const {
    std::vector<FittingGroup::Goal> goals;
    goals.reserve(factors.size());
    for (const int f : factors) goals.push_back({f, nested_layout(sizes_, scope, scopes_[at(f)])});
    return goals;
  }

  Grouping cheapest(double cells, std::span<const int> factors) const {
    Grouping best;
    best.alone.assign(factors.begin(), factors.end());
    best.visits = kVisits * cells * static_cast<double>(factors.size());
    if (cells <= kFewCells || factors.size() < 2) return best;
    for (const double bound : kBounds) {
      Grouping other = grouped(cells, bound * cells, factors);
      if (other.visits < best.visits) best = std::move(other);
    }
    return best;
  }

  /// Parts of at most so many cells, each begun by the first factor that none has and grown by the factor
  /// that asks for the fewest more.
  Grouping grouped(double cells, double most, std::span<const int> factors) const {
    Grouping grouping;
    std::vector<int> left(factors.begin(), factors.end());
    while (!left.empty()) {
      Part part{scopes_[at(left.front())], cells_in(scopes_[at(left.front())]), {}};
      for (bool grows = part.cells <= most; grows;) grows = grow(part, left, most);
      for (const int f : left) {
        if (holds(part, f)) part.factors.push_back(f);
      }
      left.erase(std::remove_if(left.begin(), left.end(), [&](int f) { return holds(part, f); }), left.end());
      const double together = kVisits * cells + (kPartVisits + kVisits * count(part)) * part.cells;
      if (part.cells <= most && together < kVisits * cells * count(part)) {
        grouping.visits += together;
        grouping.parts.push_back(std::move(part));
      } else {
        grouping.visits += kVisits * cells * count(part);
        grouping.alone.insert(grouping.alone.end(), part.factors.begin(), part.factors.end());
      }
    }
    return grouping;
  }

  bool grow(Part& part, const std::vector<int>& left, double most) const {
    const Scope* best = nullptr;
    double fewest = most;
    for (const int f : left) {
      if (holds(part, f)) continue;
      const double cells = cells_in(joined(part.scope, scopes_[at(f)]));
      if (cells > fewest || (best != nullptr && cells == fewest)) continue;
      fewest = cells;
      best = &scopes_[at(f)];
    }
    if (best == nullptr) return false;
    part.scope = joined(part.scope, *best);
    part.cells = fewest;
    return true;
  }

  bool holds(const Part& part, int f) const {
    const Scope& scope = scopes_[at(f)];
    return std::includes(part.scope.begin(), part.scope.end(), scope.begin(), scope.end());
  }

  static double count(const Part& part) { return static_cast<double>(part.factors.size()); }
  double cells_in(const Scope& scope) const { return static_cast<double>(cells_of(sizes_, scope)); }

  std::span<const std::size_t> sizes_;
  std::span<const Scope> scopes_;
};

}  // namespace

FittingGroup group_factors(std::span<const std::size_t> sizes, const Scope& scope,
                           std::span<const Scope> scopes, std::span<const int> factors) {
  return Grouper(sizes, scopes).group(scope, factors);
}

std::size_t nested_cells(const FittingGroup& group) {
  std::size_t most = 0;
  for (const FittingGroup& part : group.parts) most = std::max(most, 2 * part.cells + nested_cells(part));
  return most;
}

}  // namespace pypgm
