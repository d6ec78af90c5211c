"""An answer with its error: the counts of a clique, the error of each, and their basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pypgm._base.html import Shown
from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm.factor import Factor, Frame, cells_frame
from pypgm.models.expected_error import Basis


@dataclass(frozen=True, slots=True, eq=False)
class Marginal(Shown):
    """The counts of some attributes, or their probabilities given evidence, with the expected error of each.

    Attributes
    ----------
    counts : Factor
        Counts by `GraphicalModel.project`, or `query` under evidence.
    errors : Factor
        Errors by `GraphicalModel.expected_error`; inf where nothing is known.
    basis : {"measured", "merged", "unmeasured", "unknown"}
        Basis of the counts, see `GraphicalModel.basis`.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"sex": [0, 1] * 500}, pypgm.Domain({"sex": ["F", "M"]}))
    >>> found = pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).marginal("sex")
    >>> found.basis, bool(abs(found.counts["F"] - 500) < 5 * found.errors["F"])
    ('measured', True)
    """

    counts: Factor
    errors: Factor
    basis: Basis

    def to_frame(self, library: str = "pandas") -> Frame:
        """Return a data frame with a row for each cell: its labels or codes, ``count`` and ``error``.

        ``error`` is that of `errors`; the ± of reports, cells and whiskers is 1.645 times as large, and holds 90 %.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Library of the frame; it must be installed.

        Raises
        ------
        ValueError
            If the library is another one, or an attribute has the name of a column.
        ImportError
            If it is not installed.

        Examples
        --------
        >>> release.marginal("sex").to_frame()  # doctest: +SKIP
          sex  count  error
        0   F  497.0    4.1
        1   M  502.0    4.2
        """
        numbers = {"count": self.counts.datavector(), "error": self.errors.datavector()}
        return cells_frame(self.counts.domain, numbers, library)

    def __repr__(self) -> str:
        typical = REACH * float(np.median(self.errors.datavector())) if self.errors.datavector().size else 0.0
        return f"Marginal({self.counts!r}, ± {typical:.3g} ({LEVEL_TEXT}) in the median, {self.basis})"
