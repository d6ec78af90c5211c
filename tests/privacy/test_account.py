"""An account outlives runs: what it takes, refuses, gives back and says; every mechanism and learner charges to it."""

import dataclasses
import json
import os
import pickle
import shutil
import sqlite3
import threading
import types
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from account_stress import check, stress
from learners import SUBJECTS, options_of

import pypgm
from pypgm import Dataset, Domain, OpenSchema, Schema, mechanisms
from pypgm.data import OpenSet
from pypgm.errors import BudgetError
from pypgm.privacy import Account, Budget, Charge, Ledger, LedgerReport, Privacy, PrivateTable, account_store
from pypgm.privacy.account_use import paid_for
from pypgm.privacy.laws import DiscreteGaussian, Exponential, Stated

DATA = Dataset({"a": [0, 1, 1] * 30, "b": [1, 1, 0] * 30}, Domain({"a": 2, "b": 2}))
WHY = {"by": "a person", "why": "a test"}
RAW = {"job": ["cook"] * 500 + ["spy"]}


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "people.account", budget=Budget(rho=2, reserved_delta="1e-6"), table="people")


def half(account, what="a run"):
    """Return a run of rho 1/2 that has charged 1/8, and its ledger."""
    run = account.reserve(Budget(rho="1/2"), what=what)
    ledger = Ledger(Budget(rho="1/2"), run.observer)
    ledger.bind(Privacy())
    ledger.charge("measure", "(a)", Stated(rho="1/8"))
    return run, ledger


def check_entered(account, release):
    """Check that an account and a release, also from a file, say the same."""
    run = account.runs()[-1]
    assert run.is_settled
    assert run.spent == release.ledger.spent()
    assert account.lines(run.run) == release.ledger.lines
    if not hasattr(release, "account"):  # a structure, which is no release of a model
        return
    assert (release.account.run, release.account.identity) == (run.run, account.identity)
    assert "settled" in account.check_release(release)


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_learner_charges_to_an_account(account, name, tmp_path):
    options = options_of(name, DATA)
    release = SUBJECTS[name](DATA, budget=Budget(rho=1), account=account, **options)
    check_entered(account, release)
    before, lines = account.remaining(), account.lines(1)
    with pytest.raises(BudgetError, match=r"needs rho 2 of people.account"):
        SUBJECTS[name](DATA, budget=Budget(rho=2), account=account, **options)
    with pytest.raises(TypeError, match="unexpected keyword"):
        SUBJECTS[name](DATA, budget=Budget(rho="1/2"), account=account, no_such=1, **options)
    assert (account.remaining(), account.lines(1)) == (before, lines)
    if hasattr(release, "save"):  # a structure is not saved
        assert account.runs()[0].what == release.mechanism
        release.save(tmp_path / "release.pgm")
        loaded = pypgm.load(tmp_path / "release.pgm")
        assert loaded.account == release.account
        account.check_release(loaded)
        assert release.account.text in release.report()


@pytest.mark.parametrize("name", SUBJECTS)
def test_every_learner_charges_to_an_account_of_epsilon_and_delta(name, tmp_path):
    account = Account(tmp_path / "people.account", budget=Budget(epsilon=9, delta="1e-6"))
    release = SUBJECTS[name](DATA, epsilon=1, delta="1e-9", account=account, **options_of(name, DATA))
    check_entered(account, release)
    assert release.ledger.budget.accounting == "gdp"


def test_lines_are_priced_by_what_their_own_run_has_left(tmp_path):
    """A ledger of another budget, or with charges of its own, would count on more than the account keeps for it."""
    account = Account(tmp_path / "people.account", budget=Budget(epsilon=1, delta="1e-6"))
    budget = Budget(epsilon="1/4", delta="1e-7")
    for other in (Budget(epsilon=50, delta="1e-7"), Budget(rho=1), Budget(epsilon=1)):
        with account.reserve(budget, what="a run") as run:
            ledger = Ledger(other, run.observer)
            ledger.bind(Privacy())
            with pytest.raises(ValueError, match=r"counts on more|another kind of budget"):
                ledger.charge("select", "a", Exponential(ledger.epsilon_of("1/1000", has_range=True), 1))
    charged = Ledger(budget)
    charged.bind(Privacy())
    charged.charge("select", "a", Exponential("1/100", 1))
    with account.reserve(budget, what="a run") as run, pytest.raises(ValueError, match="charges that the account does"):
        PrivateTable(DATA, Privacy(), charged, account=run)
    assert account.spent() == 0


