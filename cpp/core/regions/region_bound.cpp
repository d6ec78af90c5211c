// Minimises the Lagrangian region by region: a weighted projection onto the simplex for each.
#include "core/regions/region_bound.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

constexpr int kMaxSteps = 60;         // Newton steps to a threshold; each drops a cell or is the last
constexpr double kOvershoot = 1e-13;  // of the total, within which a threshold counts as exact

/// Regions with a measurement, or with an ancestor that has one.
std::vector<std::uint8_t> reaching(const RegionGraph& graph, const L2Loss& loss) {
  std::vector<std::uint8_t> reaches(graph.regions.size());
  for (std::size_t r = 0; r < reaches.size(); ++r)
    reaches[r] = loss.terms(static_cast<int>(r)).empty() ? 0 : 1;
  for (const auto& stage : graph.stages) {
    for (const int r : stage) {
      for (const RegionEdge& edge : graph.up(r)) {
        if (reaches[at(edge.parent)] != 0) reaches[at(r)] = 1;
      }
    }
  }
  return reaches;
}

/// Moves mu of a region without a measurement to its parents that reach one, in equal parts.
void pass_on(const RegionGraph& graph, int region, std::span<const std::uint8_t> reaches,
             std::span<double> mu) {
  const auto own = slice(graph, mu, region);
  const auto up = graph.up(region);
  const auto passes = [&](const RegionEdge& edge) { return reaches[at(edge.parent)] != 0; };
  const auto parents = std::count_if(up.begin(), up.end(), passes);
  if (parents == 0) return;
  for (double& m : own) m = m == kInfinity ? 0.0 : m / static_cast<double>(parents);
  for (const RegionEdge& edge : up) {
    if (passes(edge)) expand(Expand::add, slice(graph, mu, edge.parent), graph.layout(edge), own, 1);
  }
  std::fill(own.begin(), own.end(), 0.0);
}

/// A lower bound of min sum of w (n - y)^2 / 2 + mu n over n >= 0 with the given sum: the dual at a
/// threshold, which Newton's method finds from the threshold at which no cell is 0.
double least_on_simplex(const L2Term& term, std::span<const double> mu, double total) {
  struct Cell {
    double base, slope;  ///< its count is base - threshold * slope
  };
  const auto cell = [&](std::size_t i) {
    const double slope = 1 / term.weight(i);
    return Cell{term.values[i] - mu[i] * slope, slope};
  };
  std::vector<Cell> positive;
  positive.reserve(mu.size());
  double excess = -total;
  double slope = 0;
  for (std::size_t i = 0; i < mu.size(); ++i) {
    if (mu[i] == kInfinity) continue;
    positive.push_back(cell(i));
    excess += positive.back().base;
    slope += positive.back().slope;
  }
  double threshold = slope > 0 ? excess / slope : 0.0;
  for (int step = 0; step < kMaxSteps && slope > 0; ++step) {
    excess = -total;
    slope = 0;
    for (const Cell& c : positive) {
      const double count = c.base - threshold * c.slope;
      if (count > 0) {
        excess += count;
        slope += c.slope;
      }
    }
    if (excess <= kOvershoot * total) break;
    threshold += excess / slope;
  }
  double least = -threshold * total;
  for (std::size_t i = 0; i < mu.size(); ++i) {
    const Cell c = cell(i);
    const double count = std::max(0.0, c.base - threshold * c.slope);
    const double miss = count - term.values[i];
    least += 0.5 * term.weight(i) * miss * miss + (count > 0 ? (mu[i] + threshold) * count : 0.0);
  }
  return least;
}

/// The tangent of a term with a map, where it answers x: adds its slope to mu and returns its constant.
double add_tangent(const L2Term& term, std::span<const double> x, double total, std::span<double> mu) {
  double rest = term.constant;
  std::vector<double> slope(x.size());
  for (std::size_t k = 0; k < slope.size(); ++k) {
    const double miss = total * x[k] - term.values[k];
    slope[k] = term.weight(k) * miss;
    rest += slope[k] * (miss / 2 - total * x[k]);
  }
  term.map->add_transpose(slope, mu);
  return rest;
}

/// The term that counts exactly: the one over single cells, or else one over groups of them; null if there is
/// none.
const L2Term* exact_term(const std::vector<L2Term>& terms) {
  const L2Term* found = nullptr;
  for (const L2Term& term : terms) {
    if (term.map == nullptr) return &term;
    if (found == nullptr && term.map->is_partition()) found = &term;
  }
  return found;
}

double least_of(const L2Loss& loss, const L2Path& path, int region, double total, std::span<double> mu) {
  const std::vector<L2Term>& terms = loss.terms(region);
  const L2Term* const exact = exact_term(terms);
  double sum = 0;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    if (&terms[i] != exact) sum += add_tangent(terms[i], path.average(region, i), total, mu);
  }
  if (exact == nullptr) return sum + total * *std::min_element(mu.begin(), mu.end());
  sum += exact->constant;
  if (exact->map == nullptr) return sum + least_on_simplex(*exact, mu, total);
  std::vector<double> least(exact->values.size(), kInfinity);
  for (std::size_t i = 0; i < mu.size(); ++i) {
    double& m = least[at(exact->map->rows[i])];
    m = std::min(m, mu[i]);
  }
  return sum + least_on_simplex(*exact, least, total);
}

}  // namespace

double region_bound(const RegionGraph& graph, const L2Loss& loss, const L2Path& path, double total,
                    std::span<double> mu, int n_threads) {
  const auto reaches = reaching(graph, loss);
  const int threads = threads_for(graph.cells, n_threads);
  for (auto stage = graph.stages.rbegin(); stage != graph.stages.rend(); ++stage) {
    // Regions of one stage share no parent.
    parallel_for(stage->size(), threads, [&](std::size_t i) {
      if (loss.terms((*stage)[i]).empty()) pass_on(graph, (*stage)[i], reaches, mu);
    });
  }
  std::vector<double> least(graph.regions.size());
  parallel_for(graph.regions.size(), threads, [&](std::size_t r) {
    const int region = static_cast<int>(r);
    least[r] = least_of(loss, path, region, total, slice(graph, mu, region));
  });
  double sum = 0;
  for (const double v : least) sum += v;
  return sum;
}

}  // namespace pypgm
