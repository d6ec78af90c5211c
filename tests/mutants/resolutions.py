"""Choices of what pairs are asked that are not what was charged."""

from __future__ import annotations

from functools import partial

from mutate import UNCHARGED, at
from operators import put
from selfcheck.shapes import CHOOSING, SHAPES, check_shapes

from pypgm.audit.subjects import FEWER

choosing = partial(check_shapes, "wide, choosing", FEWER["wide"], CHOOSING)
aiming = partial(check_shapes, "wide, aiming", partial(FEWER["wide"], targets="x0"), SHAPES[3:5])

MUTANTS = {
    "halves of a target's pairs are measured for the budget of all steps": at(
        "mechanisms.target_pairs:measure_halves", aiming, "overspent"
    )(
        "run.table.measure_many(telling, queries, rho=rho)",
        f"(lambda table: {UNCHARGED})(run.table).measure_many(telling, queries, rho=run.rho)",
    ),
    "halves of a target's pairs are cut by the records": at(
        "mechanisms.target_pairs:measure_halves", aiming, "read before the charge"
    )(
        "Values(start.shares[a], a in ordered)",
        "Values(getattr(run.table, '_PrivateTable__data').project((a,)).datavector() + 1e-3, a in ordered)",
    ),
    "the strongest pairs of a target are measured for the budget of all steps": at(
        "mechanisms.target_pairs:measure_strongest", aiming, "overspent"
    )(
        "return run.table.measure_many(picked, X, rho=Y)",
        f"return (lambda table: {UNCHARGED})(run.table).measure_many(picked, X, rho=run.rho)",
    ),
    "picks of a target's pairs are charged and follow from exact distances": at(
        "mechanisms.target_pairs:measure_strongest", aiming, "path depends on the data"
    )(
        "places = selector.select_top(None, _PICKS, rho=X, offsets=offsets)",
        "selector.select_top(None, _PICKS, rho=X, offsets=offsets)\n"
        "places = sorted(range(len(cliques)), key=getattr(selector, '_now').scores.__getitem__)[-_PICKS:]",
    ),
    "distances of a target's pairs are said to change by its rarest group alone": at(
        "mechanisms.target_pairs:measure_strongest", aiming, "score sensitivity"
    )("2 * (_GRID - min(X))", "min(X) // 4 + 1"),
    "risks are said to change by a quarter of a record": at(
        "mechanisms.choices:Choices.drawn", choosing, "score sensitivity"
    )("GRID * RISK_SENSITIVITY * (2 if self._run.table.privacy.total_is_public else 1)", "GRID // 4"),
    "risks are in smaller units than is said": at("mechanisms.resolution:_twice", choosing, "score sensitivity")(
        "(1 << _FINE) // (2 * GRID)", "(1 << _FINE) // (2 * GRID) // 8"
    ),
    "resolutions are charged and follow from exact risks": at(
        "mechanisms.choices:Choices.drawn", choosing, "path depends on the data"
    )(
        "selector.select(among, rho=each)",
        "(selector.select(among, rho=each), among[getattr(selector, "
        "'_now').scores[among[0]] // 65536 % len(among)])[1]",
    ),
    "pairs are told from the exact number of records": at(
        "mechanisms._wide:_measure_pairs", choosing, "records counted exactly"
    )("total_of(run, singles)", "getattr(run.table, '_PrivateTable__data').n_records"),
    "attributes are measured by contrasts where there are enough records by the exact number": at(
        "mechanisms._wide:_measure_again", choosing, "records counted exactly"
    )(
        "estimate_total(run.domain, singles) if run.total is None else (run.total, 0.0)",
        "(getattr(run.table, '_PrivateTable__data').n_records, estimate_total(run.domain, singles)[1])",
    ),
    "pairs are worth what their exact distances say": at(
        "mechanisms._wide:_measure_pairs", choosing, "path depends on the data"
    )(
        "screened(run, X, start, Y, Z)",
        "(lambda screen: __import__('dataclasses').replace(screen, stddev=1.0, scores=__import__('numpy').array([sum("
        "map(abs, getattr(run.table, '_PrivateTable__data').project(p).datavector() - start.counts(p))) for p in X])))"
        "(screened(run, X, start, Y, Z))",
    ),
    "the screen of pairs is charged to another ledger": at("mechanisms._wide:_measure_pairs", choosing, "overspent")(
        "Z = dependence(screened(run, X, start, Y, rho), Y, start)",
        "table = run.table\n"
        "other = type(table)(getattr(table, '_PrivateTable__data'), table.privacy, type(ledger)(ledger.budget))\n"
        "run.table = other\n"
        "Z = dependence(screened(run, X, start, Y, run.rho), Y, start)\n"
        "run.table = table",
    ),
    "a release keeps the screen as it was before the noise": at(
        "mechanisms.pair_dependence:screened", choosing, "private state kept"
    )(
        "screen.rounded()",
        "type(screen)(screen.pairs, np.array([np.abs(getattr(run.table, '_PrivateTable__data').project(p).datavector() "
        "- start.counts(p)).sum() for p in pairs]), screen.by_chance, screen.stddev, screen.total)",
    ),
    "rank products are charged to another ledger": at(
        "mechanisms.rank_products:RankProducts.measured", choosing, "overspent"
    )(
        "return run.table.measure_many(X, Y, rho=Z)",
        "table = run.table\n"
        "own = type(table.ledger)(table.ledger.budget)\n"
        "other = type(table)(getattr(table, '_PrivateTable__data'), table.privacy, own)\n"
        "return other.measure_many(X, Y, rho=run.rho)",
    ),
    "ranks are those of the records themselves": at(
        "mechanisms.rank_products:RankProducts.measured", choosing, "read before the charge"
    )(
        put(
            "exact = getattr(run.table, '_PrivateTable__data').project\n"
            "self._ranks = {a: np.rint(np.cumsum(exact((a,)).datavector())).astype(int) for p in kept for a in p}",
            before="Matrix(self._ranks[X][None])",
        )
    ),
    "what is asked again follows from the records": at(
        "mechanisms._wide:_measure_asked", choosing, "path depends on the data"
    )(
        "X = choices.suggested(Y)",
        "exact = getattr(run.table, '_PrivateTable__data').project\n"
        "records = type('', (), {'project_many': lambda _, cliques: list(map(exact, cliques))})\n"
        "X = choices.suggested(records())",
    ),
}
