"""A release in a file: everything that was released, and nothing that can be charged."""

import copy
import pickle

import numpy as np
import pytest

import pypgm
from pypgm import Budget, Dataset, Domain, Ledger, LedgerReport, Privacy, PrivateTable, Release, cli
from pypgm.data import Boolean, Integer, StreamedTable
from pypgm.errors import BudgetError
from pypgm.files.file import read_file, write_file
from pypgm.mechanisms import mst
from pypgm.privacy.laws import Stated
from pypgm.queries import Partition, Prefix, Union

DOMAIN = Domain({"a": 2, "b": 3, "c": ["x", "y"]})
DATA = Dataset({"a": [0, 1, 1, 0] * 9, "b": [2, 0, 1, 1] * 9, "c": [0, 1, 1, 1] * 9}, DOMAIN)


def own_release(oracle="exact", **more):
    """A release of one's own, of queries of several kinds and either law."""
    table = PrivateTable(DATA, Privacy("replace", 2), Ledger(Budget(rho=90, reserved_delta=1e-9)), **more)
    measured = [
        table.measure(("b", "a"), rho=1),
        table.measure("b", Prefix(3), variance=2),
        table.measure("b", Union([Prefix(3), Partition([0, 1, 1])]), scale=3),
        table.measure("c", Partition([1, 0]), scale=1.5),
    ]
    table.ledger.charge("look", "elsewhere", Stated(epsilon=0.1, delta=1e-10))
    return Release(pypgm.estimate(DOMAIN, measured, iterations=3, oracle=oracle), tuple(measured), table.ledger, "mine")


def read_back(release, how, tmp_path):
    if how == "pickle":
        return pickle.loads(pickle.dumps(release))
    release.save(tmp_path / "release.pgm")
    return pypgm.load(tmp_path / "release.pgm")


@pytest.mark.parametrize("how", ["file", "pickle"])
@pytest.mark.parametrize(
    "make",
    [
        lambda: mst(DATA, 1, 1e-9, iterations=3),
        lambda: mst(DATA, 1, 1e-9, iterations=3, unsafe_seed=1),
        own_release,
        lambda: own_release("region_graph"),
    ],
)
def test_everything_is_read_back(tmp_path, make, how):
    release = make()
    again = read_back(release, how, tmp_path)
    assert type(again) is Release
    assert type(again.ledger) is LedgerReport
    assert again.ledger.lines == release.ledger.lines
    assert again.ledger.budget == release.ledger.budget
    assert (again.privacy, again.mechanism) == (release.privacy, release.mechanism)
    assert again.not_private == release.not_private
    assert again.summary() == release.summary()
    for one, other in zip(again.measurements, release.measurements, strict=True):
        assert one.values.dtype == np.int64
        assert np.array_equal(one.values, other.values)
        assert (one.clique, one.stddev, one.noise) == (other.clique, other.stddev, other.noise)
        assert one.not_private == other.not_private
        assert np.array_equal(one.linear_map.to_sparse().toarray(), other.linear_map.to_sparse().toarray())
    assert np.array_equal(again.project(("a", "b")).values, release.project(("a", "b")).values)


def test_a_model_is_read_as_a_model(tmp_path):
    release = own_release()
    release.model.save(tmp_path / "model.pgm")
    assert type(pypgm.load(tmp_path / "model.pgm")) is type(release.model)


def changed(release, tmp_path, change):
    fields = copy.deepcopy(release.archive())
    change(fields["release"])
    write_file(tmp_path / "changed.pgm", fields)
    return pypgm.load(tmp_path / "changed.pgm")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda stored: stored.update(version=3), "field release.version is not known"),
        (lambda stored: stored.pop("ledger"), "ledger"),
        (lambda stored: stored["ledger"]["lines"][0].update(cost="1/1000"), "costs 1, not 1/1000"),
        (lambda stored: stored["ledger"].update(budget={"rho": "1/2"}), "cost more than"),
        (lambda stored: stored["ledger"].pop("privacy"), "bound to its relation"),
        (lambda stored: stored["measurements"][0].update(clique=["z"]), "unknown attribute"),
        (lambda stored: stored["measurements"][0].pop("values"), "values"),
    ],
)
def test_a_file_that_was_changed_is_refused(tmp_path, change, message):
    with pytest.raises(ValueError, match="not a whole pypgm") as error:
        changed(own_release(), tmp_path, change)
    assert message in str(error.value)
    assert not isinstance(error.value, BudgetError)


def arrays_in(value):
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from arrays_in(part)


def test_a_file_holds_what_was_released_and_no_code(tmp_path):
    own_release().save(tmp_path / "release.pgm")
    fields = read_file(tmp_path / "release.pgm")
    assert fields["release"]["mechanism"] == "mine"
    found = {name: [*arrays_in(value)] for name, value in fields.items()}
    assert {name for name, arrays in found.items() if arrays} == {"potentials", "recipe", "release"}
    assert all(array.dtype != object for arrays in found.values() for array in arrays)
    assert len(found["recipe"]) == len(found["release"])
    with np.load(tmp_path / "release.pgm", allow_pickle=False) as archive:
        assert len(archive.files) == 1 + 1 + len(found["release"]) + 1  # a pair is kept in either order of its cells


