"""Recipe of a model: enough to estimate it again from other answers, and to keep in a file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.files.stored_measurements import packed_measurements, unpacked_measurements


@dataclass(frozen=True, slots=True, eq=False)
class Recipe:
    """Measurements and options of an estimate, over the attributes that inference ran on.

    Attributes
    ----------
    measurements : tuple of LinearMeasurement
        The noisy answers.
    total_is_known : bool
        Whether the number of records was given, not estimated.
    options : dict
        Options of the estimate: loss, method, stop, stepsize, iterations, tolerance; if they were given, those of
        `Sweeps`.
    prior : CliqueVector or None
        Potentials of the prior; on a region graph the logs of its marginals that the estimate started from.
    prior_recipe : PriorRecipe or None
        Recipe of the prior, where it was estimated from some of these measurements.
    """

    measurements: tuple[LinearMeasurement, ...]
    total_is_known: bool
    options: Mapping[str, Any]
    prior: CliqueVector | None
    prior_recipe: PriorRecipe | None = None

    def packed(self) -> dict[str, Any]:
        """Return the recipe as JSON and arrays; see `packed_measurements`."""
        prior, before = self.prior, self.prior_recipe
        return {
            "total_is_known": self.total_is_known,
            "options": dict(self.options),
            "measurements": packed_measurements(self.measurements),
            "prior": None if prior is None else {"cliques": prior.cliques, "values": prior.values},
            "prior_recipe": None if before is None else before.recipe.packed(),
        }

    @classmethod
    def unpacked(cls, domain: Domain, fields: Mapping[str, Any]) -> Recipe:
        """Undo `packed`; ``ValueError``, ``KeyError`` or ``TypeError`` where something does not fit."""
        measurements = unpacked_measurements(domain, fields["measurements"])
        prior = None if fields["prior"] is None else CliqueVector(domain, **fields["prior"])
        if prior is not None and not (prior.values < np.inf).all():  # -inf is a structural zero
            raise ValueError("the logs of a prior are finite or -inf, got NaN or inf")
        before = None
        if fields["prior_recipe"] is not None:
            before = PriorRecipe.of(cls.unpacked(domain, fields["prior_recipe"]), measurements)
            if before is None:
                raise ValueError("the prior was estimated from measurements that the model does not have")
        return cls(measurements, fields["total_is_known"], fields["options"], prior, before)


@dataclass(frozen=True, slots=True, eq=False)
class PriorRecipe:
    """Recipe of a prior that was estimated from some of the measurements of the estimate after it.

    Attributes
    ----------
    recipe : Recipe
        The prior's.
    measurement_indices : tuple of int
        Positions of its measurements among those of the later estimate.
    """

    recipe: Recipe
    measurement_indices: tuple[int, ...]

    @classmethod
    def of(cls, recipe: Recipe | None, measurements: Sequence[LinearMeasurement]) -> PriorRecipe | None:
        """Return the recipe of a prior; None where it saw other answers, or nothing is known of it."""
        if recipe is None:
            return None
        places: dict[Clique, list[int]] = {}
        for i, m in enumerate(measurements):
            places.setdefault(m.clique, []).append(i)
        indices = [
            next((i for i in places.get(one.clique, ()) if np.array_equal(measurements[i].values, one.values)), -1)
            for one in recipe.measurements
        ]
        return None if -1 in indices else cls(recipe, tuple(indices))
