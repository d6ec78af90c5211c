"""A Bayesian network as the model of a release: counts, records, files."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Domain, Ledger, LinearMeasurement, Privacy, Release
from pypgm.bayes.counted import CountedNetwork
from pypgm.privacy.laws import DiscreteLaplace

DOMAIN = Domain({"rain": ["no", "yes"], "wet": 2, "cold": 3})
PARENTS = {"wet": ["rain"], "cold": ["wet", "rain"]}


@pytest.fixture
def network():
    rng = np.random.default_rng(4)
    tables = {"rain": [0.75, 0.25], "wet": [[0.9, 0.1], [0.2, 0.8]], "cold": rng.dirichlet(np.ones(3), (2, 2))}
    return CountedNetwork(DOMAIN, PARENTS, tables, name="weather", total=40.0)


@pytest.fixture
def release(network):
    ledger = Ledger(Budget(epsilon=2))
    ledger.bind(Privacy())
    ledger.charge("measure", "(rain)", DiscreteLaplace(scale=1, sensitivity=1))
    return Release(network, (LinearMeasurement(np.array([29, 11]), "rain", noise="laplace"),), ledger, "by hand")


def same(one, other):
    assert type(one) is type(other) is CountedNetwork
    assert (one.domain, dict(one.parents), one.name) == (other.domain, dict(other.parents), other.name)
    assert (one.total, one.fit, one.not_private) == (other.total, other.fit, other.not_private)
    for a in one.domain:
        np.testing.assert_array_equal(one.tables[a].values, other.tables[a].values)


def test_projections_are_counts_and_queries_probabilities(network):
    assert network.project("wet").values.sum() == pytest.approx(40)
    np.testing.assert_allclose(network.project(("wet", "rain")).values, [[27, 2], [3, 8]])
    assert network.query("wet").values.sum() == pytest.approx(1)
    assert network.cliques == (("rain",), ("rain", "wet"), ("wet", "rain", "cold"))


def test_records_are_as_many_as_the_total_says(network):
    assert network.synthetic_data(rng=1).n_records == 40
    assert network.synthetic_data(7, rng=1).n_records == 7
    empty = CountedNetwork(DOMAIN, PARENTS, network.tables, total=0)
    assert empty.synthetic_data().n_records == 0
    assert not empty.project("wet").values.any()


@pytest.mark.parametrize("total", [-1.0, np.nan, np.inf])
def test_a_total_is_a_number_of_records(network, total):
    with pytest.raises(ValueError, match="total"):
        CountedNetwork(DOMAIN, PARENTS, network.tables, total=total)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_copies_are_what_the_file_holds(network, release, copied):
    same(copied(network), network)
    same(copied(release).model, network)


def test_a_release_of_a_network_is_saved_and_loaded(network, release, tmp_path):
    network.not_private = "seeded by a test"
    release.save(tmp_path / "release.pgm")
    again = pypgm.load(tmp_path / "release.pgm")
    same(again.model, network)
    assert again.not_private == "seeded by a test"
    assert again.report() == release.report()
    network.save(tmp_path / "model.pgm")
    same(pypgm.load(tmp_path / "model.pgm"), network)


@pytest.mark.parametrize("lost", ["tables", "parents"])
def test_a_file_with_a_part_missing_is_refused(network, tmp_path, lost):
    fields = network.archive()
    less = [{k: v for k, v in fields.items() if k != lost}]
    less += [fields | {lost: fields[lost][:-1]}] if lost == "tables" else []
    for part in less:
        pypgm.files.file.write_file(tmp_path / "model.pgm", part)
        with pytest.raises(ValueError, match="not a whole pypgm model file"):
            pypgm.load(tmp_path / "model.pgm")


def test_a_release_of_a_network_reports_itself(release):
    assert "model: 3 attributes, 3 cliques, 18 parameters" in release.report(ledger=True)
    assert "about 40 real ones, a noisy count" in release.summary()


def test_records_given_evidence(release):
    """Of the network and of a release that holds it: they agree with what is known, and the rest follows."""
    known = {"wet": 1, "rain": "yes"}
    cold = release.model.query("cold", known).values
    for drawn in (release.model.synthetic_data(900, 1, evidence=known), release.synthetic_data(900, 1, evidence=known)):
        assert drawn.project("wet").values.tolist() == [0, 900]
        assert drawn.project("rain").values.tolist() == [0, 900]
        np.testing.assert_allclose(drawn.project("cold").values, 900 * cold, atol=2)
    with pytest.raises(ValueError, match="has no label 'maybe'"):
        release.synthetic_data(3, evidence={"rain": "maybe"})
