"""The page of the papers' algorithms: its blocks run, and their ends are those of brute force."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import reference
from page_blocks import run
from scipy.optimize import nnls

import pypgm

PAGE = Path(__file__).parents[2] / "docs" / "measured.md"
HARD = 1e4  # the weight of what has to hold exactly, beside that of a measured cell


@pytest.fixture(scope="module")
def names():
    return run(PAGE)


def summing(domain, clique, part):
    """Return the matrix that sums the cells of a clique to those of a part of it."""
    cells = np.arange(domain.size(clique)).reshape([domain.size(a) for a in clique])
    table = np.zeros((domain.size(part), cells.size))
    for i, values in enumerate(np.ndindex(*(domain.size(a) for a in part))):
        table[i, cells[tuple(values[part.index(a)] if a in part else slice(None) for a in clique)].ravel()] = 1
    return table


def test_algorithms_1_and_2_of_private_pgm_end_at_the_nearest_joint_table(names):
    domain, chain, total = names["domain"], names["chain"], names["total"]
    ask = np.vstack([summing(domain, domain.attributes, m.clique) for m in chain])
    noisy = np.concatenate([m.values.ravel() for m in chain])
    joint, _ = nnls(np.vstack([ask, np.full((1, domain.size()), HARD)]), np.append(noisy, HARD * total))
    wanted = np.split(ask @ joint, np.cumsum([m.values.size for m in chain])[:-1])
    for m, table in zip(chain, wanted, strict=True):
        for model, most in (("proximal", 0.05), ("averaged", 0.5)):
            np.testing.assert_allclose(names[model].project(m.clique).datavector(), table, atol=most)
        np.testing.assert_allclose(names["mu"][m.clique].datavector(), table, atol=0.5)


def test_appgm_ends_at_the_nearest_tables_that_agree_for_all_counting_numbers(names):
    domain, pairs, total = names["domain"], names["pairs"], names["total"]
    places = np.cumsum([0, *(m.values.size for m in pairs)])
    rows, sums = [], []
    for attribute in domain:
        holding = [(i, m.clique) for i, m in enumerate(pairs) if attribute in m.clique]
        spread = []
        for i, clique in holding:
            sums_to = np.zeros((domain.size(attribute), places[-1]))
            sums_to[:, places[i] : places[i + 1]] = summing(domain, clique, (attribute,))
            spread.append(sums_to)
        rows += [spread[0] - other for other in spread[1:]]
        sums += [sums_to.sum(axis=0) for sums_to in spread]
    level = HARD * np.vstack([*rows, *sums])
    goal = np.concatenate([np.zeros(sum(map(len, rows))), np.full(len(sums), HARD * total)])
    noisy = np.concatenate([m.values.ravel() for m in pairs])
    end, _ = nnls(np.vstack([np.eye(places[-1]), level]), np.concatenate([noisy, goal]))
    least = 0.5 * np.square(end - noisy).sum() / names["sigma"] ** 2
    for model in (names["relaxed"], *names["ends"]):
        assert model.fit.loss == pytest.approx(least, rel=1e-5)
        for i, m in enumerate(pairs):
            np.testing.assert_allclose(model.project(m.clique).datavector(), end[places[i] : places[i + 1]], atol=0.1)
    np.testing.assert_allclose(names["tau"].values, names["relaxed"].marginals.values, atol=0.05)
    assert least < names["one_sweep"].fit.loss < least * 1.01
    assert 1e-3 < np.abs(names["swept"].marginals.values - names["tau"].values).max() < 5  # messages lag


def test_theorem_3_the_limit_is_the_table_of_largest_entropy_with_what_regions_say(names):
    clique = ("a", "b", "c")
    inner = {m.clique: names["relaxed"].project(m.clique).values for m in names["pairs"] if set(m.clique) < set(clique)}
    wanted = reference.fitted(names["domain"].project(clique), inner, names["total"], sweeps=3000)
    np.testing.assert_allclose(names["local"].values, wanted, atol=1e-3)
    apart = []
    for number in (0.1, 0.01, 0.001):
        numbers = [number if r == clique else 1.0 for r in names["wider"].regions]
        extended = pypgm.convex_gbp(names["logs"], names["wider"], numbers, names["total"], tolerance=1e-10)
        assert extended.converged
        apart.append(np.abs(extended.marginals[clique].values - wanted).max())
    assert 5 < apart[0] / apart[1] < 20  # in proportion to the counting number
    assert 8 < apart[1] / apart[2] < 12
