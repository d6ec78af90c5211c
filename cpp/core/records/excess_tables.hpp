#pragma once
// Counts of records less their targets, laid out so that all values of an attribute stand side by side.
#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

namespace pypgm {

/// Values of one attribute, one a record, in the type that holds them.
using CodeColumn = std::variant<std::span<std::int8_t>, std::span<std::int16_t>, std::span<std::int32_t>>;

inline std::size_t n_records(std::span<const CodeColumn> columns) {
  return columns.empty() ? 0 : std::visit([](auto codes) { return codes.size(); }, columns[0]);
}

/// The counts that records should have over some attributes.
struct RecordTarget {
  std::vector<std::size_t> attributes;  ///< columns, in the order of the axes; none twice
  std::span<const double> values;       ///< C order, in counts of records; a 0 is a structural zero
};

/// Where the excesses of a target stand, once for each of its attributes: in the copy of an attribute its
/// values are contiguous.
class ExcessTables {
 public:
  /// A copy as one attribute sees it: the others give a row, in which its values are `own` apart.
  struct View {
    std::size_t offset;  ///< of the copy
    std::size_t own;     ///< step of the attribute
    std::size_t
        attribute;     ///< the first of the others; the attribute itself, with step 0, where there is none
    std::size_t step;  ///< of that
    std::uint32_t further;  ///< the other ones: `n_further` from here in a list of all
    std::uint32_t n_further;
  };
  /// What an attribute takes part in: a target, by its own copy and the copies of its other attributes.
  struct Use {
    View row;  ///< own = 1
    std::uint32_t twins;
    std::uint32_t n_twins;
  };

  ExcessTables(std::span<const std::size_t> sizes, std::span<const RecordTarget> targets);

  /// Cells of all targets, which come first, once each.
  std::size_t n_cells() const { return n_cells_; }
  /// Numbers of all copies.
  std::size_t size() const { return size_; }
  std::span<const Use> uses(std::size_t attribute) const { return uses_[attribute]; }
  std::span<const View> twins(const Use& use) const {
    return std::span(twins_).subspan(use.twins, use.n_twins);
  }

  /// The index of the cell at which the attribute would have the value 0.
  std::size_t start(const View& view, const std::int32_t* record) const {
    std::size_t at = view.offset + view.step * static_cast<std::size_t>(record[view.attribute]);
    for (const Step* s = further_.data() + view.further; s != further_.data() + view.further + view.n_further;
         ++s) {
      at += s->step * static_cast<std::size_t>(record[s->attribute]);
    }
    return at;
  }

  /// Fills `excess` with counts less targets, +inf in structural zeros, and returns the number of records in
  /// those, each as often as a target says so.
  std::int64_t fill(std::span<const CodeColumn> columns, std::span<const RecordTarget> targets,
                    std::span<float> excess, int n_threads) const;

 private:
  struct Step {
    std::size_t attribute;
    std::size_t step;
  };
  std::int64_t fill(std::span<const CodeColumn> columns, const RecordTarget& target,
                    std::span<const std::size_t> offsets, std::span<float> excess) const;

  std::span<const std::size_t> sizes_;
  std::size_t n_cells_ = 0;
  std::size_t size_ = 0;
  std::vector<std::vector<std::size_t>> offsets_;  ///< by target: of its copies
  std::vector<std::vector<Use>> uses_;             ///< by attribute
  std::vector<View> twins_;
  std::vector<Step> further_;
};

}  // namespace pypgm
