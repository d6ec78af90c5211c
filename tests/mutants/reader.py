"""Defects planted by a reader without context: those that the audit did not see at first, and others of new kinds."""

from __future__ import annotations

from functools import partial

import numpy as np
from checks.extremes import check_large_entries, check_large_stated
from checks.marks import check_marks
from checks.strange import check_callers, check_record_order, check_strange_scores, check_strange_values
from checks.table_errors import check_table_errors
from mutate import Mutant
from operators import instead, no_addend, no_factor
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
MARK = "        mark = self._ledger.not_private\n        return LinearMeasurement(values"

_PLACES = [
    # name, module, old, new, check, defect
    (
        "a second batch of many measurements has the noise of the first",
        "private_table",
        "PrivateTable.__noisy",
        instead("noises[i]", "noises[i - first]"),
        batches,
        "scale differs from the charge",
    ),
    (
        "a sample of a seeded table is not marked",
        "private_table",
        "        if self._ledger.not_private:\n            inner.mark_not_private(self._ledger.not_private)\n",
        "",
        check_marks,
        "mark lost",
    ),
    (
        "a measurement is marked for a seed alone",
        "private_table",
        MARK,
        MARK.replace("self._ledger.not_private", '"" if not self._sampler.not_private else self._ledger.not_private'),
        check_marks,
        "mark lost",
    ),
    (
        "a screen is not marked",
        "selector",
        "Selector.screen",
        instead(
            "Screen(values, noise.law.stddev * weighing.unit, weighing.unit, self._access.ledger.not_private)",
            "Screen(values, noise.law.stddev * weighing.unit, weighing.unit)",
        ),
        check_marks,
        "mark lost",
    ),
    (
        "seed 0 is not declared",
        "sampler",
        "Sampler.__init__",
        instead(
            "'noise drawn from a seed' if words is not None else ''", "'noise drawn from a seed' if unsafe_seed else ''"
        ),
        check_marks,
        "seed not declared",
    ),
    (
        "keys come in the order in which they were met",
        "private_column",
        "PrivateColumn.__keys",
        instead("dict(sorted(found.items(), key=lambda entry: (isinstance(entry[0], str), entry[0])))", "found"),
        check_record_order,
        "private state kept",
    ),
    (
        "a value that cannot be read may raise some errors",
        "private_column",
        "_as_number",
        instead("BaseException", "(TypeError, ValueError, OverflowError)"),
        check_strange_values,
        "exception tells",
    ),
    (
        "the shape of a column is told where it is refused",
        "private_column",
        '"a column needs values of one dimension"',
        'f"a column needs values of one dimension, got shape {np.shape(values)}"',
        check_refusals,
        "exception tells",
    ),
    (
        "counts of keys end at the number of records",
        "unknown_keys",
        "_released",
        instead("int(count)", "min(int(count), sum(found.values()))"),
        check_unknown_keys,
        "noise added outside the sampler",
    ),
    (
        "a screen that shows a candidate twice is charged for it once",
        "selector",
        "Selector.screen",
        instead("weighing.factors", "dict(zip(chosen, weighing.factors, strict=True)).values()"),
        screen,
        "sensitivity",
    ),
    (
        "the largest change of a screen is that of its first score",
        "access",
        "Access.charge_screen",
        instead("max(changes)", "changes[0]"),
        screen,
        "sensitivity",
    ),
    (
        "a screen by a stated score forgets the records of a person",
        "selector",
        "StatedSelector._sensitivity",
        no_factor(),
        stated,
        "lost user bound",
    ),
    (
        "a squared sensitivity of a screen wraps around",
        "access",
        "Access.charge_screen",
        instead("sum((c * c for c in changes))", "int(np.square(np.array(changes, dtype=np.int64)).sum())"),
        check_large_stated,
        "sensitivity",
    ),
    (
        "weighted scores are rounded in floating point",
        "score_weights",
        "Weights.applied",
        instead("f * s >> GRID_BITS", "round(f * s / (1 << GRID_BITS))"),
        check_large_stated,
        "wrong score",
    ),
    (
        "a lookup error of a score of one's own comes out",
        "fixed_errors",
        "unheard",
        instead("BaseException", "(TypeError, ValueError, ArithmeticError)"),
        check_strange_scores,
        "exception tells",
    ),
    (
        "estimates are asked for once the records are counted",
        "l1_selector",
        "L1Selector._score",
        instead("now.public[number]", "on_grid(now.candidates[number], now.by(now.candidates[number]), kept.size)"),
        check_callers,
        "private state kept",
    ),
    (
        "a part has a lock of its own",
        "ledger",
        "part._parent, part._name, part._lock, part._journal = self, str(name), self._lock, self._journal",
        "part._parent, part._name, part._journal = self, str(name), self._journal",
        check_ledger_races,
        "ledger race",
    ),
    (
        "the threshold of a stored line is for one record a person",
        "laws",
        "Noise._with_threshold",
        no_addend(1),
        check_unknown_keys,
        "unchecked import",
    ),
    (
        "a change that is not known is taken for 1",
        "laws",
        "DiscreteLaplace.dominating",
        instead("self.largest_change", "self.largest_change or 1"),
        composed,
        "accounting",
    ),
    (
        "lines of two kinds have the whole of delta each",
        "pld",
        "        left /= 2\n",
        "",
        composed,
        "accounting",
    ),
    (
        "weights are relative to the first one",
        "score_weights",
        "Weights.of",
        instead("max(given)", "given[0]"),
        models,
        "wrong score",
    ),
    (
        "noise of many measurements is kept by clique",
        "private_table",
        '            noises = self.trusted_access.charge_gaussians(each, "measure", part)\n',
        '            noises = self.trusted_access.charge_gaussians(each, "measure", part)\n'
        "            by_clique = {clique: noise for (clique, _, _), noise in zip(asked, noises, strict=True)}\n"
        "            noises = [by_clique[clique] for clique, _, _ in asked]\n",
        several,
        "scale differs from the charge",
    ),
    (
        "a negative total is drawn once more",
        "private_table",
        MARK,
        "        if not attributes and values[0] < 0:\n"
        "            own = next(access.count([attributes]))\n"
        "            values = noise.add(_answers(done, own))\n" + MARK,
        total,
        "uncharged draw",
    ),
    (
        "the tail of Gaussian noise falls twice as fast",
        "thresholds",
        "gaussian_threshold",
        no_factor(6),
        check_tails,
        "accounting",
    ),
    (
        "sensitivities are remembered by the text of a query",
        "relation",
        "        return query.squared_l2_sensitivity(self.neighbours) * self.records_per_person**2\n",
        "        known = vars(Privacy.squared_l2_sensitivity)\n"
        "        key = repr(query), self.neighbours\n"
        "        own = int(known.setdefault(key, query.squared_l2_sensitivity(self.neighbours)))\n"
        "        return own * self.records_per_person**2\n",
        check_sensitivities,
        "sensitivity",
    ),
    (
        "two samples of a table are of the same records",
        "private_table",
        "PrivateTable.subsample",
        instead(
            "self.__sampled(law)",
            "vars(_answers).setdefault('kept', {}).setdefault((self._ledger, chance), self.__sampled(law))",
        ),
        check_samples,
        "answer of another table",
    ),
    (
        "the coin of a sample has 16 bits",
        "sampler",
        "Sampler.coins",
        instead(
            "the_observer().core.flip_coins(count, probability.numerator, probability.denominator, self.__words)",
            "the_observer().core.flip_coins(count, -(-probability.numerator * 65536 // "
            "probability.denominator), 65536, self.__words)",
        ),
        check_samples,
        "scale differs from the charge",
    ),
]

