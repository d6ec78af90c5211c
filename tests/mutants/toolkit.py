"""Screens, weighted and stated scores, and rounds of selection that are wrong in one place."""

from __future__ import annotations

from mutate import at
from operators import no_factor, other_extreme, put

from mutants.answers import follow

screened, two_models, stated = (
    follow("screen", pairs=None),
    follow("selection against two models"),
    follow("selection by a stated score", pairs=None),
)

MUTANTS = {
    "a screen is charged for its first score": at("privacy.selector:Selector.screen", screened, "sensitivity")(
        "[self._sensitivity * w for w in weighing.factors]", "[self._sensitivity * w for w in weighing.factors][:1]"
    ),
    "a screen is charged for its largest score": at("privacy.access:Access.charge_screen", screened, "sensitivity")(
        other_extreme()
    ),
    "a screen is charged for the mean of its weights": at("privacy.selector:Selector.screen", screened, "sensitivity")(
        "self._sensitivity * w", "self._sensitivity * sum(weighing.factors) // len(chosen)"
    ),
    "a screen forgets the records of a person": at(
        "privacy.l1_selector:L1Selector._sensitivity", screened, "lost user bound"
    )(
        "self._access.privacy.l1_score_range // 2",
        "self._access.privacy.l1_score_range // 2 // self._access.privacy.records_per_person",
    ),
    "a screen under replace has the noise of add-remove": at(
        "privacy.l1_selector:L1Selector._sensitivity", screened, "wrong relation"
    )("self._access.privacy.l1_score_range // 2", "self._access.privacy.records_per_person"),
    "a screen shares its noise among the candidates": at(
        "privacy.access:Access.charge_screen", screened, "scale differs from the charge"
    )("law.adder", "replace(law, variance=law.variance / len(changes)).adder"),
    "a screen is scored before it is charged": at(
        "privacy.selector:Selector.screen", screened, "read before the charge"
    )(put("self._weighted(now, chosen, weighing)", before="changes = ...")),
    "the largest score of a screen is exact": at("privacy.selector:Selector.screen", screened, "private state kept")(
        put(
            "exact = fitted(self._weighted(now, chosen, weighing), screen=True)\n"
            "values = np.where(exact == exact.max(), exact, values)",
            before="Screen(...)",
        )
    ),
    "weights are relative to the least one": at("privacy.selector:Weights.of", two_models, "score sensitivity")(
        "Fraction(1 << bits) / largest", "Fraction(1 << bits) / min((w for w in given if w > 0))"
    ),
    "weights count and are not applied": at("privacy.selector:Weights.applied", two_models, "wrong score")(
        "f * s >> GRID_BITS", "s"
    ),
    "scores of an earlier model stay": at("privacy.selector:Selector.compare", two_models, "wrong score")(
        "Comparison(X, Y)",
        "next(new for new in [Comparison(X, Y)] if not hasattr(self, '_now') or [np.copyto(own[:old.size], "
        "old[:own.size]) for own, old in zip((new.scores, new.is_scored), (self._now.scores, self._now.is_scored))])",
    ),
    "counts that are kept are not those of the table": at(
        "privacy.selector:Selector._weighted", two_models, "wrong score"
    )(
        "self.__fill(now, at.pop(clique), self.__kept[clique])",
        "self.__fill(now, at.pop(clique), self.__kept[clique] + 1)",
    ),
    "scores beyond a limit are all the same": at("privacy.selector:SCORE_LIMIT", two_models, "wrong score")(
        "1 << 62", "1 << 19"
    ),
    "a stated range forgets the records of a person": at(
        "privacy.selector:StatedSelector._score_range", stated, "score sensitivity"
    )(no_factor()),
    "all stated scores are taken to move one way": at(
        "privacy.private_table:PrivateTable.selector", stated, "score sensitivity"
    )(no_factor(1)),
}
