"""What protects nobody says so wherever it goes: measurements, models made of them, releases and files."""

import copy
import pickle

import numpy as np
import pytest

import pypgm
from pypgm import losses
from pypgm.mechanisms import mst
from pypgm.privacy import Budget, Ledger, Privacy, PrivateTable, measure_real

DOMAIN = pypgm.Domain({"a": 2, "b": 3})
DATA = pypgm.Dataset({"a": [0, 1, 1, 0] * 50, "b": [2, 0, 1, 1] * 50}, DOMAIN)
SEED = "noise drawn from a seed"


def table(**more):
    return PrivateTable(DATA, Privacy(), Ledger(Budget(rho=100)), **more)


def measured(cliques=("a", "b"), **more):
    private = table(**more)
    return [private.measure(c, rho=1) for c in cliques]


def fitted(measurements, **more):
    return pypgm.estimate(DOMAIN, measurements, iterations=3, **more)


def test_a_measurement_carries_the_mark_of_its_ledger():
    (seeded,), (private,) = measured("a", unsafe_seed=1), measured("a")
    assert (seeded.not_private, private.not_private) == (SEED, "")
    assert "not private" in repr(seeded)
    assert "not private" not in repr(private)
    for again in (copy.deepcopy(seeded), pickle.loads(pickle.dumps(seeded)), seeded.answered(seeded.values)):
        assert again.not_private == SEED
    assert measure_real(table(unsafe_seed=1), "a", [[0.5, 1]], rho=1).measurement.not_private == SEED
    by_hand = table()
    by_hand.ledger.mark_not_private("a test")
    assert by_hand.measure("a", rho=1).not_private == "a test"


@pytest.mark.parametrize("oracle", ["exact", "region_graph"])
def test_it_follows_into_every_model_that_is_made_of_it(tmp_path, oracle):
    seeded = fitted(measured(unsafe_seed=1), oracle=oracle)
    clean = measured()
    made = [
        seeded,
        fitted([*measured("a", unsafe_seed=1), *clean], oracle=oracle),
        fitted(clean, prior=seeded, oracle=oracle),
        fitted(clean, warm_start=seeded, oracle=oracle),
        fitted(clean, loss=losses.L2(measured(unsafe_seed=1)), oracle=oracle),
    ]
    for model in made:
        assert model.not_private == SEED
        assert "not private" in repr(model)
        model.save(tmp_path / "model.pgm")
        for again in (pypgm.load(tmp_path / "model.pgm"), pickle.loads(pickle.dumps(model)), copy.copy(model)):
            assert again.not_private == SEED
        assert fitted(clean, prior=pypgm.load(tmp_path / "model.pgm"), oracle=oracle).not_private == SEED
    assert fitted(clean, oracle=oracle).not_private == ""


def test_it_follows_through_constraints_and_files_to_the_measurements(tmp_path):
    function = pypgm.Constraint(("b", "a"), mapping=np.array([0, 1, 1]))
    model = fitted(measured(unsafe_seed=1), constraints=[function])
    assert model.not_private == SEED
    model.save(tmp_path / "model.pgm")
    assert {m.not_private for m in pypgm.load(tmp_path / "model.pgm").recipe.measurements} == {SEED}


def test_reasons_add_up_and_releases_keep_them():
    marked = table()
    marked.ledger.mark_not_private("a test")
    both = fitted([*measured("a", unsafe_seed=1), marked.measure("b", rho=1)])
    assert both.not_private == f"{SEED}; a test"
    release = mst(DATA, 1, 1e-9, iterations=2)
    kept = type(release)(fitted(release.measurements, prior=both), release.measurements, release.ledger, "mine")
    assert kept.model.not_private == both.not_private
    assert pickle.loads(pickle.dumps(kept)).model.not_private == both.not_private
    compressed = mst(DATA, 0.1, 1e-9, iterations=2, unsafe_seed=1)
    assert {m.not_private for m in compressed.measurements} == {compressed.model.not_private} == {SEED}


def test_a_mark_is_never_taken_away():
    ledger = Ledger(Budget(rho=1))
    part = ledger.allocate("part", amount="1/2")
    ledger.mark_not_private("a test")
    for held in (ledger, part):
        for nothing in ("", " ", None, 0):
            with pytest.raises(ValueError, match="never removed"):
                held.mark_not_private(nothing)
        held.mark_not_private("another")
        assert held.not_private == "a test"
    assert part.allocate("deeper", amount="1/4").not_private == "a test"
    assert ledger.snapshot().not_private == Ledger.from_dict(ledger.to_dict()).not_private == "a test"
