"""UAI files: the format, hand-sized models, competition instances, every refusal."""

from __future__ import annotations

import gzip
import itertools
import json

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from random_models import models

import pypgm
from pypgm import CliqueVector, Domain, JunctionTree
from pypgm.bayes import BayesianNetwork
from pypgm.io import UaiModel, read_uai_evidence, read_uai_model, write_uai_evidence


def read_marginals(path):
    words = iter(path.read_text().split())
    assert next(words) == "MAR"
    return [np.array([float(next(words)) for _ in range(int(next(words)))]) for _ in range(int(next(words)))]


def single_marginals(tree, potentials, evidence=None):
    """Return the probabilities of every attribute, read off the tables of the tree."""
    found = {}
    for table in tree.tables(potentials, 1.0, evidence):
        for attribute in table.domain.attributes:
            if attribute not in found:
                found[attribute] = table.project(attribute).values
    return found


def write(folder, text, name="model.uai"):
    path = folder / name
    path.write_text(text)
    return path


# The format.


def test_tables_follow_their_scope_last_attribute_fastest(tmp_path):
    text = "MARKOV\n3\n2 3 2\n3\n2 1 0\n1 2\n0\n\n6\n 1 2 3\n 4 5 6\n2\n 0.5 0\n1\n 7e0\n"
    potentials = pypgm.read_uai(write(tmp_path, text))
    assert potentials.domain == Domain({"0": 2, "1": 3, "2": 2})
    assert potentials.cliques == (("0", "1"), ("2",), ())
    np.testing.assert_allclose(np.exp(potentials["1", "0"].values), [[1, 2], [3, 4], [5, 6]], rtol=1e-14)
    np.testing.assert_array_equal(potentials["2"].values, [np.log(0.5), -np.inf])
    assert potentials[()].values == pytest.approx(np.log(7))


def test_last_attribute_of_a_scope_is_the_child(tmp_path):
    text = "BAYES 2 2 3 2 1 0 2 0 1 2 0.25 0.75 6 0.1 0.2 0.7 0.3 0.3 0.4"
    potentials = pypgm.read_uai(write(tmp_path, text))
    joint = np.array([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]) * np.array([[0.25], [0.75]])
    np.testing.assert_allclose(pypgm.marginals(potentials)["0", "1"].values, joint, rtol=1e-14)


def test_compressed_files_and_repeated_scopes(tmp_path):
    path = tmp_path / "model.uai.gz"
    path.write_bytes(gzip.compress(b"MARKOV 1 2 2 1 0 1 0 2 1 2 2 3 4"))
    potentials = pypgm.read_uai(path)
    assert potentials.cliques == (("0",), ("0",))
    np.testing.assert_allclose(pypgm.marginals(potentials).project("0").values, [3 / 11, 8 / 11], rtol=1e-14)


def test_no_attributes_and_no_tables(tmp_path):
    assert pypgm.read_uai(write(tmp_path, "MARKOV 0 0")).cliques == ()
    assert pypgm.read_uai(write(tmp_path, "MARKOV 1 2 0")).domain.shape == (2,)


