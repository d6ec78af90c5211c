"""Random graphical models for tests: structures, sizes, zeros, ranges and evidence."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from pypgm import CliqueVector, Domain


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
