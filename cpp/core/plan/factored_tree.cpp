// Plans the cheapest products and sums of the tables that meet in each clique, without making its own table.
#include "core/plan/factored_tree.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <unordered_map>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kLong = 8;   // values that fill the lanes of a loop
constexpr std::size_t kMany = 32;  // tables of which not all pairs are compared

/// The order of a table's axes: attributes of many values last, so that the innermost loops are long ones.
/// Those of few values stay neighbours, and what neighbours share is one loop.
void put_in_order(const JunctionTree& tree, Scope& scope) {
  std::stable_partition(scope.begin(), scope.end(),
                        [&](std::int32_t a) { return tree.sizes[at(a)] < kLong; });
}

/// The tables that meet in one clique, as bits over the attributes that have a choice there.
class Meeting {
 public:
  struct Table {
    int value;
    std::uint64_t bits;
  };

  Meeting(const JunctionTree& tree, const FactoredTree& factored, const TreeNode& node) {
    attributes_.reserve(node.attributes.size());
    for (const std::int32_t a : node.attributes) {
      if (tree.sizes[at(a)] == 1 || factored.observed[at(a)] != 0) continue;
      attributes_.push_back(a);
    }
    put_in_order(tree, attributes_);
    sizes_ = sizes_of(tree.sizes, attributes_);
    assert(sizes_.size() <= 64);
    kept_ = bits_of(node.edge.separator);
  }

  void join(int value, const Scope& scope) { present_.push_back({value, bits_of(scope)}); }

  /// Whether the table that came last has one cell as the first has; such a one is moved to the front.
  bool single_cells() {
    if (present_.back().bits != 0) return false;
    if (present_.front().bits == 0) return present_.size() > 1;
    std::swap(present_.front(), present_.back());
    return false;
  }

  /// Of many tables, makes one of all over the same attributes: make(first, second, out) is their product.
  template <class Make>
  void multiply_equals(const Make& make) {
    if (present_.size() <= kMany) return;
    std::unordered_map<std::uint64_t, std::size_t> place;
    std::vector<Table> distinct;
    for (const Table& table : present_) {
      const auto [found, is_new] = place.emplace(table.bits, distinct.size());
      if (is_new) {
        distinct.push_back(table);
      } else {
        Table& before = distinct[found->second];
        before.value = make(before, table, table.bits);
      }
    }
    present_ = std::move(distinct);
  }

  std::size_t present() const { return present_.size(); }
  int only() const { return present_.front().value; }
  bool finished() const { return present_.size() == 1 && (present_[0].bits & ~kept_) == 0; }

  struct Pair {
    std::size_t first = 0;
    std::size_t second = 0;
    std::uint64_t out = 0;
  };

  /// The two tables whose product, summed as far as it may be, adds the fewest cells to what they have: of
  /// all pairs, or where they are many, of those with the smallest table.
  Pair cheapest() const {
    const std::size_t n = present_.size();
    std::size_t smallest = 0;
    for (std::size_t i = 1; i < n; ++i) {
      if (cells(present_[i].bits) < cells(present_[smallest].bits)) smallest = i;
    }
    // An attribute two tables hold stays as long as a third one does.
    std::uint64_t once = 0;
    std::uint64_t twice = 0;
    std::uint64_t often = kept_;
    for (const Table& t : present_) {
      often |= twice & t.bits;
      twice |= once & t.bits;
      once |= t.bits;
    }
    Pair best;
    double least = 0;
    double work = 0;
    const auto consider = [&](std::size_t i, std::size_t j) {
      const std::uint64_t both = present_[i].bits & present_[j].bits;
      const std::uint64_t all = present_[i].bits | present_[j].bits;
      // Held by others: at least three tables, or two of which this is not the pair.
      const std::uint64_t out = all & (often | (twice & ~both));
      const double score = cells(out) - cells(present_[i].bits) - cells(present_[j].bits);
      const double products = cells(all);
      if (best.second == 0 || score < least || (score == least && products < work)) {
        best = {i, j, out};
        least = score;
        work = products;
      }
    };
    for (std::size_t i = 0; i < n; ++i) {
      if (n > kMany) {
        if (i != smallest) consider(std::min(i, smallest), std::max(i, smallest));
        continue;
      }
      for (std::size_t j = i + 1; j < n; ++j) consider(i, j);
    }
    return best;
  }

