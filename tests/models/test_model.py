"""Models: answers, files that come back the same, and files that are none."""

from __future__ import annotations

import contextlib
import os
import stat
import zipfile

import numpy as np
import pytest
import reference
from fuzz_pgm import pack, unpack
from hypothesis import given
from hypothesis import strategies as st
from random_models import models

import pypgm
from pypgm import CliqueVector, Domain, GraphicalModel, LinearMeasurement

DOMAIN = Domain({"sex": ["F", "M"], "age": 3, "year": [1999, 2000], "rate": [0.5, 1.0], "flag": [False, True]})


@pytest.fixture
def model():
    measurements = [
        LinearMeasurement(np.arange(6) * 7, ("age", "sex"), 3.0),
        LinearMeasurement([31, 70.5], "year"),
        LinearMeasurement([50, 51, 9, 0], ("rate", "flag")),
    ]
    return pypgm.estimate(DOMAIN, measurements)


def test_project_many_is_project_in_the_order_asked(model):
    cliques = [("year", "sex"), "age", (), ("flag", "age", "sex")]
    for found, clique in zip(model.project_many(cliques), cliques, strict=True):
        wanted = model.project(clique)
        assert found.domain == wanted.domain
        np.testing.assert_array_equal(found.datavector(), wanted.datavector())
        assert found.datavector().sum() == pytest.approx(model.total, rel=1e-12)


def test_answers_agree_with_each_other(model):
    joint = model.project(("age", "year", "sex")).values
    np.testing.assert_allclose(model.query(("age", "year"), {"sex": "M"}).values, joint[..., 1] / joint[..., 1].sum())
    np.testing.assert_allclose(model.query("age").values, joint.sum((1, 2)) / model.total)


def test_model_tells_what_it_is(model):
    assert model.domain == DOMAIN
    assert model.cliques == (("sex", "age"), ("year",), ("rate", "flag"))
    assert repr(model) == f"GraphicalModel(5 attributes, 3 cliques, total {model.total:.6g}, 12 parameters)"
    assert model.marginals.cliques == model.potentials.cliques


# Files.


@pytest.fixture
def saved(model, tmp_path):
    path = tmp_path / "some.model"
    model.save(path)
    return path


def test_file_comes_back_with_the_same_bits(model, saved):
    again = pypgm.load(saved)
    assert again.domain == model.domain
    assert again.domain.labels == model.domain.labels
    assert [type(v) for v in again.domain.labels["flag"]] == [bool, bool]
    assert again.cliques == model.cliques
    assert again.total == model.total
    assert again.fit == model.fit
    assert again.potentials.values.tobytes() == model.potentials.values.tobytes()
    assert again.marginals.values.tobytes() == model.marginals.values.tobytes()
    asked = ("year", "sex", "flag")
    assert again.project(asked).datavector().tobytes() == model.project(asked).datavector().tobytes()
    assert [p.name for p in saved.parent.iterdir()] == ["some.model"]


@given(potentials=models(), total=st.sampled_from([1e-3, 1.0, 12345.678]))
def test_every_model_comes_back(tmp_path_factory, potentials, total):
    if reference.log_joint(potentials).max() == -np.inf:
        return
    path = tmp_path_factory.mktemp("model") / "m.npz"
    GraphicalModel(potentials, total).save(path)
    again = pypgm.load(path)
    assert again.cliques == potentials.cliques
    assert again.total == total
    assert again.fit is None
    assert again.potentials.values.tobytes() == potentials.values.tobytes()


def test_labels_from_numpy_can_be_saved(tmp_path):
    domain = Domain({"year": list(np.array([1999, 2000])), "name": list(np.array(["x", "y"]))})
    GraphicalModel(CliqueVector(domain, ["year"]), 1.0).save(tmp_path / "m")
    assert pypgm.load(tmp_path / "m").domain == domain


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX files")
def test_file_has_the_permissions_of_any_new_file(saved):
    beside = saved.parent / "plain"
    beside.touch()
    assert stat.S_IMODE(saved.stat().st_mode) == stat.S_IMODE(beside.stat().st_mode)


