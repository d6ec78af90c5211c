"""Draws down the factored tree: possible, agreeing with the evidence, and as often as the joint table says."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import chain, evidence_on, models

from pypgm import ImpossibleEvidenceError, JunctionTree, ModelTooLargeError
from pypgm.bayes import BayesianNetwork

ROWS = 2000


@settings(max_examples=80)
@given(st.data())
def test_assignments_come_as_often_as_the_joint_table_says(data):
    potentials = data.draw(models(most=5))
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    tree = JunctionTree.of(potentials)
    if reference.log_sum_exp(table) == -np.inf:
        with pytest.raises(ImpossibleEvidenceError):
            tree.draw(potentials, 3, 0, evidence)
        return
    drawn = tree.draw(potentials, ROWS, 0, evidence)
    assert tuple(drawn) == potentials.domain.attributes
    cells = np.ravel_multi_index(tuple(drawn.values()), table.shape)
    assert (table.reshape(-1)[cells] > -np.inf).all()
    wanted = reference.joint(table).reshape(-1)
    found = np.bincount(cells, minlength=wanted.size) / ROWS
    assert (np.abs(found - wanted) <= 6 * np.sqrt(wanted * (1 - wanted) / ROWS) + 6 / ROWS).all()


def test_draws_are_the_same_for_any_number_of_threads_and_independent():
    potentials = chain(40, size=3, rng=np.random.default_rng(0))
    tree = JunctionTree.of(potentials)
    one, two = (tree.draw(potentials, 5000, 1, n_threads=n) for n in (1, 2))
    assert all((one[a] == two[a]).all() for a in one)
    first, last = one["x0"], np.roll(one["x0"], 1)
    assert abs(np.corrcoef(first, last)[0, 1]) < 6 / np.sqrt(5000)


def test_too_many_draws_are_refused():
    potentials = chain(3)
    with pytest.raises(ModelTooLargeError, match="ask for fewer"):
        JunctionTree.of(potentials).draw(potentials, 10**15)


@pytest.mark.parametrize("name", ["alarm", "hailfinder"])
def test_networks_draw_what_their_marginals_say(data_dir, name):
    net = BayesianNetwork.read_bif(data_dir / "bif" / f"{name}.bif.gz")
    record = net.sample(1, rng=0)
    leaves = [a for a in net.domain if not net.children[a]][:5]
    evidence = {a: net.domain.labels[a][int(record.columns[a][0])] for a in leaves}
    drawn, wanted = net.sample(ROWS, rng=1, evidence=evidence), net.marginals(evidence)
    for a in net.domain:
        p = wanted[a].values
        found = np.bincount(drawn.columns[a], minlength=p.size) / ROWS
        assert (np.abs(found - p) <= 6 * np.sqrt(p * (1 - p) / ROWS) + 6 / ROWS).all()
