#pragma once
#include <span>

#include "core/implicit_tree.hpp"
#include "core/junction_tree.hpp"
#include "core/propagation.hpp"

namespace pypgm {

// Exact inference by the cheaper way: with implicit cliques, observed attributes fixed beforehand, or with
// the tables of the tree; logarithms where weights would be lost. Potentials: natural logs of the given
// cliques one behind the other; -inf is weight zero. Evidence: log-likelihoods; an attribute with one
// possible value is observed. Any n_threads gives the same bits.

/// Marginals of all given cliques, counts that sum to `total`; returns log Z, -inf if nothing has weight (and
/// then the marginals mean nothing).
double exact_marginals(const JunctionTree& tree, std::span<const double> potentials,
                       std::span<const Evidence> evidence, double total, std::span<double> marginals,
                       int n_threads);

/// The same for all single attributes, one behind the other.
double exact_attribute_marginals(const JunctionTree& tree, std::span<const double> potentials,
                                 std::span<const Evidence> evidence, double total,
                                 std::span<double> marginals, int n_threads);

/// log Z alone.
double exact_log_partition(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, int n_threads);

}  // namespace pypgm