REFUSED = [
    ("", "the file ends where MARKOV or BAYES should stand"),
    ("PAIRS 2", "begins with MARKOV or BAYES, got 'PAIRS'"),
    ("MARKOV", "the file ends where the number of attributes"),
    ("MARKOV two", "the number of attributes must be an integer at least 0, got 'two'"),
    ("MARKOV -1", "the number of attributes must be an integer at least 0, got '-1'"),
    ("MARKOV " + "9" * 5000, "the number of attributes must be an integer of at most 640 digits, got 9{20}… with 5000"),
    (
        "MARKOV 1 " + "x" * 5000,
        "the size of an attribute must be an integer of at most 640 digits, got x{20}… with 5000",
    ),
    ("MARKOV 1 0", "the size of an attribute must be an integer at least 1, got '0'"),
    ("MARKOV 2 2", "the file ends where the size of an attribute"),
    ("MARKOV 1 2 x", "the number of tables must be an integer"),
    ("MARKOV 1 2 1 1 1", "an attribute of a scope must be an integer from 0 to 0, got '1'"),
    ("MARKOV 2 2 2 1 2 1 1 4 1 1 1 1", r"scope \[1, 1\] names an attribute more than once"),
    ("MARKOV 1 2 1 1 0 3 1 1 1", r"the table over \('0',\) needs 2 entries, got 3"),
    ("MARKOV 1 2 1 1 0 2 1", "the file ends where an entry of a table"),
    ("MARKOV 1 2 1 1 0 2 1 -1", "entries must be finite and at least 0, got '-1'"),
    ("MARKOV 1 2 1 1 0 2 1 nan", "entries must be finite and at least 0, got 'nan'"),
    ("MARKOV 1 2 1 1 0 2 1 inf", "entries must be finite and at least 0, got 'inf'"),
    ("MARKOV 1 2 1 1 0 2 1 1,5", "entries must be finite and at least 0, got '1,5'"),
    ("MARKOV 1 2 1 1 0 2 1_0 1", "entries must be finite and at least 0, got '1_0'"),
    ("MARKOV ² 2", "the number of attributes must be an integer"),
    ("BAYES 1 2 0", "a BAYES model needs each attribute to be the child of one table, got "),
    ("BAYES 2 1 1 2 1 0 2 1 0 1 1 1 1", "needs each attribute to be the child of one table, got 0, 0"),
    ("MARKOV 1 2 1 1 0 2 1 1 1", "nothing may follow the last table, got '1'"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_refused_texts(tmp_path, text, message):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=message) as caught:
        pypgm.read_uai(path)
    assert "model.uai" in str(caught.value)


def test_refused_bytes(tmp_path):
    whole = gzip.compress(b"MARKOV 1 2 1 1 0 2 1 1" + bytes(range(48, 58)) * 50)
    for name, content, message in (
        ("b.uai.gz", whole[:-12], "is truncated"),
        ("c.uai.gz", whole[:-4] + b"abcd", "is damaged"),
        ("d.uai", b"MARKOV \xff", "UTF-8"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}.* {message}"):
            pypgm.read_uai(path)
    with pytest.raises(FileNotFoundError):
        pypgm.read_uai(tmp_path / "none.uai")


def test_a_damaged_byte_is_never_a_foreign_error(tmp_path):
    path = tmp_path / "model.uai.gz"
    whole = gzip.compress(b"MARKOV 1 2 1 1 0 2 1 2 3")
    for position in range(10, len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"model\.uai\.gz"):
            pypgm.read_uai(path)


# Writing.


def bits(potentials):
    return potentials.domain, potentials.cliques, potentials.values.tobytes()


@given(st.lists(st.floats(0, 1e308), min_size=6, max_size=6))
def test_what_was_read_reads_back_to_the_last_bit(tmp_path_factory, weights):
    path = tmp_path_factory.mktemp("uai") / "model.uai"
    path.write_text(f"MARKOV 2 3 2 1 2 1 0 6 {' '.join(map(repr, weights))}")
    potentials = pypgm.read_uai(path)
    pypgm.write_uai(potentials, path)
    assert bits(pypgm.read_uai(path)) == bits(potentials)


def test_competition_files_read_back(data_dir, tmp_path):
    for name in (
        "uai/Promedus_24.uai.gz",
        "uai/Segmentation_12.uai.gz",
        "uai_small/pedigree1.uai",
        "uai_small/cancer.uai",
    ):
        potentials, model = pypgm.read_uai(data_dir / name), read_uai_model(data_dir / name)
        path = tmp_path / "out.uai.gz"
        pypgm.write_uai(potentials, path)
        assert bits(pypgm.read_uai(path)) == bits(potentials)
        pypgm.write_uai(model, path)
        again = read_uai_model(path)
        assert (again.kind, again.domain) == (model.kind, model.domain)
        for mine, theirs in zip(model.tables, again.tables, strict=True):
            assert mine.domain == theirs.domain
            assert mine.datavector().tobytes() == theirs.datavector().tobytes()


@given(models(largest=3))
def test_any_potentials_come_back_closely(tmp_path_factory, potentials):
    path = tmp_path_factory.mktemp("uai") / "model.uai"
    finite = potentials.values > -np.inf
    if (np.abs(potentials.values[finite]) > 700).any():
        with pytest.raises(ValueError, match="needs logarithms of doubles, -745 to 709 or -inf, got"):
            pypgm.write_uai(potentials * 100, path)
        return
    pypgm.write_uai(potentials, path)
    once = pypgm.read_uai(path)
    assert [potentials.domain.indices(c) for c in potentials.cliques] == [once.domain.indices(c) for c in once.cliques]
    np.testing.assert_allclose(once.values, potentials.values, rtol=1e-15, atol=3e-16)
    pypgm.write_uai(once, path)
    assert bits(pypgm.read_uai(path)) == bits(once)


def test_scope_order_is_kept_in_files_of_both_kinds(tmp_path):
    domain = Domain({"0": 2, "1": 3})
    for kind in ("MARKOV", "BAYES"):
        tables = (
            pypgm.Factor(domain.project(("1", "0")), np.full((3, 2), 0.5)),
            pypgm.Factor(domain.project("1"), [1, 0, 0]),
        )
        pypgm.write_uai(UaiModel(kind, domain, tables), tmp_path / "m.uai")
        words = (tmp_path / "m.uai").read_text().split()
        assert words[:10] == [kind, "2", "2", "3", "2", "2", "1", "0", "1", "1"]
        assert read_uai_model(tmp_path / "m.uai").tables[0].domain.attributes == ("1", "0")


def test_a_bayesian_network_through_uai(tmp_path, data_dir):
    net = BayesianNetwork.read_bif(data_dir / "bif" / "survey.bif.gz")
    path = tmp_path / "survey.uai"
    pypgm.write_uai(UaiModel("BAYES", net.domain, tuple(net.tables.values())), path)
    potentials = pypgm.read_uai(path)
    known = [factor.values for factor in net.marginals().values()]
    tree = JunctionTree(potentials.domain, potentials.cliques)
    for attribute, probabilities in single_marginals(tree, potentials).items():
        np.testing.assert_allclose(probabilities, known[int(attribute)], rtol=1e-14)


def test_models_that_cannot_be_written(tmp_path):
    domain = Domain({"a": 2})
    for bad in (-1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"weights must be finite and at least 0; the table over \(a\)"):
            pypgm.write_uai(UaiModel("MARKOV", domain, (pypgm.Factor(domain, [1.0, bad]),)), tmp_path / "m.uai")
    for bad in (710.0, -746.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"the table over \(a\) needs logarithms of doubles"):
            pypgm.write_uai(CliqueVector(domain, ["a"], [0.0, bad]), tmp_path / "m.uai")
    with pytest.raises(ValueError, match="a BAYES model needs each attribute to be the child of one table"):
        pypgm.write_uai(UaiModel("BAYES", domain, ()), tmp_path / "m.uai")
    assert list(tmp_path.iterdir()) == []


# Evidence.


def test_evidence_files(tmp_path):
    domain = Domain({"a": ["x", "y"], "b": 3})
    path = tmp_path / "m.uai.evid"
    write_uai_evidence({"b": 2, "a": "y"}, domain, path)
    assert path.read_text() == "2 1 2 0 1\n"
    assert read_uai_evidence(path) == {"1": 2, "0": 1}
    assert read_uai_evidence(path, domain) == {"b": 2, "a": "y"}
    for text in ("", "0", "\n0\n2 0\n"):
        assert read_uai_evidence(write(tmp_path, text)) == {}
    assert read_uai_evidence(write(tmp_path, "1\n\n0\n1")) == {"0": 1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("one", "the number of pairs must be an integer at least 0, got 'one'"),
        ("1", "the file ends where an attribute should stand"),
        ("1 0", "the file ends where a value should stand"),
        ("1" * 5000, "the number of pairs must be an integer of at most 640 digits"),
        ("1 2 0", "an attribute must be an integer from 0 to 1, got '2'"),
        ("1 1 3", "a value must be an integer from 0 to 2, got '3'"),
        ("1 -1 0", "an attribute must be an integer"),
        ("2 0 1 0 1", "evidence names attribute 0 more than once"),
    ],
)
def test_refused_evidence(tmp_path, text, message):
    with pytest.raises(ValueError, match=rf"model\.uai: {message}"):
        read_uai_evidence(write(tmp_path, text), Domain({"a": 2, "b": 3}))


def test_evidence_that_cannot_be_written(tmp_path):
    domain = Domain({"a": ["x", "y"], "b": 3})
    for evidence, error in (
        ({"c": 0}, ValueError),
        ({"a": "z"}, ValueError),
        ({"b": 3}, ValueError),
        ({"b": [0]}, TypeError),
    ):
        with pytest.raises(error):
            write_uai_evidence(evidence, domain, tmp_path / "m.evid")
    assert list(tmp_path.iterdir()) == []


# Hand-sized models.

SMALL = [
    ("ChestClinic.uai", "ChestClinic.evid", -0.957464),
    ("cancer.uai", "cancer.evid", -0.494850),
    ("paskin.uai", "paskin.evid", 0.301030),
    ("simple5.uai", "simple5.evid", 4.977849),
    ("simple6.uai", "simple6.evid", 3.680531),
    ("grid4x4.uai", None, 44.449544),
    ("grid4x4_with_triplets.uai", None, 47.159904),
    ("jt_asia.uai", "jt_asia.uai.evid", 23.093486),
    ("jt_paskin.uai", "jt_paskin.uai.evid", -0.829283),
    ("pedigree1.uai", "pedigree1.evid", -17.932053),
]


@pytest.mark.parametrize(("name", "evidence", "log10_z"), SMALL)
def test_small_models(data_dir, name, evidence, log10_z):
    folder = data_dir / "uai_small"
    potentials = pypgm.read_uai(folder / name)
    known = read_uai_evidence(folder / evidence) if evidence else None
    found = JunctionTree(potentials.domain, potentials.cliques).log_partition(potentials, known)
    assert found / np.log(10) == pytest.approx(log10_z, abs=1e-6)


def test_small_model_with_impossible_evidence(data_dir):
    folder = data_dir / "uai_small"
    potentials = pypgm.read_uai(folder / "uai-test-model.uai")
    known = read_uai_evidence(folder / "uai-test-model.evid")
    assert JunctionTree(potentials.domain, potentials.cliques).log_partition(potentials, known) == -np.inf
    with pytest.raises(pypgm.ImpossibleEvidenceError):
        pypgm.marginals(potentials, evidence=known)


# Instances of the competition.

LARGE = {"DBN_11", "DBN_12", "DBN_13", "CSP_11", "ObjectDetection_11", "ObjectDetection_22"}
INSTANCES = [
    "Alchemy_11", "CSP_11", "CSP_12", "DBN_11", "DBN_12", "DBN_13", "Grids_11", "Grids_12", "Grids_14",
    "ObjectDetection_11", "ObjectDetection_22", "Pedigree_11", "Pedigree_13", "Promedus_15", "Promedus_24",
    "Promedus_33", "Promedus_34", "Segmentation_11", "Segmentation_12", "Segmentation_13",
]  # fmt: skip


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n in LARGE else ()) for n in INSTANCES])
def test_competition_instances(data_dir, name):
    folder = data_dir / "uai"
    verified = json.loads((folder / "verified.json").read_text())[f"{name}.uai"]
    potentials = pypgm.read_uai(folder / f"{name}.uai.gz")
    evidence = read_uai_evidence(folder / f"{name}.uai.evid")
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.cost.bytes <= 4 * 2**30
    found = tree.log_partition(potentials, evidence)
    assert found / np.log(10) == pytest.approx(verified["log10Z_recomputed"], abs=1e-4)
    marginals = single_marginals(tree, potentials, evidence)
    wanted = read_marginals(folder / f"{name}.uai.MAR")
    assert len(wanted) == len(potentials.domain)
    for attribute, probabilities in zip(potentials.domain.attributes, wanted, strict=True):
        np.testing.assert_allclose(marginals[attribute], probabilities, rtol=0, atol=1e-6, err_msg=attribute)


def test_small_grid_against_its_joint_table(data_dir):
    potentials = pypgm.read_uai(data_dir / "uai_small" / "grid4x4.uai")
    joint = reference.joint(reference.log_joint(potentials))
    result = pypgm.marginals(potentials)
    for clique in itertools.islice(potentials.cliques, 12):
        np.testing.assert_allclose(
            result[clique].values, reference.project(potentials.domain, joint, clique), rtol=1e-11, atol=1e-14
        )
