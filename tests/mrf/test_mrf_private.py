"""Private Frank-Wolfe and the fields learned by it."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import Budget, CliqueVector, Dataset, Domain, Ledger, Privacy, PrivateTable, _core, mrf
from pypgm.errors import BudgetError
from pypgm.mrf import private_learning
from pypgm.mrf.encoding import centred_field
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.mrf.private_learning import default_steps
from pypgm.mrf.regression_plans import ising_plan, pairwise_plan, t_wise_plan

HUGE = Budget(rho=10**12)  # noise far below the differences between scores
BINS = _core.LOGISTIC_BINS


def table_of(records, domain=None):
    records = np.asarray(records)
    domain = domain or Domain([f"x{i}" for i in range(records.shape[1])], [2] * records.shape[1])
    return Dataset({a: records[:, i] for i, a in enumerate(domain)}, domain)


def spins(n, seed=0, p=4):
    """Records of a chain of spins with couplings 0.5 and a field."""
    domain = Domain([f"x{i}" for i in range(p)], [2] * p)
    edges = [(f"x{i}", f"x{i + 1}") for i in range(p - 1)]
    values = np.concatenate([np.tile([0.5, -0.5, -0.5, 0.5], p - 1), [-0.2, 0.2]])
    return mrf.sample(CliqueVector(domain, [*edges, ("x0",)], values), n, rng=seed).data


def solved(data, plan, steps, budget=HUGE, privacy=None):
    table = PrivateTable(data, privacy or Privacy(), Ledger(budget), unsafe_seed=1)
    asked = Regressions(plan.features, plan.nodes, plan.radius, steps)
    return FrankWolfe(table, asked).solve([budget.limit / len(plan.nodes)] * len(plan.nodes))


def features_of(data, features):
    codes = np.stack([data.columns[a] for a in data.domain], axis=1)
    columns = []
    for feature in features:
        if feature.code >= 0:
            columns.append((codes[:, feature.attributes[0]] == feature.code).astype(float))
        else:
            columns.append(np.prod(np.where(codes[:, list(feature.attributes)] == 0, -1.0, 1.0), axis=1))
    return np.stack(columns, axis=1)


def loss(x, y, w):
    return np.logaddexp(0, -y * (x @ w)).mean()


def test_without_noise_it_is_plain_frank_wolfe_and_within_its_bound():
    data = spins(4000)
    plan = ising_plan(data.domain, 0.75)
    x = features_of(data, plan.features)
    for node, weights in zip(plan.nodes, solved(data, plan, 200), strict=True):
        y = 2.0 * data.columns[f"x{node.attribute}"] - 1
        own = np.zeros(x.shape[1])
        for t in range(1, 201):  # in floating point, by the definition
            gradient = -(x * (y / (1 + np.exp(y * (x @ own))))[:, None]).mean(axis=0)
            gradient[node.attribute] = 0
            best = np.argmax(np.abs(gradient))
            vertex = np.zeros(x.shape[1])
            vertex[best] = -plan.radius * np.sign(gradient[best])
            own += 2 / (t + 2) * (vertex - own)
        assert abs(loss(x, y, weights[0]) - loss(x, y, own)) < 1e-4
        from scipy import optimize

        def split(v, x=x, y=y, skip=node.attribute):
            w = v[: x.shape[1]] - v[x.shape[1] :]
            w[skip] = 0
            return loss(x, y, w)

        bound = {"type": "ineq", "fun": lambda v: plan.radius - v.sum()}
        start = np.full(2 * x.shape[1], plan.radius / (3 * x.shape[1]))
        least = optimize.minimize(split, start, bounds=[(0, None)] * len(start), constraints=[bound]).fun
        assert loss(x, y, weights[0]) - least <= 2 * plan.radius**2 / 202
        assert np.abs(weights).sum() < plan.radius


def test_a_vertex_comes_with_the_probability_of_the_exponential_mechanism():
    data, rho, runs = table_of([[0, 1], [1, 1], [1, 1], [0, 0], [1, 1]]), Fraction(1, 2), 2000
    features, half = [Feature((0,)), Feature(())], round((2**15 - 1) / 2)
    counts = np.zeros((2, 2))
    for seed in range(runs):
        table = PrivateTable(data, Privacy(), Ledger(Budget(rho=rho)), unsafe_seed=seed)
        ((weights,),) = FrankWolfe(table, Regressions(features, [Node(1, [(1, 0)], [0, 1])], 1.0, 1)).solve([rho])
        counts[np.flatnonzero(weights)[0], int(weights.sum() > 0)] += 1
    responses = half * np.array([1, 1, 1, -1, 1])
    sums = np.array([responses @ [-1, 1, 1, -1, 1], responses.sum()])
    top = round((2**15 - 1) / (1 + math.exp(-1)))
    scores = np.stack([-sums, sums], axis=1) * (2.0 / (2 * top))  # epsilon = sqrt(8 rho) = 2
    expected = runs * np.exp(scores) / np.exp(scores).sum()
    assert ((counts - expected) ** 2 / expected).sum() < 21.1  # of 3 degrees of freedom, 1e-4


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_no_neighbour_changes_scores_by_more_than_their_range(data):
    """Along the same path, with any records: the sum over a node's regressions of squared ranges is that charged."""
    sizes = (3, 2, 4)
    domain = Domain(["a", "b", "c"], list(sizes))
    record = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    base = data.draw(st.lists(record, min_size=2, max_size=6))
    k, neighbours = data.draw(st.integers(1, 2)), data.draw(st.sampled_from(["add-remove", "replace"]))
    new = data.draw(st.lists(record, min_size=k, max_size=k))
    other = [*base, *new] if neighbours == "add-remove" else [*base[:-k], *new]
    plan = pairwise_plan(domain, data.draw(st.sampled_from([0.01, 0.2, 2.0])))
    run = FrankWolfe(
        PrivateTable(table_of(base, domain), Privacy(neighbours, k), Ledger(HUGE)),
        Regressions(plan.features, plan.nodes, plan.radius, 3),
    )
    labels = [(node.attribute, *pair) for node in plan.nodes for pair in node.pairs]
    features = [(list(f.attributes), f.code) for f in plan.features]
    both = [
        _core.LogisticSums(np.asarray(rows, dtype=np.uint8).T.copy(), features, labels, run._responses)
        for rows in (base, other)
    ]
    chosen, amounts = np.zeros(len(labels), dtype=np.uint32), np.zeros(len(labels), dtype=np.int32)
    for t in range(1, 4):
        scale = 0 if t == 1 else (2 * BINS << 32) // (t * (t + 1))
        one, two = (sums.step(chosen, amounts, scale, 1) for sums in both)
        ranges, at = 2 * np.abs(two - one).max(axis=1), 0  # both signs of every feature are candidates
        for node in plan.nodes:
            own = ranges[at : at + len(node.pairs)]
            assert own.max() <= run.score_range
            assert own.sum() <= node.composed * run.score_range
            assert (own.astype(object) ** 2).sum() <= node.composed * run.score_range**2
            at += len(node.pairs)
        chosen = np.array([data.draw(st.integers(0, len(features) - 1)) for _ in labels], dtype=np.uint32)
        amounts = np.array([data.draw(st.sampled_from([-1, 1])) * (t + 1) for _ in labels], dtype=np.int32)


