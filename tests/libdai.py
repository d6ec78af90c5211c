"""Factor graphs in libDAI's own format."""

from __future__ import annotations

import math

import numpy as np

from pypgm import CliqueVector, Domain, Factor


def read_fg(path):
    """Read a libDAI factor graph; in its tables the first attribute varies fastest, and what is not named is 0."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    words = iter(" ".join(lines).split())
    factors = []
    sizes = {}
    for _ in range(int(next(words))):
        attributes = [int(next(words)) for _ in range(int(next(words)))]
        shape = [int(next(words)) for _ in attributes]
        sizes.update(zip(attributes, shape, strict=True))
        cells = np.zeros(math.prod(shape))
        for _ in range(int(next(words))):
            position = int(next(words))
            cells[position] = float(next(words))
        factors.append((attributes, cells.reshape(shape, order="F")))
    domain = Domain({str(a): sizes[a] for a in sorted(sizes)})
    with np.errstate(divide="ignore"):
        tables = [Factor(domain.project([str(a) for a in names]), np.log(cells)) for names, cells in factors]
    return CliqueVector.from_factors(domain, tables)
