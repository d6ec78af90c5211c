"""Cliques that hold, share or exceed others are found as by looking at all pairs of them."""

from __future__ import annotations

import itertools
import random

import pytest

from pypgm import CliqueVector, Domain
from pypgm.inference.region_index import Cliques, RegionIndex, maximal
from pypgm.models import sampling


def random_cliques(seed, n=12):
    rng = random.Random(seed)
    names = "abcdefg"
    return [tuple(a for a in names if rng.random() < rng.choice((0.15, 0.4))) for _ in range(n)]


@pytest.mark.parametrize("seed", range(30))
def test_every_pair_of_cliques_is_as_sets_say(seed):
    cliques, others = random_cliques(seed), random_cliques(seed + 100)
    distinct = set(cliques)
    assert set(maximal(cliques)) == {c for c in distinct if not any(set(c) < set(other) for other in distinct)}
    index = Cliques(cliques)
    for clique in others:
        assert index.holds(clique) == any(set(clique) <= set(c) for c in cliques)
        parts = {tuple(a for a in clique if a in c) for c in cliques}
        assert index.shared(clique) == parts - {()}


@pytest.mark.parametrize("seed", range(30))
def test_regions_that_hold_or_meet_a_clique_are_as_sets_say(seed):
    domain = Domain({a: 1 + i % 3 for i, a in enumerate("abcdefg")})
    regions = [c for c in random_cliques(seed) if c]
    index = RegionIndex(CliqueVector(domain, regions), 1.0)
    for clique in random_cliques(seed + 100):
        held = [i for i, region in enumerate(regions) if set(clique) <= set(region)]
        assert index.holders(clique) == sorted(held, key=lambda i: (domain.size(regions[i]), len(regions[i])))
        assert index.holds(clique) == bool(held)
        parts = {tuple(a for a in clique if a in region) for region in regions} - {()}
        largest = {p for p in parts if not any(set(p) < set(other) for other in parts)}
        assert index.intersections(clique) == sorted(largest, key=domain.indices)


@pytest.mark.parametrize("sizes", [[2] * 7, [3, 2, 6, 4, 2, 12, 1], [5, 7, 11, 5, 7]])
@pytest.mark.parametrize("noisy", [True, False])
def test_records_are_refined_towards_the_smallest_pairs_outside(sizes, noisy):
    domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
    cliques = list(itertools.pairwise(domain))
    outside = [p for p in itertools.combinations(domain, 2) if p not in cliques]
    first = [*cliques, *sorted(outside, key=domain.size)[: len(cliques)]]
    assert sampling.stages(domain, cliques, alone=False, noisy=noisy) == ([first] if noisy else [first, cliques])


def test_few_pairs_of_many_attributes_are_looked_at(monkeypatch):
    domain = Domain([f"x{i}" for i in range(3000)], [2] * 3000)
    cliques = list(itertools.pairwise(domain))
    seen = []
    small = sampling._small_pairs
    monkeypatch.setattr(sampling, "_small_pairs", lambda d: (seen.append(p) or p for p in small(d)))
    sampling.stages(domain, cliques, alone=False, noisy=True)
    assert len(seen) <= 2 * len(cliques)
