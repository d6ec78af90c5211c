// Deals the new values of each separator value to its records, in random order. Joint values of records are
// made in blocks, where they are needed: a pass over the records counts those of each separator value,
// another one deals.
#include "core/records/sampling.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/base/threads.hpp"
#include "core/simd/code_kernels.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kBlock = 1 << 12;  // records whose joint values are in the cache at a time
constexpr std::size_t kPartsPerThread = 4;

/// Some axes of a step's table, in C order, with their columns.
struct Axes {
  std::vector<Codes*> columns;
  std::vector<std::uint32_t> sizes;
  std::size_t n_values = 1;  ///< joint values

  Axes(const SamplingStep& step, std::vector<Codes>& of, bool separator) {
    for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
      if ((step.in_separator[axis] != 0) != separator) continue;
      columns.push_back(&of[step.attributes[axis]]);
      sizes.push_back(static_cast<std::uint32_t>(step.sizes[axis]));
      n_values *= step.sizes[axis];
    }
  }

  /// The joint values of some records, from the one at `begin` on.
  void join(std::size_t begin, std::span<std::uint32_t> joint) const {
    std::ranges::fill(joint, 0U);
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const auto append = [&]<class Code>(const std::vector<Code>& codes) {
        code_kernels().of<Code>().join(codes.data() + begin, sizes[axis], joint.size(), joint.data());
      };
      std::visit(append, *columns[axis]);
    }
  }

  /// Writes the values that make up the joint ones, which are lost.
  void split(std::size_t begin, std::span<std::uint32_t> joint) const {
    for (std::size_t axis = sizes.size(); axis-- > 0;) {
      const auto take = [&]<class Code>(std::vector<Code>& codes) {
        const CodeLoops<Code>& loops = code_kernels().of<Code>();
        if (axis == 0) {  // nothing is left to divide
          loops.narrow(joint.data(), joint.size(), codes.data() + begin);
        } else {
          loops.split(joint.data(), sizes[axis], joint.size(), codes.data() + begin);
        }
      };
      std::visit(take, *columns[axis]);
    }
  }
};

/// The records in parts, which threads share, and for each part a number for each separator value: how many
/// of its records have it, then the index in the list of new values of the one that its next record gets.
class Parts {
 public:
  Parts(const Axes& separator, std::size_t rows, int n_threads)
      : separator_(separator), rows_(rows), n_threads_(threads_for(rows, n_threads)) {
    // Numbers of all parts are few beside the records.
    const std::size_t most = std::max<std::size_t>(1, rows / (kPartsPerThread * separator.n_values));
    n_parts_ = n_threads_ == 1 ? 1 : std::min(kPartsPerThread * static_cast<std::size_t>(n_threads_), most);
    numbers_.assign(n_parts_ * separator.n_values, 0);
    for_blocks([](std::size_t, std::span<std::uint32_t> joint, std::span<std::uint32_t> numbers) {
      for (const std::uint32_t value : joint) ++numbers[value];
    });
  }

  /// The number of records of each separator value.
  std::vector<std::int64_t> present() {
    std::vector<std::int64_t> sums(separator_.n_values, 0);
    for (std::size_t part = 0; part < n_parts_; ++part) {
      const auto numbers = of_part(part);
      for (std::size_t value = 0; value < sums.size(); ++value) sums[value] += numbers[value];
    }
    return sums;
  }

  /// Deals to each record the next value in the list of its separator value; `start`: where each list begins.
  template <class Value>
  void deal(std::span<const Value> values, std::vector<std::uint32_t> start, const Axes& fresh) {
    for (std::size_t part = 0; part < n_parts_; ++part) {
      const auto numbers = of_part(part);
      for (std::size_t value = 0; value < start.size(); ++value) {
        start[value] += std::exchange(numbers[value], start[value]);
      }
    }
    for_blocks([&](std::size_t begin, std::span<std::uint32_t> joint, std::span<std::uint32_t> numbers) {
      for (std::uint32_t& value : joint) value = values[numbers[value]++];
      fresh.split(begin, joint);
    });
  }

 private:
  std::span<std::uint32_t> of_part(std::size_t part) {
    return std::span(numbers_).subspan(part * separator_.n_values, separator_.n_values);
  }

  /// Calls body(first record, separator values, numbers of its part) for blocks of records, in order in each
  /// part.
  template <class Body>
  void for_blocks(const Body& body) {
    parallel_for(n_parts_, n_threads_, [&](std::size_t part) {
      const auto numbers = of_part(part);
      const std::size_t end = rows_ * (part + 1) / n_parts_;
      std::array<std::uint32_t, kBlock> joint;
      for (std::size_t begin = rows_ * part / n_parts_; begin < end; begin += kBlock) {
        leave_if_abandoned();
        const auto block = std::span(joint).first(std::min(kBlock, end - begin));
        separator_.join(begin, block);
        body(begin, block, numbers);
      }
    });
  }

