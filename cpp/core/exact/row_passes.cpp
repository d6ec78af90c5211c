// The passes of a propagation over nodes whose cells are gone through as rows.
//
// A cell here is weight * along * across, and the answer is a factor of one of the two, not the last one as
// elsewhere. What may be lost stays as counted: products without the answer are of numbers up to 1, so that
// none is smaller than that of all of them; where a message times the answer underflows, so does the cell, to
// no more than 2^kTiny times that of a count. Nothing overflows: an answer is at most the total over the
// smallest entry of a message.
#include <algorithm>

#include "core/exact/propagation_passes.hpp"

namespace pypgm::propagation {

namespace {

constexpr Axis run_of(std::size_t cells) { return {cells, 1, 1}; }

/// Products, and sums, of the tables along the rows of a node or across them.
class RowTable {
 public:
  RowTable(const Pass& pass, const RowNode::Table& table) : pass_(pass), table_(table) {}

  void take(const double* from, const Layout& layout) {
    if (product_ == nullptr && layout.small == layout.large) {
      product_ = from;
    } else if (product_ == nullptr) {
      kernels().assign(room_, from, layout.axes.data(), layout.axes.size());
      product_ = room_;
    } else {
      kernels().multiply(room_, product_, from, layout.axes.data(), layout.axes.size());
      product_ = room_;
    }
  }
  void take_inputs() {
    Workspace& work = pass_.work;
    for (const RowNode::Input& in : table_.inputs) {
      take(in.input >= 0 ? work.weights.data() + pass_.tree.factors[at(in.input)].offset
                         : work.messages.data() + pass_.node(-1 - in.input).separator_offset,
           in.layout);
    }
  }
  bool is_one() const { return product_ == nullptr; }
  /// The product of what was taken.
  const double* product() {
    if (is_one()) product_ = std::fill_n(room_, table_.view.cells, 1.0) - table_.view.cells;
    return product_;
  }

 private:
  const Pass& pass_;
  const RowNode::Table& table_;
  const double* product_ = nullptr;
  alignas(64) double room_[kBlockCells];
};

/// Sums in a table along or across, handed on to those of its parts that are asked for.
class RowSums {
 public:
  explicit RowSums(const RowNode::Table& table) : cells_(table.view.cells) {}

  void ask(double* sums, const Layout& layout) {
    ++asked_;
    first_ = sums;
    whole_ = layout.small == layout.large;
  }
  /// Where to sum up: one whole table alone takes its sums itself. Null if nothing is asked for.
  double* place() {
    if (asked_ == 0) return nullptr;
    double* const to = direct() ? first_ : room_;
    std::fill_n(to, cells_, 0.0);
    return to;
  }
  void hand_on(double* sums, const Layout& layout) const {
    if (direct()) return;
    std::fill_n(sums, layout.small, 0.0);
    kernels().reduce_sum(room_, sums, layout.axes.data(), layout.axes.size());
  }

 private:
  bool direct() const { return asked_ == 1 && whole_; }

  std::size_t cells_;
  std::size_t asked_ = 0;
  double* first_ = nullptr;
  bool whole_ = false;
  alignas(64) double room_[kBlockCells];
};

const RowNode* row_node(const Pass& pass, int i) {
  if (pass.hooks.rows.empty() || !pass.observed.empty()) return nullptr;
  const RowNode& row = pass.hooks.rows[at(i)];
  return row.suits() ? &row : nullptr;
}

/// Calls body(sums, layout) for what is summed up of a node in a table.
template <class Body>
void for_asked(const Pass& pass, const RowNode::Table& table, const Body& body) {
  for (const RowNode::Input& in : table.inputs) {
    if (in.input >= 0) {
      body(slice(pass.tree, pass.work.sums, in.input).data(), in.layout);
    } else if (pass.node(-1 - in.input).separator_cells > 1) {
      body(pass.of(pass.work.answers, -1 - in.input).data(), in.layout);
    }
  }
}

}  // namespace

bool sum_rows(const Pass& pass, int i, double* message) {
  const RowNode* row = row_node(pass, i);
  if (row == nullptr) return false;
  RowTable along(pass, row->along);
  RowTable across(pass, row->across);
  along.take_inputs();
  across.take_inputs();
  const RowNode::Table& table = row->own_along ? row->along : row->across;
  RowSums sums(table);
  sums.ask(message, row->own);
  double* const to = sums.place();
  const RowTables tables{row->own_along ? to : along.product(), across.product(), to, to};
  const double* weights = slice(pass.tree, pass.work.weights, row->factor).data();
  const Blocks& blocks = pass.node(i).blocks;
  for (std::size_t b = 0; b < blocks.count(); ++b) {
    const Block block = block_at(blocks, b);
    const RowTables here = row->tables_at(tables, block);
    if (row->own_along) {
      row_kernels().sum_along(row->rows_of(block), weights + block.begin, here.across, here.along_sums);
    } else {
      row_kernels().sum_across(row->rows_of(block), weights + block.begin, here.along, here.across,
                               here.across_sums);
    }
  }
  if (row->own_along && !along.is_one()) {
    const Axis run = run_of(table.view.cells);
    kernels().multiply(to, to, along.product(), &run, 1);
  }
  sums.hand_on(message, row->own);
  return true;
}

bool step_rows(const Pass& pass, int i, const double* answer) {
  const RowNode* row = row_node(pass, i);
  if (row == nullptr || !pass.hooks.step) return false;
  RowTable along(pass, row->along);
  RowTable across(pass, row->across);
  along.take_inputs();
  across.take_inputs();
  (row->own_along ? along : across).take(answer, row->own);
  RowSums along_sums(row->along);
  RowSums across_sums(row->across);
  for_asked(pass, row->along, [&](double* to, const Layout& layout) { along_sums.ask(to, layout); });
  for_asked(pass, row->across, [&](double* to, const Layout& layout) { across_sums.ask(to, layout); });
  pass.hooks.step(*row, {along.product(), across.product(), along_sums.place(), across_sums.place()});
  for_asked(pass, row->along, [&](double* to, const Layout& layout) { along_sums.hand_on(to, layout); });
  for_asked(pass, row->across, [&](double* to, const Layout& layout) { across_sums.hand_on(to, layout); });
  return true;
}

}  // namespace pypgm::propagation
