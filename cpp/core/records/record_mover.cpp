// A move is made where it lowers the sum of squared excesses: half of its change is the number of targets it
// touches, less the excesses of the cells that the record leaves, plus those of the cells it enters.
#include "core/records/record_mover.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace pypgm {

namespace {

constexpr float kLeastGain = 1e-3F;    // of a move: below that it may be rounding
constexpr float kMisplaced = 0x1p20F;  // excess of a structural zero for a record in it: any other is better
constexpr std::size_t kManyValues = 512;   // of an attribute, that are considered for one record
constexpr std::uint32_t kVisits = 1024;    // records between two looks at the watch
constexpr std::size_t kCellsPerVisit = 8;  // cells for a record visited between two looks at the distance

constexpr float kInfinite = std::numeric_limits<float>::infinity();

float excess_left(float excess) { return excess == kInfinite ? kMisplaced : excess; }

}  // namespace

RecordMover::RecordMover(std::span<const std::size_t> sizes, const ExcessTables& tables,
                         const JointMoves& joint)
    : sizes_(sizes), tables_(tables), joint_(joint) {
  std::size_t most = 0;
  for (std::size_t a = 0; a < sizes.size(); ++a) {
    if (sizes[a] > 1 && !tables.uses(a).empty()) attributes_.push_back(a);
    rows_.resize(std::max(rows_.size(), tables.uses(a).size()));
    most = std::max(most, std::min(sizes[a], kManyValues));
  }
  for (const JointMove& move : joint.all()) {
    values_.resize(std::max(values_.size(), 1 + move.followers.size()), std::vector<std::uint32_t>(most));
    cells_.resize(std::max(cells_.size(), move.touched.size()));
  }
  shift_.resize(most);
  sums_.resize(most + kReadBeyond);
}

void RecordMover::sweep(RecordBlock& block, float* excess, Order order, Watch& watch,
                        const std::function<bool()>& done) {
  if (block.n_rows() == 0) return;
  // The order of records differs from sweep to sweep: a random stride coprime to their number.
  const auto n = static_cast<std::uint32_t>(block.n_rows());
  std::uint32_t stride = n == 1 ? 1 : 1 + order.stride % (n - 1);
  while (std::gcd(stride, n) != 1) stride = stride % n + 1;
  std::size_t row = order.first % n;
  excess_ = excess;
  const std::size_t look = std::max<std::size_t>(kVisits, tables_.n_cells() / kCellsPerVisit);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i % kVisits == 0) {
      if (watch.is_over()) return;
      watch.count(std::min(kVisits, n - i));
    }
    if ((i + 1) % look == 0 && done()) return;
    for (const std::size_t a : attributes_) offer(a, block.record(row), i);
    for (const JointMove& joint : joint_.all()) offer_joint(joint, block.record(row), i);
    row += stride;
    if (row >= n) row -= n;
  }
}

/// All values of an attribute; of many a part of them, the next one for the next record.
RecordMover::Considered RecordMover::considered(std::size_t attribute, std::uint32_t visit) const {
  const std::size_t n = sizes_[attribute];
  const std::size_t n_parts = (n + kManyValues - 1) / kManyValues;
  const std::size_t first = visit % n_parts * kManyValues;
  return {first, std::min(kManyValues, n - first)};
}

/// Changes the record's value of an attribute to the best one if that is better.
void RecordMover::offer(std::size_t attribute, std::int32_t* record, std::uint32_t visit) {
  const auto uses = tables_.uses(attribute);
  const auto now = static_cast<std::size_t>(record[attribute]);
  float left = 0;
  for (std::size_t k = 0; k < uses.size(); ++k) {
    rows_[k] = excess_ + tables_.start(uses[k].row, record);
    left += excess_left(rows_[k][now]);
  }
  if (left <= 0) return;  // records leave cells that together have too many
  const auto [first, n] = considered(attribute, visit);
  for (std::size_t k = 0; k < uses.size(); ++k) rows_[k] += first;
  const Least least = kernels_.least_sum(rows_.data(), uses.size(), n);
  const float change = static_cast<float>(uses.size()) - left + least.value;
  if (change < -kLeastGain && first + least.at != now) move(attribute, record, first + least.at);
}

