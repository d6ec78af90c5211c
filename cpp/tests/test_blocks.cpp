#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/threads.hpp"
#include "core/exact/inference.hpp"
#include "core/simd/kernels.hpp"
#include "core/tables/blocks.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

/// Sizes of one to six axes that come to many cells.
std::vector<std::size_t> random_sizes(std::mt19937_64& random) {
  std::vector<std::size_t> sizes(1 + test::below(random, 6));
  for (std::size_t& size : sizes) size = 1 + test::below(random, test::below(random, 3) == 0 ? 90 : 9);
  return sizes;
}

TEST_CASE("the blocks of a table are all of its cells, and views find each cell of a smaller one") {
  std::mt19937_64 random(51);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const std::vector<std::size_t> sizes = random_sizes(random);
    Scope outer;
    Scope inner;
    std::size_t cells = 1;
    for (std::size_t a = 0; a < sizes.size(); ++a) {
      outer.push_back(static_cast<std::int32_t>(a));
      if (test::below(random, 2) == 0) inner.push_back(static_cast<std::int32_t>(a));
      cells *= sizes[a];
    }
    if (cells > 1'000'000) continue;
    const Blocks blocks = make_blocks(sizes);
    const BlockView view = nest(sizes, outer, inner).view;
    std::vector<double> large(cells);
    std::vector<double> small(test::cells_of(sizes, inner));
    for (std::size_t i = 0; i < small.size(); ++i) small[i] = static_cast<double>(i);
    CHECK(view.cells == small.size());
    CHECK(view.fills == (small.size() == cells));
    CHECK(blocks.first_of_piece(blocks.pieces) == blocks.count());
    std::size_t next = 0;
    for (std::size_t b = 0; b < blocks.count(); ++b) {
      const Block block = block_at(blocks, b);
      CHECK(block.begin == next);
      CHECK(block.cells <= kBlockCells);
      next += block.cells;
      const Layout& layout = layout_of(view, block);
      CHECK(layout.large == block.cells);
      kernels().assign(large.data() + block.begin, small.data() + offset_of(view, block), layout);
    }
    CHECK(next == cells);
    std::size_t cell = 0;
    std::size_t wrong = 0;
    test::for_assignments(sizes, [&](const auto& values) {
      if (large[cell++] != static_cast<double>(test::cell_of(sizes, inner, values))) ++wrong;
    });
    CHECK(wrong == 0);
  }
}

TEST_CASE("pieces of a large table meet different cells of what has its leading axis") {
  for (const std::vector<std::size_t>& sizes :
       {std::vector<std::size_t>{1, 70, 60, 130}, {2, 600, 700}, {600'000}, {3, 2, 400, 500}}) {
    const Blocks blocks = make_blocks(sizes);
    CHECK(blocks.pieces > 1);
    std::size_t leading = 0;
    while (sizes[leading] == 1) ++leading;
    std::size_t row = 1;
    for (std::size_t a = leading + 1; a < sizes.size(); ++a) row *= sizes[a];
    for (std::size_t piece = 1; piece < blocks.pieces; ++piece) {
      CHECK(block_at(blocks, blocks.first_of_piece(piece)).begin % row == 0);
    }
  }
}

TEST_CASE("marginals of tables of many blocks and pieces are plain sums") {
  std::mt19937_64 random(52);
  test::Structure s;
  s.sizes = {3, 70, 60, 45, 2};
  s.cliques = {{0, 1, 2, 3}, {0, 3}, {1}, {2, 3}, {3, 4}, {0, 2}};
  const JunctionTree tree = test::tree_of(s);
  std::vector<double> potentials(test::cells_of(s));
  for (double& p : potentials) p = 3 * test::uniform(random);
  const test::BruteForce wanted(s, potentials, 7.0);
  for (const double far : {0.0, 2000.0}) {
    // The second time one cell of a small table needs cell exponents.
    std::vector<double> moved = potentials;
    std::vector<double> marginals(potentials.size());
    if (far > 0) {
      for (std::size_t i = 0; i < 3; ++i) moved[i] -= far;
    }
    const double log_z = exact_marginals(tree, moved, {}, 7.0, marginals, 2);
    CHECK(std::abs(log_z - wanted.log_z) < 1e-5);
    double worst = 0;
    for (std::size_t i = 3; i < marginals.size(); ++i)
      worst = std::max(worst, std::abs(marginals[i] - wanted.marginals[i]));
    CHECK(worst < (far > 0 ? 1e-4 : 1e-10));
  }
}

}  // namespace
}  // namespace pypgm
