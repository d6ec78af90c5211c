"""Dynamic networks learned from sequences, beside counts made record by record, and all structures."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pypgm import Dataset, Domain, Likelihood
from pypgm.bayes import (
    BayesianNetwork,
    DynamicNetwork,
    DynamicStructure,
    learn,
    learn_dynamic,
    learn_dynamic_structure,
)
from pypgm.bayes.family_scores import FamilyScores
from pypgm.errors import ModelTooLargeError

DOMAIN = Domain({"a": ["x", "y"], "b": 3})
SHAPE = DynamicStructure([("a", "b")], {"a": ("b[t-1]", "a[t-1]"), "b": ("a", "b[t-1]")})


def sequences(seed, gaps=0.2):
    """Return records in random order, as a frame: times with gaps, of some sequences, and codes by row."""
    rng = np.random.default_rng(seed)
    rows = [(f"s{s}", t) for s in range(4) for t in range(-3, 12) if rng.random() >= gaps]
    rows = [rows[i] for i in rng.permutation(len(rows))]
    codes = {a: rng.integers(0, DOMAIN.size(a), len(rows)) for a in DOMAIN}
    frame = {"who": [s for s, _ in rows], "day": [t for _, t in rows], "a": ["xy"[c] for c in codes["a"]]}
    return frame | {"b": codes["b"].tolist()}, rows, codes


def counted(rows, codes, weights):
    """Return the tables of counts that the definition says, row by row."""
    first = {"a": np.zeros(2), "b": np.zeros((2, 3))}
    later = {"a": np.zeros((3, 2, 2)), "b": np.zeros((2, 3, 3))}
    for i, (s, t) in enumerate(rows):
        a, b = codes["a"][i], codes["b"][i]
        if t == min(other for who, other in rows if who == s):
            first["a"][a] += weights[i]
            first["b"][a, b] += weights[i]
        if (s, t - 1) in rows:
            j = rows.index((s, t - 1))
            later["a"][codes["b"][j], codes["a"][j], a] += weights[i]
            later["b"][a, codes["b"][j], b] += weights[i]
    return first, later


@pytest.mark.parametrize("prior", ["k2", "bdeu"])
@pytest.mark.parametrize("seed", range(4))
def test_tables_are_counts_of_first_records_and_of_transitions(seed, prior):
    frame, rows, codes = sequences(seed)
    weights = np.random.default_rng(seed).random(len(rows)) if seed % 2 else np.ones(len(rows))
    given = {"weights": weights} if seed % 2 else {}
    options = {"time": "day", "sequence": "who", "domain": DOMAIN, "prior": prior, "strength": 0.5, **given}
    net = learn_dynamic(frame, SHAPE, **options)
    assert net.parents == SHAPE.later
    for found, counts in zip((net.first.tables, net.tables), counted(rows, codes, weights), strict=True):
        for a, table in counts.items():
            smooth = table + 0.5 / (table.size if prior == "bdeu" else 1)
            assert found[a].values == pytest.approx(smooth / smooth.sum(axis=-1, keepdims=True))
    again = learn_dynamic(frame, net, **{**options, "domain": None})
    assert all((again.tables[a].values == net.tables[a].values).all() for a in DOMAIN)


def test_records_of_all_kinds_mean_the_same():
    pandas = pytest.importorskip("pandas")
    frame, rows, _ = sequences(0, gaps=0)
    wide = Domain({"who": [f"s{s}" for s in range(4)], "day": [*range(-3, 12)], **{a: DOMAIN[a] for a in DOMAIN}})
    data = Dataset.from_frame(frame, wide)
    order = sorted(range(len(rows)), key=rows.__getitem__)
    in_order = {a: [frame[a][i] for i in order] for a in ("who", "a", "b")}
    one = learn_dynamic(frame, SHAPE, time="day", sequence="who", domain=DOMAIN, prior="k2")
    options = {"sequence": "who", "prior": "k2"}
    others = [
        learn_dynamic(pandas.DataFrame(frame), SHAPE, time="day", domain=DOMAIN, **options),
        learn_dynamic({**frame, "day": [float(t) for t in frame["day"]]}, SHAPE, time="day", domain=DOMAIN, **options),
        learn_dynamic(data, SHAPE, time="day", **options),
        learn_dynamic(in_order, SHAPE, domain=DOMAIN, **options),
    ]
    for other in others:
        assert other.first == one.first
        assert all((other.tables[a].values == one.tables[a].values).all() for a in DOMAIN)
    labels = learn_dynamic(frame, SHAPE, time="day", sequence="who").domain.labels
    assert labels == {"a": ("x", "y"), "b": (0, 1, 2)}


@pytest.mark.parametrize("score", ["bdeu", "bic", "k2"])
@pytest.mark.parametrize("seed", range(3))
def test_the_structure_is_the_best_of_all(seed, score):
    frame, rows, codes = sequences(seed)
    codes["b"] = (codes["b"] + codes["a"]) % 3
    frame["b"] = codes["b"].tolist()
    options = {"time": "day", "sequence": "who", "domain": DOMAIN, "score": score}
    pairs = [(rows.index((s, t - 1)), i) for i, (s, t) in enumerate(rows) if (s, t - 1) in rows]
    starts = [i for i, (s, t) in enumerate(rows) if t == min(other for who, other in rows if who == s)]
    both = Domain({"a[t-1]": 2, "b[t-1]": 3, "a": 2, "b": 3})
    columns = {f"{a}[t-1]": codes[a][[j for j, _ in pairs]] for a in "ab"}
    later = FamilyScores(both, columns | {a: codes[a][[i for _, i in pairs]] for a in "ab"}, score, 1.0)
    first = FamilyScores(DOMAIN, {a: codes[a][starts] for a in "ab"}, score, 1.0)

    def best(scores, a, b, earlier):
        sets = [sum(chosen) for k in range(len(earlier) + 1) for chosen in itertools.combinations(earlier, k)]
        alone = {child: scores.of(child, sets).max() for child in (a, b)}
        return max(
            alone[b] + max(scores.of(a, [s | 1 << b for s in sets]).max(), alone[a]),
            alone[a] + scores.of(b, [s | 1 << a for s in sets]).max(),
        )

    wanted = best(first, 0, 1, []) + best(later, 2, 3, [1, 2])
    assert learn_dynamic_structure(frame, "exact", **options).score == pytest.approx(wanted)
    found = learn_dynamic_structure(frame, **options)
    assert found.score <= wanted + 1e-9
    assert set(found.later) == {"a", "b"}
    own = sum(
        float(later.of(both.index(a), [sum(1 << both.index(p) for p in found.later[a])])[0])
        + float(first.of(DOMAIN.index(a), [sum(1 << DOMAIN.index(p) for p in found.first[a])])[0])
        for a in "ab"
    )
    assert found.score == pytest.approx(own)
    ruled = learn_dynamic_structure(
        frame, required=[("a", "b"), ("a[t-1]", "b")], forbidden=[("b[t-1]", "a")], **options
    )
    assert ruled.first["b"] == ("a",)
    assert {"a", "a[t-1]"} <= set(ruled.later["b"])
    assert "b[t-1]" not in ruled.later["a"]


def test_a_network_is_found_again_in_its_own_records():
    rng = np.random.default_rng(0)
    first = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": [0.3, 0.7], "b": [[0.9, 0.1], [0.2, 0.8]]})
    tables = {"a": [[0.85, 0.15], [0.3, 0.7]], "b": [[0.75, 0.25], [0.1, 0.9]]}
    net = DynamicNetwork(first, {"a": ["a[t-1]"], "b": ["a"]}, tables)
    drawn = net.unroll(4).sample(2000, rng)
    frame = {a: np.concatenate([drawn[f"{a}[{t}]"] for t in range(4)]) for a in "ab"}
    frame |= {"day": np.repeat(range(4), 2000), "who": np.tile(range(2000), 4)}
    found = learn_dynamic_structure(frame, time="day", sequence="who", forbidden=[("b", "a")])
    assert found.later == {"a": ("a[t-1]",), "b": ("a",)}
    learned = learn_dynamic(frame, found, time="day", sequence="who")
    for a in "ab":
        assert learned.tables[a].values == pytest.approx(net.tables[a].values, abs=0.05)
        assert learned.first.tables[a].values == pytest.approx(net.first.tables[a].values, abs=0.08)
    in_time = {a: drawn[f"{a}[0]"] for a in "ab"}
    assert learned.first == learn(Dataset(in_time, learned.domain), found.first)


@pytest.mark.parametrize("seed", range(3))
def test_filtering_and_smoothing_sum_over_all_paths(seed):
    rng = np.random.default_rng(seed)
    first = BayesianNetwork({"a": 2, "b": 2}, [("a", "b")], {"a": rng.dirichlet([1, 1]), "b": rng.dirichlet([1, 1], 2)})
    tables = {"a": rng.dirichlet([1, 1], (2, 2)), "b": rng.dirichlet([1, 1], (2, 2))}
    net = DynamicNetwork(first, {"a": ["a[t-1]", "b[t-1]"], "b": ["a", "b[t-1]"]}, tables)
    seen = [{"b": 1}, None, {"a": Likelihood([0.3, 0.6])}, {"b": 0}]
    weight = {(t, k): np.ones(2) for t in range(4) for k in "ab"}
    weight |= {(0, "b"): [0, 1], (2, "a"): [0.3, 0.6], (3, "b"): [1, 0]}

    def probabilities(until, at, k):
        found = np.zeros(2)
        for path in itertools.product(range(2), repeat=8):
            a, b = path[:4], path[4:]
            p = first.tables["a"].values[a[0]] * first.tables["b"].values[a[0], b[0]]
            for t in range(1, 4):
                p *= tables["a"][a[t - 1], b[t - 1], a[t]] * tables["b"][a[t], b[t - 1], b[t]]
            for t in range(until + 1):
                p *= weight[t, "a"][a[t]] * weight[t, "b"][b[t]]
            found[(a if k == "a" else b)[at]] += p
        return found / found.sum()

    filtered, smoothed = net.filter(seen), net.smooth(seen)
    for t, k in itertools.product(range(4), "ab"):
        assert filtered[t][k].values == pytest.approx(probabilities(t, t, k))
        assert smoothed[t][k].values == pytest.approx(probabilities(3, t, k))


FRAME = {"day": [0, 1, 2], "who": [1, 1, 1], "a": [0, 1, 1]}
ALONE = DynamicStructure({}, {"a": ["a[t-1]"]})


@pytest.mark.parametrize(
    ("frame", "options", "message"),
    [
        ({**FRAME, "a": [0, None, 1]}, {}, "'?a'? miss"),
        ({**FRAME, "day": [0, 0, 1]}, {}, "row 1 .* has the time of another"),
        ({**FRAME, "day": [0, 2, 4]}, {}, "at the time before; none has"),
        ({**FRAME, "who": [1, 2, 3]}, {}, "at the time before; none has"),
        ({**FRAME, "day": [0, 0.5, 1]}, {}, "'day' needs whole numbers.*row 1"),
        ({**FRAME, "day": [0, 1, "monday"]}, {}, "'day' needs whole numbers.*row 2"),
        ({**FRAME, "day": [0, 1, 10**30]}, {}, "'day' needs whole numbers.*row 2"),
        ({**FRAME, "who": [1, None, 1]}, {}, "'who' needs a value in every record; row 1"),
        ({**FRAME, "who": [[1], [1], [1]]}, {}, "'who' needs single values"),
        ({**FRAME, "who": [1, 1]}, {}, "'who' has 2, others 3"),
        ({"day": FRAME["day"], "who": FRAME["who"]}, {}, "at least one attribute"),
        ({**FRAME, "a[t-1]": [0, 1, 1]}, {}, r"'a\[t-1\]' is how an attribute of the slice before is named"),
        (FRAME, {"time": "month"}, "no column 'month'"),
        (FRAME, {"sequence": "day"}, "both the column 'day'"),
        (FRAME, {"weights": [1, 1]}, "weights need shape"),
        (FRAME, {"domain": Domain({"a": 2, "b": 2})}, "'?b'? miss"),
    ],
)
def test_unsuitable_sequences_are_refused(frame, options, message):
    given = {"time": "day", "sequence": "who", **options}
    with pytest.raises(ValueError, match=message) as said:
        learn_dynamic(frame, ALONE, **given)
    assert "monday" not in str(said.value)
    given.pop("weights", None)
    if "weights" not in options:
        with pytest.raises(ValueError, match=message):
            learn_dynamic_structure(frame, **given)


def test_other_objects_and_endless_networks_are_refused():
    with pytest.raises(TypeError, match="DynamicStructure or a DynamicNetwork, got"):
        learn_dynamic(FRAME, [("a[t-1]", "a")], time="day", sequence="who")
    with pytest.raises(ValueError, match="of the slice before"):
        learn_dynamic(FRAME, DynamicStructure({}, [("a", "a[t-1]")]), time="day", sequence="who")
    net = learn_dynamic(FRAME, ALONE, time="day", sequence="who")
    with pytest.raises(ModelTooLargeError, match=r"slices of 1 attributes are too many to unroll.*filter, smooth"):
        net.unroll(10**9)
