#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/queries/projections.hpp"

namespace pypgm {

/// The tables a plan of projections is made of, while it is made.
class ProjectionTables {
 public:
  using Key = std::pair<Source, int>;
  using Ref = int;  ///< a table: a step, or, below 0, a leaf

  /// `sizes` by attribute, then by block.
  explicit ProjectionTables(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  double cells(const Axes& axes) const { return count_cells(sizes_, axes); }
  const Axes& axes_of(Ref ref) const;

  /// A leaf; the same one for the same key.
  Ref leaf(const Key& key, const Axes& axes);
  /// A leaf over `whole` summed onto `scope`, a part of it; both ascending.
  Ref marginal(const Key& key, const Scope& whole, const Scope& scope);
  Ref step(Ref left, std::optional<Ref> right, Axes axes);
  /// Multiplies factors, at least one, into a table, always the one that leaves the smallest product, and
  /// sums out what is neither in `out` nor in a factor still to come. The last product has the axes of `out`,
  /// in its order.
  Ref combine(Ref table, std::vector<Ref> factors, const Axes& out);

  /// The plan that returns some steps. Marginals come from the smallest larger marginal of the same leaf, if
  /// there is one. The tables are gone afterwards.
  ProjectionPlan finish(const std::vector<Ref>& outputs);

 private:
  struct Step {
    Ref left;
    std::optional<Ref> right;
    Axes axes;
    bool marginal = false;  ///< of a leaf
  };

  std::vector<std::size_t> sizes_;
  std::vector<Key> sources_;
  std::vector<Leaf> leaves_;
  std::map<Key, Ref> leaf_of_;
  std::vector<Step> steps_;
  std::map<std::pair<Ref, Scope>, Ref> marginal_of_;

  Axes product(Ref table, const std::vector<Ref>& factors, std::size_t next, const Axes& out) const;
  std::vector<Ref> ordered_steps();
};

}  // namespace pypgm