  /// The step that replaces a pair, or a single table and nothing, by what they make.
  FactoredStep take(const Pair& pair, int out) {
    const Table a = present_[pair.first];
    const Table b = pair.second != pair.first ? present_[pair.second] : Table{-1, 0};
    FactoredStep step = step_of(a, b, pair.out, out);
    present_[pair.first] = {out, pair.out};
    if (b.value >= 0) present_.erase(present_.begin() + static_cast<std::ptrdiff_t>(pair.second));
    return step;
  }

  Pair alone() const { return {0, 0, present_[0].bits & kept_}; }

  /// The step from two tables, or one (the second value is negative), to a value over some attributes.
  FactoredStep step_of(const Table& a, const Table& b, std::uint64_t bits, int out) const {
    return {a.value,
            b.value,
            out,
            make_loops(sizes_, a.bits, b.bits, bits),
            make_loops(sizes_, bits, b.bits, a.bits),
            make_loops(sizes_, bits, a.bits, b.bits)};
  }

  Scope scope_of(std::uint64_t bits) const {
    Scope scope;
    scope.reserve(static_cast<std::size_t>(std::popcount(bits)));
    for (; bits != 0; bits &= bits - 1)
      scope.push_back(attributes_[static_cast<std::size_t>(std::countr_zero(bits))]);
    return scope;
  }

 private:
  std::uint64_t bits_of(const Scope& scope) const {
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < attributes_.size(); ++i) {
      if (std::find(scope.begin(), scope.end(), attributes_[i]) != scope.end()) bits |= std::uint64_t{1} << i;
    }
    return bits;
  }

  double cells(std::uint64_t bits) const {
    double cells = 1;
    for (; bits != 0; bits &= bits - 1) {
      cells *= static_cast<double>(sizes_[static_cast<std::size_t>(std::countr_zero(bits))]);
    }
    return cells;
  }

  Scope attributes_;
  std::vector<std::size_t> sizes_;
  std::uint64_t kept_ = 0;
  std::vector<Table> present_;
};

int add_value(const JunctionTree& tree, FactoredTree& factored, const Scope& scope) {
  Value value;
  value.attributes.reserve(scope.size());
  for (const std::int32_t a : scope) {
    if (tree.sizes[at(a)] == 1 || factored.observed[at(a)] != 0) continue;
    value.attributes.push_back(a);
    value.cells = multiply_cells(value.cells, tree.sizes[at(a)]);
  }
  put_in_order(tree, value.attributes);
  value.offset = factored.cells;
  factored.cells = add_cells(factored.cells, value.cells);
  factored.values.push_back(std::move(value));
  return static_cast<int>(factored.values.size()) - 1;
}

/// Makes the given factors values, and a value of its own for each attribute none of them holds.
void add_factors(const JunctionTree& tree, FactoredTree& factored, std::vector<std::vector<int>>& own) {
  factored.leaf_of.assign(tree.sizes.size(), -1);
  own.resize(tree.nodes.size());
  factored.n_factors = tree.factors.size();
  for (std::size_t f = 0; f < tree.factors.size(); ++f) {
    const int value = add_value(tree, factored, tree.scopes[f]);
    own[at(tree.factors[f].node)].push_back(value);
    for (const std::int32_t a : tree.scopes[f]) {
      int& leaf = factored.leaf_of[at(a)];
      const bool smaller = leaf < 0 || tree.factors[f].layout.small < tree.factors[at(leaf)].layout.small;
      if (smaller) leaf = static_cast<int>(f);
    }
  }
  for (std::size_t a = 0; a < tree.sizes.size(); ++a) {
    if (factored.leaf_of[a] >= 0) continue;
    factored.leaf_of[a] = add_value(tree, factored, {static_cast<std::int32_t>(a)});
    own[at(tree.node_of[a])].push_back(factored.leaf_of[a]);
  }
  factored.n_leaves = factored.values.size();
}

/// Cells beside a step's own in the backward pass: the derivative of a factor, or of one of two values that
/// both are still needed for the other's.
std::size_t spare_of(const FactoredTree& factored, const FactoredStep& step) {
  const auto cells = [&](int value) { return factored.values[at(value)].cells; };
  std::size_t spare = factored.is_leaf(step.a) ? cells(step.a) : 0;
  if (step.b < 0) return spare;
  if (factored.is_leaf(step.b) || !factored.is_leaf(step.a)) spare = std::max(spare, cells(step.b));
  return spare;
}

