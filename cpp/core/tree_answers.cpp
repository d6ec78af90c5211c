#include "core/tree_answers.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "core/reduce.hpp"
#include "core/scope.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

constexpr double kNothing = 1e-290;  // a weight whose inverse could overflow

/// A table whose leading axes are attributes brought from below, in the order they came, the rest a scope.
struct Carried {
  Scope lead;
  Scope tail;
  std::vector<double> values;
};

/// Who needs what: for a clique, the attributes asked for in its own part of the tree.
struct Need {
  int node;
  Scope asked;
  bool operator<(const Need& other) const {
    return node != other.node ? node < other.node : asked < other.asked;
  }
};

/// The table with its axes in ascending order of attribute.
std::vector<double> ascending(std::span<const std::size_t> sizes, const Scope& axes,
                              const std::vector<double>& values) {
  Scope sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (sorted == axes) return values;
  std::vector<std::size_t> step(sizes.size(), 0);
  std::size_t cells = 1;
  for (std::size_t i = sorted.size(); i-- > 0;) {
    step[at(sorted[i])] = cells;
    cells *= sizes[at(sorted[i])];
  }
  std::vector<double> out(cells);
  std::vector<std::size_t> index(axes.size(), 0);
  std::size_t target = 0;
  for (const double value : values) {
    out[target] = value;
    for (std::size_t k = axes.size(); k-- > 0;) {
      target += step[at(axes[k])];
      if (++index[k] < sizes[at(axes[k])]) break;
      target -= index[k] * step[at(axes[k])];
      index[k] = 0;
    }
  }
  return out;
}

