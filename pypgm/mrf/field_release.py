"""Release of a privately learned Markov random field."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.numeric import as_generator, checked_integer, checked_real
from pypgm.mrf.field import MarkovRandomField, draw_edges
from pypgm.release import Release

if TYPE_CHECKING:
    from collections.abc import Callable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from pypgm.data import Dataset


class FieldRelease(Release[MarkovRandomField]):
    """A private release of a Markov random field.

    Attributes
    ----------
    model : MarkovRandomField
        The field, with its number of records.
    measurements : tuple of LinearMeasurement
        The noisy number of records, if it is private.
    """

    __slots__ = ()

    _kind = "field"
    model: MarkovRandomField

    @property
    def excess_risk(self) -> float | None:
        """Bound on the mean loss of a regression above the least one; see `pypgm.mrf.excess_risk`.

        None if there was no regression, or the file does not record it.
        """
        return self.options.get("excess_risk")

    @property
    def _details(self) -> list[str]:
        """Number of steps, and the bound on the loss after them."""
        if self.excess_risk is None:
            return []
        risk = f"about {self.excess_risk:.2g} above the least"
        steps = f"{self.options['steps']} steps of each regression: its mean loss may end {risk}"
        return [f"{steps}, to an order of magnitude ({math.log(2):.2f}: nothing learnt)"]

    def edges(self, threshold: float) -> dict[tuple[str, str], float]:
        """Return the pairs of attributes of at least some strength; see `MarkovRandomField.strengths`.

        Raises
        ------
        ValueError
            If the threshold is not positive and finite.
        """
        least, strengths, names = checked_real("threshold", threshold), self.model.strengths(), self.model.domain
        pairs = np.argwhere(np.triu(strengths >= least, 1)).tolist()
        return {(names.attributes[i], names.attributes[j]): float(strengths[i, j]) for i, j in pairs}

    def weight_errors(
        self,
        learn: Callable[[Dataset], FieldRelease],
        *,
        draws: int = 20,
        rng: np.random.Generator | int | None = 0,
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return standard errors of weights and fields by the parametric bootstrap, from sampling, noise and steps.

        Tables of the same number of records are drawn from the model, and learned from in the same way.

        Parameters
        ----------
        learn : callable
            The same learner with the same options, on other records; draws from a release need no privacy.
        draws : int
            At least 2.
        rng : Generator or int, optional
            Source of the records.

        Returns
        -------
        weights, fields : ndarray of float64, shapes (D, D) and (D,)
            Same as `MarkovRandomField.weights` and `fields`.

        Raises
        ------
        ValueError
            If there are fewer than two draws, or the model has tables over more than two attributes.
        TypeError
            If `learn` is not a function.

        Examples
        --------
        >>> from pypgm import CliqueVector, Domain
        >>> from pypgm.mrf import learn_ising, sample
        >>> ising = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], [0.4, -0.4, -0.4, 0.4])
        >>> data = sample(ising, 20_000, rng=0).data
        >>> learn = lambda records: learn_ising(records, epsilon=2, delta=1e-9, radius=1.0, steps=30)
        >>> weights, _ = learn(data).weight_errors(learn, rng=0)
        >>> bool(0.001 < weights[1, 3] < 0.2)
        True
        """
        if not callable(learn):
            raise TypeError(f"learn needs the learner of this release, a function of a dataset, got {learn!r}")
        n, source = checked_integer("draws", draws, 2), as_generator(rng)
        models = [learn(self.model.synthetic_data(rng=source)).model for _ in range(n)]
        weights, fields = (np.stack(arrays) for arrays in zip(*((m.weights, m.fields) for m in models), strict=True))
        return weights.std(axis=0, ddof=1), fields.std(axis=0, ddof=1)

    def plot(self, threshold: float, ax: Axes | None = None) -> Axes:
        """Draw the attributes on a circle, and the edges above a strength, with stronger ones wider.

        Parameters
        ----------
        threshold : float
            See `edges`.
        ax : matplotlib Axes, optional
            New axes by default.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        return draw_edges(self.model.domain.attributes, self.edges(threshold), ax)
