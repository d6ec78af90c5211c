#include "core/queries/joining_subtree.hpp"

#include <algorithm>
#include <map>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

/// The part of the tree in question, children before parents, and what would pass along its edges.
class Part {
 public:
  Part(const CalibratedTree& tree, const std::vector<std::size_t>& sizes, const std::vector<int>& top,
       const std::vector<AnswerAxis>& axes)
      : tree_(tree), sizes_(sizes), axes_(axes) {
    gather(top);
    weigh();
  }

  std::size_t meeting_place() const;
  JoiningSubtree subtree_of(std::size_t meeting) const;

 private:
  const CalibratedTree& tree_;
  const std::vector<std::size_t>& sizes_;
  const std::vector<AnswerAxis>& axes_;
  std::vector<int> cliques_;   ///< children before parents, the highest one last
  std::map<int, int> place_;   ///< of a clique in `cliques_`
  std::vector<int> homes_;     ///< the clique each axis is taken from, as near to the root as it gets
  std::vector<double> cells_;  ///< of each clique
  std::vector<double> below_;  ///< product of the sizes of the axes taken from a clique or from below it
  std::vector<double> above_;  ///< the same for all others, but for those its separator holds

  std::size_t parent_of(std::size_t k) const { return at(place_.at(tree_.parents[at(cliques_[k])])); }
  void gather(const std::vector<int>& top);
  void weigh();
};

/// The cliques from the highest ones of the attributes up to the first that all of them have reached, or that
/// holds those that are still missing.
void Part::gather(const std::vector<int>& top) {
  std::map<int, bool, std::greater<>> pending;  // whether something comes from below
  for (const AnswerAxis& axis : axes_) {
    homes_.push_back(top[at(axis.attribute)]);
    pending.emplace(homes_.back(), false);
  }
  for (;;) {
    const int clique = pending.begin()->first;
    pending.erase(pending.begin());
    place_.emplace(clique, static_cast<int>(cliques_.size()));
    cliques_.push_back(clique);
    bool all_here =
        std::none_of(pending.begin(), pending.end(), [](const auto& other) { return other.second; });
    for (std::size_t i = 0; i < axes_.size(); ++i) {
      all_here = all_here && (homes_[i] >= clique || contains(tree_.cliques[at(clique)], axes_[i].attribute));
    }
    if (all_here) {
      for (int& home : homes_) home = std::max(home, clique);
      return;
    }
    pending[tree_.parents[at(clique)]] = true;
  }
}

void Part::weigh() {
  below_.assign(cliques_.size(), 1.0);
  above_.assign(cliques_.size(), 1.0);
  for (const int clique : cliques_) cells_.push_back(count_cells(sizes_, tree_.cliques[at(clique)]));
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    const double size = static_cast<double>(sizes_[at(axes_[i].id)]);
    std::vector<std::uint8_t> passed(cliques_.size(), 0);
    std::size_t here = at(place_.at(homes_[i]));
    for (; here + 1 < cliques_.size(); here = parent_of(here)) passed[here] = 1;
    passed[here] = 1;
    for (std::size_t k = 0; k < cliques_.size(); ++k) {
      if (passed[k] != 0) {
        below_[k] *= size;
      } else if (!contains(tree_.separators[at(cliques_[k])], axes_[i].attribute)) {
        above_[k] *= size;
      }
    }
  }
}

/// Moving the meeting place over an edge turns the message along that edge alone.
std::size_t Part::meeting_place() const {
  const std::size_t n = cliques_.size();
  std::vector<double> widest(n, 1.0);  // the message with most axes that arrives
  std::vector<double> messages(n, 0.0);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    widest[parent_of(k)] = std::max(widest[parent_of(k)], below_[k]);
    widest[k] = std::max(widest[k], above_[k]);
    messages[n - 1] += cells_[k] * below_[k];
  }
  std::size_t best = n - 1;
  double least = kInfinity;
  for (std::size_t k = n; k-- > 0;) {
    if (k + 1 < n) {
      const std::size_t parent = parent_of(k);
      messages[k] = messages[parent] - cells_[k] * below_[k] + cells_[parent] * above_[k];
    }
    const double cost = messages[k] + cells_[k] * below_[n - 1] / widest[k];
    if (cost < least) {
      least = cost;
      best = k;
    }
  }
  return best;
}

JoiningSubtree Part::subtree_of(std::size_t meeting) const {
  const std::size_t n = cliques_.size();
  std::vector<std::vector<std::size_t>> neighbours(n);
  for (std::size_t k = 0; k + 1 < n; ++k) {
    neighbours[k].push_back(parent_of(k));
    neighbours[parent_of(k)].push_back(k);
  }
  JoiningSubtree subtree{{{cliques_[meeting], -1}}, {}};
  std::vector<std::size_t> order{meeting};
  std::vector<int> stop_of(n, -1);
  stop_of[meeting] = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    for (const std::size_t other : neighbours[order[i]]) {
      if (stop_of[other] >= 0) continue;
      stop_of[other] = static_cast<int>(order.size());
      order.push_back(other);
      subtree.stops.push_back({cliques_[other], static_cast<int>(i)});
    }
  }
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    int home = stop_of[at(place_.at(homes_[i]))];
    const auto holds = [&](int stop) {
      return contains(tree_.cliques[at(subtree.stops[at(stop)].clique)], axes_[i].attribute);
    };
    while (subtree.stops[at(home)].next >= 0 && holds(subtree.stops[at(home)].next))
      home = subtree.stops[at(home)].next;
    subtree.homes.push_back(home);
  }
  return subtree;
}

}  // namespace

JoiningSubtree find_joining_subtree(const CalibratedTree& tree, const std::vector<std::size_t>& sizes,
                                    const std::vector<int>& top, const std::vector<AnswerAxis>& axes) {
  const Part part(tree, sizes, top, axes);
  return part.subtree_of(part.meeting_place());
}

}  // namespace pypgm
