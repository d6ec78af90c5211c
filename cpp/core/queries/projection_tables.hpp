#pragma once
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "core/queries/projections.hpp"

namespace pypgm {

/// The tables a plan of projections is made of, while it is made. They are numbered in three series that are
/// put one behind the other in the end: leaves, marginals of single leaves, and all other steps.
class ProjectionTables {
 public:
  using Key = std::pair<Source, int>;

  struct Ref {
    enum Kind { leaf, marginal, step } kind;
    int index;
  };

  /// `sizes` by attribute, then by block.
  explicit ProjectionTables(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {}

  double cells(const Axes& axes) const { return count_cells(sizes_, axes); }
  const Axes& axes_of(const Ref& ref) const;

  /// A leaf; the same one for the same key.
  Ref leaf(const Key& key, const Axes& axes);
  /// A leaf over `whole` summed onto `scope`, a part of it; both ascending.
  Ref marginal(const Key& key, const Scope& whole, const Scope& scope);
  Ref step(const Ref& left, const std::optional<Ref>& right, Axes axes);
  /// Multiplies factors, at least one, into a table, always the one that leaves the smallest product, and
  /// sums out what is neither in `out` nor in a factor still to come. The last product has the axes of `out`,
  /// in its order.
  Ref combine(Ref table, std::vector<Ref> factors, const Axes& out);

  /// The plan that returns some steps. Marginals come from the smallest larger marginal of the same leaf, if
  /// there is one. The tables are gone afterwards.
  ProjectionPlan finish(const std::vector<Ref>& outputs);

 private:
  struct Made {
    Ref left;
    std::optional<Ref> right;
    Axes axes;
  };

  std::vector<std::size_t> sizes_;
  std::vector<Key> sources_;
  std::vector<Axes> leaf_axes_;
  std::map<Key, int> leaves_;
  std::vector<Made> marginals_;
  std::map<std::pair<Key, Scope>, int> marginal_of_;
  std::vector<Made> steps_;

  Axes product(const Ref& table, const std::vector<Ref>& factors, std::size_t next, const Axes& out) const;
  void reuse_marginals();
};

}  // namespace pypgm
