// Closure under intersection by listing subsets of narrow cliques, or by pairs of wide ones; covering edges.
#include "core/regions/region_closure.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_map>

#include "core/base/numbers.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

namespace {

struct ScopeHash {
  std::size_t operator()(const Scope& scope) const {
    std::uint64_t h = 0x9e3779b97f4a7c15u;
    for (const std::int32_t a : scope) {
      h = (h ^ static_cast<std::uint32_t>(a)) * 0xff51afd7ed558ccdu;
      h ^= h >> 32;
    }
    return static_cast<std::size_t>(h);
  }
};

using ScopeIndex = std::unordered_map<Scope, int, ScopeHash>;
using Mask = std::uint32_t;  // a subset of a narrow scope; bit 0 is its first attribute

constexpr std::size_t kNarrow = 10;            // attributes of a scope whose subsets are listed
constexpr std::size_t kManySubsets = 1 << 22;  // more subsets of all cliques together are not listed

Scope pick(const Scope& scope, Mask mask) {
  Scope picked;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    if (mask >> i & 1u) picked.push_back(scope[i]);
  }
  return picked;
}

/// The attributes of a narrow scope that another scope has as well.
Mask shared_with(const Scope& scope, const Scope& other) {
  Mask mask = 0;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    if (std::binary_search(other.begin(), other.end(), scope[i])) mask |= Mask{1} << i;
  }
  return mask;
}

bool holds(const Scope& large, const Scope& small) {
  return std::includes(large.begin(), large.end(), small.begin(), small.end());
}

std::vector<Scope> distinct(std::span<const Scope> cliques) {
  std::vector<Scope> scopes;
  for (const Scope& c : cliques) {
    if (!c.empty()) scopes.push_back(c);
  }
  std::sort(scopes.begin(), scopes.end());
  scopes.erase(std::unique(scopes.begin(), scopes.end()), scopes.end());
  return scopes;
}

bool all_narrow(const std::vector<Scope>& scopes) {
  std::size_t subsets = 0;
  for (const Scope& s : scopes) {
    if (s.size() > kNarrow) return false;
    subsets += std::size_t{1} << s.size();
  }
  return subsets <= kManySubsets;
}

/// A set is in the closure if it equals the intersection of all cliques that contain it. For each subset of
/// each clique that intersection is accumulated as a mask of the first clique the subset was found in.
std::vector<Scope> close_subsets(const std::vector<Scope>& cliques) {
  struct Common {
    Scope subset;
    int first;
    Mask mask;
  };
  std::vector<Common> subsets;
  ScopeIndex index;
  for (int c = 0; c < static_cast<int>(cliques.size()); ++c) {
    const Scope& clique = cliques[at(c)];
    const Mask whole = (Mask{1} << clique.size()) - 1;
    for (Mask mask = 1; mask <= whole; ++mask) {
      Scope subset = pick(clique, mask);
      const auto [place, fresh] = index.try_emplace(subset, static_cast<int>(subsets.size()));
      if (fresh) {
        subsets.push_back({std::move(subset), c, whole});
      } else {
        Common& common = subsets[at(place->second)];
        common.mask &= shared_with(cliques[at(common.first)], clique);
      }
    }
  }
  std::vector<Scope> closed;
  for (Common& common : subsets) {
    if (at(std::popcount(common.mask)) == common.subset.size()) closed.push_back(std::move(common.subset));
  }
  return closed;
}

/// Intersects each region with the earlier ones that share an attribute, until no new region is found.
std::vector<Scope> close_pairs(std::vector<Scope> regions, std::size_t max_regions) {
  ScopeIndex index;
  std::unordered_map<std::int32_t, std::vector<int>> holders;
  for (int i = 0; i < static_cast<int>(regions.size()); ++i) index.emplace(regions[at(i)], i);
  for (int i = 0; at(i) < regions.size() && regions.size() <= max_regions; ++i) {
    const Scope region = regions[at(i)];
    std::vector<int> touching;
    for (const std::int32_t a : region) {
      const auto& known = holders[a];
      touching.insert(touching.end(), known.begin(), known.end());
      holders[a].push_back(i);
    }
    std::sort(touching.begin(), touching.end());
    touching.erase(std::unique(touching.begin(), touching.end()), touching.end());
    for (const int j : touching) {
      Scope both;
      std::set_intersection(region.begin(), region.end(), regions[at(j)].begin(), regions[at(j)].end(),
                            std::back_inserter(both));
      if (index.try_emplace(both, static_cast<int>(regions.size())).second)
        regions.push_back(std::move(both));
    }
  }
  return regions;
}

