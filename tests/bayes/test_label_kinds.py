"""Whatever reads a network's records, and of whatever kind its labels are, the same values are meant."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm import Dataset, Domain, Likelihood
from pypgm.bayes import BayesianNetwork, fit_score, learn
from pypgm.mrf import MarkovRandomField

LABELS = {  # none in the order in which a reader would sort them
    "text that reads as a number": ["1", "0", "2"],
    "integers": [2, 0, 1],
    "booleans": [True, False],
    "floats": [1.5, 0.5, -2.25],
    "floats that are whole": [2.0, 0.0, 1.0],
    "text": ["yes", "no", "true"],
}


def network(labels):
    size = len(labels)
    rng = np.random.default_rng(0)
    domain = Domain({"i": labels, "t": labels})
    return BayesianNetwork(domain, {"t": ["i"]}, {"i": rng.dirichlet([2] * size), "t": rng.dirichlet([2] * size, size)})


def readings(records, tmp_path):
    """Yield the records through each reader."""
    pd, pl, _ = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    frame = records.to_frame("pandas")
    yield "frame of pandas", frame
    yield "objects", frame.astype(object)
    yield "strings", frame.astype(str)
    yield "categories", frame.astype("category")
    yield "frame of pyarrow", records.to_frame("pyarrow")
    yield "lists", {a: frame[a].tolist() for a in frame}
    yield "arrays", {a: frame[a].to_numpy() for a in frame}
    yield "schema", Dataset.from_frame(frame, records.domain)
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    for kind, readers in (
        ("csv", (lambda path: pypgm.read_table(path, records.domain), pd.read_csv, pl.read_csv)),
        ("parquet", (lambda path: pypgm.read_table(path, records.domain), pd.read_parquet, pl.read_parquet)),
    ):
        for reader, read in zip(("read_table", "pandas", "polars"), readers, strict=True):
            yield f"{kind} by {reader}", read(tmp_path / f"t.{kind}")
    yield "frame of polars", records.to_frame("polars")


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("through_bif", [False, True])
def test_every_reader_means_the_same_values(tmp_path, labels, through_bif):
    net = network(labels)
    if through_bif and isinstance(labels[0], float) and labels[0] == 2:
        pytest.skip("'2.0' in a file is not how the number 2 is spelled: refused, see below")
    if through_bif:  # labels are text there
        net.write_bif(tmp_path / "net.bif")
        net = BayesianNetwork.read_bif(tmp_path / "net.bif")
    records = network(labels).sample(300, rng=1)
    wanted = learn(Dataset(records.columns, net.domain), net)
    scores = fit_score(wanted, Dataset(records.columns, net.domain), "log_likelihood")
    for name, frame in readings(records, tmp_path):
        found = learn(frame, net)
        for a in net.domain:
            np.testing.assert_array_equal(found.tables[a].values, wanted.tables[a].values, err_msg=name)
        assert fit_score(wanted, frame, "log_likelihood") == scores, name
        likelihoods = net.predict_proba(frame, "t")["t"]
        np.testing.assert_allclose(likelihoods, net.tables["t"].values[records.columns["i"]], atol=1e-15, err_msg=name)
        cell = frame["i"][0] if not isinstance(frame, Dataset) else labels[records.columns["i"][0]]
        cell = cell.as_py() if hasattr(cell, "as_py") else cell
        answer = net.tables["t"].values[records.columns["i"][0]]
        np.testing.assert_allclose(net.query("t", {"i": cell}).values, answer, atol=1e-15, err_msg=name)
        np.testing.assert_allclose(net.query("t", {"i": {cell}}).values, answer, atol=1e-15, err_msg=name)


def test_a_number_that_no_label_reads_as_is_no_code():
    net = network(["a", "b", "c"])
    field = MarkovRandomField(net.potentials, 1)
    for ask in (net.marginals, net.log_probability, lambda e: net.query("t", e), lambda e: field.query("t", e)):
        with pytest.raises(ValueError, match=r"'i' has no label 1; its labels are 'a', 'b', 'c'; a number is a value"):
            ask({"i": 1})
        with pytest.raises(ValueError, match="'i' has no label 0"):
            ask({"i": np.array([0, 2])})
    for use in (net.predict, net.log_likelihood, lambda f: learn(f, net), lambda f: fit_score(net, f, "bic")):
        with pytest.raises(ValueError, match=r"column 'i', row 1 .* needs one of 'a', 'b', 'c'") as refused:
            use({"i": ["a", 2]})
        assert "2" not in str(refused.value)
    spelled = network(["2.0", "0.0", "1.0"])
    with pytest.raises(ValueError, match=r"'i' has no label 2.0; its labels are '2.0', '0.0', '1.0'"):
        spelled.query("t", {"i": 2.0})


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("make", [list, tuple, np.array])
def test_a_list_that_may_be_a_likelihood_is_refused(size, make):
    net = network([0, 1, 2][:size])
    for hot in range(size):
        given = make([int(i == hot) for i in range(size)])
        with pytest.raises(ValueError, match=r"'i' is a list that may mean two things: pypgm.Likelihood"):
            net.query("t", {"i": given})
        one = net.query("t", {"i": hot}).values
        np.testing.assert_allclose(net.query("t", {"i": Likelihood(given)}).values, one)
    every = net.query("t", {"i": set(range(size))}).values
    np.testing.assert_array_equal(every, net.query("t", {"i": range(size)}).values)
    with pytest.raises(ValueError, match="may mean two things"):
        net.query("t", {"i": make([1, 1])})


def test_tables_that_name_their_values_are_aligned():
    domain = Domain({"a": ["x", "y"], "b": [1, 2, 3], "c": 2})
    rows = {
        (1, "y"): [0.1, 0.9],
        (1, "x"): [0.2, 0.8],
        (2, "x"): {1: 0.7, 0: 0.3},
        (2, "y"): [1, 0],
        3: {"y": [0.4, 0.6], "x": [0, 1]},
    }
    own = {"a": {"y": 0.25, "x": 0.75}, "b": {"x": [0.5, 0.25, 0.25], "y": {3: 1, 2: 0, 1: 0}}, "c": rows}
    net = BayesianNetwork(domain, {"b": ["a"], "c": ["b", "a"]}, own)
    assert net.tables["a"].values.tolist() == [0.75, 0.25]
    assert net.tables["b"].values.tolist() == [[0.5, 0.25, 0.25], [0, 0, 1]]
    wanted = [[[0.2, 0.8], [0.1, 0.9]], [[0.3, 0.7], [1, 0]], [[0, 1], [0.4, 0.6]]]
    assert net.tables["c"].values.tolist() == wanted
    for wrong, message in (
        ({"x": 0.5}, "'a': 1 of 2 cells have no probability"),
        ({"x": 0.5, "z": 0.5}, "'a': attribute 'a' has no label 'z'"),
        ({("x", "x"): 1, "y": 0}, r"'a': 1 values are needed for \('a',\), got 2"),
        ({"x": [0.5], "y": [0.5]}, r"'a': a row needs shape \(\), got \(1,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesianNetwork(domain, {"b": ["a"], "c": ["b", "a"]}, {**own, "a": wrong})


def test_series_and_frames_are_aligned_by_their_index_and_columns():
    pd = pytest.importorskip("pandas")
    domain = Domain({"a": ["x", "y"], "b": ["u", "v"]})

    def tables(a, b):
        net = BayesianNetwork(domain, {"b": ["a"]}, {"a": a, "b": b})
        return net.tables["a"].values.tolist(), net.tables["b"].values.tolist()

    a, b = pd.Series({"y": 0.3, "x": 0.7}), pd.DataFrame([[0.1, 0.9], [0.2, 0.8]], index=["y", "x"], columns=["v", "u"])
    wanted = [0.7, 0.3], [[0.8, 0.2], [0.9, 0.1]]
    assert tables(a, b) == wanted
    assert tables(a, b.stack()) == wanted
    named = b.rename_axis("a").rename_axis("b", axis=1)
    assert tables(a, named.T) == wanted
    for wrong in (pd.Series([0.3, 0.7]), pd.Series([0.3, 0.7], index=["x", "x"]), pl_frame()):
        with pytest.raises(ValueError, match="the table of 'a': "):
            tables(wrong, b)


def pl_frame():
    return pytest.importorskip("polars").DataFrame({"x": [0.5], "y": [0.5]})


def test_tables_of_another_layout_are_refused_with_the_way_out():
    domain = Domain({"a": 2, "b": 3, "c": 3})
    half = {"a": [0.5, 0.5], "b": [0.5, 0.25, 0.25]}
    turned = np.full((3, 6), 1 / 3)
    for wrong, message in (
        (turned, r"needs shape \(2, 3, 3\).*as in pgmpy, pass table.T.reshape\(\(2, 3, 3\)\)"),
        (turned.reshape(-1), r"in that order, pass table.reshape\(\(2, 3, 3\)\)"),
        (np.full((2, 9), 1 / 3), r"pass table.reshape"),
    ):
        with pytest.raises(ValueError, match=message):
            BayesianNetwork(domain, {"c": ["a", "b"]}, {**half, "c": wrong})
    with pytest.raises(ValueError, match="sums over the first axis do: the values of 'c' are the last axis here"):
        BayesianNetwork(domain, {"c": ["b"]}, {**half, "c": np.array([[0.5, 0.25, 0.25], [0.5, 0.5, 0], [0, 0, 1]]).T})


def test_predictions_of_nothing_or_from_nothing_are_refused():
    net = network(["a", "b", "c"])
    with pytest.raises(ValueError, match=r"every attribute has a column: name the targets, or fill .* with `impute`"):
        net.predict({"i": ["a", None], "t": ["b", "a"]})
    with pytest.raises(ValueError, match=r"every column is a target, so nothing is known; `impute` fills"):
        net.predict({"i": ["a", None], "t": ["b", "a"]}, ["i", "t"])


@pytest.mark.parametrize("dtype", ["object", "string", "category"])
def test_a_value_that_no_label_has_is_told_by_its_first_row(dtype):
    pd = pytest.importorskip("pandas")
    net = network(["a", "b", "c"])
    frame = pd.DataFrame({"i": pd.Series(["b", None, "a", "z", "b", "y", "z"], dtype=dtype)})
    with pytest.raises(ValueError, match=r"column 'i', row 3 \(the first is 0\): needs one of 'a', 'b', 'c'"):
        net.predict(frame)
    wanted = net.predict({"i": ["b", None, "a"]})["t"]
    assert net.predict(frame.head(3))["t"].tolist() == wanted.tolist()
