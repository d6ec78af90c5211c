// Takes pairs in their order while they fit a tree whose order of elimination is kept, and sought anew.
#include "core/plan/bounded_tree.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kFew =
    200;  // pairs, of which each is tried in new orders where the tree is no longer small

/// The bags of a fixed elimination order, to which edges are added. An attribute is named by its place in the
/// order.
class KeptOrder {
 public:
  KeptOrder(std::span<const std::size_t> sizes, const Elimination& from)
      : place_(sizes.size()), size_(sizes.size()), bags_(sizes.size()) {
    for (std::size_t i = 0; i < from.order.size(); ++i) {
      place_[at(from.order[i])] = static_cast<std::int32_t>(i);
      size_[i] = static_cast<double>(sizes[at(from.order[i])]);
    }
    for (std::size_t i = 0; i < from.bags.size(); ++i) {
      Bag& bag = bags_[i];
      for (const std::int32_t v : from.bags[i]) {
        if (v != from.order[i]) bag.later.push_back(place_[at(v)]);
      }
      std::ranges::sort(bag.later);
      bag.cells = cells_of(i);
    }
    for (const Bag& bag : bags_) {
      if (!bag.later.empty() && covers(bag, bags_[at(bag.later.front())]))
        bags_[at(bag.later.front())].inside = true;
    }
    for (const Bag& bag : bags_) cells_ += own_cells(bag);
  }

  /// Of the bags that no other holds.
  double cells() const { return cells_; }

  /// Adds the edges of a clique, unless all bags then have more cells.
  bool add(const Scope& clique, double max_cells) {
    const double before = cells_;
    undo_.clear();
    for (std::size_t i = 0; i < clique.size(); ++i) {
      for (std::size_t j = i + 1; j < clique.size(); ++j) join(place_[at(clique[i])], place_[at(clique[j])]);
    }
    if (cells_ <= max_cells) return true;
    while (!undo_.empty()) {
      std::swap(bags_[undo_.back().first], undo_.back().second);
      undo_.pop_back();
    }
    cells_ = before;
    return false;
  }

 private:
  struct Bag {
    Scope later;          ///< its neighbours when it goes, ascending
    double cells = 0;     ///< of the table over it and them
    bool inside = false;  ///< an earlier bag holds it
  };

  static bool covers(const Bag& bag, const Bag& next) { return bag.later.size() == next.later.size() + 1; }
  static double own_cells(const Bag& bag) { return bag.inside ? 0 : bag.cells; }
  double cells_of(std::size_t i) const {
    double cells = size_[i];
    for (const std::int32_t u : bags_[i].later) cells *= size_[at(u)];
    return cells;
  }

  /// Adds an edge. The first of a bag's later ones has all others of them: what a bag gains goes on to it,
  /// until one has it all. A bag that grows is no longer inside an earlier one but, maybe, that before it;
  /// one that does not stays where it was.
  void join(std::int32_t a, std::int32_t b) {
    std::size_t i = at(std::min(a, b));
    Scope more{std::max(a, b)};
    const Bag* before = nullptr;
    while (true) {
      Bag& bag = bags_[i];
      Scope merged;
      std::ranges::set_union(bag.later, more, std::back_inserter(merged));
      const bool grows = merged.size() > bag.later.size();
      if (!grows && (before == nullptr || bag.inside || !covers(*before, bag))) return;
      undo_.emplace_back(i, bag);
      cells_ -= own_cells(bag);
      bag.later = std::move(merged);
      bag.cells = cells_of(i);
      bag.inside = before != nullptr && covers(*before, bag);
      cells_ += own_cells(bag);
      if (!grows) return;
      before = &bag;
      i = at(bag.later.front());
      more.assign(bag.later.begin() + 1, bag.later.end());
    }
  }

  std::vector<std::int32_t> place_;
  std::vector<double> size_;
  std::vector<Bag> bags_;
  double cells_ = 0;
  std::vector<std::pair<std::size_t, Bag>> undo_;
};

}  // namespace

std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch) {
  forced = std::min(forced, pairs.size());
  std::vector<std::uint8_t> taken(pairs.size(), 0);
  std::vector<Scope> chosen(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(forced));
  std::fill_n(taken.begin(), forced, 1);
  const auto found = [&](double most) {
    watch.count();
    return eliminate_by_best_rule(sizes, chosen, most);
  };
  const Elimination first = found(max_cells);
  if (first.cells > max_cells) return taken;
  KeptOrder order(sizes, first);
  const bool are_few = pairs.size() <= kFew;
  std::vector<std::size_t> last;   // those taken beside the forced ones
  std::size_t found_for = forced;  // pairs
  std::size_t refused = 0;         // in a row
  for (std::size_t i = forced; i < pairs.size() && refused < patience && !watch.is_over(); ++i) {
    bool fits = order.add(pairs[i], are_few ? max_cells / 2 : max_cells);
    if (!fits && are_few) {
      chosen.push_back(pairs[i]);
      const Elimination other = found(max_cells);
      chosen.pop_back();
      fits = other.cells <= max_cells;
      if (fits) order = KeptOrder(sizes, other);
    } else if (!fits && chosen.size() > found_for) {
      found_for = chosen.size();
      const Elimination other = found(order.cells());
      if (other.cells < order.cells()) order = KeptOrder(sizes, other);
      fits = order.add(pairs[i], max_cells);
    }
    ++refused;
    if (!fits) continue;
    taken[i] = 1;
    chosen.push_back(pairs[i]);
    last.push_back(i);
    refused = 0;
  }
  // Who plans a tree for them does not know the order: by the rules it may take a little more.
  while (!last.empty() && found(max_cells).order.empty()) {
    taken[last.back()] = 0;
    last.pop_back();
    chosen.pop_back();
  }
  return taken;
}

}  // namespace pypgm
