"""What a schema promises of its records binds every mechanism and learner: records per person, rules, order."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from learners import LEARNERS, SUBJECTS, options_of

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, OpenSchema, Privacy, PrivateTable, Schema, bayes, mechanisms
from pypgm.data import Categorical, Integer, scan
from pypgm.mechanisms.tables import mechanism_names, takes
from pypgm.mrf.structure import Stability

K = 3
COLUMNS = {
    "start": Integer(0, 3),
    "end": Integer(0, 3),
    "size": Categorical(["S", "M", "L"], ordinal=True),
    "sex": ["F", "M"],
}
RULES = ["start <= end"]
SPINS = {name: ["no", "yes"] for name in "abc"}


def run(name, data, **how):
    how = {"budget": Budget(rho=2), "unsafe_seed": 1} | how
    return SUBJECTS[name](data, **options_of(name, data), **how)


def is_of_spins(name):
    return "ising" in name or "t_wise" in name


def records(name="mst", *, n=60, rules=(), k=K):
    rng = np.random.default_rng(5)
    if is_of_spins(name):
        raw, columns = {a: rng.choice(["no", "yes"], n) for a in SPINS}, SPINS
        rules = [pypgm.data.Rule(["a", "b"], [["no", "yes"]])] if rules else ()
        raw["b"] = np.where(raw["a"] == "no", "no", raw["b"]) if rules else raw["b"]
    else:
        start = rng.integers(4, size=n)
        raw = {"start": start, "end": np.maximum(start, rng.integers(4, size=n))}
        raw |= {"size": rng.choice(["S", "M", "L"], n), "sex": rng.choice(["F", "M"], n)}
        columns = COLUMNS
    return Schema(columns, rules=rules, records_per_person=k).encode(raw)


def scales(ledger):
    """The scale of each line's noise, or the root of its variance."""
    lines = [dict(line.parameters) for line in ledger.lines]
    found = [(p.get("scale"), p.get("variance")) for p in lines]
    return [float(scale or 0) or float(variance) ** 0.5 for scale, variance in found if scale or variance]


def test_all_of_them_are_found():
    assert {"mst", "wide", "jam", "pypgm.bayes.learn_private", "pypgm.mrf.learn_structure"} <= SUBJECTS.keys()
    assert len(LEARNERS) == 5