def test_the_range_is_reached():
    domain = Domain({"a": 3, "b": 2})
    run = FrankWolfe(
        PrivateTable(table_of([[0, 0]], domain), Privacy(), Ledger(HUGE)),
        Regressions([Feature(())], [Node(0, [(0, 1), (0, 2), (1, 2)], [0])], 1e-9, 1),
    )
    sums = _core.LogisticSums(
        np.zeros((2, 1), np.uint8), [([], -1)], [(0, 0, 1), (0, 0, 2), (0, 1, 2)], run._responses
    ).step(np.zeros(3, np.uint32), np.zeros(3, np.int32), 0, 1)
    assert (2 * np.abs(sums)).ravel().tolist() == [run.score_range, run.score_range, 0]


def population(domain, seed):
    """Return weights and fields of a random pairwise field, and the probability of each record."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum([0, *domain.shape])
    raw = np.triu(rng.normal(size=(starts[-1],) * 2) * 0.3, 1)
    field = centred_field(domain, raw + raw.T, rng.normal(size=starts[-1]) * 0.3)
    records = np.array(list(product(*map(range, domain.shape))))
    cells = records + starts[:-1]
    logs = field.fields[cells].sum(axis=1)
    logs += sum(field.weights[cells[:, i], cells[:, j]] for i, j in combinations(range(len(domain)), 2))
    share = np.exp(logs - logs.max())
    return field, records, share / share.sum()


def fitted(x, y, share):
    """Return a minimiser of the weighted logistic loss by Newton's method."""
    w = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(y * (x @ w)))
        hessian = (x * (share * p * (1 - p))[:, None]).T @ x
        w += np.linalg.lstsq(hessian, x.T @ (share * y * p), rcond=1e-12)[0]
    return w


