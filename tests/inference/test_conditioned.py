"""Answers given evidence where no junction tree of all attributes fits, against brute force and elimination."""

from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import causes, evidence_on, ising, models

from pypgm import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.inference.conditioned import ExactAnswers


class OnlyTheRest(ExactAnswers):
    """Answers as those of a model whose tree does not fit."""

    fits = False


@settings(max_examples=60)
@given(st.data())
def test_what_evidence_leaves_has_the_answers_of_the_joint_table(data):
    potentials = data.draw(models(most=5))
    evidence, likelihoods = data.draw(evidence_on(potentials.domain))
    table = reference.with_evidence(potentials.domain, reference.log_joint(potentials), likelihoods)
    answers, log_z = OnlyTheRest(potentials), reference.log_sum_exp(table)
    with np.errstate(invalid="ignore"):
        np.testing.assert_allclose(answers.log_partition(evidence), log_z, rtol=1e-9, atol=1e-9)
    if log_z == -np.inf:
        for call in (answers.marginals, answers.map, lambda e: answers.draw(3, np.random.default_rng(0), e)):
            with pytest.raises(ImpossibleEvidenceError):
                call(evidence)
        return
    probabilities = reference.joint(table)
    for a, found in answers.marginals(evidence).items():
        wanted = reference.project(potentials.domain, probabilities, (a,))
        np.testing.assert_allclose(found, wanted, rtol=1e-7, atol=1e-12)
    best, value = answers.map(evidence)
    assert value == pytest.approx(table.max(), rel=1e-12, abs=1e-9)
    assert table[tuple(best.values())] == pytest.approx(value, rel=1e-12, abs=1e-9)
    whole = ExactAnswers(potentials)
    assert whole.log_partition(evidence) == pytest.approx(log_z, rel=1e-9, abs=1e-9)


def test_a_field_with_every_second_attribute_known_is_answered():
    field = ising(40)
    names = field.domain.attributes
    known = {a: int(a.endswith("1")) for a in names if sum(map(int, a.split(","))) % 2}
    free = [a for a in names if a not in known]
    with pytest.raises(ModelTooLargeError):
        field.marginals()
    log_odds = dict.fromkeys(free, 0.0)  # given its neighbours, an attribute depends on nothing else
    for i, clique in enumerate(field.cliques):
        inside = [a for a in clique if a in log_odds]
        for a in inside:
            others = tuple(slice(None) if b == a else known[b] for b in clique)
            weights = field.potentials.table(i).reshape([2] * len(clique))[others]
            log_odds[a] += weights[1] - weights[0]
    found = field.marginals(known)
    np.testing.assert_allclose([found[a].values[1] for a in free], [1 / (1 + np.exp(-log_odds[a])) for a in free])
    assert all(found[a].values[code] == 1 for a, code in known.items())
    assert field.query("0,0", known).values[1] == pytest.approx(found["0,0"].values[1])
    best, value = field.map(known)
    assert all(best[a] == known.get(a, int(log_odds.get(a, 0) > 0)) for a in names)
    assert field.log_partition(best) == pytest.approx(value)
    assert field.log_partition(known) == pytest.approx(value - sum(np.log(found[a].values[best[a]]) for a in free))
    drawn = field.synthetic_data(4000, rng=0, evidence=known)
    assert all((drawn.columns[a] == code).all() for a, code in known.items())
    shares = np.array([drawn.columns[a].mean() - found[a].values[1] for a in free])
    assert np.abs(shares).max() < 5 * np.sqrt(0.25 / 4000)


def test_a_network_with_every_attribute_known_is_a_product_of_look_ups():
    net = causes()
    record = net.sample(1, rng=0)
    values = {a: int(record.columns[a][0]) for a in net.domain}
    wanted = sum(np.log(t.values[tuple(values[a] for a in t.domain)]) for t in net.tables.values())
    assert net.log_probability(values) == pytest.approx(wanted, rel=1e-12)
    free = [f"d{i}" for i in range(5)]
    rest = {a: v for a, v in values.items() if a not in free}
    found, each = net.marginals(rest), {a: net.query(a, rest) for a in free}
    for a in free:
        np.testing.assert_allclose(found[a].values, each[a].values, rtol=1e-10)
    joint = net.query(free, rest).values
    best, value = net.map(evidence=rest)
    assert joint[tuple(best[a] for a in free)] == joint.max()
    assert (
        value
        == pytest.approx(net.log_probability(best))
        == pytest.approx(np.log(joint.max()) + net.log_probability(rest))
    )
    drawn = net.sample(4000, rng=0, evidence=rest)
    shares = drawn.project(free).values / 4000
    np.testing.assert_allclose(shares, joint, atol=5 * np.sqrt(0.25 / 4000))


def test_a_network_whose_tree_does_not_fit_gives_the_marginals_of_its_parts():
    net = causes()
    found = net.marginals({"f0": 1, "f1": 0})
    with pytest.raises(ModelTooLargeError):
        _ = net.tree
    for a in ("d0", net.parents["f0"][0], "f7"):
        np.testing.assert_allclose(found[a].values, net.query(a, {"f0": 1, "f1": 0}).values, rtol=1e-12)
    drawn = net.sample(4000, rng=1, evidence={"f0": 1, "f1": 0})
    assert drawn.columns["f0"].min() == 1
    assert drawn.columns["f1"].max() == 0
    for a in (*net.parents["f0"], "f7"):
        assert abs(drawn.columns[a].mean() - found[a].values[1]) < 5 * np.sqrt(0.25 / 4000)
