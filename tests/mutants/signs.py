"""Selections among sets of signs that are not what was charged."""

from __future__ import annotations

from mutate import at
from operators import put
from selfcheck.closed import check_closed

from mutants.answers import question

signs = question("a selection of signs")

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
}
