"""Screens, weighted and stated scores, and rounds of selection that are wrong in one place."""

from __future__ import annotations

from mutate import Mutant

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
        "changes = [self._sensitivity * w for w in weighing.factors]",
        "changes = [self._sensitivity * w for w in weighing.factors][:1]",
        screened,
        "sensitivity",
    ),
    (
        "a screen is charged for its largest score",
        "access",
        "squared = sum(c * c for c in changes)",
        "squared = max(c * c for c in changes)",
        screened,
        "sensitivity",
    ),
    (
        "a screen is charged for the mean of its weights",
        "selector",
        "changes = [self._sensitivity * w for w in weighing.factors]",
        "changes = [self._sensitivity * sum(weighing.factors) // len(chosen) for w in weighing.factors]",
        screened,
        "sensitivity",
    ),
    (
        "a screen forgets the records of a person",
        "l1_selector",
        "return self._access.privacy.l1_score_range // 2",
        "return self._access.privacy.l1_score_range // 2 // self._access.privacy.records_per_person",
        screened,
        "lost user bound",
    ),
    (
        "a screen under replace has the noise of add-remove",
        "l1_selector",
        "return self._access.privacy.l1_score_range // 2",
        "return self._access.privacy.records_per_person",
        screened,
        "wrong relation",
    ),
    (
        "a screen shares its noise among the candidates",
        "access",
        "noise = ChargedNoise(law, law.adder(self.sampler))\n        self.ledger",
        "noise = ChargedNoise(law, replace(law, variance=law.variance / len(changes)).adder(self.sampler))\n"
        "        self.ledger",
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
        "grid = Fraction(1 << bits) / largest",
        "grid = Fraction(1 << bits) / min(w for w in given if w > 0)",
        two_models,
        "score sensitivity",
    ),
    (
        "weights count and are not applied",
        "score_weights",
        "(f * s >> GRID_BITS) + o",
        "s + o",
        two_models,
        "wrong scores",
    ),
    (
        "scores of an earlier model stay",
        "selector",
        "compared(self, given, by), own)",
        "compared(self, given, by), own, scores=self._now.scores if hasattr(self, '_now') else {})",
        two_models,
        "wrong scores",
    ),
    (
        "counts that are kept are not those of the table",
        "selector",
        "self.__fill(now, at.pop(clique), self.__kept[clique])",
        "self.__fill(now, at.pop(clique), self.__kept[clique] + 1)",
        two_models,
        "wrong scores",
    ),
    (
        "scores beyond a limit are all the same",
        "score_weights",
        "SCORE_LIMIT = 1 << 62",
        "SCORE_LIMIT = 1 << 19",
        two_models,
        "wrong scores",
    ),
    (
        "a stated range forgets the records of a person",
        "selector",
        "return self._stated[1] * self._access.privacy.records_per_person",
        "return self._stated[1]",
        stated,
        "score sensitivity",
    ),
    (
        "all stated scores are taken to move one way",
        "private_table",
        "stated = (sensitivity, 2 * sensitivity if score_range is None else score_range)",
        "stated = (sensitivity, sensitivity if score_range is None else score_range)",
        stated,
        "score sensitivity",
    ),
]

MUTANTS = [
    Mutant(name, f"pypgm.privacy.{home}", old, new, check, defect) for name, home, old, new, check, defect in _PLACES
]
