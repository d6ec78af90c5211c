"""Selections among sets of signs that are not what was charged."""

from __future__ import annotations

from functools import partial

from mutate import UNCHARGED, at
from operators import put
from selfcheck.closed import check_closed
from selfcheck.shapes import SHAPES, check_shapes

from mutants.answers import question
from pypgm.audit.subjects import FEWER

signs = question("a selection of signs")
searching = partial(check_shapes, "wide, searching", FEWER["wide"], SHAPES[:1])

MUTANTS = {
    "signs count twice for each record": at("privacy.sign_selector:SignSelector._read", signs, "score sensitivity")(
        "total - 2 * np.concatenate(odd)", "2 * (total - 2 * np.concatenate(odd))"
    ),
    "weights of sums of signs are applied twice as large": at(
        "privacy.sign_selector:_weighted", signs, "score sensitivity"
    )("factors * (scores >> GRID_BITS)", "2 * factors * (scores >> GRID_BITS)"),
    "a selection of signs is charged as if sums changed one way only": at(
        "privacy.sign_selector:SignSelector.select", signs, "score sensitivity"
    )("Exponential(X, Y)", "Exponential(X, 1)"),
    "sums of signs survive the end": at("privacy.sign_selector:SignSelector.close", check_closed, "open after the end")(
        "self.__sums = None", "return"
    ),
    "the best set of signs is taken without noise": at(
        "privacy.sign_selector:SignSelector.select", signs, "noise from elsewhere"
    )("law.draw(scores, self._access.sampler, steps=1 << GRID_BITS)", "scores.argmax()"),
    "sums of signs are read before the charge": at(
        "privacy.sign_selector:SignSelector.select", signs, "read before the charge"
    )(put("self._read()", before="self._access.ledger.charge(...)")),
    "the search for sets is charged to another ledger": at("mechanisms.interactions:Search.go", searching, "overspent")(
        "run.table.sign_selector(X, Y)", f"(lambda table: {UNCHARGED})(run.table).sign_selector(X, Y)"
    ),
    "sums of sets are compared with those of the records": at(
        "mechanisms.interactions:Search.go", searching, "path depends on the data"
    )(
        "_Expected(X, Y, Z, self._reach.rows)",
        "_Expected(X, Y, getattr(run.table, '_PrivateTable__data'), self._reach.rows)",
    ),
    "what pairs spare for a search follows from the records": at(
        "mechanisms.interactions:Search.go", searching, "path depends on the data"
    )("max(most, X)", "max(most, X) * (len(getattr(run.table, '_PrivateTable__data')) % 2)"),
    "the sum of a picked set is measured for the budget of all steps": at(
        "mechanisms.interactions:Search._ask", searching, "overspent"
    )(
        "self._run.table.measure(X, Y, rho=Z)",
        f"(lambda table: {UNCHARGED})(self._run.table).measure(X, Y, rho=self._run.rho)",
    ),
    "the screen of triples is charged to another ledger": at(
        "mechanisms.triples:Triples._screened", searching, "overspent"
    )(
        "noisy_distances(self._run, X, Y, rho, Z)",
        "(lambda table: noisy_distances(type('', (), {'domain': self._run.domain, "
        f"'table': {UNCHARGED}}}), X, Y, self._run.rho, Z))(self._run.table)",
    ),
    "triples are compared with the records themselves": at(
        "mechanisms.triples:Triples.measured", searching, "path depends on the data"
    )("model.project_many(self.cliques)", "map(getattr(self._run.table, '_PrivateTable__data').project, self.cliques)"),
    "triples are measured for the whole budget": at("mechanisms.triples:Triples.measured", searching, "overspent")(
        "self._run.table.measure_many(X, Y, rho=Z, weights=costs)",
        f"(lambda table: {UNCHARGED})(self._run.table).measure_many(X, Y, rho=self._run.rho, weights=costs)",
    ),
    "what pairs can spare follows from the records": at(
        "mechanisms.triples:spared", searching, "path depends on the data"
    )("model.project_many(pairs)", "map(getattr(run.table, '_PrivateTable__data').project, pairs)"),
}