/// The maximal regions inside a narrow one: its subsets, large to small, without those inside a larger one.
std::vector<int> narrow_children(const Scope& region, const ScopeIndex& index) {
  const Mask whole = (Mask{1} << region.size()) - 1;
  std::vector<Mask> masks(whole - 1);
  std::iota(masks.begin(), masks.end(), Mask{1});
  std::stable_sort(masks.begin(), masks.end(),
                   [](Mask a, Mask b) { return std::popcount(a) > std::popcount(b); });
  std::vector<Mask> found;
  std::vector<int> children;
  for (const Mask mask : masks) {
    if (std::any_of(found.begin(), found.end(), [&](Mask f) { return (mask & ~f) == 0; })) continue;
    const auto place = index.find(pick(region, mask));
    if (place == index.end()) continue;
    found.push_back(mask);
    children.push_back(place->second);
  }
  return children;
}

/// The same for a wide one. Requires larger regions first.
std::vector<int> wide_children(int region, const std::vector<Scope>& regions) {
  std::vector<int> children;
  for (int i = region + 1; i < static_cast<int>(regions.size()); ++i) {
    const Scope& scope = regions[at(i)];
    if (!holds(regions[at(region)], scope)) continue;
    if (std::none_of(children.begin(), children.end(), [&](int c) { return holds(regions[at(c)], scope); })) {
      children.push_back(i);
    }
  }
  return children;
}

/// Disjoint sets with union and find; a set is represented by its smallest member.
class Union {
 public:
  explicit Union(std::size_t n) : above_(n) { std::iota(above_.begin(), above_.end(), 0); }
  int find(int i) {
    while (above_[at(i)] != i) i = above_[at(i)] = above_[at(above_[at(i)])];
    return i;
  }
  void join(int i, int j) {
    i = find(i);
    j = find(j);
    above_[at(std::max(i, j))] = std::min(i, j);
  }

 private:
  std::vector<int> above_;
};

/// The roots above each region, ascending; the region itself if it has no parent. Requires larger regions
/// first.
std::vector<std::vector<int>> roots_above(const std::vector<std::vector<int>>& parents) {
  std::vector<std::vector<int>> roots(parents.size());
  for (std::size_t r = 0; r < parents.size(); ++r) {
    for (const int p : parents[r]) roots[r].insert(roots[r].end(), roots[at(p)].begin(), roots[at(p)].end());
    if (parents[r].empty()) roots[r].push_back(static_cast<int>(r));
    std::sort(roots[r].begin(), roots[r].end());
    roots[r].erase(std::unique(roots[r].begin(), roots[r].end()), roots[r].end());
  }
  return roots;
}

}  // namespace

RegionLinks saturate(std::span<const Scope> cliques, std::size_t max_regions) {
  RegionLinks links;
  std::vector<Scope> scopes = distinct(cliques);
  links.regions = all_narrow(scopes) ? close_subsets(scopes) : close_pairs(std::move(scopes), max_regions);
  std::vector<Scope>& regions = links.regions;
  std::sort(regions.begin(), regions.end(), [](const Scope& a, const Scope& b) {
    return a.size() != b.size() ? a.size() > b.size() : a < b;
  });
  if (regions.size() > max_regions) return links;
  ScopeIndex index;
  const int n = static_cast<int>(regions.size());
  for (int r = 0; r < n; ++r) index.emplace(regions[at(r)], r);
  for (int r = 0; r < n; ++r) {
    const bool narrow = regions[at(r)].size() <= kNarrow;
    std::vector<int> children = narrow ? narrow_children(regions[at(r)], index) : wide_children(r, regions);
    std::sort(children.begin(), children.end());
    for (const int c : children) links.edges.emplace_back(r, c);
  }
  return links;
}

RegionLinks minimal_edges(std::span<const std::size_t> sizes, const RegionLinks& links) {
  const std::size_t n = links.regions.size();
  std::vector<std::vector<int>> parents(n);
  for (const auto& [parent, child] : links.edges) parents[at(child)].push_back(parent);
  const auto roots = roots_above(parents);
  RegionLinks reduced{links.regions, {}};
  for (std::size_t r = 0; r < n; ++r) {
    auto& above = parents[r];
    std::stable_sort(above.begin(), above.end(), [&](int a, int b) {
      return cells_of(sizes, links.regions[at(a)]) < cells_of(sizes, links.regions[at(b)]);
    });
    Union groups(above.size());
    std::unordered_map<int, int> under;  // root -> a parent below it
    for (int i = 0; at(i) < above.size(); ++i) {
      for (const int root : roots[at(above[at(i)])]) groups.join(i, under.try_emplace(root, i).first->second);
    }
    for (int i = 0; at(i) < above.size(); ++i) {
      if (groups.find(i) == i) reduced.edges.emplace_back(above[at(i)], static_cast<int>(r));
    }
  }
  std::sort(reduced.edges.begin(), reduced.edges.end());
  return reduced;
}

}  // namespace pypgm
