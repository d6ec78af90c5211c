"""Choices of what pairs are asked that are not what was charged."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead
from selfcheck.shapes import CHOOSING, check_shapes

from pypgm.audit.subjects import FEWER

WIDE, CHOICES, RESOLUTION = "pypgm.mechanisms._wide", "pypgm.mechanisms.choices", "pypgm.mechanisms.resolution"
PRODUCTS = "pypgm.mechanisms.rank_products"
choosing = partial(check_shapes, "wide, choosing", FEWER["wide"], CHOOSING)

MUTANTS = [
    Mutant(
        "risks are said to change by a quarter of a record",
        CHOICES,
        "Choices.drawn",
        instead("GRID * RISK_SENSITIVITY * (2 if self._run.table.privacy.total_is_public else 1)", "GRID // 4"),
        choosing,
        "score sensitivity",
    ),
    Mutant(
        "risks are in smaller units than is said",
        RESOLUTION,
        "_twice",
        instead("(1 << _FINE) // (2 * GRID)", "(1 << _FINE) // (2 * GRID) // 8"),
        choosing,
        "score sensitivity",
    ),
    Mutant(
        "resolutions are charged and follow from exact risks",
        CHOICES,
        "Choices.drawn",
        instead(
            "selector.select(among, rho=each)",
            "(selector.select(among, rho=each), among[getattr(selector, '_now').scores[among[0]] // 65536 "
            "% len(among)])[1]",
        ),
        choosing,
        "path depends on the data",
    ),
    Mutant(
        "pairs are told from the exact number of records",
        WIDE,
        "_measure_pairs",
        instead("total_of(run, singles)", "getattr(run.table, '_PrivateTable__data').n_records"),
        choosing,
        "records counted exactly",
    ),
    Mutant(
        "attributes are measured by contrasts where there are enough records by the exact number",
        WIDE,
        "_measure_again",
        instead(
            "estimate_total(run.domain, singles) if run.total is None else (run.total, 0.0)",
            "(getattr(run.table, '_PrivateTable__data').n_records, estimate_total(run.domain, singles)[1])",
        ),
        choosing,
        "records counted exactly",
    ),
    Mutant(
        "pairs are worth what their exact distances say",
        WIDE,
        "*screened(run, list(weights), start, rho))",
        "*(screened(run, list(weights), start, rho), (__import__('numpy').array([sum(map(abs, "
        "getattr(run.table, '_PrivateTable__data').project(p).datavector() - start.counts(p))) for p in weights]), "
        "1.0))[1])",
        choosing,
        "path depends on the data",
    ),
    Mutant(
        "the screen of pairs is charged to another ledger",
        WIDE,
        "    found = dependence(list(weights), start, *screened(run, list(weights), start, rho))\n",
        "    table = run.table\n"
        "    other = type(table)(getattr(table, '_PrivateTable__data'), table.privacy, type(ledger)(ledger.budget))\n"
        "    run.table = other\n"
        "    found = dependence(list(weights), start, *screened(run, list(weights), start, run.rho))\n"
        "    run.table = table\n",
        choosing,
        "overspent",
    ),
    Mutant(
        "rank products are charged to another ledger",
        PRODUCTS,
        "        return run.table.measure_many(kept, queries, rho=Fraction(rho))\n",
        "        table = run.table\n"
        "        own = type(table.ledger)(table.ledger.budget)\n"
        "        other = type(table)(getattr(table, '_PrivateTable__data'), table.privacy, own)\n"
        "        return other.measure_many(kept, queries, rho=run.rho)\n",
        choosing,
        "overspent",
    ),
    Mutant(
        "ranks are those of the records themselves",
        PRODUCTS,
        "        own = {a: Matrix(self._ranks[a][None]) for a in {a for p in kept for a in p}}\n",
        "        exact = getattr(run.table, '_PrivateTable__data').project\n"
        "        self._ranks = {a: np.rint(np.cumsum(exact((a,)).datavector())).astype(int) for p in kept for a in p}\n"
        "        own = {a: Matrix(self._ranks[a][None]) for a in {a for p in kept for a in p}}\n",
        choosing,
        "read before the charge",
    ),
    Mutant(
        "what is asked again follows from the records",
        WIDE,
        "        suggested = choices.suggested(rough)\n",
        "        exact = getattr(run.table, '_PrivateTable__data').project\n"
        "        records = type('', (), {'project_many': lambda _, cliques: list(map(exact, cliques))})\n"
        "        suggested = choices.suggested(records())\n",
        choosing,
        "path depends on the data",
    ),
]