@pytest.mark.parametrize("shape", [[3, 3, 3, 3], [2, 3, 4], [2, 2, 2]])
def test_weights_are_read_exactly_from_the_population(shape):
    domain = Domain([f"x{i}" for i in range(len(shape))], shape)
    field, records, share = population(domain, 3)
    plan = pairwise_plan(domain, 1.0)
    x = features_of(table_of(records, domain), plan.features)
    weights = []
    for node in plan.nodes:
        rows = np.zeros((len(node.pairs), x.shape[1]))
        for row, (u, v) in zip(rows, node.pairs, strict=True):
            codes = records[:, node.attribute]
            kept = (codes == u) | (codes == v)
            own = fitted(x[np.ix_(kept, list(node.candidates))], np.where(codes[kept] == u, 1.0, -1.0), share[kept])
            row[list(node.candidates)] = own
        weights.append(rows)
    found = mrf.MarkovRandomField(plan.read(weights), 1.0)
    np.testing.assert_allclose(found.weights, field.weights, atol=1e-6)
    np.testing.assert_allclose(found.fields, field.fields, atol=1e-6)


def test_coefficients_of_higher_order_are_read_exactly_from_the_population():
    domain = Domain({"a": 2, "b": 2, "c": 2, "d": 2})
    records = np.array(list(product(range(2), repeat=4)))
    rng = np.random.default_rng(2)
    terms = {c: rng.normal() * 0.4 for size in (1, 2, 3) for c in combinations(range(4), size)}
    signs = 2.0 * records - 1
    share = np.exp(sum(h * signs[:, list(c)].prod(axis=1) for c, h in terms.items()))
    plan = t_wise_plan(domain, 1.0, 3)
    x, weights = features_of(table_of(records, domain), plan.features), []
    for node in plan.nodes:
        row = np.zeros((1, x.shape[1]))
        row[0, list(node.candidates)] = fitted(
            x[:, list(node.candidates)], signs[:, node.attribute], share / share.sum()
        )
        weights.append(row)
    found = plan.read(weights)
    for clique, scope in zip(found.cliques, found.scopes, strict=True):
        np.testing.assert_allclose(found.table(found.cliques.index(clique))[-1], terms[scope], atol=1e-6)
    assert len(found.cliques) == len(terms)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("given", [{"epsilon": 3}, {"epsilon": 1, "delta": 1e-9}])
def test_an_ising_model_is_learned_within_the_budget(neighbours, given):
    data = spins(100_000)
    release = mrf.learn_ising(data, radius=1.0, **given, neighbours=neighbours, steps=40, unsafe_seed=1)
    assert float(release.ledger.spent() / release.ledger.budget.limit) == pytest.approx(1, abs=1e-8)
    assert release.ledger.spent() <= release.ledger.budget.limit
    strengths = release.model.strengths()
    assert np.abs(np.diag(strengths, 1) - 0.5).max() < 0.15
    assert np.triu(strengths, 2).max() < 0.2
    lines = [line for line in release.ledger.lines if line.what == "regress"]
    p, part = len(data.domain), Fraction(1) if neighbours == "replace" else Fraction(99, 100)
    for line in lines:
        assert line.parameters["draws"] == line.parameters["composed"] == 40
        assert float(line.cost) == pytest.approx(float(release.ledger.budget.limit * part / p))
    assert [m.clique for m in release.measurements] == ([] if neighbours == "replace" else [()])
    assert (release.model.total == 100_000) == (neighbours == "replace")


