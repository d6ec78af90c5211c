#pragma once
#include <cstdint>
#include <span>

#include "core/base/watch.hpp"
#include "core/exact/observation.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Independent draws of joint assignments. The upward pass of the factored tree is made once; downward, each
/// step gives its attributes their codes, of those that are left, by the product of its two tables at the
/// codes that are known. Tables of the tree are never made, and cells that no draw meets are not read.
///
/// uniforms[row * attributes + a] in [0, 1); codes[a * rows + row] are the answer, the observed code where
/// one is observed. A cell of weight zero is never drawn. Returns log Z, -inf if nothing has weight (and then
/// the codes mean nothing). Any n_threads gives the same codes. Requires tree.factored.
double draw_assignments(const JunctionTree& tree, std::span<const double> potentials,
                        std::span<const Evidence> evidence, std::span<const double> uniforms,
                        std::span<std::int32_t> codes, int n_threads, Watch* watch = nullptr);

}  // namespace pypgm
