// Gibbs sweeps over attributes of any number of values, chains beside each other.
#include "core/mrf/potential_sampling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

#include "core/base/threads.hpp"
#include "core/mrf/seeds.hpp"

namespace pypgm {

namespace {

/// A code drawn with probabilities proportional to exp(log_weights), which are overwritten.
std::uint8_t draw_code(std::span<double> log_weights, Xoshiro& random) {
  const double largest = *std::max_element(log_weights.begin(), log_weights.end());
  double total = 0;
  for (double& weight : log_weights) weight = total += std::exp(weight - largest);
  const double point = random.uniform() * total;
  std::size_t code = 0;
  // The last cumulative weight may be rounded onto the point.
  while (code + 1 < log_weights.size() && log_weights[code] <= point) ++code;
  return static_cast<std::uint8_t>(code);
}

void sweep_codes(const PotentialModel& model, std::vector<double>& scratch, std::vector<std::uint8_t>& codes,
                 Xoshiro& random) {
  for (std::size_t node = 0; node < model.n_nodes(); ++node) {
    leave_if_abandoned();
    const std::span<double> weights(scratch.data(), model.size(node));
    model.conditional(node, codes, weights);
    codes[node] = draw_code(weights, random);
  }
}

}  // namespace

PotentialModel::PotentialModel(std::vector<std::size_t> sizes,
                               const std::vector<std::vector<std::size_t>>& scopes,
                               std::span<const double> values)
    : sizes_(std::move(sizes)) {
  std::vector<std::vector<std::size_t>> tables_of(sizes_.size());  // of each node: those that hold it
  std::vector<std::size_t> offsets{0};
  for (std::size_t t = 0; t < scopes.size(); ++t) {
    std::size_t cells = 1;
    for (const std::size_t node : scopes[t]) {
      cells = multiply_cells(cells, sizes_[node]);
      tables_of[node].push_back(t);
    }
    offsets.push_back(add_cells(offsets[t], cells));
  }
  assert(offsets.back() <= values.size());
  for (std::size_t node = 0; node < sizes_.size(); ++node) {
    leave_if_abandoned();
    first_term_.push_back(terms_.size());
    for (const std::size_t t : tables_of[node]) {
      add_term(node, scopes[t], values.subspan(offsets[t], offsets[t + 1] - offsets[t]));
    }
  }
  first_term_.push_back(terms_.size());
}

void PotentialModel::add_term(std::size_t node, const std::vector<std::size_t>& scope,
                              std::span<const double> table) {
  Term term{cells_.size(), strides_.size(), 0};
  const std::size_t size = sizes_[node];
  std::size_t own_step = 1;  // of the node's axis in the table
  std::size_t step = size;   // of the others, with the node's axis last
  for (std::size_t axis = scope.size(); axis-- > 0;) {
    if (scope[axis] == node) continue;
    strides_.push_back({scope[axis], step});
    step *= sizes_[scope[axis]];
  }
  for (std::size_t axis = scope.size(); scope[axis - 1] != node; --axis) own_step *= sizes_[scope[axis - 1]];
  term.end_stride = strides_.size();
  for (std::size_t outer = 0; outer < table.size(); outer += own_step * size) {
    for (std::size_t inner = 0; inner < own_step; ++inner) {
      for (std::size_t v = 0; v < size; ++v) cells_.push_back(table[outer + v * own_step + inner]);
    }
  }
  terms_.push_back(term);
}

void PotentialModel::conditional(std::size_t node, std::span<const std::uint8_t> codes,
                                 std::span<double> log_weights) const {
  std::fill(log_weights.begin(), log_weights.end(), 0.0);
  for (std::size_t t = first_term_[node]; t < first_term_[node + 1]; ++t) {
    const double* cells = cells_.data() + terms_[t].cells;
    for (std::size_t s = terms_[t].first_stride; s < terms_[t].end_stride; ++s) {
      cells += strides_[s].step * codes[strides_[s].node];
    }
    for (std::size_t v = 0; v < log_weights.size(); ++v) log_weights[v] += cells[v];
  }
}

void sample_potentials(const PotentialModel& model, const GibbsPlan& plan, std::span<std::uint8_t> codes,
                       int n_threads, const Watch& watch) {
  const std::size_t n_nodes = model.n_nodes();
  assert(codes.size() == n_nodes * plan.n_records() && plan.thin >= 1);
  const std::size_t n_sweeps = plan.n_sweeps();
  const std::size_t sweep_work = multiply_cells(kTermWork, add_cells(n_nodes, model.n_terms()));
  const std::size_t work = multiply_cells(multiply_cells(plan.n_chains, n_sweeps), sweep_work);
  parallel_for(plan.n_chains, threads_for(work, n_threads), [&](std::size_t chain) {
    Xoshiro random{stream_seed(plan.seed, chain, 0)};
    std::vector<double> scratch(256);
    std::vector<std::uint8_t> state(n_nodes);
    for (std::size_t node = 0; node < n_nodes; ++node) {
      state[node] = static_cast<std::uint8_t>(random.below(static_cast<std::uint32_t>(model.size(node))));
    }
    for (std::size_t s = 0; s < n_sweeps && !watch.is_over(); ++s) {
      sweep_codes(model, scratch, state, random);
      if (s < plan.burn_in || (s - plan.burn_in + 1) % plan.thin != 0) continue;
      const std::size_t record = (s - plan.burn_in) / plan.thin * plan.n_chains + chain;
      for (std::size_t node = 0; node < n_nodes; ++node)
        codes[node * plan.n_records() + record] = state[node];
    }
  });
}

}  // namespace pypgm