class Answers {
 public:
  Answers(const JunctionTree& tree, std::span<const double> tables) : tree_(tree), tables_(tables) {
    // Where each attribute is nearest to the root; the attributes of a node not in its separator start there.
    top_.assign(tree.sizes.size(), -1);
    for (std::size_t i = tree.nodes.size(); i-- > 0;) {
      for (const std::int32_t a : tree.nodes[i].attributes) top_[at(a)] = static_cast<int>(i);
    }
    holders_.resize(tree.sizes.size());
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      depth_.push_back(tree.nodes[i].parent < 0 ? 0 : depth_[at(tree.nodes[i].parent)] + 1);
      for (const std::int32_t a : tree.nodes[i].attributes) holders_[at(a)].push_back(static_cast<int>(i));
    }
  }

  std::vector<std::vector<double>> all(std::span<const Scope> scopes, int n_threads) {
    std::vector<std::vector<double>> answers(scopes.size());
    std::vector<int> tops;
    for (const Scope& scope : scopes) {
      tops.push_back(holder(scope));
      if (tops.back() >= 0) continue;
      tops.back() = common_ancestor(scope);
      plan_children(tops.back(), scope);
    }
    make_messages(n_threads);
    const int threads = threads_for(work(scopes, tops), n_threads);
    parallel_for(scopes.size(), threads, [&](std::size_t i) {
      const Carried answer = gather(tops[i], scopes[i], Scope{});
      Scope axes = answer.lead;
      axes.insert(axes.end(), answer.tail.begin(), answer.tail.end());
      answers[i] = ascending(tree_.sizes, axes, answer.values);
    });
    return answers;
  }

 private:
  std::size_t work(std::span<const Scope> scopes, const std::vector<int>& tops) const {
    std::size_t cells = 0;
    for (std::size_t i = 0; i < scopes.size(); ++i) cells += tree_.nodes[at(tops[i])].cells;
    return cells;
  }

  /// The smallest clique that holds a scope, -1 if none does.
  int holder(const Scope& scope) const {
    if (scope.empty()) return 0;
    int best = -1;
    for (const int i : holders_[at(scope[0])]) {
      const TreeNode& node = tree_.nodes[at(i)];
      if (!scope_holds(node.attributes, scope)) continue;
      if (best < 0 || node.cells < tree_.nodes[at(best)].cells) best = i;
    }
    return best;
  }

  int common_ancestor(const Scope& scope) const {
    int node = top_[at(scope[0])];
    for (const std::int32_t a : scope) {
      int other = top_[at(a)];
      while (node != other) {
        int& lower = depth_[at(node)] >= depth_[at(other)] ? node : other;
        lower = tree_.nodes[at(lower)].parent;
      }
    }
    return node;
  }

  /// The part of a scope that lies below a node and not in its separator to the parent.
  Scope below(int node, const Scope& scope) const {
    Scope part;
    for (const std::int32_t a : scope) {
      for (int up = top_[at(a)]; up >= node; up = tree_.nodes[at(up)].parent) {
        if (up == node) {
          part.push_back(a);
          break;
        }
      }
    }
    return part;
  }

  /// The children that must bring something, and what.
  std::vector<Need> children_needed(int node, const Scope& asked) const {
    std::vector<Need> needs;
    Scope far;
    for (const std::int32_t a : asked) {
      const Scope& own = tree_.nodes[at(node)].attributes;
      if (!std::binary_search(own.begin(), own.end(), a)) far.push_back(a);
    }
    for (const int c : tree_.nodes[at(node)].children) {
      if (far.empty()) break;
      Scope part = below(c, far);
      if (!part.empty()) needs.push_back({c, std::move(part)});
    }
    // Few rows first: the first join is the one over the largest table.
    std::stable_sort(needs.begin(), needs.end(), [&](const Need& a, const Need& b) {
      return scope_cells(tree_.sizes, a.asked) < scope_cells(tree_.sizes, b.asked);
    });
    return needs;
  }

  void plan_children(int node, const Scope& asked) {
    for (Need& need : children_needed(node, asked)) {
      const auto [where, fresh] = messages_.try_emplace(need);
      if (fresh) plan_children(where->first.node, where->first.asked);
    }
  }

  /// Deepest first, those of one depth beside each other.
  void make_messages(int n_threads) {
    std::vector<std::vector<std::map<Need, Carried>::iterator>> levels;
    for (auto m = messages_.begin(); m != messages_.end(); ++m) {
      const std::size_t depth = depth_[at(m->first.node)];
      levels.resize(std::max(levels.size(), depth + 1));
      levels[depth].push_back(m);
    }
    for (std::size_t depth = levels.size(); depth-- > 0;) {
      std::size_t cells = 0;
      for (const auto& m : levels[depth]) cells += tree_.nodes[at(m->first.node)].cells;
      parallel_for(levels[depth].size(), threads_for(cells, n_threads), [&](std::size_t i) {
        const Need& need = levels[depth][i]->first;
        levels[depth][i]->second = conditional(need.node, need.asked);
      });
    }
  }

  /// P(asked | separator), the asked attributes leading.
  Carried conditional(int index, const Scope& asked) const {
    const TreeNode& node = tree_.nodes[at(index)];
    Carried message = gather(index, asked, node.separator);
    const Scope own = scope_difference(message.tail, node.separator);
    const Layout inside = scope_layout(tree_.sizes, message.tail, node.separator);
    std::vector<double> weight(inside.small);
    reduce_sum(table(index), node.to_separator, weight, 1);
    for (double& w : weight) w = w > kNothing ? 1 / w : 0.0;
    for (std::size_t at_row = 0; at_row < message.values.size(); at_row += inside.large) {
      expand(Expand::multiply, std::span(message.values).subspan(at_row, inside.large), inside, weight, 1);
    }
    return leading(std::move(message), own, inside);
  }

  /// Moves some attributes of the tail behind the leading ones.
  Carried leading(Carried carried, const Scope& own, const Layout& inside) const {
    if (own.empty()) return carried;
    Carried moved{carried.lead, scope_difference(carried.tail, own), {}};
    moved.lead.insert(moved.lead.end(), own.begin(), own.end());
    moved.values.resize(carried.values.size());
    // Axes of (own, rest) in the order of the tail: transposed row by row.
    std::vector<std::size_t> step;
    std::size_t rest_step = 1;
    std::size_t own_step = inside.small;
    for (std::size_t i = carried.tail.size(); i-- > 0;) {
      const std::int32_t a = carried.tail[i];
      std::size_t& next = std::binary_search(own.begin(), own.end(), a) ? own_step : rest_step;
      step.insert(step.begin(), next);
      next *= tree_.sizes[at(a)];
    }
    std::vector<std::size_t> index(carried.tail.size(), 0);
    for (std::size_t row = 0; row < carried.values.size(); row += inside.large) {
      std::size_t target = 0;
      for (std::size_t i = 0; i < inside.large; ++i) {
        moved.values[row + target] = carried.values[row + i];
        for (std::size_t k = carried.tail.size(); k-- > 0;) {
          target += step[k];
          if (++index[k] < tree_.sizes[at(carried.tail[k])]) break;
          target -= index[k] * step[k];
          index[k] = 0;
        }
      }
    }
    return moved;
  }

  /// The marginal of (asked, kept) as far as the tree below a node knows it; kept lies in the node.
  Carried gather(int index, const Scope& asked, const Scope& kept) const {
    const TreeNode& node = tree_.nodes[at(index)];
    const std::vector<Need> needs = children_needed(index, asked);
    const Scope stays = scope_union(scope_intersection(asked, node.attributes), kept);
    Scope tail = stays;
    for (const Need& need : needs) tail = scope_union(tail, tree_.nodes[at(need.node)].separator);
    Carried now{{}, tail, {}};
    const Layout whole = scope_layout(tree_.sizes, node.attributes, tail);
    now.values.resize(whole.small);
    reduce_sum(table(index), whole, now.values, 1);
    for (std::size_t k = 0; k < needs.size(); ++k) {
      Scope rest = stays;
      for (std::size_t j = k + 1; j < needs.size(); ++j) {
        rest = scope_union(rest, tree_.nodes[at(needs[j].node)].separator);
      }
      now = joined(now, messages_.at(needs[k]), rest);
    }
    return now;
  }

  /// Multiplies a table with what a child brought and sums out what is not in `rest`.
  Carried joined(const Carried& own, const Carried& message, const Scope& rest) const {
    const Layout separator = scope_layout(tree_.sizes, own.tail, message.tail);
    const Layout summed = scope_layout(tree_.sizes, own.tail, rest);
    const std::size_t own_rows = own.values.size() / separator.large;
    const std::size_t message_rows = message.values.size() / separator.small;
    Carried out{own.lead, rest, {}};
    out.lead.insert(out.lead.end(), message.lead.begin(), message.lead.end());
    out.values.resize(own_rows * message_rows * summed.small);
    std::vector<double> product(separator.large);
    for (std::size_t i = 0; i < own_rows; ++i) {
      const auto row = std::span<const double>(own.values).subspan(i * separator.large, separator.large);
      for (std::size_t j = 0; j < message_rows; ++j) {
        std::copy(row.begin(), row.end(), product.begin());
        const auto factor =
            std::span<const double>(message.values).subspan(j * separator.small, separator.small);
        expand(Expand::multiply, product, separator, factor, 1);
        const std::size_t to = (i * message_rows + j) * summed.small;
        reduce_sum(product, summed, std::span(out.values).subspan(to, summed.small), 1);
      }
    }
    return out;
  }

  std::span<const double> table(int index) const {
    return tables_.subspan(tree_.nodes[at(index)].offset, tree_.nodes[at(index)].cells);
  }

  const JunctionTree& tree_;
  std::span<const double> tables_;
  std::vector<int> top_;
  std::vector<std::vector<int>> holders_;
  std::vector<std::size_t> depth_;
  std::map<Need, Carried> messages_;
};

}  // namespace

std::vector<std::vector<double>> tree_answers(const JunctionTree& tree, std::span<const double> tables,
                                              std::span<const Scope> scopes, int n_threads) {
  return Answers(tree, tables).all(scopes, n_threads);
}

}  // namespace pypgm
