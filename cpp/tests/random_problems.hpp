#pragma once
// Random measurements on random structures, and their loss and gradient by hand.
#include <memory>
#include <vector>

#include "core/fit/l2_loss.hpp"
#include "random_models.hpp"

namespace pypgm::test {

inline constexpr double kTotal = 40.0;

struct Problem {
  Structure structure;
  std::vector<Measured> measurements;
  std::vector<double> potentials;
};

/// Where factored cliques are cheaper: the only clique of the tree is far larger than those given.
inline Structure all_pairs(std::mt19937_64& random) {
  Structure s;
  for (std::size_t i = 0; i < 5; ++i) s.sizes.push_back(3 + below(random, 2));
  for (std::int32_t i = 0; i < 5; ++i) {
    for (std::int32_t j = i + 1; j < 5; ++j) s.cliques.push_back({i, j});
  }
  return s;
}

/// Sums of cells over groups, of which each cell names one.
inline SharedMap make_partition(std::vector<std::int32_t> groups, std::size_t answers) {
  LinearMap map;
  map.cells = groups.size();
  map.answers = answers;
  map.rows = std::move(groups);
  return std::make_shared<const LinearMap>(std::move(map));
}

/// Groups, cumulative sums in some order, or a few real entries a column.
inline SharedMap random_map(std::mt19937_64& random, std::size_t cells) {
  LinearMap map;
  map.cells = cells;
  map.answers = 1 + below(random, 3);
  map.cumulative = below(random, 3) == 0;
  const bool sparse = below(random, 2) == 0;
  if (sparse) map.starts.push_back(0);
  for (std::size_t i = 0; i < cells; ++i) {
    for (std::size_t k = sparse ? below(random, 3) : 1; k > 0; --k) {
      map.rows.push_back(static_cast<std::int32_t>(below(random, map.answers)));
      if (sparse) map.coefficients.push_back(2 * uniform(random) - 1);
    }
    if (sparse) map.starts.push_back(static_cast<std::int64_t>(map.rows.size()));
  }
  return std::make_shared<const LinearMap>(std::move(map));
}

/// An entry of the matrix of a map.
inline double entry(const SharedMap& map, std::size_t answer, std::size_t cell) {
  if (map == nullptr) return answer == cell ? 1.0 : 0.0;
  const auto first = map->starts.empty() ? cell : static_cast<std::size_t>(map->starts[cell]);
  const auto end = map->starts.empty() ? cell + 1 : static_cast<std::size_t>(map->starts[cell + 1]);
  double sum = 0;
  for (std::size_t e = first; e < end; ++e) {
    const auto row = static_cast<std::size_t>(map->rows[e]);
    const bool counts = map->cumulative ? row <= answer : row == answer;
    if (counts) sum += map->starts.empty() ? 1.0 : map->coefficients[e];
  }
  return sum;
}

inline Problem random_problem(std::mt19937_64& random) {
  Problem p;
  if (below(random, 3) > 0) {
    p.structure = random_structure(random, 4, 3);
    p.structure.cliques.push_back({0, 2});
  } else {
    p.structure = all_pairs(random);
  }
  for (std::size_t f = 0; f < p.structure.cliques.size(); ++f) {
    const std::size_t cells = cells_of(p.structure.sizes, p.structure.cliques[f]);
    SharedMap before;
    for (std::size_t repeat = below(random, 4); repeat > 0; --repeat) {
      Measured m;
      m.table = static_cast<int>(f);
      if (below(random, 2) == 0) {
        m.map = before != nullptr && below(random, 2) == 0 ? before : random_map(random, cells);
        before = m.map;
      }
      const std::size_t answers = m.map == nullptr ? cells : m.map->answers;
      std::vector<double> values(answers);
      for (double& y : values) y = 30 * uniform(random) - 5;
      m.values = values;
      m.weights.resize(below(random, 3) == 0 ? 1 : answers);
      for (double& w : m.weights) w = 0.01 + uniform(random);
      p.measurements.push_back(m);
    }
  }
  p.potentials.resize(cells_of(p.structure));
  for (double& x : p.potentials) x = 2 * uniform(random) - 1;
  return p;
}

inline double loss_by_hand(const Problem& p, const std::vector<double>& marginals) {
  double loss = 0;
  for (const Measured& m : p.measurements) {
    std::size_t offset = 0;
    for (int f = 0; f < m.table; ++f) {
      offset += cells_of(p.structure.sizes, p.structure.cliques[static_cast<std::size_t>(f)]);
    }
    const std::size_t cells =
        cells_of(p.structure.sizes, p.structure.cliques[static_cast<std::size_t>(m.table)]);
    std::vector<double> answers(m.values.size(), 0.0);
    for (std::size_t i = 0; i < cells; ++i) {
      for (std::size_t j = 0; j < answers.size(); ++j)
        answers[j] += entry(m.map, j, i) * marginals[offset + i];
    }
    for (std::size_t j = 0; j < answers.size(); ++j) {
      const double w = m.weights[m.weights.size() == 1 ? 0 : j];
      loss += 0.5 * w * (answers[j] - m.values[j]) * (answers[j] - m.values[j]);
    }
  }
  return loss;
}

/// The gradient of a quadratic by central differences, exact but for rounding.
inline std::vector<double> gradient_by_hand(const Problem& p, std::vector<double> marginals) {
  std::vector<double> gradient(marginals.size());
  for (std::size_t i = 0; i < marginals.size(); ++i) {
    const double here = marginals[i];
    marginals[i] = here + 1;
    const double ahead = loss_by_hand(p, marginals);
    marginals[i] = here - 1;
    gradient[i] = (ahead - loss_by_hand(p, marginals)) / 2;
    marginals[i] = here;
  }
  return gradient;
}

inline double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

}  // namespace pypgm::test