def test_a_release_made_elsewhere_comes_before_all_others(tmp_path):
    account = Account(tmp_path / "people.account", budget=Budget(epsilon=2, delta="1e-6"))
    outside = pypgm.mechanisms.mst(DATA, epsilon="1/2", delta="1e-6")
    more = Budget(epsilon=1, delta="1e-6")
    with outside.resume(DATA, more, account=account) as table:
        table.measure("a", rho="1/10000")
    with pytest.raises(ValueError, match="resumed before the account has other runs"):
        outside.resume(DATA, more, account=account)


def test_an_account_of_two_names_is_refused(account, tmp_path):
    """SQLite locks and logs by the name: runs by two of them would not know of each other."""
    other = tmp_path / "other.account"
    other.hardlink_to(tmp_path / "people.account")
    for place in (other, tmp_path / "people.account"):
        with pytest.raises(OSError, match="several names"):
            Account(place)


@pytest.mark.parametrize(
    "earlier",
    [
        LedgerReport(Budget(rho=5), [Charge("train", "a", Stated(rho=5))]),
        LedgerReport(Budget(epsilon="1/8"), [Charge("train", "a", Stated(epsilon="1/8"), unit="epsilon")]),
        LedgerReport(Budget(rho=1, reserved_delta="1/2"), [Charge("train", "a", Stated(rho=0, delta="1/2"))]),
    ],
    ids=["more", "another unit", "more delta"],
)
def test_what_was_charged_before_is_within_the_budget_of_a_run(account, earlier):
    with pytest.raises(ValueError, match="not enough for the earlier charges"):
        account.reserve(Budget(rho=1), what="a run", after=earlier)
    assert (account.remaining(), account.runs()) == (2, ())


def test_only_what_an_account_has_paid_for_is_confirmed_and_resumed(account):
    paid = mechanisms.mst(DATA, budget=Budget(rho="1/4"), account=account)
    unpaid = mechanisms.mst(DATA, budget=Budget(rho="1/2"))
    more = LedgerReport(
        Budget(rho=100),
        [*paid.ledger.lines, Charge("measure", "(b)", DiscreteGaussian(variance="1/180", squared_sensitivity=1))],
        paid.privacy,
    )
    forged = [
        dataclasses.replace(unpaid, account=paid.account),
        dataclasses.replace(unpaid, account=dataclasses.replace(paid.account, run=77)),
        types.SimpleNamespace(account=paid.account, ledger=more),
        types.SimpleNamespace(account=paid.account, ledger=LedgerReport(Budget(rho=1))),
    ]
    for release in forged:
        with pytest.raises(ValueError, match=r"are not those of the release|has no run 77"):
            account.check_release(release)
    for release in forged[:2]:
        with pytest.raises(ValueError, match=r"are not those of the release|has no run 77"):
            release.resume(DATA, Budget(rho=1), account=account)
    with pytest.raises(ValueError, match="would not know what is charged now"):
        paid.resume(DATA, Budget(rho=1))
    assert account.spent() == paid.ledger.spent()


def test_what_is_made_by_other_means_is_paid_for_once(tmp_path):
    account = Account(tmp_path / "people.account", budget=Budget(epsilon=3, delta="1e-8", reserved_delta="1e-9"))
    first = paid_for(account, "a survey", epsilon="1/10", delta="1e-10", key="survey")
    (run,) = account.runs()
    assert (run.is_settled, run.spent, run.spent_delta) == (True, first.amount, Fraction(1, 10**10))
    assert run.spent > Fraction(1, 200)  # a step of epsilon: epsilon^2 / 2 and a little more
    with pytest.raises(ValueError, match="has the same key"):
        paid_for(account, "a survey", epsilon="1/10", key="survey")
    outside = mechanisms.mst(DATA, epsilon="1/4", delta="1e-8")
    with pytest.raises(ValueError, match="resumed before the account has other runs"):
        outside.resume(DATA, Budget(epsilon="1/2", delta="1e-8"), account=account)
    assert len(account.runs()) == 2  # the refused one has spent nothing
    assert account.spent() == first.amount


