"""Releases of private learning of a network."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm.bayes.counted import CountedNetwork  # a release read from a file has one
from pypgm.factor import Factor
from pypgm.release import Release

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from pypgm.estimation.measurement import LinearMeasurement

NAME = "bayes.learn_private"


class NetworkRelease(Release[CountedNetwork]):
    """A private release of the conditional tables of a network.

    Attributes
    ----------
    model : CountedNetwork
        The network, with its number of records.
    measurements : tuple of LinearMeasurement
        Noisy counts of each attribute with its parents, cliques in the order (parents, attribute); those of the first
        stage, if all records took part in it, before those of the second.
    """

    __slots__ = ()

    _kind = "network"
    model: CountedNetwork

    @property
    def allocation(self) -> dict[str, Fraction]:
        """The spending of the second stage on the table of each attribute, in the unit of the budget."""
        lines = self.ledger.lines[-len(self.model.domain) :]
        return {a: line.cost for a, line in zip(self.model.domain, lines, strict=True)}

    def table_error(self, attribute: str) -> Factor:
        r"""Return the standard errors of a conditional table that are due to the noise on its own counts.

        They are :math:`\sigma \sqrt{(1 - \theta)^2 + (|X| - 1) \theta^2} / T_p`, at most 1, with the standard deviation
        of all measurements of the attribute with its parents, and T the noisy number of records with these values
        of the parents, at least its own noise. Neither the gain of an estimate from other tables nor the sampling
        error of the records is included.

        Raises
        ------
        ValueError
            If the attribute is unknown.

        Examples
        --------
        >>> from pypgm import Dataset, Domain
        >>> from pypgm.bayes import learn_private
        >>> data = Dataset({"a": [0, 1] * 500}, Domain({"a": 2}))
        >>> bool((learn_private(data, [], 1.0).table_error("a").values < 0.02).all())
        True
        """
        self.model.domain.indices((attribute,))
        theta = self.model.tables[attribute]
        counts, variance = pooled(self.measurements, theta.domain.attributes)
        size = theta.domain.shape[-1]
        positive = np.maximum(counts, 0.0).reshape(theta.domain.shape)
        rows = np.maximum(positive.sum(axis=-1, keepdims=True), max(1.0, (variance * size) ** 0.5))
        squared = variance * ((1 - theta.values) ** 2 + (size - 1) * theta.values**2)
        return Factor(theta.domain, np.minimum(1.0, np.sqrt(squared) / rows))

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the network, each attribute in the colour of its table's share of the budget.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            New axes by default.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        """
        from pypgm.bayes.pictures import draw_graph

        unit = "ε" if self.ledger.budget.unit == "epsilon" else "ρ"
        shares, net = {a: float(c) for a, c in self.allocation.items()}, self.model
        return draw_graph(net.domain, net.parents, shares, f"{unit} of the table", ax)

    def plot_table(self, attribute: str, ax: Axes | None = None) -> Axes:
        """Draw a conditional table with 90 % error bars; if it is large, the first groups of the parents' values.

        Parameters
        ----------
        attribute : str
        ax : matplotlib Axes, optional
            New axes by default.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not installed.
        ValueError
            If the attribute is unknown.
        """
        from pypgm.bayes.pictures import draw_table

        errors = self.table_error(attribute)
        return draw_table(self.model.tables[attribute], errors, ax)


def pooled(measurements: Iterable[LinearMeasurement], family: tuple[str, ...]) -> tuple[NDArray[np.float64], float]:
    """Return the mean of the measurements of a family, weighted by their precision, and its variance."""
    measured = [(m.values, float(np.mean(m.stddev)) ** -2) for m in measurements if m.clique == family]
    precision = sum(weight for _, weight in measured)
    total = np.sum([weight * values for values, weight in measured], axis=0)
    return np.asarray(total / precision, dtype=np.float64), 1 / precision
