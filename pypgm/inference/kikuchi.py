"""The joint weights that marginals over a region graph stand for."""

from __future__ import annotations

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.graphs.region_graph import RegionGraph


def kikuchi_potentials(graph: RegionGraph, marginals: CliqueVector, total: float) -> CliqueVector:
    r"""Return the natural logs of :math:`\prod_r \tau_r^{c_r}`, :math:`c_r` the Bethe counting numbers.

    It is the one set of joint weights whose generalised belief propagation has these marginals for a fixed point; on
    the regions of a junction tree it is the distribution itself. Where a larger region rules a cell out, a smaller one
    of negative number need not say so too.
    """
    logs = (marginals / total).log()
    for i, number in enumerate(graph.counting_numbers("bethe")):
        cells = logs.table(i)
        held = cells > -np.inf
        cells[held] *= number
        if number <= 0:
            cells[~held] = 0.0
    return logs
