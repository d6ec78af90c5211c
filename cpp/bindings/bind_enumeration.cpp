// Bindings of the enumerated samplers, for audits.
#include "bindings.hpp"
#include "core/noise/enumeration.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

using Law = std::map<std::int64_t, double>;
using Words = Array<std::uint64_t>;

template <class Draw>
Law enumerated(const Draw& draw, double least) {
  if (!(least > 0)) throw std::invalid_argument("least must be more than 0: of all branches there is no end");
  return watched(false, [&] { return enumerate_law<ExponentialDice>(draw, least); });
}

/// The result under a script of words, and how many of them were used.
template <class Draw>
auto scripted(const Words& script, const Draw& draw) {
  const auto given = view(script);
  ScriptedWords words({given.begin(), given.end()});
  Dice<ScriptedWords> dice(words);
  const auto result = draw(dice);
  return std::make_pair(result, words.used());
}

/// Whether exp(-numerator / denominator) came true under a script of coins (None if the script is too short),
/// and the odds of each coin.
std::pair<py::object, std::vector<std::pair<std::uint64_t, std::uint64_t>>> scripted_coin_exp(
    const Array<std::uint8_t>& outcomes, std::uint64_t numerator, std::uint64_t denominator) {
  ScriptedCoins coins(view(outcomes));
  py::object result = py::none();
  try {
    result = py::bool_(coin_exp(coins, Wide(numerator), Wide(denominator)));
  } catch (const std::out_of_range&) {
  }
  std::vector<std::pair<std::uint64_t, std::uint64_t>> odds;
  for (const Rational& p : coins.odds()) odds.emplace_back(p.numerator, p.denominator);
  return {result, odds};
}

}  // namespace

void bind_enumeration(py::module_& m) {
  m.def(
      "scripted_below",
      [](const Words& words, std::uint64_t n) {
        return scripted(words, [&](auto& dice) { return dice.below(n); });
      },
      py::arg("words").noconvert(), py::arg("n"),
      "For audits: a uniform integer below n made from given words, and how many of them were used.");
  m.def(
      "scripted_coin",
      [](const Words& words, std::uint64_t numerator, std::uint64_t denominator, std::uint64_t k) {
        return scripted(words,
                        [&](auto& dice) { return dice.coin(make_fraction(numerator, denominator), k); });
      },
      py::arg("words").noconvert(), py::arg("numerator"), py::arg("denominator"), py::arg("k"),
      "For audits: a coin of probability numerator / (denominator k) made from given words, and how many.");
  m.def("scripted_coin_exp", &scripted_coin_exp, py::arg("outcomes").noconvert(), py::arg("numerator"),
        py::arg("denominator"),
        "For audits: an exponential coin under scripted rational coins, and the odds of each of these.");
  m.def(
      "enumerate_laplace",
      [](std::uint64_t numerator, std::uint64_t denominator, double least) -> Law {
        const DiscreteLaplace law({numerator, denominator});
        return enumerated([&](ExponentialDice& dice) { return law(dice); }, least);
      },
      py::arg("scale_numerator"), py::arg("scale_denominator"), py::arg("least"),
      "For audits: lower bounds of the sampler's probabilities, from its branches of probability >= least.");
  m.def(
      "enumerate_gaussian",
      [](std::uint64_t numerator, std::uint64_t denominator, double least) -> Law {
        const DiscreteGaussian law({numerator, denominator});
        return enumerated([&](ExponentialDice& dice) { return law(dice); }, least);
      },
      py::arg("variance_numerator"), py::arg("variance_denominator"), py::arg("least"),
      "For audits: as enumerate_laplace.");
  m.def(
      "enumerate_selection",
      [](const Array<std::int64_t>& scores, std::uint64_t numerator, std::uint64_t denominator,
         double least) -> Law {
        const std::span<const std::int64_t> entries = view(scores);
        return enumerated(
            [&](ExponentialDice& dice) {
              return select_exponential(dice, entries, Rational{numerator, denominator});
            },
            least);
      },
      py::arg("scores").noconvert(), py::arg("rate_numerator"), py::arg("rate_denominator"), py::arg("least"),
      "For audits: as enumerate_laplace, for each candidate.");
}

}  // namespace pypgm::bind
