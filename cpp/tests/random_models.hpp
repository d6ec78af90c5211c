#pragma once
// Random structures and slow answers the core is compared with.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/elimination.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm::test {

inline std::size_t below(std::mt19937_64& random, std::size_t n) {
  return static_cast<std::size_t>(random() % n);
}

inline double uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) * 0x1p-53; }

/// Attribute sizes and cliques; empty, nested and repeated cliques come up.
struct Structure {
  std::vector<std::size_t> sizes;
  std::vector<Scope> cliques;
};

inline Structure random_structure(std::mt19937_64& random, std::size_t attributes, std::size_t largest) {
  Structure s;
  for (std::size_t i = 0; i < attributes; ++i) s.sizes.push_back(1 + below(random, largest));
  const std::size_t cliques = below(random, 2 * attributes);
  for (std::size_t c = 0; c < cliques; ++c) {
    Scope scope;
    for (std::size_t k = below(random, 4); k > 0; --k)
      scope.push_back(static_cast<std::int32_t>(below(random, attributes)));
    std::sort(scope.begin(), scope.end());
    scope.erase(std::unique(scope.begin(), scope.end()), scope.end());
    s.cliques.push_back(scope);
  }
  return s;
}

inline std::size_t cells_of(const std::vector<std::size_t>& sizes, const Scope& scope) {
  std::size_t cells = 1;
  for (const std::int32_t a : scope) cells *= sizes[static_cast<std::size_t>(a)];
  return cells;
}

inline std::size_t cells_of(const Structure& s) {
  std::size_t cells = 0;
  for (const Scope& clique : s.cliques) cells += cells_of(s.sizes, clique);
  return cells;
}

inline JunctionTree tree_of(const Structure& s) {
  return build_junction_tree(s.sizes, s.cliques, eliminate(s.sizes, s.cliques, false));
}

/// Calls body(values of all attributes) for each joint assignment.
template <class Body>
void for_assignments(const std::vector<std::size_t>& sizes, const Body& body) {
  std::vector<std::size_t> values(sizes.size(), 0);
  for (;;) {
    body(values);
    std::size_t i = sizes.size();
    while (i > 0 && ++values[i - 1] == sizes[i - 1]) values[--i] = 0;
    if (i == 0) return;
  }
}

/// The cell of an assignment in the table over a scope.
inline std::size_t cell_of(const std::vector<std::size_t>& sizes, const Scope& scope,
                           const std::vector<std::size_t>& values) {
  std::size_t cell = 0;
  for (const std::int32_t a : scope)
    cell = cell * sizes[static_cast<std::size_t>(a)] + values[static_cast<std::size_t>(a)];
  return cell;
}

/// log Z, the largest log-weight, and the marginals of all cliques, by going through all assignments; sums as
/// long doubles, so that potentials of 1e4 leave twelve digits of a weight.
struct BruteForce {
  double log_z = -kInfinity;
  double largest = -kInfinity;
  std::vector<double> marginals;

  BruteForce(const Structure& s, const std::vector<double>& potentials, double total)
      : marginals(potentials.size()) {
    const auto weigh = [&](const std::vector<std::size_t>& values) {
      long double weight = 0;
      std::size_t offset = 0;
      for (const Scope& clique : s.cliques) {
        weight += potentials[offset + cell_of(s.sizes, clique, values)];
        offset += cells_of(s.sizes, clique);
      }
      return weight;
    };
    long double top = -kInfinity;
    for_assignments(s.sizes, [&](const auto& values) { top = std::max(top, weigh(values)); });
    largest = static_cast<double>(top);
    if (largest == -kInfinity) return;
    double sum = 0;
    for_assignments(s.sizes, [&](const auto& values) {
      const double weight = static_cast<double>(std::exp(weigh(values) - top));
      sum += weight;
      std::size_t offset = 0;
      for (const Scope& clique : s.cliques) {
        marginals[offset + cell_of(s.sizes, clique, values)] += weight;
        offset += cells_of(s.sizes, clique);
      }
    });
    log_z = static_cast<double>(top + std::log(static_cast<long double>(sum)));
    for (double& m : marginals) m *= total / sum;
  }
};

/// Potentials of mild, large or extreme spread, some -inf.
inline std::vector<double> random_potentials(std::mt19937_64& random, std::size_t cells) {
  const double spreads[] = {1.0, 40.0, 800.0, 1e4};
  const double zeros[] = {0.0, 0.0, 0.2};
  const double spread = spreads[below(random, 4)];
  const double zero = zeros[below(random, 3)];
  std::vector<double> potentials(cells);
  for (double& p : potentials) {
    const double kind = uniform(random);
    p = kind < 0.5 ? spread * (2 * uniform(random) - 1) : (kind < 0.75 ? -spread : 0.0);
    if (uniform(random) < zero) p = -kInfinity;
  }
  return potentials;
}

}  // namespace pypgm::test
