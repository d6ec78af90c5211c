"""What private learning of a Markov random field hands out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pypgm.mrf.field import MarkovRandomField
from pypgm.mrf.pictures import draw_edges
from pypgm.numeric import checked_real
from pypgm.release import RELEASES, Release

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["FieldRelease"]


class FieldRelease(Release):
    """A private release of a Markov random field.

    Attributes
    ----------
    model : MarkovRandomField
        The field, and how many records it is of.
    measurements : tuple of LinearMeasurement
        The noisy number of records, where that is private.
    """

    __slots__ = ()

    model: MarkovRandomField

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

    def plot(self, threshold: float, ax: Axes | None = None) -> Axes:
        """Draw the attributes on a circle, and the edges of at least some strength the wider the stronger.

        Parameters
        ----------
        threshold : float
            As for `edges`.
        ax : matplotlib Axes, optional
            New ones by default.

        Raises
        ------
        ImportError
            If matplotlib, the extra ``plot``, is not there.
        """
        return draw_edges(self.model.domain.attributes, self.edges(threshold), ax)


for _learner in ("learn_ising", "learn_pairwise", "learn_t_wise", "learn_structure"):
    RELEASES[f"mrf.{_learner}"] = FieldRelease