@pytest.mark.parametrize("schema", [{"job": ["cook", "spy"]}, OpenSchema({"job": OpenSet(share="1/2")})])
def test_raw_tables_charge_to_an_account(account, schema):
    budget = Budget(rho=1, reserved_delta="1e-7")
    release = pypgm.synthesize(RAW, schema, budget=budget, account=account, table=None)
    check_entered(account, release)
    with pytest.raises(BudgetError):
        pypgm.synthesize(RAW, schema, budget=Budget(rho=2, reserved_delta="1e-7"), account=account)
    assert not account.reserved()


def test_both_related_tables_are_one_run(account, tmp_path):
    people = Dataset({"sex": [0, 1, 1, 0]}, Domain({"sex": ["F", "M"]}))
    budget = {"max_children": 2, "budget": Budget(rho=1), "mechanism": "mst", "account": account}
    release = mechanisms.synthesize_related(DATA, people, [0, 0, 1, 2], **budget)
    check_entered(account, release)
    release.save(tmp_path / "both")
    loaded = type(release).load(tmp_path / "both")
    assert loaded.account == release.account == loaded.children.account
    for part in (loaded, loaded.parents, loaded.children):
        account.check_release(part)


def test_a_private_table_holds_its_budget_until_it_is_closed(account):
    with PrivateTable(DATA, None, Ledger(Budget(rho=1)), account=account) as table:
        measured = table.measure("a", rho="1/4")
        assert (account.spent(), account.reserved()) == (0, 1)
        release = mechanisms.mst(table.over(DATA.domain.project(["b"])), measurements=[])
        assert release.account == table.account_entry
        assert account.lines(1) == table.ledger.lines
        assert "still open" in account.check_release(release)
    assert (account.spent(), account.reserved()) == (table.ledger.spent(), 0)
    assert measured.values.dtype == np.int64
    with pytest.raises(TypeError, match="account and seed already"):
        mechanisms.mst(table, account=account)
    with pytest.raises(ValueError, match="charges that the account does not know"):
        PrivateTable(DATA, None, table.ledger, account=account)


def test_a_table_that_cannot_be_opened_gives_everything_back(account):
    ledger = Ledger(Budget(rho=1))
    ledger.bind(Privacy("replace"))
    with pytest.raises(ValueError, match="charges are for"):
        PrivateTable(DATA, None, ledger, account=account)
    assert account.reserved() == 0
    part = Ledger(Budget(rho=1))
    part.allocate("part", amount="1/2")
    with pytest.raises(ValueError, match="open allocations"):
        PrivateTable(DATA, None, part, account=account)
    assert account.remaining() == 2


def test_resumed_releases_know_of_each_other(account, tmp_path):
    release = mechanisms.mst(DATA, budget=Budget(rho=1), account=account)
    tables = [release.resume(DATA, Budget(rho="7/5"), account=account) for _ in range(2)]
    with pytest.raises(BudgetError, match=r"open runs hold theirs \(2, 3\)"):
        release.resume(DATA, Budget(rho="7/5"), account=account)
    tables[0].measure("a", rho="2/5")
    with pytest.raises(BudgetError):
        tables[0].measure("a", rho="1/100")
    again = mechanisms.mst(tables[1])
    for table in tables:
        table.close()
    assert account.spent() == release.ledger.spent() + sum(t.ledger.spent() - release.ledger.spent() for t in tables)
    account.check_release(again)
    other = Account(tmp_path / "other", budget=Budget(rho=3))
    with pytest.raises(ValueError, match=r"is of the account people.account"):
        other.check_release(release)
    release.resume(DATA, Budget(rho="7/5"), account=other).close()
    assert other.spent() == release.ledger.spent()  # which it did not have yet
    with pytest.raises(ValueError, match="records are over"):
        release.resume(Dataset({"c": [0]}, Domain({"c": 2})), Budget(rho=1), account=other)
    assert other.reserved() == 0


