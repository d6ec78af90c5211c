#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/plan/factored_tree.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Joint assignments of a tree's attributes, by the heaviest through each cell or at random, with implicit
/// cliques. The weight of an assignment is the sum of its potentials (natural logs, -inf is weight zero).
/// Codes are by attribute. Requires tree.factored. The tree has to outlive it.
class Assignments {
 public:
  explicit Assignments(const JunctionTree& tree);

  /// Max-product both ways; returns the largest weight. Two passes; any n_threads gives the same bits.
  double maximise(std::span<const double> potentials, int n_threads);
  /// The largest weight through each cell of the given cliques, one behind the other, after maximise.
  std::span<const double> through() const { return through_; }
  /// An assignment of that weight, the first of them step by step, after maximise. Not for several threads.
  void heaviest(int factor, std::size_t cell, std::span<std::int32_t> codes);

  /// Draws assignments with probabilities proportional to exp(weight), one behind the other. Requires that
  /// some assignment has weight. One pass.
  std::vector<std::int32_t> draw(std::span<const double> potentials, std::size_t n, std::uint64_t seed,
                                 int n_threads) const;

 private:
  /// How a table's cell follows from codes.
  struct Address {
    struct Term {
      std::int32_t attribute;
      std::size_t step;
    };
    std::vector<Term> terms;

    std::size_t operator()(std::span<const std::int32_t> codes) const;
  };

  /// What is left to choose once one table's attributes have their codes: those of two other tables.
  struct Choice {
    struct Axis {
      std::int32_t attribute;
      std::size_t size, a, b;  ///< steps in the two tables
    };
    std::vector<Axis> free;
    int a = -1, b = -1;  ///< the tables, -1 for none

    /// Calls body(number of the choice, cell in a, cell in b) for all choices.
    template <class Body>
    void each(std::size_t a_cell, std::size_t b_cell, const Body& body) const;
    void put(std::size_t number, std::span<std::int32_t> codes) const;
  };

  Choice choice(int given, int a, int b) const;
  std::int32_t best(const Choice& c, const double* a, const double* b,
                    std::span<const std::int32_t> codes) const;
  void follow_down(int value, std::span<std::int32_t> codes);

  const JunctionTree& tree_;
  const FactoredTree& contraction_;
  std::vector<int> made_by_, taken_by_;  ///< by value: steps, -1 for none
  std::vector<Address> address_;         ///< by value
  std::vector<Choice> down_, up_;        ///< by value: of its parts; of what it meets on the way to the root
  std::unique_ptr<double[]> cells_;      ///< largest weights of what lies below each value
  std::unique_ptr<double[]> above_;      ///< and of what does not
  std::vector<std::int32_t> chosen_below_, chosen_above_;  ///< by cell of a value: choices made; -1 before
  std::vector<double> through_;
};

}  // namespace pypgm
