"""Released packages that call mbi, run unchanged on the compatible surface, with neither mbi nor JAX installed.

The environment variable PYPGM_CONSUMERS names those that have to be there: ``opendp`` or ``smartnoise``.
"""

from __future__ import annotations

import importlib.util
import os

import numpy as np
import pytest

import pypgm
from pypgm.compat import install_as_mbi, uninstall
from pypgm.integrations.opendp import measurement, measurements

ASKED = os.environ.get("PYPGM_CONSUMERS", "").split()
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
ROWS = 2000
KEYS = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1, 2, 3], "d": [0, 1]}


@pytest.fixture(autouse=True)
def as_mbi():
    if not ASKED:
        pytest.skip("PYPGM_CONSUMERS is not set")
    assert importlib.util.find_spec("mbi") is None
    assert importlib.util.find_spec("jax") is None
    install_as_mbi()
    yield
    uninstall()


def needs(name):
    return pytest.mark.skipif(bool(ASKED) and name not in ASKED, reason=f"PYPGM_CONSUMERS does not name {name}")


def columns():
    """Records in which b follows a and d follows c."""
    rng = np.random.default_rng(0)
    a, c = rng.integers(3, size=ROWS), rng.integers(4, size=ROWS)
    b = np.where(rng.random(ROWS) < 0.2, rng.integers(3, size=ROWS), a)
    return {"a": a, "b": b, "c": c, "d": c // 2}


def table(records, clique):
    cells = [np.asarray(records[name], dtype=np.int64) for name in clique]
    counts = np.zeros([len(KEYS[name]) for name in clique])
    np.add.at(counts, tuple(cells), 1)
    return counts


def misses(records):
    """Return the total variation distances of two dependent pairs from the true ones."""
    true = columns()
    return [
        np.abs(table(records, c) / len(records[c[0]]) - table(true, c) / ROWS).sum() / 2
        for c in (("a", "b"), ("c", "d"))
    ]


@needs("opendp")
@pytest.mark.parametrize("name", ["mst", "aim", "fixed", "sequential"])
def test_opendp(name):
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    mbi = dp.mbi
    pairs = [mbi.Count(("a", "b")), mbi.Count(("c", "d"))]
    algorithm = {
        "mst": mbi.MST,
        "aim": lambda: mbi.AIM(rounds=3),
        "fixed": lambda: mbi.Fixed(queries=pairs),
        "sequential": lambda: mbi.Sequential(algorithms=[mbi.Fixed(queries=pairs[:1]), mbi.MST()]),
    }[name]()
    context = dp.Context.compositor(
        data=pl.LazyFrame(columns()),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=0.5),
        split_evenly_over=1,
    )
    released = context.query().contingency_table(keys=KEYS, algorithm=algorithm).release()
    counts = released.project(("a", "b"))
    assert counts.shape[0] >= 3
    # What was measured, by pypgm's own words: the same model.
    domain, measured = measurements(released)
    assert [*domain.labels["a"]][:3] == ["0", "1", "2"]
    model = pypgm.estimate(domain, measured, stop="optimum")
    np.testing.assert_allclose(model.project(("a", "b")).values, counts, atol=0.02 * ROWS)
    records = released.synthesize()
    known = records.drop_nulls()
    assert len(known) > 0.9 * len(records)
    assert max(misses({name: known[name].to_numpy() for name in KEYS})) < 0.15


@needs("opendp")
def test_opendp_takes_a_table_further():
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    context = dp.Context.compositor(
        data=pl.LazyFrame(columns()),
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=1.0),
        split_evenly_over=2,
    )
    few = {name: KEYS[name] for name in ("a", "b")}
    algorithm = dp.mbi.Fixed(queries=[dp.mbi.Count(("a", "b"))])
    first = context.query().select("a", "b").contingency_table(keys=few, algorithm=algorithm).release()
    again = context.query().contingency_table(keys=KEYS, table=first, algorithm=dp.mbi.MST()).release()
    assert set(again.keys) == set(KEYS)
    assert len(again.synthesize()) > 0


@needs("opendp")
@pytest.mark.parametrize("given", [{"epsilon": 2}, {"epsilon": 2, "delta": 1e-9}, {"budget": pypgm.Budget(rho="1/2")}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_mechanism_is_a_measurement_of_opendp(given, neighbours):
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    made = measurement(KEYS, **given, neighbours=neighbours, mechanism="privbayes")
    cost, twice = made.map(1), made.map(2)
    whole = given.get("budget") or pypgm.Budget(**given)
    assert np.max(cost) == pytest.approx(float(whole.epsilon or whole.limit))
    assert np.max(cost) >= (whole.epsilon or whole.limit)  # rounded up
    assert np.max(twice) == pytest.approx((4 if "budget" in given else 2) * np.max(cost))
    if "delta" in given:
        assert twice[1] == pytest.approx(1e-9 * (1 + np.exp(2)))
        assert made.map(5)[1] == pytest.approx(1e-9 * sum(np.exp(2 * i) for i in range(5)))
        assert made.map(100_000)[1] == 1.0
    room = twice if isinstance(twice, tuple) else 2 * twice
    queries = dp.c.make_adaptive_composition(
        made.input_domain, made.input_metric, made.output_measure, d_in=1, d_mids=[cost, room]
    )(columns())
    release = queries(made)
    assert release.privacy.neighbours == neighbours
    assert release.ledger.spent() <= whole.limit
    assert release.model.project(("a", "b")).values.sum() == pytest.approx(ROWS, rel=0.1)
    assert set(queries(made).synthetic_data(10).columns) == set(KEYS)
    with pytest.raises(ValueError, match="seed"):
        measurement(KEYS, **given, neighbours=neighbours, unsafe_seed=1)
    with pytest.raises(ValueError, match="names no person"):
        measurement({"columns": {"a": 3}, "person": {"column": "id", "at_most": 2}}, epsilon=1)


@needs("smartnoise")
@pytest.mark.parametrize("name", ["mst", "aim"])
def test_smartnoise(name):
    import pandas as pd
    from snsynth import Synthesizer

    frame = pd.DataFrame(columns()).astype(str)
    synthesizer = Synthesizer.create(name, epsilon=3.0)
    synthesizer.fit(frame, categorical_columns=list(frame), preprocessor_eps=0.5)
    assert max(misses(synthesizer.sample(ROWS).astype(int))) < 0.15


@needs("smartnoise")
def test_smartnoise_makes_a_synthesizer_of_pypgm():
    import pandas as pd
    from snsynth import Synthesizer
    from snsynth.base import synth_map

    synth_map["pypgm"] = {"class": "pypgm.integrations.smartnoise.Synthesizer"}
    frame = pd.DataFrame(columns())
    synthesizer = Synthesizer.create("pypgm", epsilon=3.0, schema=KEYS)
    records = synthesizer.fit_sample(frame, categorical_columns=list(frame))
    assert (records.dtypes == frame.dtypes).all()
    assert max(misses(records)) < 0.15