def test_lines_are_there_before_records_are_counted(account, monkeypatch):
    seen, count = [], Dataset.count

    def counted(data, cliques, *given):
        seen.append(len(account.lines(1)))
        return count(data, cliques, *given)

    monkeypatch.setattr(Dataset, "count", counted)
    with PrivateTable(DATA, None, Ledger(Budget(rho=1)), account=account) as table:
        table.measure("a", rho="1/8")
        table.measure_many(["a", "b", ("a", "b")], rho="1/8")
    assert seen == [1, 4]


def test_what_fails_to_be_entered_is_not_charged(account, monkeypatch):
    run, ledger = half(account)
    monkeypatch.setattr(account_store, "_MAX_WAIT", 0.01)
    with sqlite3.connect(account._store._path, isolation_level=None) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OSError, match=r"people.account cannot be reached: database is locked"):
            ledger.charge("measure", "(b)", Stated(rho="1/8"))
        with pytest.warns(RuntimeWarning, match="keeps its reservation"):
            run.end()
        other.execute("ROLLBACK")
    other.close()
    assert ledger.spent() == Fraction(1, 8)
    assert [line.on for line in account.lines(1)] == ["(a)"]
    run.settle()
    assert account.spent() == Fraction(1, 8)


def test_an_error_gives_back_what_was_not_charged(account):
    run, _ = half(account)
    with pytest.raises(KeyboardInterrupt), run:
        raise KeyboardInterrupt
    assert (account.spent(), account.reserved()) == (Fraction(1, 8), 0)


def test_what_a_person_settles_is_not_charged_any_more(account):
    run, ledger = half(account)
    assert (account.spent(), account.reserved()) == (0, Fraction(1, 2))
    settled = account.settle(1, **WHY)
    assert (settled.spent, account.remaining()) == (Fraction(1, 8), Fraction(15, 8))
    with pytest.raises(BudgetError, match="was settled"):
        ledger.charge("measure", "(b)", Stated(rho="1/8"))
    run.settle()  # changes nothing
    assert account.spent() == Fraction(1, 8)
    assert account.changes()[-1][1:] == ("settled run 1", "a person", "a test")


def test_a_ledger_cannot_charge_more_than_is_reserved(account):
    run = account.reserve(Budget(rho="1/4"), what="a run")
    ledger = Ledger(Budget(rho=1), run.observer)
    with pytest.raises(ValueError, match="needs a neighbour relation"):
        ledger.charge("measure", "(a)", Stated(rho="1/8"))
    ledger.bind(Privacy())
    with pytest.raises(BudgetError, match="reserved less"):
        ledger.charge("measure", "(a)", Stated(rho="1/2"))
    with pytest.raises(ValueError, match="of another run"):
        half(account)[0].attach(ledger)
    assert ledger.spent() == 0


def test_a_pure_run_is_one_step(account):
    release = mechanisms.mwem(DATA, epsilon=1, rounds=1, account=account)
    assert release.ledger.budget.unit == "epsilon"
    assert account.spent() == Fraction(1, 2)
    assert "run 1" in account.check_release(release)
    with account.reserve(Budget(epsilon=1), what="nothing"):
        assert account.reserved() == Fraction(1, 2)
    assert account.spent() == Fraction(1, 2)
    with pytest.raises(ValueError, match="cannot be resumed"):
        release.resume(DATA, Budget(epsilon=2), account=account)


def test_a_pure_account_takes_pure_runs_alone(tmp_path):
    account = Account(tmp_path / "a", budget=Budget(epsilon=1))
    with pytest.raises(ValueError, match="is pure, the run's"):
        mechanisms.mst(DATA, budget=Budget(rho="1/8"), account=account)
    release = mechanisms.mwem(DATA, epsilon="1/2", rounds=1, account=account)
    assert account.spent() == release.ledger.spent() == Fraction(1, 2)