def test_the_cost_of_a_step_is_that_of_the_exponential_mechanism():
    """b = R sqrt(T (k - 1) / (8 rho')) with R = 2 L1 or 4 L1: of Gumbel noise in records."""
    domain = Domain({"a": 4, "b": 2, "c": 3})
    for neighbours, factor in (("add-remove", 2), ("replace", 4)):
        data = table_of([[0, 0, 0], [3, 1, 2]], domain)
        release = mrf.learn_pairwise(data, radius=0.5, budget=Budget(rho=3), neighbours=neighbours, steps=7)
        lines = [line for line in release.ledger.lines if line.what == "regress"]
        rest = 3 - sum(line.cost for line in release.ledger.lines if line.what == "measure")
        for line, size in zip(lines, (4, 2, 3), strict=True):
            assert line.parameters["draws"] == 7 * math.comb(size, 2)
            assert line.parameters["composed"] == 7 * (size - 1)
            bound = 1 / (1 + math.exp(-2 * 4 * 0.5))  # L1 = sigma(2 k lambda)
            scale = line.parameters["score_range"] / line.parameters["epsilon"] / (2**15 - 1)
            expected = factor * bound * math.sqrt(7 * (size - 1) / (8 * float(rest) / 3))
            assert float(scale) == pytest.approx(expected, rel=1e-4)


def test_attributes_with_two_values_are_an_ising_model():
    data = spins(5000)
    ising, pairwise = (f(data, 2, 1e-9, radius=1.0, unsafe_seed=4) for f in (mrf.learn_ising, mrf.learn_pairwise))
    np.testing.assert_array_equal(ising.model.weights, pairwise.model.weights)
    w = ising.model.weights[:2, 2:4]
    np.testing.assert_allclose(w, w[1, 1] * np.array([[1, -1], [-1, 1]]), atol=1e-12)
    t_wise = mrf.learn_t_wise(data, radius=1.0, order=2, budget=Budget(rho=10**9), steps=200, unsafe_seed=1)
    close = mrf.learn_ising(data, radius=1.0, budget=Budget(rho=10**9), steps=200, unsafe_seed=1)
    np.testing.assert_allclose(t_wise.model.weights, close.model.weights, atol=0.02)


def test_a_field_with_labels_is_learned_and_kept(tmp_path):
    domain = Domain({"colour": ["red", "green", "blue"], "size": ["S", "L"], "same": 1})
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 3, 50_000)
    size = np.where(rng.random(50_000) < 0.8, colour > 0, rng.random(50_000) < 0.5).astype(int)
    data = Dataset({"colour": colour, "size": size, "same": np.zeros(50_000, int)}, domain)
    release = mrf.learn_pairwise(data, radius=2.0, epsilon=4, delta=1e-9, steps=60, unsafe_seed=1)
    answer = release.model.query("size", {"colour": "red"}).values
    assert answer[0] > 0.7
    release.save(tmp_path / "field.pgm")
    for again in (pypgm.load(tmp_path / "field.pgm"), pickle.loads(pickle.dumps(release))):
        np.testing.assert_array_equal(again.model.to_potentials().values, release.model.to_potentials().values)
        assert again.model.total == release.model.total
        assert again.ledger.lines == release.ledger.lines
        assert again.model.domain.labels == domain.labels
    drawn = release.synthetic_data(rng=0)
    assert drawn.n_records == round(release.model.total)
    assert release.project("colour").values.sum() == pytest.approx(release.model.total)
    assert "regress" in release.report()


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_few_records_and_constant_columns_are_valid(rows, neighbours):
    for sizes in ([2], [2, 2], [3, 2], [1, 3], [1]):
        domain = Domain([f"x{i}" for i in range(len(sizes))], sizes)
        data = table_of(np.zeros((rows, len(sizes)), dtype=int), domain)
        model = mrf.learn_pairwise(data, radius=1.0, epsilon=1, delta=1e-6, neighbours=neighbours, steps=3).model
        assert np.isfinite(model.to_potentials().values).all()
        assert model.synthetic_data(4, rng=0).n_records == 4
        assert model.synthetic_data(4, rng=0, evidence={"x0": 0}).project("x0").values[0] == 4
        if neighbours == "replace":
            assert model.total == rows
            assert model.synthetic_data(rng=0).n_records == rows


def test_one_attribute_learns_its_field():
    release = mrf.learn_ising(
        table_of([[1]] * 3000 + [[0]] * 1000), radius=1.0, budget=Budget(rho=1000), steps=500, unsafe_seed=1
    )
    assert release.model.query("x0").values[1] == pytest.approx(0.75, abs=0.01)


