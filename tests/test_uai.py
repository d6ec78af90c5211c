"""UAI files: the format, hand-sized models, competition instances, every refusal; libDAI graphs beside them."""

from __future__ import annotations

import gzip
import itertools
import json
import math

import numpy as np
import pytest
import reference

import pypgm
from pypgm import CliqueVector, Domain, JunctionTree


def read_evidence(path):
    """Read `n` and then n pairs of variable and value; what follows is none of it."""
    numbers = [int(word) for word in path.read_text().split()]
    pairs = numbers[1 : 1 + 2 * numbers[0]]
    return {str(a): v for a, v in zip(pairs[::2], pairs[1::2], strict=True)}


def read_marginals(path):
    words = iter(path.read_text().split())
    assert next(words) == "MAR"
    return [np.array([float(next(words)) for _ in range(int(next(words)))]) for _ in range(int(next(words)))]


def read_fg(path):
    """Read a libDAI factor graph; in its tables the first attribute varies fastest, and what is not named is 0."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("#")]
    words = iter(" ".join(lines).split())
    factors = []
    sizes = {}
    for _ in range(int(next(words))):
        attributes = [int(next(words)) for _ in range(int(next(words)))]
        shape = [int(next(words)) for _ in attributes]
        sizes.update(zip(attributes, shape, strict=True))
        cells = np.zeros(math.prod(shape))
        for _ in range(int(next(words))):
            position = int(next(words))
            cells[position] = float(next(words))
        factors.append((attributes, cells.reshape(shape, order="F")))
    domain = Domain({str(a): sizes[a] for a in sorted(sizes)})
    with np.errstate(divide="ignore"):
        tables = [pypgm.Factor(domain.project([str(a) for a in names]), np.log(cells)) for names, cells in factors]
    return CliqueVector.from_factors(domain, tables)


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
    ("MARKOV two", "the number of attributes needs to be an integer at least 0, got 'two'"),
    ("MARKOV -1", "the number of attributes needs to be an integer at least 0, got '-1'"),
    ("MARKOV 1 0", "the size of an attribute needs to be an integer at least 1, got '0'"),
    ("MARKOV 2 2", "the file ends where the size of an attribute"),
    ("MARKOV 1 2 x", "the number of tables needs to be an integer"),
    ("MARKOV 1 2 1 1 1", "an attribute of a scope needs to be an integer from 0 to 0, got '1'"),
    ("MARKOV 2 2 2 1 2 1 1 4 1 1 1 1", r"scope \[1, 1\] names an attribute more than once"),
    ("MARKOV 1 2 1 1 0 3 1 1 1", r"the table over \('0',\) needs 2 entries, got 3"),
    ("MARKOV 1 2 1 1 0 2 1", "the file ends where an entry of a table"),
    ("MARKOV 1 2 1 1 0 2 1 -1", "entries need to be finite and at least 0, got '-1'"),
    ("MARKOV 1 2 1 1 0 2 1 nan", "entries need to be finite and at least 0, got 'nan'"),
    ("MARKOV 1 2 1 1 0 2 1 inf", "entries need to be finite and at least 0, got 'inf'"),
    ("MARKOV 1 2 1 1 0 2 1 1,5", "entries need to be finite and at least 0, got '1,5'"),
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
    for name, content in (
        ("a.uai.gz", b"not compressed"),
        ("b.uai.gz", whole[:-12]),
        ("c.uai.gz", whole[:-4] + b"abcd"),
        ("d.uai", b"MARKOV \xff"),
    ):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ValueError, match=f"{name}: not a readable UAI file"):
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
    known = read_evidence(folder / evidence) if evidence else None
    found = JunctionTree(potentials.domain, potentials.cliques).log_partition(potentials, known)
    assert found / np.log(10) == pytest.approx(log10_z, abs=1e-6)


def test_small_model_with_impossible_evidence(data_dir):
    folder = data_dir / "uai_small"
    potentials = pypgm.read_uai(folder / "uai-test-model.uai")
    known = read_evidence(folder / "uai-test-model.evid")
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
    evidence = read_evidence(folder / f"{name}.uai.evid")
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.cost.bytes <= 4 * 2**30
    found = tree.log_partition(potentials, evidence)
    assert found / np.log(10) == pytest.approx(verified["log10Z_recomputed"], abs=1e-4)
    marginals = single_marginals(tree, potentials, evidence)
    wanted = read_marginals(folder / f"{name}.uai.MAR")
    assert len(wanted) == len(potentials.domain)
    for attribute, probabilities in zip(potentials.domain.attributes, wanted, strict=True):
        np.testing.assert_allclose(marginals[attribute], probabilities, rtol=0, atol=1e-6, err_msg=attribute)


# libDAI.


@pytest.mark.parametrize(
    "name", ["testfast", "alarm", "hoi1", "hoi2", "hoi3", "hoi4", "jtreemapbug", "twofactors", "zeroes1"]
)
def test_libdai_graphs(data_dir, name):
    folder = data_dir / "libdai"
    known = json.loads((folder / "exact_marginals.json").read_text())
    if name not in known:
        pytest.skip(f"exact_marginals.json has no {name}")
    potentials = read_fg(folder / f"{name}.fg")
    tree = JunctionTree(potentials.domain, potentials.cliques)
    assert tree.log_partition(potentials) == pytest.approx(known[name]["lnZ"], rel=1e-9, abs=1e-9)
    marginals = single_marginals(tree, potentials)
    assert set(marginals) == set(known[name]["marginals"])
    for attribute, probabilities in known[name]["marginals"].items():
        np.testing.assert_allclose(marginals[attribute], probabilities, rtol=0, atol=1e-9)


def test_small_grid_against_its_joint_table(data_dir):
    potentials = pypgm.read_uai(data_dir / "uai_small" / "grid4x4.uai")
    joint = reference.joint(reference.log_joint(potentials))
    result = pypgm.marginals(potentials)
    for clique in itertools.islice(potentials.cliques, 12):
        np.testing.assert_allclose(
            result[clique].values, reference.project(potentials.domain, joint, clique), rtol=1e-11, atol=1e-14
        )