/// The same for a leader with its followers.
void RecordMover::offer_joint(const JointMove& joint, std::int32_t* record, std::uint32_t visit) {
  const auto value = [&](std::size_t member) {
    return static_cast<std::size_t>(
        record[member == 0 ? joint.leader : joint.followers[member - 1]->attribute]);
  };
  float left = 0;
  for (std::size_t k = 0; k < joint.touched.size(); ++k) {
    std::size_t start = joint.touched[k].offset;
    for (const CodeStep& s : joint.touched[k].fixed)
      start += s.step * static_cast<std::size_t>(record[s.attribute]);
    std::size_t now = 0;
    for (const CodeStep& s : joint.touched[k].moving) now += s.step * value(s.attribute);
    cells_[k] = {excess_ + start, static_cast<std::uint32_t>(now)};
    left += excess_left(excess_[start + now]);
  }
  if (left <= 0) return;
  const Considered leader = considered(joint.leader, visit);
  set_values(joint, record, leader);
  std::fill_n(sums_.begin(), leader.n, 0.0F);
  for (std::size_t k = 0; k < joint.touched.size(); ++k) {
    std::fill_n(shift_.begin(), leader.n, 0U);
    for (const CodeStep& s : joint.touched[k].moving) {
      kernels_.add_steps(values_[s.attribute].data(), static_cast<std::uint32_t>(s.step), leader.n,
                         shift_.data());
    }
    kernels_.add_cells(cells_[k].cells, shift_.data(), cells_[k].now, leader.n, sums_.data());
  }
  const float* const sums = sums_.data();
  const Least least = kernels_.least_sum(&sums, 1, leader.n);
  if (static_cast<float>(joint.touched.size()) - left + least.value >= -kLeastGain) return;
  move(joint.leader, record, values_[0][least.at]);
  for (std::size_t m = 0; m < joint.followers.size(); ++m) {
    move(joint.followers[m]->attribute, record, values_[m + 1][least.at]);
  }
}

/// Sets the values of the members for each value of the leader.
void RecordMover::set_values(const JointMove& joint, const std::int32_t* record, Considered leader) {
  std::iota(values_[0].begin(), values_[0].begin() + static_cast<std::ptrdiff_t>(leader.n),
            static_cast<std::uint32_t>(leader.first));
  for (std::size_t m = 0; m < joint.followers.size(); ++m) {
    const Follower& follower = *joint.followers[m];
    std::fill_n(shift_.begin(), leader.n, 0U);
    std::size_t fixed = 0;
    for (const CodeStep& s : follower.given) {
      // A member has its new value where it comes before this one.
      std::size_t member = s.attribute == joint.leader ? 0 : m + 1;
      for (std::size_t j = 0; j < m; ++j) {
        if (joint.followers[j]->attribute == s.attribute) member = j + 1;
      }
      if (member <= m) {
        kernels_.add_steps(values_[member].data(), static_cast<std::uint32_t>(s.step), leader.n,
                           shift_.data());
      } else {
        fixed += s.step * static_cast<std::size_t>(record[s.attribute]);
      }
    }
    for (std::size_t u = 0; u < leader.n; ++u) {
      values_[m + 1][u] = static_cast<std::uint32_t>(follower.value[fixed + shift_[u]]);
    }
  }
}

void RecordMover::move(std::size_t attribute, std::int32_t* record, std::size_t value) {
  const auto now = static_cast<std::size_t>(record[attribute]);
  if (value == now) return;
  for (const ExcessTables::Use& use : tables_.uses(attribute)) {
    float* const row = excess_ + tables_.start(use.row, record);
    misplaced += (row[value] == kInfinite ? 1 : 0) - (row[now] == kInfinite ? 1 : 0);
    row[now] -= 1;
    row[value] += 1;
    for (const ExcessTables::View& twin : tables_.twins(use)) {
      float* const cells = excess_ + tables_.start(twin, record);
      cells[now * twin.own] -= 1;
      cells[value * twin.own] += 1;
    }
  }
  record[attribute] = static_cast<std::int32_t>(value);
}

}  // namespace pypgm
