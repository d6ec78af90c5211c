// Deals the new values of each separator value to its records, in random order.
#include "core/records/sampling.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

namespace pypgm {

namespace {

/// Lists of new values, one for each separator value, dealt to the records that have it.
class Hands {
 public:
  Hands(std::size_t groups, std::size_t rows, Xoshiro& random) : random_(random), next_(groups, 0) {
    dealt_.reserve(rows);
  }

  /// Begins the list of a separator value; its new values are added after that.
  void begin(std::size_t separator) { next_[separator] = begin_ = dealt_.size(); }
  void add(std::uint32_t value, std::int32_t count) {
    dealt_.insert(dealt_.end(), static_cast<std::size_t>(count), value);
  }
  /// Puts the list in random order: given the separator, new values are independent of all other attributes.
  void end() { shuffle(std::span(dealt_).subspan(begin_), random_); }

  /// The new value of the next record with a separator value, as an index in C order.
  std::uint32_t deal(std::uint32_t separator) { return dealt_[next_[separator]++]; }

 private:
  Xoshiro& random_;
  std::vector<std::uint32_t> dealt_;
  std::vector<std::size_t> next_;  ///< of each separator value: index in dealt_
  std::size_t begin_ = 0;
};

/// The number of records of each separator value.
std::vector<std::int64_t> counts_of(std::span<const std::uint32_t> group, std::size_t groups) {
  const Watch* const thread = thread_watch;
  std::vector<std::int64_t> present(groups, 0);
  for (const std::uint32_t value : group) {
    leave_if_abandoned(thread);
    ++present[value];
  }
  return present;
}

Codes codes_of(std::size_t size) {
  if (size <= 0x80) return std::vector<std::int8_t>();
  if (size <= 0x8000) return std::vector<std::int16_t>();
  return std::vector<std::int32_t>();
}

template <class Code>
void narrow(std::span<const std::uint32_t> value, std::vector<Code>& column) {
  column.resize(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) column[i] = static_cast<Code>(value[i]);
}

/// Takes the innermost axis off each record's index of a joint value.
template <class Code>
void split_off(std::span<std::uint32_t> value, std::size_t size, std::vector<Code>& column) {
  column.resize(value.size());
  const auto base = static_cast<std::uint32_t>(size);
  for (std::size_t i = 0; i < value.size(); ++i) {
    column[i] = static_cast<Code>(value[i] % base);
    value[i] /= base;
  }
}

}  // namespace

RecordSampler::RecordSampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed)
    : rows_(rows), random_(seed), columns_(n_attributes), drawn_(n_attributes, 0) {
  assert(rows <= kMaxRecords);
}

void RecordSampler::draw(const SamplingStep& step, const Watch& watch) {
  std::size_t groups = 0;
  std::vector<std::uint32_t> group = separator_values(step, groups);
  {  // what is dealt is gone before columns are made
    Hands hands(groups, rows_, random_);
    const std::vector<std::int64_t> present = counts_of(group, groups);
    const auto take_counts = [&](std::uint32_t separator, std::span<const std::int32_t> counts) {
      hands.begin(separator);
      for (std::size_t value = 0; value < counts.size(); ++value) {
        hands.add(static_cast<std::uint32_t>(value), counts[value]);
      }
      hands.end();
    };
    sample_counts(step, present, rows_, random_, watch, take_counts);
    if (watch.abandoned) return;
    const Watch* const thread = thread_watch;
    for (std::uint32_t& value : group) {
      leave_if_abandoned(thread);
      value = hands.deal(value);
    }
  }
  take(step, group);
}

void RecordSampler::deal(const SamplingStep& step, const CountTable& table) {
  std::size_t groups = 0;
  std::vector<std::uint32_t> group = separator_values(step, groups);
  {
    std::vector<std::int64_t> left = counts_of(group, groups);
    std::size_t n_new = 1;
    for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
      if (step.in_separator[axis] == 0) n_new *= step.sizes[axis];
    }
    Hands hands(groups, rows_, random_);
    for (std::size_t i = 0; i < table.cells.size();) {
      leave_if_abandoned();
      const std::size_t separator = static_cast<std::size_t>(table.cells[i]) / n_new;
      hands.begin(separator);
      for (; i < table.cells.size() && static_cast<std::size_t>(table.cells[i]) / n_new == separator; ++i) {
        left[separator] -= table.counts[i];
        if (left[separator] < 0) break;  // before the list takes more memory than the records
        hands.add(static_cast<std::uint32_t>(static_cast<std::size_t>(table.cells[i]) % n_new),
                  table.counts[i]);
      }
      if (left[separator] != 0) {
        throw std::invalid_argument("the counts of a separator value differ from the records that have it");
      }
      left[separator] = 0;
      hands.end();
    }
    if (std::ranges::any_of(left, [](std::int64_t count) { return count != 0; })) {
      throw std::invalid_argument("the counts of a separator value differ from the records that have it");
    }
    for (std::uint32_t& value : group) value = hands.deal(value);
  }
  take(step, group);
}

/// The joint value of the separator of each record, in C order, and how many such values there are.
std::vector<std::uint32_t> RecordSampler::separator_values(const SamplingStep& step,
                                                           std::size_t& groups) const {
  std::vector<std::uint32_t> group(rows_, 0);
  groups = 1;
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.in_separator[axis] == 0) continue;
    groups *= step.sizes[axis];
    const auto size = static_cast<std::uint32_t>(step.sizes[axis]);
    const auto append = [&](const auto& values) {
      for (std::size_t i = 0; i < rows_; ++i)
        group[i] = group[i] * size + static_cast<std::uint32_t>(values[i]);
    };
    std::visit(append, columns_[step.attributes[axis]]);
  }
  return group;
}

/// Makes columns of the records' joint values of the new attributes.
void RecordSampler::take(const SamplingStep& step, std::vector<std::uint32_t>& values) {
  auto left = std::count(step.in_separator.begin(), step.in_separator.end(), 0);
  for (std::size_t axis = step.sizes.size(); axis-- > 0;) {
    if (step.in_separator[axis] != 0) continue;
    // Without a division where no other axis follows: with one records take 1.4 to 1.6 times as long
    // (bench_sampling).
    const bool is_last = --left == 0;
    Codes& column = columns_[step.attributes[axis]];
    column = codes_of(step.sizes[axis]);
    std::visit(
        [&](auto& codes) { is_last ? narrow(values, codes) : split_off(values, step.sizes[axis], codes); },
        column);
    drawn_[step.attributes[axis]] = step.sizes[axis];
  }
}

}  // namespace pypgm