def test_threads_change_nothing():
    data = spins(20_000, p=40)
    one, three = (
        mrf.learn_ising(data, radius=1.0, epsilon=1, delta=1e-9, steps=5, unsafe_seed=2, n_threads=n) for n in (1, 3)
    )
    np.testing.assert_array_equal(one.model.to_potentials().values, three.model.to_potentials().values)
    assert one.not_private


def test_more_regressions_than_fit_beside_each_other_are_learned_in_turn():
    domain = Domain({"a": 5, "b": 2})
    rng = np.random.default_rng(1)
    a = rng.integers(0, 5, 20_000)
    data = Dataset({"a": a, "b": (a % 2 == 1).astype(int)}, domain)
    release = mrf.learn_pairwise(data, radius=2.0, budget=Budget(rho=10**6), steps=100, unsafe_seed=1)
    joint = release.model.query(["a", "b"]).values
    assert joint[[0, 1, 2, 3, 4], [0, 1, 0, 1, 0]].sum() > 0.95


def test_an_open_table_stays_open():
    data = spins(1000)
    table = PrivateTable(data, Privacy("replace"), Ledger(Budget(rho=1)))
    release = mrf.learn_ising(table, radius=1.0, steps=3)
    assert not table.closed
    assert release.ledger.remaining() < Fraction(1, 10**6)
    with pytest.raises(TypeError, match="has its budget"):
        mrf.learn_ising(table, radius=1.0, epsilon=1)


def test_steps_follow_the_rule():
    data = spins(100)
    plan = ising_plan(data.domain, 1.0)
    part = Fraction(1, 100)
    reach = 2.0 * 10**5 * 0.1 / math.log(2 * 5)
    assert default_steps(plan, [part] * 4, 1e5, pure=False) == math.ceil(reach ** (2 / 3))
    assert default_steps(plan, [part] * 4, 1e5, pure=True) == math.ceil((reach / 10) ** 0.5)
    assert default_steps(plan, [part] * 4, 0.0, pure=False) == 10
    assert default_steps(plan, [part] * 4, 1e12, pure=False) == 2000
    release = mrf.learn_ising(data, radius=1.0, budget=Budget(rho=1), neighbours="replace")
    n_steps = default_steps(plan, [Fraction(1, 4)] * 4, 100.0, pure=False)
    assert release.ledger.lines[0].parameters["draws"] == n_steps


def test_standard_errors_are_those_of_learning_again():
    """The bootstrap's spread is about that of fresh records and noise."""
    seeds = iter(range(10**6))

    def learn(data):
        return mrf.learn_ising(data, radius=1.0, budget=Budget(rho="1/10"), steps=20, unsafe_seed=next(seeds))

    fresh = [learn(spins(5000, seed)).model.weights[1, 3] for seed in range(40)]
    weights, fields = learn(spins(5000)).weight_errors(learn, draws=40, rng=0)
    assert weights.shape == (8, 8)
    assert fields.shape == (8,)
    assert 0.5 < weights[1, 3] / np.std(fresh, ddof=1) < 2
    with pytest.raises(ValueError, match="draws"):
        learn(spins(10)).weight_errors(learn, draws=1)
    with pytest.raises(TypeError, match="a function of a dataset, got 'a'"):
        learn(spins(10)).weight_errors("a")


