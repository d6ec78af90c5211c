#include <algorithm>
#include <cmath>

#include "core/exact/propagation_passes.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm::propagation {

namespace {

/// Makes the logarithms of a message from those that come in; `tops` is room for as many numbers.
void reduce_logarithms(const Pass& pass, int i, double* tops, double* out, int threads) {
  const TreeNode& node = pass.node(i);
  reduce_node(pass, i, Space::log, kernels().reduce_max, -kInfinity, tops, threads);
  // A row of -inf has no maximum to subtract; around 0 its sum is 0 and its logarithm -inf.
  std::replace(tops, tops + node.separator_cells, -kInfinity, 0.0);
  Targets targets(node, pass.work.partials, 0.0);
  const Target target = targets.make(node.own, out);
  for_blocks(node, threads, [&](std::size_t piece, std::size_t, const Block& block, double* room) {
    BlockProduct product(Space::log, block, room);
    take_inputs(pass, i, Space::log, product);
    const Layout& layout = layout_of(node.own, block);
    const std::size_t offset = offset_of(node.own, block);
    kernels().reduce_exp(product.cells(), tops + offset, target.of(piece) + offset, layout.axes.data(),
                         layout.axes.size());
  });
  targets.gather(target, kPlus);
  for (std::size_t j = 0; j < node.separator_cells; ++j) out[j] = std::log(out[j]) + tops[j];
}

}  // namespace

double normalise_logarithms(std::span<double> message) {
  const double peak = kernels().max(message.data(), message.size());
  if (peak != -kInfinity) {
    for (double& m : message) m -= peak;
  }
  return peak;
}

void send_logarithms(const Pass& pass, int i, int threads) {
  Workspace& work = pass.work;
  if (pass.hooks.logarithms) pass.hooks.logarithms(pass.node(i));
  const auto message = pass.of(work.log_messages, i);
  reduce_logarithms(pass, i, pass.of(work.answers, i).data(), message.data(), threads);
  const double peak = normalise_logarithms(message);
  const auto weights = pass.of(work.messages, i);
  kernels().exp_shifted(message.data(), message.size(), 0.0, weights.data());
  work.spaces[at(i)] = Space::log;
  work.peak[at(i)] = peak;
  work.low[at(i)] = kernels().extent(message.data(), message.size()).least;
  work.log_scale[at(i)] = scale_below(pass, i) + peak;
  work.loss[at(i)] = work.low[at(i)] < kSafe ? kTiny : 0.0;
}

void prepare_logarithms(const Pass& pass, int top, int threads) {
  Workspace& work = pass.work;
  std::vector<int> lossy;
  std::vector<int> open{top};
  while (!open.empty()) {
    const int i = open.back();
    open.pop_back();
    for (const int c : pass.node(i).children) {
      if (work.spaces[at(c)] == Space::log) continue;
      if (work.loss[at(c)] > 0) {
        lossy.push_back(c);
        open.push_back(c);
        continue;
      }
      const auto from = pass.of(work.messages, c);
      std::transform(from.begin(), from.end(), pass.of(work.log_messages, c).begin(),
                     [](double m) { return std::log(m); });
    }
  }
  // Children come behind their parents.
  std::sort(lossy.rbegin(), lossy.rend());
  for (const int i : lossy) send_logarithms(pass, i, threads);
}

}  // namespace pypgm::propagation
