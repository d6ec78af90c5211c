// Each cell of a target has one place in each copy: copy k orders the other axes as the target does, and axis
// k last.
#include "core/records/excess_tables.hpp"

#include <algorithm>
#include <atomic>
#include <functional>
#include <limits>
#include <numeric>

#include "core/base/threads.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kCountWork = 8;  // table entries that looking a record's cell up counts as

/// Steps of the axes in C order.
std::vector<std::size_t> c_steps(std::span<const std::size_t> sizes, const RecordTarget& target) {
  std::vector<std::size_t> steps(target.attributes.size());
  std::size_t cells = 1;
  for (std::size_t k = steps.size(); k-- > 0;) {
    steps[k] = cells;
    cells *= sizes[target.attributes[k]];
  }
  return steps;
}

/// Steps of the same axes in copy k.
std::vector<std::size_t> copy_steps(std::vector<std::size_t> steps, std::size_t k, std::size_t size) {
  for (std::size_t j = k + 1; j < steps.size(); ++j) steps[j] *= size;
  steps[k] = 1;
  return steps;
}

}  // namespace

ExcessTables::ExcessTables(std::span<const std::size_t> sizes, std::span<const RecordTarget> targets)
    : sizes_(sizes), offsets_(targets.size()), uses_(sizes.size()) {
  for (const RecordTarget& target : targets) n_cells_ += target.values.size();
  std::size_t first = 0;
  size_ = n_cells_;
  for (std::size_t t = 0; t < targets.size(); ++t) {
    const RecordTarget& target = targets[t];
    const std::size_t n = target.attributes.size();
    const auto c_order = c_steps(sizes, target);
    std::vector<std::vector<std::size_t>> steps;
    for (std::size_t k = 0; k < n; ++k) {
      steps.push_back(copy_steps(c_order, k, sizes[target.attributes[k]]));
      offsets_[t].push_back(k == 0 ? first : size_);
      if (k > 0) size_ += target.values.size();
    }
    first += target.values.size();
    const auto view = [&](std::size_t copy, std::size_t axis) {
      View seen{offsets_[t][copy],
                steps[copy][axis],
                target.attributes[axis],
                0,
                static_cast<std::uint32_t>(further_.size()),
                0};
      bool found = false;
      for (std::size_t j = 0; j < n; ++j) {
        if (j == axis) continue;
        if (found) {
          further_.push_back({target.attributes[j], steps[copy][j]});
          ++seen.n_further;
        } else {
          seen.attribute = target.attributes[j];
          seen.step = steps[copy][j];
          found = true;
        }
      }
      return seen;
    };
    for (std::size_t k = 0; k < n; ++k) {
      Use use{view(k, k), static_cast<std::uint32_t>(twins_.size()), static_cast<std::uint32_t>(n - 1)};
      for (std::size_t copy = 0; copy < n; ++copy) {
        if (copy != k) twins_.push_back(view(copy, k));
      }
      uses_[target.attributes[k]].push_back(use);
    }
  }
}

std::int64_t ExcessTables::fill(std::span<const CodeColumn> columns, std::span<const RecordTarget> targets,
                                std::span<float> excess, int n_threads) const {
  std::atomic<std::int64_t> misplaced{0};
  const std::size_t work = targets.size() * n_records(columns) * kCountWork + excess.size();
  parallel_for(targets.size(), threads_for(work, n_threads), [&](std::size_t t) {
    if (!targets[t].attributes.empty()) misplaced += fill(columns, targets[t], offsets_[t], excess);
  });
  return misplaced;
}

std::int64_t ExcessTables::fill(std::span<const CodeColumn> columns, const RecordTarget& target,
                                std::span<const std::size_t> offsets, std::span<float> excess) const {
  constexpr std::size_t kBatch = 4096;  // records whose cells are looked up together
  const std::size_t n = target.attributes.size();
  const std::size_t rows = n_records(columns);
  std::vector<std::uint32_t> counts(target.values.size());
  std::vector<std::size_t> cells(kBatch);
  for (std::size_t begin = 0; begin < rows; begin += kBatch) {
    const std::size_t batch = std::min(kBatch, rows - begin);
    std::fill(cells.begin(), cells.end(), 0);
    for (const std::size_t a : target.attributes) {
      const auto append = [&](auto codes) {
        for (std::size_t i = 0; i < batch; ++i) {
          cells[i] = cells[i] * sizes_[a] + static_cast<std::size_t>(codes[begin + i]);
        }
      };
      std::visit(append, columns[a]);
    }
    for (std::size_t i = 0; i < batch; ++i) ++counts[cells[i]];
  }
  std::int64_t misplaced = 0;
  const auto c_order = c_steps(sizes_, target);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t size = sizes_[target.attributes[k]];
    const std::size_t inner = c_order[k];
    float* out = excess.data() + offsets[k];
    for (std::size_t outer = 0; outer < counts.size(); outer += size * inner) {
      for (std::size_t i = 0; i < inner; ++i) {
        for (std::size_t v = 0; v < size; ++v) {
          const std::size_t cell = outer + v * inner + i;
          const double count = counts[cell];
          const bool is_zero = target.values[cell] == 0;
          *out++ = is_zero ? std::numeric_limits<float>::infinity()
                           : static_cast<float>(count - target.values[cell]);
          if (is_zero && k == 0) misplaced += counts[cell];
        }
      }
    }
  }
  return misplaced;
}

}  // namespace pypgm