if np.finfo(np.longdouble).max > np.finfo(np.float64).max:  # where there are such numbers
    _PLACES += [
        (
            "a number beyond float64 warns",
            "private_column",
            '        with np.errstate(all="ignore"):  # a long double may overflow: no warning\n'
            "            return values.astype(np.float64)\n",
            "        return values.astype(np.float64)\n",
            check_strange_values,
            "text tells",
        ),
    ]

MUTANTS = [
    Mutant(name, f"pypgm.privacy.{home}", old, new, check, defect) for name, home, old, new, check, defect in _PLACES
]
MUTANTS += [
    Mutant(
        "measurements read from a file lose their mark",
        "pypgm.models.stored_measurements",
        "_measurement",
        instead("{**entry, 'query': query}", "{**entry, 'query': query, 'not_private': ''}"),
        kept,
        "mark lost",
    ),
    Mutant(
        "contrasts of two records differ in the first attribute",
        "pypgm.queries.contrasts",
        "Contrasts._with_opposite",
        instead("min(self.sizes)", "self.sizes[0]"),
        check_sensitivities,
        "sensitivity",
    ),
    Mutant(
        "equal parts of a union are counted once",
        "pypgm.queries.union",
        "Union._sensitivity",
        instead("self.parts", "set(self.parts)"),
        check_sensitivities,
        "sensitivity",
    ),
    Mutant(
        "the command prints what an unforeseen error says",
        "pypgm.cli.command",
        'return 1, f"unexpected {type(error).__name__} at',
        'return 1, f"unexpected {type(error).__name__}: {error} at',
        check_table_errors,
        "exception tells",
    ),
    Mutant(
        "a tall signed product is bounded as if no entry were negative",
        "pypgm.queries.kronecker",
        "            return 4 * largest\n        # Unit",
        "            return 2 * largest\n        # Unit",
        check_large_entries,
        "sensitivity",
    ),
]