  const Axes& separator_;
  std::size_t rows_;
  int n_threads_;
  std::size_t n_parts_ = 1;
  std::vector<std::uint32_t> numbers_;
};

/// Lists of new values, one for each separator value, in random order.
template <class Value>
class Hands {
 public:
  Hands(std::size_t groups, std::size_t rows, Xoshiro& random)
      : random_(random), values_(rows), start_(groups, 0) {}

  /// Begins the list of a separator value; its new values are added after that.
  void begin(std::size_t separator) { start_[separator] = static_cast<std::uint32_t>(end_); }
  void add(std::size_t value, std::int32_t count) {
    const auto n = static_cast<std::size_t>(count);
    assert(n <= values_.size() - end_);
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(end_), n, static_cast<Value>(value));
    end_ += n;
  }
  /// Puts the list in random order: given the separator, new values are independent of all other attributes.
  void end(std::size_t separator) {
    shuffle(std::span(values_).first(end_).subspan(start_[separator]), random_);
  }

  std::span<const Value> values() const { return values_; }
  const std::vector<std::uint32_t>& start() const { return start_; }

 private:
  Xoshiro& random_;
  std::vector<Value> values_;
  std::size_t end_ = 0;               ///< of the last list
  std::vector<std::uint32_t> start_;  ///< of each separator value: where its list begins
};

/// Calls body with lists of the smallest type that holds so many values.
template <class Body>
void with_hands(std::size_t groups, std::size_t n_values, std::size_t rows, Xoshiro& random,
                const Body& body) {
  if (n_values <= 0x100) {
    body(Hands<std::uint8_t>(groups, rows, random));
  } else if (n_values <= 0x10000) {
    body(Hands<std::uint16_t>(groups, rows, random));
  } else {
    body(Hands<std::uint32_t>(groups, rows, random));
  }
}

Codes codes_of(std::size_t size, std::size_t rows) {
  if (size <= 0x80) return std::vector<std::int8_t>(rows);
  if (size <= 0x8000) return std::vector<std::int16_t>(rows);
  return std::vector<std::int32_t>(rows);
}

}  // namespace

RecordSampler::RecordSampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed, int n_threads)
    : rows_(rows), random_(seed), n_threads_(n_threads), columns_(n_attributes), drawn_(n_attributes, 0) {
  assert(rows <= kMaxRecords);
}

/// fill(records of each separator value, lists of new values, how many there are) fills the lists; false: it
/// was abandoned.
template <class Fill>
void RecordSampler::draw_by(const SamplingStep& step, const Fill& fill) {
  const Axes separator(step, columns_, true);
  const Axes fresh(step, columns_, false);
  Parts parts(separator, rows_, n_threads_);
  with_hands(separator.n_values, fresh.n_values, rows_, random_, [&](auto hands) {
    if (!fill(parts.present(), hands, fresh.n_values)) return;
    for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
      if (step.in_separator[axis] != 0) continue;
      drawn_[step.attributes[axis]] = 0;  // until all values are dealt
      columns_[step.attributes[axis]] = codes_of(step.sizes[axis], rows_);
    }
    parts.deal(hands.values(), hands.start(), fresh);
    for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
      if (step.in_separator[axis] == 0) drawn_[step.attributes[axis]] = step.sizes[axis];
    }
  });
}

void RecordSampler::draw(const SamplingStep& step, const Watch& watch) {
  draw_by(step, [&](const std::vector<std::int64_t>& present, auto& hands, std::size_t) {
    sample_counts(step, present, rows_, random_, watch,
                  [&](std::uint32_t separator, std::span<const std::int32_t> counts) {
                    hands.begin(separator);
                    for (std::size_t value = 0; value < counts.size(); ++value) {
                      if (counts[value] != 0) hands.add(value, counts[value]);
                    }
                    hands.end(separator);
                  });
    return !watch.abandoned;
  });
}

void RecordSampler::deal(const SamplingStep& step, const CountTable& table) {
  draw_by(step, [&](std::vector<std::int64_t> left, auto& hands, std::size_t n_new) {
    for (std::size_t i = 0; i < table.cells.size();) {
      leave_if_abandoned();
      const std::size_t separator = static_cast<std::size_t>(table.cells[i]) / n_new;
      hands.begin(separator);
      for (; i < table.cells.size() && static_cast<std::size_t>(table.cells[i]) / n_new == separator; ++i) {
        left[separator] -= table.counts[i];
        if (left[separator] < 0) break;  // before the list takes more memory than the records
        hands.add(static_cast<std::size_t>(table.cells[i]) % n_new, table.counts[i]);
      }
      if (left[separator] != 0) {
        throw std::invalid_argument("the counts of a separator value differ from the records that have it");
      }
      hands.end(separator);
    }
    if (std::ranges::any_of(left, [](std::int64_t count) { return count != 0; })) {
      throw std::invalid_argument("the counts of a separator value differ from the records that have it");
    }
    return true;
  });
}

}  // namespace pypgm