def test_runs_in_gaussian_differential_privacy(tmp_path, account):
    wide_one = Account(tmp_path / "gdp", budget=Budget(epsilon=3, delta=1e-8))
    release = mechanisms.mst(DATA, epsilon=1, delta=1e-9, account=wide_one)
    assert wide_one.spent() == release.ledger.spent()
    left = wide_one.remaining()
    mechanisms.mwem(DATA, epsilon="1/10", rounds=1, account=wide_one)
    step = Charge("run", "records", Stated(epsilon="1/10"), left=left)
    assert wide_one.spent() == release.ledger.spent() + step.cost
    assert Fraction(1, 200) < step.cost < Fraction(1, 190)
    with pytest.raises(ValueError, match="has no such bound"):
        mechanisms.mst(DATA, budget=Budget(rho="1/100"), account=wide_one)
    assert (wide_one.reserved(), len(wide_one.runs())) == (0, 2)
    release = mechanisms.mst(DATA, epsilon=1, delta=1e-9, account=account)  # in zCDP, which it implies
    assert release.ledger.budget.accounting == "gdp"
    assert account.spent() == release.ledger.spent()


def test_many_threads_share_a_run(account):
    run = account.reserve(Budget(rho=1), what="threads")
    ledger = Ledger(Budget(rho=1), run.observer)
    ledger.bind(Privacy())

    def charge():
        for i in range(5):
            ledger.charge("measure", str(i), Stated(rho="1/40"))

    threads = [threading.Thread(target=charge) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert account.lines(1) == ledger.lines
    assert len(ledger.lines) == 20


PERSON = Privacy("add-remove", 3, ["id"])
RELATIONS = {  # what an account was made with, or its first run had; the relations that it refuses, and takes
    "person": ({"person": "id"}, None, [Privacy(), Privacy("add-remove", 3, ["name"])], [PERSON]),
    "neighbours": ({"neighbours": "replace"}, None, [Privacy()], [Privacy("replace"), Privacy("replace", 4)]),
    "first person": ({}, PERSON, [Privacy("add-remove", 3)], [Privacy("add-remove", 1, ["id"]), PERSON]),
    "bound": ({}, Privacy("replace", 3), [Privacy("replace", 2), Privacy("add-remove", 3)], [Privacy("replace", 4)]),
    "first record": ({}, Privacy(), [Privacy("replace"), PERSON], [Privacy(), Privacy("add-remove", 1)]),
    "people": ({}, Privacy("add-remove", 1), [Privacy()], [Privacy("add-remove", 2)]),
    "weighted": ({}, Privacy("add-remove", 9, weight="w"), [Privacy("replace")], [Privacy(), Privacy("add-remove", 2)]),
    "record, weighted later": ({}, Privacy(), [Privacy("replace")], [Privacy("add-remove", 9, weight="w")]),
    "people, weighted later": ({}, Privacy("add-remove", 2), [Privacy("add-remove", 9, weight="w")], []),
    "nobody": ({"person": []}, None, [PERSON], [Privacy()]),
}  # fmt: skip


@pytest.mark.parametrize("name", RELATIONS)
def test_a_relation_that_protects_less_is_refused(tmp_path, name):
    made, first, refused, taken = RELATIONS[name]
    account = Account(tmp_path / "a", budget=Budget(rho=9), **made)

    def charge(privacy):
        with account.reserve(Budget(rho="1/2"), what="a run") as run:
            ledger = Ledger(Budget(rho="1/2"), run.observer)
            ledger.bind(privacy)
            ledger.charge("measure", "(a)", Stated(rho="1/8"))

    if first is not None:
        charge(first)
    for privacy in refused:
        before = account.remaining()
        with pytest.raises(ValueError, match=r"^a (is for|protects)"):
            account.check(privacy)
        with pytest.raises(ValueError, match=r"^a (is for|protects)"):
            charge(privacy)
        assert account.remaining() == before
    for privacy in taken:
        account.check(privacy)
        charge(privacy)


def test_a_schema_that_protects_less_is_refused_before_its_table_is_read(tmp_path):
    account = Account(tmp_path / "a", budget=Budget(rho=9), person="id")
    with pytest.raises(ValueError, match="protects persons known by 'id'"):
        pypgm.synthesize(tmp_path / "none.csv", Schema({"job": ["cook"]}), budget=Budget(rho=1), account=account)
    schema = {"columns": {"job": ["cook", "spy"]}, "person": {"column": "id", "at_most": 1}}
    people = {**RAW, "id": list(range(len(RAW["job"])))}
    check_entered(account, pypgm.synthesize(people, schema, budget=Budget(rho=1), account=account))


def test_another_table_is_refused(account, tmp_path):
    with pytest.raises(ValueError, match="for the table 'people', the run is on 'visits'"):
        pypgm.synthesize(tmp_path / "none.xlsx", budget=Budget(rho=1), account=account, table="visits")
    with pytest.raises(ValueError, match="for the table 'people'"):
        account.reserve(Budget(rho=1), what="a run", table="visits")
    account.reserve(Budget(rho=1), what="a run", table="people").settle()
    assert account.runs()[0].spent == 0


@pytest.mark.parametrize(
    "given", [{"budget": Budget(rho=3)}, {"table": "x"}, {"person": "x"}, {"neighbours": "replace"}]
)
def test_an_account_is_not_opened_as_another(account, tmp_path, given):
    with pytest.raises(ValueError, match=rf"the account people\.account has {next(iter(given))} "):
        Account(tmp_path / "people.account", **given)
    assert Account(tmp_path / "people.account").identity == account.identity


def test_there_is_no_account_without_a_budget(tmp_path):
    with pytest.raises(FileNotFoundError, match="pass budget= to create one"):
        Account(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    sqlite3.connect(tmp_path / "empty").close()
    (tmp_path / "empty").touch()
    with pytest.raises(FileNotFoundError, match="pass budget= to create one"):
        Account(tmp_path / "empty")
    (tmp_path / "text").write_text("this is a text of no database, and long enough to have a header of one" * 20)
    with pytest.raises(ValueError, match="text is no account"):
        Account(tmp_path / "text")
    with pytest.raises(ValueError, match="begins with postgresql://, got mysql://"):
        Account("mysql://host/database", budget=Budget(rho=1))
    with pytest.raises(TypeError, match="needs a Budget"):
        Account(tmp_path / "none", budget=1)
    with pytest.raises(ValueError, match="neighbours"):
        Account(tmp_path / "none", budget=Budget(rho=1), neighbours="none")
    with pytest.raises(TypeError, match=r"account needs a .*Account, got str"):
        mechanisms.mst(DATA, budget=Budget(rho=1), account="people.account")
    assert not (tmp_path / "none").exists()


def test_another_format_is_refused(account):
    with sqlite3.connect(account._store._path) as other:
        other.execute("UPDATE account SET format = 2")
    other.close()
    with pytest.raises(ValueError, match="has format 2, which another version"):
        account.runs()


def test_a_file_system_of_several_machines_is_refused(tmp_path, monkeypatch):
    mounts = Path("/proc/self/mountinfo")
    if not mounts.exists():
        pytest.skip("this system does not list its mounts")
    kinds = {line.partition(" - ")[2].split(" ")[0] for line in mounts.read_text().splitlines()}
    monkeypatch.setattr(account_store, "_NETWORKS", kinds)
    with pytest.raises(OSError, match="file system of the network"):
        Account(tmp_path / "a", budget=Budget(rho=1))
    assert not (tmp_path / "a").exists()


def test_a_closed_account_takes_no_run_and_finishes_those_at_work(account):
    _, ledger = half(account)
    account.close(**WHY)
    account.close(**WHY)
    ledger.charge("measure", "(b)", Stated(rho="1/8"))
    for act in (lambda: half(account), lambda: account.widen(Budget(rho=9, reserved_delta="1e-6"), **WHY)):
        with pytest.raises(BudgetError, match="closed"):
            act()
    assert [change.what for change in account.changes()][1:] == ["closed"]
    assert "closed" in account.report()


def test_changes_need_a_person_and_a_reason(account):
    half(account)
    wider = Budget(rho=4, reserved_delta="1e-6")
    for nobody in ({"by": "", "why": "a test"}, {"by": "a person", "why": " "}):
        for act in (
            lambda w: account.widen(wider, **w),
            lambda w: account.close(**w),
            lambda w: account.settle(1, **w),
        ):
            with pytest.raises(ValueError, match="by and why"):
                act(nobody)
    for budget, message in ((Budget(epsilon=9), "another kind"), (Budget(rho=9), "is less")):
        with pytest.raises(ValueError, match=message):
            account.widen(budget, **WHY)
    assert (len(account.changes()), account.reserved(), account.is_closed) == (1, Fraction(1, 2), False)
    account.widen(wider, **WHY)
    assert account.budget == wider
    assert account.changes()[-1].what.startswith("widened from Budget(rho=2")


def test_a_key_is_of_one_run(account):
    run = account.reserve(Budget(rho="1/8"), what="a run", key="k")
    with pytest.raises(ValueError, match=r"run 1 of people\.account has the same key, and is open"):
        account.reserve(Budget(rho="1/8"), what="a run", key="k")
    run.settle()
    account.reserve(Budget(rho="1/8"), what="a run", key="k").settle()
    assert account.run_of("k").run == 2
    assert account.run_of("none") is None
    account.keep(2, "release.pgm", "abc")
    assert (account.run_of("k").path, account.run_of("k").digest) == ("release.pgm", "abc")
    with pytest.raises(ValueError, match=r"run 2 of people\.account has the same key, and has a release"):
        account.reserve(Budget(rho="1/8"), what="a run", key="k")


def test_a_release_is_checked_against_its_account(account, tmp_path):
    release, other = (mechanisms.mst(DATA, budget=Budget(rho="1/2"), account=account) for _ in range(2))
    with pytest.raises(ValueError, match="names no account"):
        account.check_release(mechanisms.mst(DATA, budget=Budget(rho="1/2")))
    from dataclasses import replace

    for entry in (replace(release.account, run=3), replace(release.account, amount=Fraction(1))):
        with pytest.raises(ValueError, match="has no run"):
            account.check_release(replace(release, account=entry))
    third = mechanisms.wide(DATA, budget=Budget(rho="1/2"), account=account)
    with pytest.raises(ValueError, match="are not those of the release"):
        account.check_release(replace(third, account=other.account))


def test_what_is_published_is_that_of_ledgers(account):
    with PrivateTable(DATA, None, Ledger(Budget(rho=1)), account=account, unsafe_seed=1) as table:
        table.measure("a", rho="1/2")
    half(account, "a\x1b[31mrun")
    text = account.report()
    assert "\x1b" not in text
    assert "not private" in text
    written = json.dumps(account.to_dict())
    assert "drawn from a seed" in written
    assert [line["on"] for run in account.to_dict()["runs"] for line in run["lines"]] == ["(a)", "(a)"]
    assert repr(account) == "Account(people.account: Budget(rho=2, reserved_delta=1e-06), 2 runs, 1 left)"


def test_a_copy_that_nobody_can_write_is_read(account, tmp_path, monkeypatch):
    half(account)[0].settle()
    shutil.copy(tmp_path / "people.account", tmp_path / "copy")
    monkeypatch.setattr(os, "access", lambda *_: False)
    copied = Account(tmp_path / "copy", table="people")
    assert copied.spent() == Fraction(1, 8)
    with pytest.raises(OSError, match="readonly"):
        copied.reserve(Budget(rho="1/8"), what="a run")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["copy", "people.account"]


def test_a_reservation_stays_in_its_process(account):
    run, _ = half(account)
    with pytest.raises(TypeError, match="of one process"):
        pickle.dumps(run)
    assert repr(run) == "Reservation(people.account, run 1, rho 0.5 reserved)"
    if hasattr(os, "fork"):
        run._process += 1  # as in a child
        run.settle()
        assert account.reserved() == Fraction(1, 2)


@pytest.mark.slow
def test_processes_that_are_killed_never_cost_less_than_they_released(tmp_path):
    account = Account(tmp_path / "people.account", budget=Budget(rho=5))
    released = stress(str(tmp_path / "people.account"), tmp_path, processes=6, runs=5, seed=1, pace=0.5)
    assert check(account, released)["runs"] > 6