def test_the_command_reads_the_model_of_a_release(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    own_release().save("release.pgm")
    assert cli.main(["info", "release.pgm"]) == 0
    assert cli.main(["query", "release.pgm", "a", "--draws", "0"]) == 0
    assert "a,count" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("budget", "guarantee"),
    [
        (Budget(epsilon=2, delta=1e-9), "guarantee: epsilon 2.0, delta 1e-09"),
        (
            Budget(epsilon=2, delta=0.1, reserved_delta=0.05),
            "guarantee: Hardly anybody is protected: delta 0.1 lets a release show one person in 10 as they are; "
            "otherwise epsilon 2.0, delta 0.1",
        ),
        (Budget(epsilon="1/2"), "guarantee: epsilon 0.5"),
        (Budget(epsilon="1/3", reserved_delta=1e-9), "guarantee: epsilon 0.33333333333333337, delta 1e-09"),
        (Budget(rho="1/4"), "guarantee: rho 0.25"),
        (Budget(rho=1, reserved_delta=1e-6), "guarantee: rho 1.0, delta 1e-06"),
    ],
)
@pytest.mark.filterwarnings("ignore::pypgm.errors.WeakGuaranteeWarning")
def test_the_report_opens_with_the_guarantee_of_the_budget(budget, guarantee):
    table = PrivateTable(DATA, Privacy(), Ledger(budget))
    measured = (table.measure("a", scale=20),)
    release = Release(pypgm.estimate(DOMAIN, measured, iterations=3), measured, table.ledger, "mine")
    lines = release.report().splitlines()
    n_caveats, n_warnings = len(release.promise.caveats), sum(line.startswith("warning: ") for line in lines)
    assert lines[:n_caveats] == [f"warning: {text}" for text in release.promise.caveats]
    assert " ".join(" ".join(lines[n_warnings:]).split()).startswith(guarantee.replace(":", "", 1))
    assert guarantee in release.summary().splitlines()
    short, long = release.report().splitlines(), release.report(ledger=True).splitlines()
    assert long[: len(short)] == short
    assert [line.split(":")[0] for line in long if line.startswith(("model", "fit"))] == ["model", "fit"]


def test_the_report_of_a_seeded_release_guarantees_nothing():
    lines = own_release(unsafe_seed=1).report().splitlines()
    assert lines[0].startswith("warning: This release protects nobody: ")
    assert next(line.split()[:2] for line in lines if not line.startswith(("warning: ", " "))) == ["guarantee", "none"]


def total_budget(rho=100, reserved_delta=1e-9):
    return Budget(rho=rho, reserved_delta=reserved_delta)


@pytest.mark.parametrize("how", ["as it is", "file"])
def test_a_resumed_ledger_opens_with_the_earlier_spend(tmp_path, how):
    release = own_release()
    earlier = release if how == "as it is" else read_back(release, "file", tmp_path)
    spent = release.ledger.spent()
    table = earlier.resume(DATA, total_budget())
    assert table.ledger.spent() == spent
    assert table.ledger.remaining() == 100 - spent
    assert table.ledger.spent_delta() == release.ledger.spent_delta() > 0
    assert table.privacy == table.ledger.privacy == Privacy("replace", 2)
    added = table.measure("a", rho=5)
    assert earlier.ledger.lines == release.ledger.lines
    assert [line.within for line in table.ledger.lines] == ["mine"] * 5 + [""]
    model = pypgm.estimate(DOMAIN, [*earlier.measurements, added], iterations=3)
    again = read_back(Release(model, (*earlier.measurements, added), table.ledger, "more"), "file", tmp_path)
    assert again.ledger.spent() == table.ledger.spent() > spent
    assert again.guarantee.endswith("; otherwise rho 100.0, delta 1e-09")
    third = again.resume(DATA, total_budget(101))
    assert [line.within for line in third.ledger.lines] == ["more / mine"] * 5 + ["more"]


class Unread(Dataset):
    def count(self, *_, **__):
        raise AssertionError("the records were read")


def test_a_resumed_table_is_charged_first_and_never_beyond_the_total():
    table = own_release().resume(Unread(DATA.columns, DOMAIN), total_budget(90))
    before = table.ledger.spent()
    with pytest.raises(BudgetError, match="is left"):
        table.measure("a", rho=90 - before + 1)
    assert table.ledger.spent() == before
    with pytest.raises(pypgm.ReleaseError):  # the records raise as they are read, and nothing tells what
        table.measure("a", rho=1)
    assert table.ledger.spent() == before + 1