def test_a_failure_leaves_nothing_behind(model, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    old = tmp_path / "m"
    old.write_text("what was there")
    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        model.save(old)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert old.read_text() == "what was there"
    with pytest.raises(FileNotFoundError):
        model.save(tmp_path / "none" / "m")


def rewritten(path, **changes):
    """Write the file's archive anew with parts of its header changed; a value of ... takes the part out."""
    header, arrays = unpack(path.read_bytes())
    path.write_bytes(pack({k: v for k, v in {**header, **changes}.items() if v is not ...}, arrays))


def test_other_versions_are_refused(saved):
    rewritten(saved, version=99)
    with pytest.raises(ValueError, match="files of versions 2 to 4 can be read, got version 99"):
        pypgm.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "other"}, {"shape": ...}, {"total": ...}, {"fit": {"status": "converged"}}, {"total": "many"},
        {"total": -1.0}, {"total": 2.0**53 + 2}, {"total": float("inf")}, {"total": float("nan")},
        {"shape": [2, 3, 2, 2, 5]}, {"cliques": [["zip"]]}, {"cliques": 7}, {"attributes": None},
    ],
)  # fmt: skip
def test_headers_of_no_model_are_refused(saved, changes):
    rewritten(saved, **changes)
    with pytest.raises(ValueError, match=r"some\.model: not a"):
        pypgm.load(saved)


def test_a_header_that_is_no_table_is_refused(saved):
    with saved.open("wb") as file:
        np.savez(file, header=np.frombuffer(b"[1, 2]", dtype=np.uint8), **{"array 0": np.zeros(2)})
    with pytest.raises(ValueError, match="not a pypgm model file"):
        pypgm.load(saved)


def test_potentials_of_no_model_are_refused(saved):
    header, _ = unpack(saved.read_bytes())
    for potentials in (np.zeros(3), np.full(12, np.nan), np.full(12, np.inf), np.zeros((3, 4)), np.array(["x"] * 12)):
        saved.write_bytes(pack(header, {"array 0": potentials}))
        with pytest.raises(ValueError, match=r"some\.model: not a"):
            pypgm.load(saved)


def test_garbage_is_refused(saved):
    whole = saved.read_bytes()
    with zipfile.ZipFile(saved.parent / "other.zip", "w") as other:
        other.writestr("readme", "nothing")
    np.save(saved.parent / "array.npy", np.zeros(3))
    contents = [b"", b"PK", b"\x00" * 100, b"sex,age\n1,2\n", whole[:100], whole[: len(whole) // 2], whole[:-1]]
    contents += [(saved.parent / "other.zip").read_bytes(), (saved.parent / "array.npy").read_bytes()]
    for content in contents:
        saved.write_bytes(content)
        with pytest.raises(ValueError, match=r"some\.model: not a"):
            pypgm.load(saved)
    with pytest.raises(FileNotFoundError):
        pypgm.load(saved.parent / "none")


@pytest.mark.slow
def test_a_damaged_byte_is_never_a_foreign_error(saved):
    whole = saved.read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        saved.write_bytes(damaged)
        # Some bytes are said nothing by, such as the time a part of the archive was made at.
        with contextlib.suppress(ValueError):
            pypgm.load(saved)


def test_pickles_are_refused(saved):
    header, _ = unpack(saved.read_bytes())
    saved.write_bytes(pack(header, {"array 0": np.array([{}], dtype=object)}))
    with pytest.raises(ValueError, match=r"some\.model: not a"):
        pypgm.load(saved)


@pytest.mark.parametrize("method", ["accelerated", "mirror_descent", "dual_averaging", "universal", "lbfgs"])
@pytest.mark.parametrize("wide", [False, True])
def test_an_estimates_marginals_are_those_its_file_gives(method, wide, tmp_path):
    # Wide trees go through implicit cliques.
    domain = pypgm.Domain({f"x{i}": 12 for i in range(6)})
    pairs = [(f"x{i}", f"x{j}") for i in range(3) for j in range(3, 6)] if wide else [("x0", "x1"), ("x2", "x1")]
    rng = np.random.default_rng(2)
    ms = [pypgm.LinearMeasurement(rng.poisson(20, 144) + 0.5, pair, 5.0) for pair in pairs]
    model = pypgm.estimate(domain, ms, method=method, iterations=60)
    model.save(tmp_path / "model.npz")
    again = pypgm.load(tmp_path / "model.npz")
    assert again.marginals.values.tobytes() == model.marginals.values.tobytes()


def test_a_mapping_for_targets_is_told_to_be_evidence():
    domain = pypgm.Domain({"a": ["no", "yes"], "b": 2})
    data = pypgm.Dataset({"a": [0, 1, 1], "b": [0, 1, 0]}, domain)
    net = pypgm.bayes.learn(data, [("a", "b")])
    model = pypgm.models.GraphicalModel(pypgm.CliqueVector(domain, [("a", "b")]), 3.0)
    for ask in (net.map, net.query, model.query, model.project):
        with pytest.raises(TypeError, match="what is known of attributes is evidence="):
            ask({"a": "yes"})
