from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAX_CELLS: int

class Columns:
    @property
    def n_rows(self) -> int: ...
    def __init__(self, columns: Sequence[NDArray[Any]], sizes: Sequence[int], n_rows: int) -> None: ...
    def first_outside(self, position: int) -> int: ...
    def count(self, clique: NDArray[np.int64], table: NDArray[np.int64]) -> bool: ...
    def add_weights(
        self, clique: NDArray[np.int64], weights: NDArray[np.float64], table: NDArray[np.float64]
    ) -> bool: ...
