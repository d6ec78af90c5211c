"""Defects that a reviewer planted who had seen neither the others nor the checks, but those that stood here already."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead, no_addend, no_factor, one_case
from selfcheck.blocks import check_stability
from selfcheck.closed import check_closed
from selfcheck.columns import check_samples
from selfcheck.limits import SLOW, check_time_limit
from selfcheck.operators import check_wide_sensitivities
from selfcheck.options import check_options
from selfcheck.related import check_related
from selfcheck.scores import check_scores
from selfcheck.settled import check_open_sets
from selfcheck.single_steps import own_regressions, sampled
from selfcheck.sources import check_sources
from selfcheck.steps import check_asked

from mutants.answers import several
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.whole import followed
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def _sample():
    runs = run_pairs("sample", sampled, Budget(epsilon=1), neighbour_pairs([Privacy()])[:3])
    return followed("mutant", "sample", [runs])


def _own_regressions():
    pairs = [pair for pair in neighbour_pairs() if pair.name.startswith("crossed")]
    return followed("mutant", "regressions", [run_pairs("regressions", own_regressions, Budget(rho=2), pairs)])


_PLACES = [
    # name, module, function, change, check, defect
    (
        "votes are neighbours as the records are",
        "mrf.stability",
        "Stability.release",
        instead("Privacy('replace', access.privacy.records_per_person)", "access.privacy"),
        check_stability,
        "sensitivity",
    ),
    (
        "a product with signs is bounded as one without",
        "queries.kronecker",
        "Kronecker._sensitivity",
        instead("4", "2", 2),
        check_wide_sensitivities,
        "sensitivity",
    ),
    (
        "a rank under replace has the range of add-remove",
        "privacy.relation",
        "Privacy.quantile_score_range",
        instead("b", "max(a, b - a)", 2),
        partial(check_asked, ["quantiles"]),
        "score sensitivity",
    ),
    (
        "a sample is drawn before it is charged",
        "privacy.private_table",
        "PrivateTable.subsample",
        instead(
            "self._ledger.charge('sample', 'records', law)",
            "(self.__sampled(law), self._ledger.charge('sample', 'records', law))",
        ),
        _sample,
        "uncharged draw",
    ),
    (
        "children get as much as their parents where these get more than half",
        "mechanisms.related",
        "_parts",
        instead("budget.limit - first", "first if part > Fraction(1, 2) else budget.limit - first"),
        check_related,
        "overspent",
    ),
    (
        "equal laws of many measurements share their noise",
        "privacy.private_table",
        "PrivateTable.__noisy",
        instead(
            "noises[i].add(_answers(asked[i][2], counts))",
            "_answers(asked[i][2], counts) + vars(self.__records()).setdefault('drawn', {}).setdefault("
            "(id(noises[i]), asked[i][2].shape[0]), noises[i].add(np.zeros(asked[i][2].shape[0], dtype=np.int64)))",
        ),
        several,
        "cached answer",
    ),
    (
        "draws of counts compose as one",
        "privacy.cell_selector",
        "CellSelector.draw",
        instead("Exponential(rate * unit, unit, count, count)", "Exponential(rate * unit, unit, count, 1)"),
        partial(check_asked, ["draws of counts"]),
        "wrong charge",
    ),
    (
        "counts of cells have the range of one record a person",
        "privacy.relation",
        "Privacy.cell_score_range",
        no_factor(),
        partial(check_asked, ["draws of counts"]),
        "score sensitivity",
    ),
    (
        "a sample costs what a step of bounded range does",
        "privacy.laws",
        "PoissonSample.cost",
        instead("_pure_cost(self.epsilon, unit)", "self.epsilon if unit == 'epsilon' else self.epsilon ** 2 / 8"),
        check_samples,
        "wrong charge",
    ),
    (
        "the first record of each block of a file is taken for a header",
        "data.arrow_csv",
        "arrow_codes",
        instead("0", "1", 1),
        partial(check_sources, ["CSV in blocks"]),
        "wrong counts",
    ),
    (
        "numbers beside nulls are doubles whatever their size",
        "data.frames",
        "_values",
        one_case(9),
        partial(check_sources, ["pandas"]),
        "wrong counts",
    ),
    (
        "a value of an open column may raise some errors",
        "privacy.settling",
        "_Values._asked",
        instead("BaseException", "(ValueError, TypeError)"),
        check_open_sets,
        "exception tells",
    ),
    (
        "the penalty of a family is for as many records as its table has",
        "bayes.private_structure",
        "_Choice._score",
        instead("self._records", "int(counts.sum())"),
        partial(check_options, "privbayes"),
        "score sensitivity",
    ),
    (
        "what rounding adds to a change of information is left out",
        "bayes.dependence",
        "largest_change",
        no_addend(12),
        partial(check_scores, ["MI of binary attributes"]),
        "score sensitivity",
    ),
    (
        "of pairs of codes the first ones alone take part in regressions",
        "mrf.frank_wolfe",
        "Node.composed",
        instead("chain.from_iterable(self.pairs)", "(pair[0] for pair in self.pairs)"),
        _own_regressions,
        "wrong charge",
    ),
    (
        "weights are relative to the first above 0",
        "privacy.score_weights",
        "Weights.of",
        instead("max(given)", "next((w for w in given if w), given[0])"),
        partial(check_asked, ["a screen"]),
        "wrong score",
    ),
    (
        "a view of some attributes outlives its table",
        "privacy.private_table",
        "PrivateTable.over",
        instead("self.__views.add(found)", "None"),
        check_closed,
        "open after the end",
    ),
    (
        "the clock of a run begins before records are entered",
        "mechanisms.run",
        "Run.__init__",
        instead(
            "Clock(name, self.limits.time_limit)",  # the clock of the check begins at 0
            "Clock(name, self.limits.time_limit, started=-__import__('sys').modules['pypgm.clock']._HERE.stood)",
        ),
        partial(check_time_limit, "mwem", *SLOW),
        "path depends on the data",
    ),
]

MUTANTS = [Mutant(name, f"pypgm.{module}", at, by, check, defect) for name, module, at, by, check, defect in _PLACES]
