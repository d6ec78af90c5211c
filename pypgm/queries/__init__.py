"""Linear queries on the marginal of one clique."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Identity", "Partition"]


class Identity:
    """Every cell of a marginal."""

    supports_total = True

    def __init__(self, size: int) -> None:
        self.shape = (size, size)


class Partition:
    """Sums over groups of cells, each cell in one group."""

    supports_total = True

    def __init__(self, groups: ArrayLike, n_groups: int | None = None) -> None:
        self.groups = np.asarray(groups, dtype=np.int64)
        self.shape = (int(self.groups.max()) + 1 if n_groups is None else n_groups, self.groups.size)
