"""Defects planted by a reader without context: those that the audit did not see at first, and others of new kinds."""

from __future__ import annotations

from functools import partial

import numpy as np
from checks.extremes import check_large_entries, check_large_stated
from checks.marks import check_marks
from checks.strange import check_callers, check_record_order, check_strange_scores, check_strange_values
from checks.table_errors import check_table_errors
from mutate import at
from operators import no_addend, no_factor, put, unguarded
from refusals import check_refusals
from selfcheck.columns import check_samples, check_unknown_keys
from selfcheck.composition import check_composed_loss
from selfcheck.ledgers import check_ledger_races
from selfcheck.operators import check_sensitivities
from selfcheck.roundings import check_tails
from selfcheck.shapes import check_batches
from selfcheck.steps import check_asked

from mutants.answers import TAKEN, follow, several
from mutants.kept import kept

batches = partial(check_batches, "many measurements", TAKEN["many measurements"])
screen, stated = partial(check_asked, ["a screen"]), partial(check_asked, ["a screen by a stated score"])
composed = partial(check_composed_loss, ["a Laplace of one answer, as far as is known"])
models = follow("selection against two models", pairs=None)
total = follow("measurement of the total", pairs=None)

MUTANTS = {
    "a second batch of many measurements has the noise of the first": at(
        "privacy.private_table:PrivateTable.__noisy", batches, "scale differs from the charge"
    )("noises[i]", "noises[i - first]"),
    "a sample of a seeded table is not marked": at(
        "privacy.private_table:PrivateTable.subsample", check_marks, "mark lost"
    )("if self._ledger.not_private:\n    ...", ""),
    "a measurement is marked for a seed alone": at(
        "privacy.private_table:PrivateTable.measure", check_marks, "mark lost"
    )("mark = X", "mark = '' if not self._sampler.not_private else X"),
    "a screen is not marked": at("privacy.selector:Selector.screen", check_marks, "mark lost")(
        "Screen(values, noise.law.stddev * weighing.unit, weighing.unit, self._access.ledger.not_private)",
        "Screen(values, noise.law.stddev * weighing.unit, weighing.unit)",
    ),
    "seed 0 is not declared": at("privacy.sampler:Sampler.__init__", check_marks, "seed not declared")(
        "'noise drawn from a seed' if words is not None else ''", "'noise drawn from a seed' if unsafe_seed else ''"
    ),
    "keys come in the order in which they were met": at(
        "data.sources.tally:Tally._sorted", check_record_order, "private state kept"
    )("sorted(X)", "list(X)"),
    "a value that cannot be read may raise some errors": at(
        "privacy.private_column:_as_number", check_strange_values, "exception tells"
    )("BaseException", "(TypeError, ValueError, OverflowError)"),
    "the shape of a column is told where it is refused": at(
        "privacy.private_column:PrivateColumn.__init__", check_refusals, "exception tells"
    )("raise ValueError(X)", "raise ValueError(f'{X}, got shape {np.shape(values)}')"),
    "counts of keys end at the number of records": at(
        "privacy.private_column:_released", check_unknown_keys, "noise added outside the sampler"
    )(
        "{key: count for key, count in zip(X, Y, strict=True) if Z}",
        "{key: min(count, int(counts.sum())) for key, count in zip(X, Y, strict=True) if Z}",
    ),
    "a screen that shows a candidate twice is charged for it once": at(
        "privacy.selector:Selector.screen", screen, "sensitivity"
    )("weighing.factors", "dict(zip(chosen, weighing.factors, strict=True)).values()"),
    "the largest change of a screen is that of its first score": at(
        "privacy.access:Access.charge_screen", screen, "sensitivity"
    )("max(changes)", "changes[0]"),
    "a screen by a stated score forgets the records of a person": at(
        "privacy.selector:StatedSelector._sensitivity", stated, "lost user bound"
    )(no_factor()),
    "a squared sensitivity of a screen wraps around": at(
        "privacy.access:Access.charge_screen", check_large_stated, "sensitivity"
    )("sum((c * c for c in changes))", "int(np.square(np.array(changes, dtype=np.int64)).sum())"),
    "weighted scores are rounded in floating point": at(
        "privacy.selector:Weights.applied", check_large_stated, "wrong score"
    )("f * s >> GRID_BITS", "round(f * s / (1 << GRID_BITS))"),
    "a lookup error of a score of one's own comes out": at(
        "privacy.fixed_errors:unheard", check_strange_scores, "exception tells"
    )("BaseException", "(TypeError, ValueError, ArithmeticError)"),
    "estimates are asked for once the records are counted": at(
        "privacy.l1_selector:L1Selector._score", check_callers, "private state kept"
    )("now.public[number]", "on_grid(now.candidates[number], now.by(now.candidates[number]), kept.size)"),
    "a part has a lock of its own": at("privacy.ledger:Ledger.allocate", check_ledger_races, "ledger race")(
        "part._parent, part._name, part._lock, part._journal = X, Y, self._lock, Z",
        "part._parent, part._name, part._journal = X, Y, Z",
    ),
    "the threshold of a stored line is for one record a person": at(
        "privacy.laws:Noise._with_threshold", check_unknown_keys, "unchecked import"
    )(no_addend(1)),
    "a change that is not known is taken for 1": at("privacy.laws:DiscreteLaplace.dominating", composed, "accounting")(
        "self.largest_change", "self.largest_change or 1"
    ),
    "lines of two kinds have the whole of delta each": at("privacy.pld:realised_pld_epsilon", composed, "accounting")(
        "left /= 2", ""
    ),
    "weights are relative to the first one": at("privacy.selector:Weights.of", models, "wrong score")(
        "max(given)", "given[0]"
    ),
    "noise of many measurements is kept by clique": at(
        "privacy.private_table:PrivateTable.measure_many", several, "scale differs from the charge"
    )(
        put(
            "by_clique = {clique: noise for (clique, _, _), noise in zip(X, noises, strict=True)}\n"
            "noises = [by_clique[clique] for clique, _, _ in X]",
            before="self.__noisy(X, noises)",
        )
    ),
    "a negative total is drawn once more": at("privacy.private_table:PrivateTable.measure", total, "uncharged draw")(
        put(
            "if not attributes and values[0] < 0:\n"
            "    own = next(access.count([attributes]))\n"
            "    values = noise.add(_answers(done, own))",
            before="mark = ...",
        )
    ),
    "the tail of Gaussian noise falls twice as fast": at("privacy.noise:gaussian_threshold", check_tails, "accounting")(
        no_factor(6)
    ),
    "sensitivities are remembered by the text of a query": at(
        "privacy.relation:Privacy.squared_l2_sensitivity", check_sensitivities, "sensitivity"
    )(
        "return query.squared_l2_sensitivity(self.neighbours) * X",
        "known = vars(Privacy.squared_l2_sensitivity)\n"
        "key = (repr(query), self.neighbours)\n"
        "own = int(known.setdefault(key, query.squared_l2_sensitivity(self.neighbours)))\n"
        "return own * X",
    ),
    "two samples of a table are of the same records": at(
        "privacy.private_table:PrivateTable.subsample", check_samples, "answer of another table"
    )(
        "self.__sampled(law)",
        "vars(_answers).setdefault('kept', {}).setdefault((self._ledger, chance), self.__sampled(law))",
    ),
    "the coin of a sample has 16 bits": at(
        "privacy.sampler:Sampler.coins", check_samples, "scale differs from the charge"
    )(
        "the_observer().core.flip_coins(count, probability.numerator, probability.denominator, self.__words)",
        "the_observer().core.flip_coins(count, -(-probability.numerator * 65536 // probability.denominator), "
        "65536, self.__words)",
    ),
}
if np.finfo(np.longdouble).max > np.finfo(np.float64).max:  # where there are such numbers
    MUTANTS |= {
        "a number beyond float64 warns": at("privacy.private_column:_as_numbers", check_strange_values, "text tells")(
            unguarded()
        ),
    }
MUTANTS |= {
    "measurements read from a file lose their mark": at("files.stored_measurements:_measurement", kept, "mark lost")(
        "{**entry, 'query': query}", "{**entry, 'query': query, 'not_private': ''}"
    ),
    "contrasts of two records differ in the first attribute": at(
        "queries.contrasts:Contrasts._with_opposite", check_sensitivities, "sensitivity"
    )("min(self.sizes)", "self.sizes[0]"),
    "equal parts of a union are counted once": at(
        "queries.union:Union._sensitivity", check_sensitivities, "sensitivity"
    )("self.parts", "set(self.parts)"),
    "the command prints what an unforeseen error says": at(
        "cli.command:_verdict", check_table_errors, "exception tells"
    )("type(error).__name__", "f'{type(error).__name__}: {error}'"),
    "a tall signed product is bounded as if no entry were negative": at(
        "queries.kronecker:Kronecker._sensitivity", check_large_entries, "sensitivity"
    )("return 4 * X", "return 2 * X"),
}