@pytest.mark.parametrize("name", SUBJECTS)
def test_records_per_person_are_those_of_the_schema(name):
    release, once = run(name, records(name)), run(name, records(name, k=None))
    assert release.ledger.privacy == Privacy(records_per_person=K)
    assert once.ledger.privacy == Privacy()
    # The first line asks the same of both; what follows an adaptive choice need not.
    first, plain = scales(release.ledger), scales(once.ledger)
    if plain:
        assert first[0] == pytest.approx(K * plain[0])
    assert run(name, records(name), neighbours="replace").ledger.privacy == Privacy("replace", K)
    assert run(name, records(name), privacy=Privacy("replace", K)).ledger.privacy == Privacy("replace", K)


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("said", [1, 5])
def test_another_number_is_refused_before_anything_is_charged(name, said, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    with pytest.raises(ValueError, match=rf"states records_per_person={K}, and privacy has {said}"):
        run(name, records(name), privacy=Privacy(records_per_person=said))


def broken(data, schema):
    masks = [(rule.columns, rule.mask(schema.columns)) for rule in schema.rules]
    return sum(int(mask[tuple(data.columns[a] for a in names)].sum()) for names, mask in masks)


@pytest.mark.parametrize("name", [name for name in SUBJECTS if "structure" not in name])
def test_no_synthetic_record_breaks_a_rule(name):
    data = records(name, rules=RULES)
    release = run(name, data)
    assert release.schema == data.schema
    made = release.synthetic_data(400, rng=1)
    assert len(made) == 400
    assert broken(made, data.schema) == 0
    without = run(name, Dataset(data.columns, data.domain)).synthetic_data(400, rng=1)
    assert broken(without, data.schema) > 0  # that noise and models make such records, or nothing is shown


@pytest.mark.parametrize("name", mechanism_names())
def test_models_of_mechanisms_have_zeros_where_rules_forbid_records(name):
    data = records(rules=RULES)
    own = pypgm.Constraint(("size", "sex"), forbidden=[("S", "F")])
    release = run(name, data, constraints=[own])
    (mask,) = (rule.mask(data.schema.columns) for rule in data.schema.rules)
    assert np.abs(release.project(("start", "end")).values[mask]).max() < 1e-6
    assert release.project(("size", "sex")).values[0, 0] < 1e-6  # a caller's constraints come on top


@pytest.mark.parametrize(
    ("name", "estimator"),
    [("mwem", "weights"), ("privbayes", "tables"), ("dualquery", "records"), ("fem", "records")],
)
def test_estimators_that_keep_to_no_rule_are_refused_before_anything_is_charged(name, estimator, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    with pytest.raises(ValueError, match="no constraints, and records of a schema without rules"):
        run(name, records(rules=RULES), estimator=estimator)


@pytest.mark.parametrize("name", [name for name in mechanism_names() if takes(name, "ordinal")])
def test_ordinal_columns_are_those_of_the_schema(name):
    data = records()
    assert run(name, data).options["ordinal"] == ["end", "size", "start"]
    assert "ordinal" not in run(name, Dataset(data.columns, data.domain)).options
    assert run(name, data, ordinal=["start"]).options["ordinal"] == ["start"]
    told, known = (run(name, data, ordinal=given) for given in (data.schema.ordinal, None))
    assert all(np.array_equal(a.values, b.values) for a, b in zip(told.measurements, known.measurements, strict=True))


# --- tables made of other tables, and other holders of records ---


def test_a_private_table_takes_the_number_from_the_schema():
    data = records()
    for asked in (None, "add-remove", "replace", Privacy(records_per_person=K)):
        table = PrivateTable(data, asked, Ledger(Budget(rho=1)))
        assert table.privacy == Privacy("replace" if asked == "replace" else "add-remove", K)
        squared = Fraction(K**2 * (2 if asked == "replace" else 1), 2)
        assert table.measure("sex", rho=1).stddev == pytest.approx(float(squared) ** 0.5)
    ledger = Ledger(Budget(rho=1))
    with pytest.raises(ValueError, match="states records_per_person=3, and privacy has 1"):
        PrivateTable(data, Privacy("replace"), ledger)
    assert ledger.privacy is None
    with pytest.raises(TypeError, match="privacy needs a Privacy, got int"):
        PrivateTable(data, 3, Ledger(Budget(rho=1)))


def test_a_schema_that_states_no_number_may_be_told_one():
    data = records(k=None)
    assert data.schema.records_per_person == 1
    assert PrivateTable(data, Privacy(records_per_person=5), Ledger(Budget(rho=1))).privacy.records_per_person == 5
    with pytest.raises(ValueError, match="states records_per_person=1, and privacy has 5"):
        PrivateTable(records(k=1), Privacy(records_per_person=5), Ledger(Budget(rho=1)))
    stated, unstated = records(k=1).schema, data.schema
    assert stated != unstated
    assert [Schema.from_dict(s.to_dict()) for s in (stated, unstated)] == [stated, unstated]


def test_a_schema_of_another_domain_is_refused():
    data = records()
    with pytest.raises(ValueError, match="the schema is over"):
        Dataset({"a": [0]}, Domain({"a": 2}), schema=data.schema)
    data.domain = Domain(data.domain.attributes, [9] * 4)
    with pytest.raises(ValueError, match="the schema is over"):
        PrivateTable(data, None, Ledger(Budget(rho=1)))


def test_copies_and_rows_of_a_table_keep_the_promise():
    data = records(rules=RULES)
    some = Dataset({a: column[:9] for a, column in data.columns.items()}, data.domain, schema=data.schema)
    for made in (copy.copy(data), copy.deepcopy(data), pickle.loads(pickle.dumps(data)), some):
        assert made.schema == data.schema
        assert PrivateTable(made, None, Ledger(Budget(rho=1))).privacy.records_per_person == K


def test_samples_and_blocks_keep_the_schema():
    table = PrivateTable(records(k=None), None, Ledger(Budget(epsilon=9, reserved_delta=1e-3)), unsafe_seed=1)
    assert table.subsample("1/2", epsilon=1).schema == table.schema
    seen = []
    Stability(table, lambda block: seen.append(block.schema) or (), 4).release(
        epsilon=Fraction(1), delta=Fraction(1, 1000)
    )
    assert seen == [table.schema] * 4


def test_scanned_tables_and_files_bind_too(tmp_path):
    data = records(rules=RULES)
    path = tmp_path / "t.csv"
    pypgm.write_table(data, path, data.schema, 0)
    for source in (scan(path, data.schema), pypgm.read_table(path, data.schema)):
        release = mechanisms.mst(source, budget=Budget(rho=1), unsafe_seed=1)
        assert release.privacy.records_per_person == K
        assert broken(release.synthetic_data(300, rng=0), data.schema) == 0
        with pytest.raises(ValueError, match="states records_per_person=3"):
            mechanisms.mst(source, budget=Budget(rho=1), privacy=Privacy())
    assert mechanisms.mst(scan(path, data.domain), budget=Budget(rho=1), privacy=Privacy(records_per_person=2))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_parquet_and_engines_bind_too(tmp_path):
    pytest.importorskip("pyarrow")
    ibis, _ = pytest.importorskip("ibis"), pytest.importorskip("duckdb")
    from pypgm.data import EngineTable

    data = records(rules=RULES)
    path = tmp_path / "t.parquet"
    pypgm.write_table(data, path, data.schema, 0)
    engine = EngineTable(ibis.duckdb.connect().read_parquet(path), data.schema)
    for source in (scan(path, data.schema), pypgm.read_table(path, data.schema), engine):
        release = mechanisms.wide(source, budget=Budget(rho=1), unsafe_seed=1)
        assert release.privacy.records_per_person == K
        assert release.options["ordinal"] == ["end", "size", "start"]
        assert broken(release.synthetic_data(300, rng=0), data.schema) == 0


def test_a_release_is_resumed_with_its_own_number_alone(tmp_path):
    data = records(rules=RULES)
    mechanisms.mst(data, budget=Budget(rho=1), unsafe_seed=1).save(tmp_path / "r.pgm")
    release = pypgm.load(tmp_path / "r.pgm")
    bare = Dataset(data.columns, data.domain)
    for records_again in (data, bare):
        table = release.resume(records_again, Budget(rho=2))
        assert table.privacy.records_per_person == K
        again = mechanisms.hdmm(table, measurements=release.measurements)
        assert broken(again.synthetic_data(300, rng=0), data.schema) == 0
    plain = mechanisms.mst(bare, budget=Budget(rho=1), unsafe_seed=1)
    with pytest.raises(ValueError, match="states records_per_person=3, and privacy has 1"):
        plain.resume(data, Budget(rho=2))


def test_open_columns_are_found_for_the_number_of_the_schema():
    from pypgm.data import QuantileBins
    from pypgm.privacy import settle

    open_column = QuantileBins(Integer(0, 99), 2, share="1/2")
    schema = OpenSchema({"age": open_column, "sex": ["F", "M"]}, records_per_person=K)
    raw = {"age": [20, 60] * 50, "sex": ["F", "M"] * 50}
    ledger = Ledger(Budget(epsilon=2))
    with pytest.raises(ValueError, match="states records_per_person=3, and privacy has 1"):
        settle(schema, raw, Privacy(), ledger)
    assert not ledger.lines
    found = settle(schema, raw, "replace", ledger)
    assert ledger.privacy == Privacy("replace", K)
    assert dict(ledger.lines[0].parameters)["score_range"] == K * Privacy("replace").quantile_score_range(
        Fraction(1, 2)
    )
    assert PrivateTable(found.encode(raw), "replace", ledger).privacy == Privacy("replace", K)


def test_related_tables_keep_the_promises_of_both():
    columns = {"low": Integer(0, 3), "high": Integer(0, 3)}
    parents = Schema(columns, rules=["low <= high"], records_per_person=2, drop=["n"])
    children = Schema({"from": Integer(0, 3), "to": Integer(0, 3)}, rules=["from <= to"], records_per_person=K)
    rng = np.random.default_rng(0)

    def raw(n, low, high):
        first = rng.integers(4, size=n)
        return {low: first, high: np.maximum(first, rng.integers(4, size=n))}

    homes, people = parents.encode(raw(50, "low", "high")), children.encode(raw(120, "from", "to"))
    how = {"max_children": 4, "budget": Budget(rho=2), "mechanism": "mst", "unsafe_seed": 1, "count": "n"}
    release = mechanisms.synthesize_related(homes, people, rng.integers(50, size=120), **how)
    assert release.parents.privacy == Privacy(records_per_person=2)
    assert release.children.privacy == Privacy(records_per_person=8)
    assert release.ledger.privacy == Privacy(records_per_person=10)
    made = release.synthetic_data(rng=0)
    assert len(made.children) > 0
    assert broken(made.parents, parents) == broken(made.children, children) == 0
    assert broken(release.children.synthetic_data(300, rng=0), release.children.schema) == 0
    assert len(release.children.schema.rules) == 2
    with pytest.raises(ValueError, match="states records_per_person=3, and max_children keeps at most 2"):
        mechanisms.synthesize_related(homes, people, rng.integers(50, size=120), **(how | {"max_children": 1}))


def test_records_that_no_draw_gives_are_said_so():
    rule = pypgm.data.Rule(["a", "b"], [[0, 0], [0, 1], [1, 0]])
    schema = Schema({"a": 2, "b": 2}, rules=[rule])
    data = Dataset({"a": [0] * 999, "b": [0] * 999}, schema.domain, schema=schema)
    release = bayes.learn_private(data, {}, epsilon=99)
    with pytest.raises(ValueError, match="hardly any records of the model keep the rules"):
        release.synthetic_data(50, rng=0)
    assert len(release.synthetic_data(0, rng=0)) == 0


def test_a_name_of_no_relation_is_refused():
    for name in ("", "bounded"):
        with pytest.raises(ValueError, match="neighbours"):
            PrivateTable(records(), name, Ledger(Budget(rho=1)))
