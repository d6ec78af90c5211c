"""Region-graph models whose pseudo-marginals are those of a true distribution, and ones that are not."""

from __future__ import annotations

import numpy as np
import reference

from pypgm import CliqueVector, RegionGraph, RegionGraphModel


def true_tables(domain, joint, regions):
    """Return the marginals of a joint table (counts) over regions."""
    cells = [reference.project(domain, joint, r).ravel() for r in regions]
    return CliqueVector(domain, regions, np.concatenate(cells))


def consistent_model(domain, joint, cliques, *, kind="saturated", **options):
    """Return a model on a graph of cliques whose tables are the marginals of a joint table of counts."""
    graph = getattr(RegionGraph, kind)(domain, cliques)
    return RegionGraphModel(graph, true_tables(domain, joint, graph.regions), float(joint.sum()), **options)


def random_joint(domain, rng, total=1000.0, spread=1.5):
    """Return a random table of counts over a whole domain."""
    return total * rng.dirichlet(np.full(domain.size(), 1 / spread)).reshape(domain.shape)


def at_odds():
    """Return tables of three pairs of binary attributes that agree on single ones and that no joint table has."""
    equal = np.array([0.5, 0.0, 0.0, 0.5])
    return np.concatenate([equal, equal, equal[::-1].reshape(2, 2)[::-1].ravel()[[1, 0, 3, 2]]])
