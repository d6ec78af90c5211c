#include "core/plan/table_meeting.hpp"

#include <algorithm>
#include <bit>
#include <cassert>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kLong = 8;  // values that fill the lanes of a loop

}  // namespace

void put_in_order(const JunctionTree& tree, Scope& scope) {
  std::stable_partition(scope.begin(), scope.end(),
                        [&](std::int32_t a) { return tree.sizes[at(a)] < kLong; });
}

TableMeeting::TableMeeting(const JunctionTree& tree, std::span<const std::uint8_t> observed,
                           const TreeNode& node) {
  attributes_.reserve(node.attributes.size());
  for (const std::int32_t a : node.attributes) {
    if (tree.sizes[at(a)] == 1 || observed[at(a)] != 0) continue;
    attributes_.push_back(a);
  }
  put_in_order(tree, attributes_);
  sizes_ = sizes_of(tree.sizes, attributes_);
  assert(sizes_.size() <= 64);
  kept_ = bits_of(node.edge.separator);
}

bool TableMeeting::single_cells() {
  if (present_.back().bits != 0) return false;
  if (present_.front().bits == 0) return present_.size() > 1;
  std::swap(present_.front(), present_.back());
  return false;
}

TableMeeting::Pair TableMeeting::cheapest() const {
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

FactoredStep TableMeeting::take(const Pair& pair, int out) {
  const Table a = present_[pair.first];
  const Table b = pair.second != pair.first ? present_[pair.second] : Table{-1, 0};
  FactoredStep step = step_of(a, b, pair.out, out);
  present_[pair.first] = {out, pair.out};
  if (b.value >= 0) present_.erase(present_.begin() + static_cast<std::ptrdiff_t>(pair.second));
  return step;
}

FactoredStep TableMeeting::step_of(const Table& a, const Table& b, std::uint64_t bits, int out) const {
  return {a.value,
          b.value,
          out,
          make_loops(sizes_, a.bits, b.bits, bits),
          make_loops(sizes_, bits, b.bits, a.bits),
          make_loops(sizes_, bits, a.bits, b.bits)};
}

Scope TableMeeting::scope_of(std::uint64_t bits) const {
  Scope scope;
  scope.reserve(static_cast<std::size_t>(std::popcount(bits)));
  for (; bits != 0; bits &= bits - 1)
    scope.push_back(attributes_[static_cast<std::size_t>(std::countr_zero(bits))]);
  return scope;
}

std::uint64_t TableMeeting::bits_of(const Scope& scope) const {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < attributes_.size(); ++i) {
    if (std::find(scope.begin(), scope.end(), attributes_[i]) != scope.end()) bits |= std::uint64_t{1} << i;
  }
  return bits;
}

double TableMeeting::cells(std::uint64_t bits) const {
  double cells = 1;
  for (; bits != 0; bits &= bits - 1) {
    cells *= static_cast<double>(sizes_[static_cast<std::size_t>(std::countr_zero(bits))]);
  }
  return cells;
}

}  // namespace pypgm
