"""Tables from records with missing values: expected counts by brute force, objectives that never fall, known maxima."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.bayes import BayesianNetwork, batch, fit_score, learn, missing
from pypgm.bayes.missing import PartlyKnown

DOMAIN = Domain({"a": ["x", "y"], "b": 3, "c": 2})
ARCS = [("a", "b"), ("c", "b"), ("a", "c")]
FAMILIES = [("a",), ("a", "c", "b"), ("a", "c")]


def random_tables(seed):
    rng = np.random.default_rng(seed)
    return [rng.dirichlet([1] * DOMAIN.size(f[-1]), DOMAIN.sizes(f[:-1])) for f in FAMILIES]


def random_columns(seed, n=60, gone=0.4):
    rng = np.random.default_rng(seed)
    columns = {a: rng.integers(0, DOMAIN.size(a), n) for a in DOMAIN}
    return {a: np.where(rng.random(n) < gone, -1, column) for a, column in columns.items()}


def by_brute_force(tables, columns, weights):
    """Return expected counts and the log-likelihood from the joint table, a record at a time."""
    joint = np.einsum("a,acb,ac->abc", *tables)
    cells = list(itertools.product(*map(range, DOMAIN.shape)))
    expected, likelihood = np.zeros(DOMAIN.shape), 0.0
    for i, weight in enumerate(weights):
        fits = [all(columns[a][i] in (-1, v) for a, v in zip(DOMAIN, cell, strict=True)) for cell in cells]
        own = np.where(np.reshape(fits, DOMAIN.shape), joint, 0)
        expected += weight * own / own.sum()
        likelihood += weight * math.log(own.sum())
    return [np.einsum(f"abc->{''.join(f)}", expected) for f in FAMILIES], likelihood


@pytest.mark.parametrize("rows", [1024, 7, 1])
def test_expected_counts_are_those_of_brute_force(monkeypatch, rows):
    monkeypatch.setattr(missing, "_ROWS", rows)
    columns, tables = random_columns(0), random_tables(1)
    weights = np.random.default_rng(2).integers(0, 3, 60).astype(float)
    found, likelihood = PartlyKnown(DOMAIN, FAMILIES, columns, weights).expected(tables)
    true, exact = by_brute_force(tables, columns, weights)
    for one, other in zip(found, true, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
    assert likelihood == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("prior", [None, "k2", "bdeu"])
def test_the_objective_never_falls_and_the_end_is_a_fixed_point(prior):
    columns, seen = random_columns(3), []
    frame = {a: np.ma.masked_equal(c, -1) for a, c in columns.items()}
    frame["a"] = [None if code < 0 else "xy"[code] for code in columns["a"]]
    net = learn(
        frame,
        ARCS,
        domain=DOMAIN,
        prior=prior,
        strength=2.0,
        tolerance=1e-12,
        callback=lambda step, value: seen.append((step, value)),
    )
    steps, values = zip(*seen, strict=True)
    assert steps == tuple(range(len(seen)))
    assert len(seen) > 5
    assert (np.diff(values) > -1e-9).all()
    tables = [net.tables[a].values for a in DOMAIN]
    counts, likelihood = by_brute_force(tables, columns, np.ones(60))
    added = {None: [0, 0, 0], "k2": [2, 2, 2], "bdeu": [2 / 2, 2 / 12, 2 / 4]}[prior]
    for table, own, more in zip(tables, counts, added, strict=True):
        wanted = (own + more) / (own + more).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(table, wanted, atol=1e-4)
        likelihood += more * np.log(table).sum() if more else 0
    assert values[-1] == pytest.approx(likelihood, rel=1e-8)


def test_a_maximum_that_is_known():
    # b is missing at random given a: the maximum is that of all records for a, of the complete ones for b given a.
    domain = Domain({"a": 2, "b": 2})
    frame = {"a": [0, 0, 0, 0, 1, 1, 1, 0, 1, 1], "b": [0, 0, 1, None, 1, 1, 0, None, None, 1]}
    net = learn(frame, [("a", "b")], domain=domain, tolerance=1e-14)
    np.testing.assert_allclose(net.tables["a"].values, [0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(net.tables["b"].values, [[2 / 3, 1 / 3], [1 / 4, 3 / 4]], atol=1e-6)


def test_no_network_is_likelier_than_the_maximum_nearby():
    columns = random_columns(4, n=200, gone=0.2)
    records = PartlyKnown(DOMAIN, FAMILIES, columns, np.ones(200))
    frame = {a: [None if c < 0 else DOMAIN.labels.get(a, range(9))[c] for c in own] for a, own in columns.items()}
    net = learn(frame, ARCS, domain=DOMAIN, tolerance=1e-13)
    best = [net.tables[a].values for a in DOMAIN]
    top = records.expected(best)[1]
    assert fit_score(net, frame, "log_likelihood") == pytest.approx(top, rel=1e-12)
    for seed in range(30):
        nearby = [0.98 * t + 0.02 * o for t, o in zip(best, random_tables(seed), strict=True)]
        assert records.expected(nearby)[1] < top


def test_a_hidden_class_is_found():
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 2000)
    chance = np.array([0.1, 0.9])[hidden]
    names = ["u", "v", "w", "row"]  # "row" is also what the records are called inside
    frame = {name: (rng.random(2000) < chance).astype(int) for name in names}
    domain = Domain({"class": 2, **dict.fromkeys(names, 2)})
    net = learn(frame, [("class", name) for name in names], domain=domain, tolerance=1e-9)
    found = np.sort([net.tables[name].values[:, 1] for name in names], axis=1)
    np.testing.assert_allclose(found, [[0.1, 0.9]] * 4, atol=0.05)


def test_complete_frames_are_as_datasets():
    columns = random_columns(5, gone=0)
    data = Dataset(columns, DOMAIN)
    labels = {**columns, "a": ["xy"[code] for code in columns["a"]]}
    net = learn(data, ARCS, prior="k2")
    for other in (
        learn(labels, ARCS, prior="k2", domain=DOMAIN),
        learn(labels, net, prior="k2"),
        learn(data, ARCS, prior="k2", domain=Domain({**{a: DOMAIN.size(a) for a in "cb"}, "a": ["x", "y"]})),
    ):
        for a in DOMAIN:
            order = net.tables[a].domain.attributes
            assert np.array_equal(other.tables[a].transpose(order).values, net.tables[a].values)
    for criterion in ("log_likelihood", "bic"):
        assert fit_score(net, labels, criterion) == fit_score(net, data, criterion)


def test_a_structure_in_a_file_names_the_values(tmp_path):
    learn(Dataset(random_columns(5, gone=0), DOMAIN), ARCS).write_bif(tmp_path / "net.bif")
    net = learn({"a": ["x", "y", None], "b": ["2", "0", "1"], "c": ["0", "0", None]}, tmp_path / "net.bif")
    assert net.domain.labels["b"] == ("0", "1", "2")
    assert isinstance(net, BayesianNetwork)


def test_weights_of_records_count():
    domain = Domain({"a": 2})
    data = Dataset({"a": [0, 1]}, domain, weights=[1.0, 3.0])
    net = learn(data, [("a", "h")], domain=Domain({"a": 2, "h": 2}), tolerance=0, iterations=5)
    np.testing.assert_allclose(net.tables["a"].values, [0.25, 0.75], rtol=1e-12)


def test_no_rows_and_rows_without_anything_known():
    for frame in ({"a": []}, {"a": [None] * 3}):
        net = learn(frame, ARCS, domain=DOMAIN, prior="k2", tolerance=1e-10)
        np.testing.assert_allclose(net.tables["a"].values, [0.5, 0.5], atol=1e-3)


def test_a_callback_and_a_limit_end_it():
    columns, steps = random_columns(3), []
    frame = {a: np.ma.masked_equal(c, -1) for a, c in columns.items() if a != "a"}
    learn(frame, ARCS, domain=DOMAIN, callback=lambda step, _: steps.append(step) or step == 2)
    assert steps == [0, 1, 2]
    steps.clear()
    learn(frame, ARCS, domain=DOMAIN, iterations=4, tolerance=0, callback=lambda step, _: steps.append(step))
    assert steps == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("data", "options", "error", "match"),
    [
        ({"a": ["x"]}, {}, ValueError, "unknown attribute 'b'"),
        ({"a": ["z"]}, {"domain": DOMAIN}, ValueError, "column 'a', row 0"),
        ({"z": ["x"]}, {"domain": DOMAIN}, ValueError, "'z'"),
        ({"a": ["x"]}, {"domain": {"a": 2}}, TypeError, "domain needs a pypgm"),
        ({"a": ["x"]}, {"domain": DOMAIN, "tolerance": -1}, ValueError, "tolerance"),
        ({"a": ["x"]}, {"domain": DOMAIN, "iterations": 1.5}, TypeError, "iterations"),
    ],
)
def test_refused(data, options, error, match):
    with pytest.raises(error, match=match):
        learn(data, ARCS, **options)


@pytest.mark.parametrize(
    ("domain", "value", "needed"),
    [
        ({"a": ["x", "y"]}, "z", "one of 'x', 'y'"),
        ({"a": ["", "y"]}, "z", "one of '', 'y'"),
        ({"a": [1, 2]}, 3, "one of '1', '2'"),
        ({"a": 4}, 4, "a code from 0 to 3"),
    ],
)
def test_a_value_that_a_network_has_not_is_named_without_options_of_schemas(domain, value, needed):
    n_values = Domain(domain).size("a")
    net = BayesianNetwork(Domain({**domain, "b": 2}), {}, {"a": [1 / n_values] * n_values, "b": [0.5, 0.5]})
    with pytest.raises(ValueError, match="column 'a', row 1") as refused:
        net.predict({"a": [None, value]}, "b")
    expected = f"needs {needed}, or None where it is unknown, and has none of these"
    assert str(refused.value).partition(": ")[2] == expected


@pytest.mark.parametrize("few", [0, 10**9])  # all rows down one tree; each pattern for itself
def test_rows_of_many_patterns_are_answered_as_each_alone(monkeypatch, few):
    monkeypatch.setattr(batch, "_FEW_PATTERNS", few)
    tables = random_tables(4)
    tables[1][0, 0] = [0, 0.5, 0.5]
    net = BayesianNetwork(DOMAIN, {"b": ("a", "c"), "c": ("a",)}, dict(zip(DOMAIN, tables, strict=True)))
    columns = random_columns(5)
    frame = {a: [None if code < 0 else DOMAIN.labels.get(a, range(3))[code] for code in columns[a]] for a in DOMAIN}
    rows = [{a: frame[a][i] for a in DOMAIN if frame[a][i] is not None} for i in range(60)]
    np.testing.assert_allclose(net.log_likelihood(frame), [net.log_probability(row) for row in rows], 1e-12, 1e-15)
    assert (net.log_likelihood(frame) == -np.inf).any()
    del frame["b"]
    for target in (["b"], ["b", "c"]):
        found = net.predict_proba(frame, target, impossible="nan")
        for i, row in enumerate(rows):
            known = {a: value for a, value in row.items() if a not in target}
            for t in target:
                np.testing.assert_allclose(found[t][i], net.query(t, known).values, rtol=1e-12)