/// At most so many cells takes the scaling of extended tables of a step: a copy of each, its rows, and what
/// it shares with the other one.
std::size_t scaled_cells(const FactoredTree& factored, const FactoredStep& step) {
  const auto cells = [&](int value) { return value < 0 ? 1 : factored.values[at(value)].cells; };
  const auto of_product = [](std::size_t a, std::size_t b, std::size_t out) {
    return a + b + std::min(a, out) + std::min(b, out) + 2 * std::min(a, b);
  };
  const std::size_t a = cells(step.a), b = cells(step.b), out = cells(step.out);
  return std::max({of_product(a, b, out), of_product(out, b, a), of_product(out, a, b)});
}

/// Puts the steps that may be taken beside each other into levels, and gives each its buffers.
void arrange(FactoredTree& factored) {
  std::vector<std::size_t> height(factored.values.size(), 0);
  for (std::size_t s = 0; s < factored.steps.size(); ++s) {
    FactoredStep& step = factored.steps[s];
    const std::size_t h = std::max(height[at(step.a)], step.b < 0 ? 0 : height[at(step.b)]);
    height[at(step.out)] = h + 1;
    if (factored.levels.size() <= h) factored.levels.resize(h + 1);
    factored.levels[h].push_back(static_cast<int>(s));
  }
  for (const auto& level : factored.levels) {
    std::size_t end = 0;
    std::size_t scaled = 0;
    for (const int s : level) {
      FactoredStep& step = factored.steps[at(s)];
      step.spare = end;
      end = add_cells(end, spare_of(factored, step));
      scaled = add_cells(scaled, scaled_cells(factored, step));
    }
    factored.spare = std::max(factored.spare, end);
    factored.scaled = std::max(factored.scaled, scaled);
  }
  // Which derivatives lead to an attribute's leaf.
  factored.leads_to_leaf.assign(factored.values.size(), 0);
  for (const int leaf : factored.leaf_of) factored.leads_to_leaf[at(leaf)] = 1;
  for (const FactoredStep& step : factored.steps) {
    const bool b = step.b >= 0 && factored.leads_to_leaf[at(step.b)] != 0;
    if (factored.leads_to_leaf[at(step.a)] != 0 || b) factored.leads_to_leaf[at(step.out)] = 1;
  }
}

}  // namespace

FactoredTree make_factored_tree(const JunctionTree& tree, std::span<const std::uint8_t> observed) {
  FactoredTree factored;
  factored.observed.assign(tree.sizes.size(), 0);
  std::copy(observed.begin(), observed.end(), factored.observed.begin());
  std::vector<std::vector<int>> own;
  add_factors(tree, factored, own);
  // A step makes one table of two, or, once a node at most, sums a single one.
  const std::size_t most = factored.n_leaves + tree.nodes.size();
  factored.steps.reserve(most);
  factored.values.reserve(factored.n_leaves + most);
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    leave_if_abandoned();
    const TreeNode& node = tree.nodes[i];
    Meeting meeting(tree, factored, node);
    const auto add_step = [&](FactoredStep step) {
      // The larger table comes first: the other one's derivative waits in the spare buffer.
      if (step.b >= 0 && factored.values[at(step.b)].cells > factored.values[at(step.a)].cells) {
        std::swap(step.a, step.b);
        std::swap(step.to_a, step.to_b);
        step.forward.swapped = !step.forward.swapped;
      }
      factored.steps.push_back(std::move(step));
    };
    const auto combine = [&](const Meeting::Pair& pair) {
      const int out = add_value(tree, factored, meeting.scope_of(pair.out));
      add_step(meeting.take(pair, out));
    };
    for (const int value : own[i]) {
      meeting.join(value, factored.values[at(value)].attributes);
      // Tables of one cell, of which there may be very many, are multiplied as they come.
      if (meeting.single_cells()) combine({0, meeting.present() - 1, 0});
    }
    meeting.multiply_equals([&](const auto& first, const auto& second, std::uint64_t bits) {
      const int out = add_value(tree, factored, meeting.scope_of(bits));
      add_step(meeting.step_of(first, second, bits, out));
      return out;
    });
    while (meeting.present() > 0 && !meeting.finished()) {
      combine(meeting.present() > 1 ? meeting.cheapest() : meeting.alone());
    }
    if (meeting.present() == 0) continue;
    if (node.parent >= 0) {
      own[at(node.parent)].push_back(meeting.only());
    } else {
      factored.root = meeting.only();
    }
  }
  arrange(factored);
  return factored;
}

}  // namespace pypgm
