"""Defects that a reviewer planted who had seen neither the others nor the checks, but those that stood here already."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import no_addend, no_factor, one_case
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

from mutants.answers import follow, question, several
from pypgm.audit.pairs import neighbour_pairs
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

sample = follow("sample", sampled, neighbour_pairs([Privacy()])[:3], Budget(epsilon=1))
regressions = follow("regressions", own_regressions, [p for p in neighbour_pairs() if p.name.startswith("crossed")])


MUTANTS = {
    "votes are neighbours as the records are": at("mrf.stability:Stability.release", check_stability, "sensitivity")(
        "Privacy('replace', access.privacy.records_per_person)", "access.privacy"
    ),
    "a product with signs is bounded as one without": at(
        "queries.kronecker:Kronecker._sensitivity", check_wide_sensitivities, "sensitivity"
    )("4", "2", 2),
    "a rank under replace has the range of add-remove": at(
        "privacy.relation:Privacy.quantile_score_range", question("quantiles"), "score sensitivity"
    )("b", "max(a, b - a)", 2),
    "a sample is drawn before it is charged": at(
        "privacy.private_table:PrivateTable.subsample", sample, "uncharged draw"
    )(
        "self._ledger.charge('sample', 'records', law)",
        "(self.__sampled(law), self._ledger.charge('sample', 'records', law))",
    ),
    "children get as much as their parents where these get more than half": at(
        "mechanisms.related:_parts", check_related, "overspent"
    )("budget.limit - first", "first if part > Fraction(1, 2) else budget.limit - first"),
    "equal laws of many measurements share their noise": at(
        "privacy.private_table:PrivateTable.__noisy", several, "cached answer"
    )(
        "X.add(_answers(Y, counts))",
        "_answers(Y, counts) + vars(self.__records()).setdefault('drawn', {}).setdefault((id(X), Y.shape[0]), "
        "X.add(np.zeros(Y.shape[0], dtype=np.int64)))",
    ),
    "draws of counts compose as one": at(
        "privacy.cell_selector:CellSelector.draw", question("draws of counts"), "wrong charge"
    )("Exponential(rate * unit, unit, count, count)", "Exponential(rate * unit, unit, count, 1)"),
    "counts of cells have the range of one record a person": at(
        "privacy.relation:Privacy.cell_score_range", question("draws of counts"), "score sensitivity"
    )(no_factor()),
    "a sample costs what a step of bounded range does": at(
        "privacy.laws:PoissonSample.cost", check_samples, "wrong charge"
    )("_pure_cost(self.epsilon, unit)", "self.epsilon if unit == 'epsilon' else self.epsilon ** 2 / 8"),
    "the first record of each block of a file is taken for a header": at(
        "data.sources.arrow_csv:arrow_codes", partial(check_sources, ["CSV in blocks"]), "wrong counts"
    )("codes[places]", "codes[places[1:]]"),
    "numbers beside nulls are doubles whatever their size": at(
        "data.sources.frames:_values", partial(check_sources, ["pandas"]), "wrong counts"
    )(one_case(9)),
    "a value of an open column may raise some errors": at(
        "privacy.settling:_Values._value_of", check_open_sets, "exception tells"
    )("BaseException", "(ValueError, TypeError)"),
    "the penalty of a family is for as many records as its table has": at(
        "bayes.private_structure:_Choice._score", partial(check_options, "privbayes"), "score sensitivity"
    )("self._records", "int(counts.sum())"),
    "what rounding adds to a change of information is left out": at(
        "bayes.private_structure:largest_change",
        partial(check_scores, ["MI of binary attributes"]),
        "score sensitivity",
    )(no_addend(12)),
    "of pairs of codes the first ones alone take part in regressions": at(
        "mrf.frank_wolfe:Node.composed", regressions, "wrong charge"
    )("chain.from_iterable(self.pairs)", "(pair[0] for pair in self.pairs)"),
    "weights are relative to the first above 0": at("privacy.selector:Weights.of", question("a screen"), "wrong score")(
        "max(given)", "next((w for w in given if w), given[0])"
    ),
    "a view of some attributes outlives its table": at(
        "privacy.private_table:PrivateTable.over", check_closed, "open after the end"
    )("self.__views.add(X)", "None"),
    "the clock of a run begins before records are entered": at(
        "mechanisms.run:Run.__init__", partial(check_time_limit, "mwem", *SLOW), "path depends on the data"
    )(
        "Clock(name, self.limits.time_limit)",
        "Clock(name, self.limits.time_limit, started=-__import__('sys').modules['pypgm._base.clock']._HERE.stood)",
    ),
}