SMALL = table_of([[0, 1], [1, 0], [1, 1]])


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda t: mrf.learn_ising(t, radius=0.0), ValueError, "radius must be positive"),
        (lambda t: mrf.learn_ising(t, radius=1.0, steps=0), ValueError, "steps must be"),
        (lambda t: mrf.learn_ising(t, radius=1.0, steps=2**15 + 1), ValueError, "takes 1 to 32768 steps"),
        (lambda t: mrf.learn_t_wise(t, radius=1.0, order=0), ValueError, "order must be"),
        (lambda t: mrf.learn_t_wise(t, radius=1.0, order=2.5), TypeError, "order"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_spent(call, error, text):
    table = PrivateTable(SMALL, Privacy(), Ledger(Budget(rho=1)))
    with pytest.raises(error, match=text):
        call(table)
    assert table.ledger.spent() == 0


class Tables:
    """Counts without records."""

    n_records, weights, domain = 3, None, SMALL.domain

    def count(self, cliques, n_threads=0):
        raise AssertionError


@pytest.mark.parametrize(
    ("data", "error", "text"),
    [
        (table_of([[0, 2]], Domain({"a": 2, "b": 3})), ValueError, "an Ising model needs attributes of two values"),
        (Dataset({}, Domain({})), ValueError, "at least one"),
        (Dataset(SMALL.columns, SMALL.domain, [1.0, 2.0, 1.0]), ValueError, "unweighted"),
        (Tables(), TypeError, "records of a Dataset"),
    ],
)
def test_records_that_do_not_suit_are_refused(data, error, text):
    with pytest.raises(error, match=text):
        mrf.learn_ising(data, radius=1.0, epsilon=1, delta=1e-6)


def test_larger_alphabets_and_orders_than_there_is_room_for_are_refused():
    with pytest.raises(ValueError, match="up to 256 values"):
        mrf.learn_pairwise(table_of([[0, 0]], Domain({"a": 257, "b": 2})), radius=1.0, epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="products of attributes"):
        mrf.learn_t_wise(table_of(np.zeros((1, 100), int)), radius=1.0, order=4, epsilon=1, delta=1e-6)


def test_a_closed_table_gives_nothing():
    table = PrivateTable(SMALL, Privacy(), Ledger(Budget(rho=1)))
    run = FrankWolfe(table, Regressions([Feature(())], [Node(0, [(1, 0)], [0])], 1.0, 2))
    with pytest.raises(BudgetError):
        run.solve([Fraction(2)])
    assert table.ledger.spent() == 0
    table.close()
    with pytest.raises(ValueError, match="closed"):
        run.solve([Fraction(1)])


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"codes": np.zeros(3, np.uint8)}, "one row an attribute"),
        ({"features": [([2], -1)]}, "attributes must be below 2"),
        ({"features": [([0, 1], 1)]}, "of one attribute"),
        ({"labels": [(2, 0, 1)]}, "attributes must be below 2"),
        ({"table": np.zeros(5, np.int16)}, "table must hold"),
        ({"table": np.full(2 * BINS + 1, -1, np.int16)}, "at least 0"),
    ],
)
def test_the_core_checks_what_it_is_made_of(change, text):
    given = {
        "codes": np.zeros((2, 3), np.uint8),
        "features": [([0], -1)],
        "labels": [(1, 1, 0)],
        "table": np.zeros(2 * BINS + 1, np.int16),
    }
    with pytest.raises(ValueError, match=text):
        _core.LogisticSums(**{**given, **change})


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((np.zeros(2, np.uint32), np.zeros(1, np.int32), 0, 1), "chosen must hold"),
        ((np.zeros(1, np.uint32), np.zeros(2, np.int32), 0, 1), "amounts must hold"),
        ((np.ones(1, np.uint32), np.zeros(1, np.int32), 0, 1), "below 1"),
        ((np.zeros(1, np.uint32), np.ones(1, np.int32), (BINS + 1) << 32, 1), "within the table"),
        ((np.zeros(1, np.uint32), np.ones(1, np.int32), -1, 1), "within the table"),
        ((np.zeros(1, np.uint32), np.ones(1, np.int32), 1, -1), "n_threads"),
    ],
)
def test_the_core_checks_each_step(arguments, text):
    sums = _core.LogisticSums(np.zeros((2, 3), np.uint8), [([0], -1)], [(1, 1, 0)], np.zeros(2 * BINS + 1, np.int16))
    with pytest.raises(ValueError, match=text):
        sums.step(*arguments)
    assert sums.step(np.zeros(1, np.uint32), np.ones(1, np.int32), BINS << 32, 1).tolist() == [[0]]


@pytest.mark.parametrize("learner", ["learn_ising", "learn_pairwise"])
@pytest.mark.parametrize("budget", [Budget(rho="1/1000"), Budget(epsilon="1/10")])
def test_the_number_of_steps_is_of_the_released_total(learner, budget, monkeypatch):
    asked = []
    kept = private_learning.default_steps
    monkeypatch.setattr(private_learning, "default_steps", lambda *a, **k: asked.append(a[2]) or kept(*a, **k))
    data = table_of([[1, 0]] * 700 + [[0, 1]] * 600)
    release = getattr(mrf, learner)(data, radius=1.0, budget=budget, unsafe_seed=3)
    (total,) = release.measurements[0].values
    assert asked == [max(0, total)]
    assert total != data.n_records
