"""Random graphical models for tests: structures, sizes, zeros, ranges and evidence."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pypgm import CliqueVector, Domain
from pypgm.bayes import BayesianNetwork
from pypgm.mrf import MarkovRandomField


@st.composite
def domains(draw, least=1, most=6, largest=4):
    sizes = draw(st.lists(st.integers(1, largest), min_size=least, max_size=most))
    return Domain([f"x{i}" for i in range(len(sizes))], sizes)


@st.composite
def cliques_of(draw, domain, least=0, most=7, width=4):
    """Empty, nested, repeated and disconnected cliques all come up; attributes come in any order."""
    clique = st.lists(st.sampled_from(domain.attributes), max_size=width, unique=True).map(tuple)
    return draw(st.lists(clique, min_size=least, max_size=most))


@st.composite
def potentials_over(draw, domain, cliques, zeros=True):
    """Potentials of a random spread, from mild to extreme, some of them -inf."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    vector = CliqueVector(domain, cliques)
    vector.values[:] = rng.normal(size=vector.values.size) * draw(st.sampled_from([1.0, 30.0, 1e4]))
    if zeros:
        vector.values[rng.random(vector.values.size) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = -np.inf
    return vector


@st.composite
def models(draw, zeros=True, **sizes):
    domain = draw(domains(**sizes))
    return draw(potentials_over(domain, draw(cliques_of(domain)), zeros=zeros))


@st.composite
def evidence_on(draw, domain):
    """Return evidence of all kinds, and beside it the likelihoods it means."""
    given, likelihoods = {}, {}
    for attribute in domain.attributes:
        size = domain.size(attribute)
        kind = draw(st.sampled_from(["nothing", "nothing", "code", "codes", "vector"]))
        likelihood = np.zeros(size)
        if kind == "code":
            given[attribute] = draw(st.integers(0, size - 1))
            likelihood[given[attribute]] = 1
        elif kind == "codes":
            given[attribute] = draw(st.sets(st.integers(0, size - 1), min_size=1, max_size=size))
            likelihood[list(given[attribute])] = 1
        elif kind == "vector":
            weights = st.sampled_from([0.0, 1e-3, 0.25, 1.0, 7.0])
            likelihood = np.array(draw(st.lists(weights, min_size=size, max_size=size)))
            given[attribute] = likelihood
        if kind != "nothing":
            likelihoods[attribute] = likelihood
    return given, likelihoods


def chain(n_attributes, size=2, rng=None, spread=1.0):
    """Return potentials on a chain of pairs."""
    domain = Domain([f"x{i}" for i in range(n_attributes)], [size] * n_attributes)
    vector = CliqueVector(domain, [(f"x{i}", f"x{i + 1}") for i in range(n_attributes - 1)])
    if rng is not None:
        vector.values[:] = rng.normal(size=vector.values.size) * spread
    return vector


def ising(side, seed=0, coupling=0.5):
    """Return a square field of signs, whose junction tree has cliques of `side` attributes."""
    rng = np.random.default_rng(seed)
    names = [f"{i},{j}" for i in range(side) for j in range(side)]
    pairs = [(f"{i},{j}", f"{i},{j + 1}") for i in range(side) for j in range(side - 1)]
    pairs += [(f"{i},{j}", f"{i + 1},{j}") for i in range(side - 1) for j in range(side)]
    tables = [np.outer([1, -1], [1, -1]) * x for x in rng.uniform(-coupling, coupling, len(pairs))]
    fields = [np.array([1, -1]) * x for x in rng.uniform(-0.5, 0.5, len(names))]
    values = np.concatenate([t.ravel() for t in (*tables, *fields)])
    return MarkovRandomField(CliqueVector(Domain(names, [2] * len(names)), [*pairs, *((a,) for a in names)], values))


def causes(n_causes=60, n_effects=60, n_parents=6, seed=0):
    """Return a network of two layers, noisy-or effects of many causes: a clique of most of the causes."""
    rng = np.random.default_rng(seed)
    names = [f"d{i}" for i in range(n_causes)]
    parents = {f"f{i}": sorted(rng.choice(names, n_parents, replace=False)) for i in range(n_effects)}
    tables = {d: [1 - p, p] for d, p in zip(names, rng.uniform(0.02, 0.2, n_causes), strict=True)}
    for effect in parents:
        silent = np.array(0.98)
        for q in rng.uniform(0.1, 0.8, n_parents):
            silent = np.multiply.outer(silent, [1, q])
        tables[effect] = np.stack([silent, 1 - silent], axis=-1)
    return BayesianNetwork(Domain(dict.fromkeys([*names, *parents], 2)), parents, tables)
