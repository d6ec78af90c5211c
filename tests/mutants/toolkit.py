"""Screens, weighted and stated scores, and rounds of selection that are wrong in one place."""

from __future__ import annotations

from mutate import Mutant
from operators import instead, no_factor, other_extreme

from mutants.answers import follow

screened, two_models, stated = (
    follow("screen", pairs=None),
    follow("selection against two models"),
    follow("selection by a stated score", pairs=None),
)

_PLACES = [
    # name, module of pypgm.privacy, old, new, check, defect
    (
        "a screen is charged for its first score",
        "selector",
        "Selector.screen",
        instead(
            "[self._sensitivity * w for w in weighing.factors]", "[self._sensitivity * w for w in weighing.factors][:1]"
        ),
        screened,
        "sensitivity",
    ),
    (
        "a screen is charged for its largest score",
        "access",
        "Access.charge_screen",
        other_extreme(),
        screened,
        "sensitivity",
    ),
    (
        "a screen is charged for the mean of its weights",
        "selector",
        "Selector.screen",
        instead("self._sensitivity * w", "self._sensitivity * sum(weighing.factors) // len(chosen)"),
        screened,
        "sensitivity",
    ),
    (
        "a screen forgets the records of a person",
        "l1_selector",
        "L1Selector._sensitivity",
        instead(
            "self._access.privacy.l1_score_range // 2",
            "self._access.privacy.l1_score_range // 2 // self._access.privacy.records_per_person",
        ),
        screened,
        "lost user bound",
    ),
    (
        "a screen under replace has the noise of add-remove",
        "l1_selector",
        "L1Selector._sensitivity",
        instead("self._access.privacy.l1_score_range // 2", "self._access.privacy.records_per_person"),
        screened,
        "wrong relation",
    ),
    (
        "a screen shares its noise among the candidates",
        "access",
        "Access.charge_screen",
        instead("law.adder", "replace(law, variance=law.variance / len(changes)).adder"),
        screened,
        "scale differs from the charge",
    ),
    (
        "a screen is scored before it is charged",
        "selector",
        "        changes = [self._sensitivity",
        "        self._weighted(now, chosen, weighing)\n        changes = [self._sensitivity",
        screened,
        "read before the charge",
    ),
    (
        "the largest score of a screen is exact",
        "selector",
        "        return Screen(values, ",
        "        exact = fitted(self._weighted(now, chosen, weighing), screen=True)\n"
        "        values = np.where(exact == exact.max(), exact, values)\n"
        "        return Screen(values, ",
        screened,
        "private state kept",
    ),
    (
        "weights are relative to the least one",
        "score_weights",
        "Weights.of",
        instead("Fraction(1 << bits) / largest", "Fraction(1 << bits) / min((w for w in given if w > 0))"),
        two_models,
        "score sensitivity",
    ),
    (
        "weights count and are not applied",
        "score_weights",
        "Weights.applied",
        instead("f * s >> GRID_BITS", "s"),
        two_models,
        "wrong score",
    ),
    (
        "scores of an earlier model stay",
        "selector",
        "Selector.compare",
        instead(
            "Comparison(the_observer().compared(self, given, by), own)",
            "next(new for new in [Comparison(the_observer().compared(self, given, by), own)] if "
            "not hasattr(self, '_now') or [np.copyto(own[:old.size], old[:own.size]) for own, old in "
            "zip((new.scores, new.is_scored), (self._now.scores, self._now.is_scored))])",
        ),
        two_models,
        "wrong score",
    ),
    (
        "counts that are kept are not those of the table",
        "selector",
        "Selector._weighted",
        instead(
            "self.__fill(now, at.pop(clique), self.__kept[clique])",
            "self.__fill(now, at.pop(clique), self.__kept[clique] + 1)",
        ),
        two_models,
        "wrong score",
    ),
    (
        "scores beyond a limit are all the same",
        "score_weights",
        "SCORE_LIMIT = 1 << 62",
        "SCORE_LIMIT = 1 << 19",
        two_models,
        "wrong score",
    ),
    (
        "a stated range forgets the records of a person",
        "selector",
        "StatedSelector._score_range",
        no_factor(),
        stated,
        "score sensitivity",
    ),
    (
        "all stated scores are taken to move one way",
        "private_table",
        "PrivateTable.selector",
        no_factor(1),
        stated,
        "score sensitivity",
    ),
]

MUTANTS = [
    Mutant(name, f"pypgm.privacy.{home}", old, new, check, defect) for name, home, old, new, check, defect in _PLACES
]