@pytest.mark.parametrize(
    ("data", "budget", "message"),
    [
        (DATA, Budget(epsilon=200, reserved_delta=1e-9), "spent rho, .* is in epsilon"),
        (DATA, total_budget(89), "at least its"),
        (DATA, total_budget(90, 0), "at least its"),
        (Dataset({"a": [0], "b": [1]}, Domain({"a": 2, "b": 3})), total_budget(), "the records are over"),
        (Dataset(DATA.columns, DOMAIN, weights=np.ones(36)), total_budget(), "unweighted"),
    ],
)
def test_what_cannot_be_resumed_is_refused(data, budget, message):
    with pytest.raises(ValueError, match=message):
        own_release().resume(data, budget)


def test_a_number_is_no_budget():
    with pytest.raises(TypeError, match="budget needs a Budget, got int"):
        own_release().resume(DATA, 2)


def test_another_relation_is_refused_after_resuming():
    table = own_release().resume(DATA, total_budget())
    with pytest.raises(ValueError, match="this ledger's charges are for"):
        PrivateTable(DATA, Privacy(), table.ledger)


def test_what_protects_nobody_is_resumed_as_such():
    table = own_release(unsafe_seed=1).resume(DATA, total_budget())
    assert table.measure("a", rho=1).not_private == table.ledger.not_private != ""
    assert own_release().resume(DATA, total_budget(), unsafe_seed=2).ledger.not_private


def test_a_resumed_pure_budget():
    release = Release(own_release().model, (), LedgerReport(Budget(epsilon=1), [], Privacy()), "nothing")
    assert release.resume(DATA, Budget(epsilon=2)).ledger.remaining() == 2


@pytest.mark.parametrize("how", ["encoded", "read", "streamed"])
def test_a_release_knows_the_schema_of_its_table(tmp_path, how):
    pytest.importorskip("pandas")
    schema = pypgm.Schema({"age": Integer(0, 99, width=10), "member": Boolean(["no", "yes"])})
    columns = {"age": list(range(100)), "member": ["yes", "no"] * 50}
    data = schema.encode(columns)
    pypgm.write_table(data, tmp_path / "table.csv", schema, rng=0)
    if how == "read":
        data = pypgm.read_table(tmp_path / "table.csv", schema)
    if how == "streamed":
        data = StreamedTable(lambda names, _: [{n: columns[n] for n in names}], ["age", "member"], schema)
    release = pypgm.mechanisms.mst(data, budget=Budget(rho=1))
    again = read_back(release, "file", tmp_path)
    table = again.resume(Dataset(schema.encode(columns).columns, schema.domain), Budget(rho=2))
    for one in (release, again, pypgm.mechanisms.hdmm(table), pypgm.mechanisms.wide(again.resume(data, Budget(rho=2)))):
        assert one.schema == schema
        frame = one.to_frame(9, rng=0)
        assert frame["age"].between(0, 99).all()
        assert set(frame["member"]) <= {"no", "yes"}
    alone = PrivateTable(schema.encode(columns), Privacy(), Ledger(Budget(epsilon=1)))
    assert alone.subsample("1/2", epsilon=1).schema is alone.schema is not None


def test_records_of_a_domain_have_no_schema(tmp_path):
    pypgm.write_table(DATA, tmp_path / "table.csv")
    assert pypgm.read_table(tmp_path / "table.csv", DOMAIN).schema is None
    assert own_release().schema is None


def test_a_release_answers_as_its_model_does(tmp_path):
    release = mst(DATA, budget=Budget(rho=1), iterations=3)
    release.save(tmp_path / "release.pgm")
    again = Release.load(tmp_path / "release.pgm")
    assert again.query("a", {"b": 1}).values.tolist() == release.model.query("a", {"b": 1}).values.tolist()
    how = {"draws": 2, "rng": 3}
    assert again.expected_error("a", **how).values == pytest.approx(release.expected_error("a", **how).values)
    release.model.save(tmp_path / "model.pgm")
    with pytest.raises(ValueError, match=r"model\.pgm holds a GraphicalModel, not a Release: pypgm\.load reads it"):
        Release.load(tmp_path / "model.pgm")


def test_a_number_as_evidence_is_looked_up_in_the_bins():
    schema = pypgm.Schema({"salary": Integer(0, 99999, width=10000)})
    release = mst(schema.encode({"salary": [5, 41000]}), budget=Budget(rho=1), iterations=3)
    assert release.query("salary", {"salary": 40000}).values.tolist() == [0, 0, 0, 0, 1, 0, 0, 0, 0, 0]
    with pytest.raises(ValueError, match=r"has no label 4; its labels are '\[0, 10000\)'.* a number is a value here"):
        release.model.query("salary", {"salary": 4})


@pytest.mark.parametrize(("rng", "kind"), [(-1, ValueError), ("seven", TypeError), (1.5, TypeError)])
def test_what_is_no_source_of_randomness_is_named(rng, kind):
    model = pypgm.estimate(pypgm.Domain({"a": 2}), [], 5)
    with pytest.raises(kind, match=f"rng must be a whole number of at least 0, .* got {rng!r}"):
        model.synthetic_data(rng=rng)
