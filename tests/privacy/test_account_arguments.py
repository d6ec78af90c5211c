"""Odd arguments of an account: read once as what they are, or refused in words, with the account as it was."""

from __future__ import annotations

import math
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import pypgm
from pypgm import cli
from pypgm.errors import BudgetError
from pypgm.privacy import Account, Budget, Ledger, Privacy, PrivateTable
from pypgm.privacy.account_rows import MOST_FITTING
from pypgm.privacy.account_use import paid_for

WHY = {"by": "a person", "why": "a test"}
SMALL = Budget(rho="1/100")


class Posing(str):
    """A text that says it is any other one, and nothing of itself."""

    __slots__ = ()

    def __eq__(self, other):
        return isinstance(other, str)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash("zcdp")

    def __str__(self):
        return "posing"

    def strip(self, *_):
        return "posing"


@pytest.fixture
def account(tmp_path):
    return Account(tmp_path / "people.account", budget=Budget(rho=1))


NO_TEXTS = [b"monday", bytearray(b"monday"), 7, 7.5, True, np.int64(7), np.array("monday"), ["monday"], object()]
UNFIT = ["a\0b", "a\ud800b"]
DOORS = {  # of texts that an account keeps, or looks for
    "table": lambda a, x: Account(a._store._path.with_name("new"), budget=Budget(rho=1), table=x),
    "person": lambda a, x: Account(a._store._path.with_name("new"), budget=Budget(rho=1), person=x),
    "persons": lambda a, x: Account(a._store._path.with_name("new"), budget=Budget(rho=1), person=["id", x]),
    "what": lambda a, x: a.reserve(SMALL, what=x).settle(),
    "key": lambda a, x: a.reserve(SMALL, what="a run", key=x).settle(),
    "table of a run": lambda a, x: a.reserve(SMALL, what="a run", table=x).settle(),
    "table looked at": lambda a, x: a.check_table(x),
    "what was paid": lambda a, x: paid_for(a, x, rho="1/100"),
    "key of what was paid": lambda a, x: paid_for(a, "a survey", rho="1/100", key=x),
    "key looked for": lambda a, x: a.run_of(x),
    "by": lambda a, x: a.widen(Budget(rho=2), by=x, why="a test"),
    "why": lambda a, x: a.close(by="a person", why=x),
    "digest": lambda a, x: a.keep(1, "release.pgm", x),
}
MAY_BE_NONE = {"table", "person", "table of a run", "table looked at"}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_text_is_refused_and_nothing_is_entered(account, door):
    account.reserve(SMALL, what="a run").settle()
    before = account.to_dict()
    wrong = [x for x in NO_TEXTS if door != "person" or not isinstance(x, list)]
    for value in [*wrong, *([] if door in MAY_BE_NONE else [None])]:
        with pytest.raises(TypeError, match=rf"must be a str.*, got {type(value).__name__}$"):
            DOORS[door](account, value)
    for value in UNFIT:
        with pytest.raises(ValueError, match="has a character that no database holds"):
            DOORS[door](account, value)
    assert account.to_dict() == before
    assert not account._store._path.with_name("new").exists()


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", [Posing, np.str_])
def test_a_text_of_another_class_is_the_text_that_it_holds(account, door, kind):
    account.reserve(SMALL, what="a run").settle()
    plain = Account(account._store._path.with_name("plain"), budget=Budget(rho=1))
    plain.reserve(SMALL, what="a run").settle()
    made, wanted = DOORS[door](account, kind("monday")), DOORS[door](plain, "monday")
    if isinstance(made, Account):
        account, plain = made, wanted
    facts, expected = (
        {name: value for name, value in a.to_dict().items() if name not in {"name", "identity"}}
        for a in (account, plain)
    )
    assert facts == expected
    run = account.run_of("monday")
    assert (run is not None) == (door in {"key", "key of what was paid"})


@pytest.mark.parametrize("given", [{"epsilon": 1, "delta": 1e-9}, {"rho": 1}])
@pytest.mark.parametrize("text", ["gdp", "zcdp", "pure", "none"])
def test_a_budget_is_of_the_accounting_that_a_text_holds(given, text):
    """A text that equals two kinds could have the limit of one and add up as the other."""

    def made(accounting):
        try:
            return Budget(**given, accounting=accounting)
        except ValueError as error:
            return str(error)

    assert made(Posing(text)) == made(text)
    assert type(getattr(made(Posing(text)), "accounting", "")) is str
    for other in (b"gdp", 1, ["gdp"]):
        with pytest.raises(TypeError, match="accounting must be a str"):
            Budget(**given, accounting=other)


def test_a_relation_is_the_one_that_a_text_holds(tmp_path):
    for text in ("replace", "add-remove"):
        made = Account(tmp_path / text, budget=Budget(rho=1), neighbours=np.str_(text))
        assert type(made.relation.neighbours) is str
        assert made.relation == Privacy(text)


NUMBERS = [0, 2, -1, 1 << 31, 1 << 62, 1 << 63, 10**20, -(10**20), 10**400]


@pytest.mark.parametrize("number", NUMBERS)
def test_no_run_has_another_number(account, number, capsys, monkeypatch, tmp_path):
    run = account.reserve(SMALL, what="a run")
    before = account.to_dict()
    for act in (lambda: account.settle(number, **WHY), lambda: account.keep(number, "release.pgm", "abc")):
        with pytest.raises(ValueError, match=r"people\.account has no (open )?run|run must be at least 0"):
            act()
    if number >= 0:
        assert account.lines(number) == ()
    monkeypatch.chdir(tmp_path)
    settle = ["account", "settle", "people.account", "--by", "me", "--why", "a test", "--", str(number)]
    assert cli.main(settle) == 2
    assert capsys.readouterr().err.startswith("pypgm: ")
    assert account.to_dict() == before
    run.settle()


@pytest.mark.parametrize("number", [1.0, True, "1", None, np.array([1])])
def test_a_number_of_a_run_is_whole(account, number):
    account.reserve(SMALL, what="a run")
    for act in (lambda: account.settle(number, **WHY), lambda: account.keep(number, "a", "b"), account.lines):
        with pytest.raises(TypeError):
            act() if act != account.lines else act(number)
    assert account.settle(np.int64(1), **WHY).run == 1


def foreign(path, statements, *, log="delete", process_ends=True):
    """Make a database of something else; one whose process was killed leaves its log beside it."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA journal_mode={log}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    if process_ends:
        connection.close()
        return None
    return connection


FOREIGN = {
    "another table": ["CREATE TABLE users (id INTEGER)", "INSERT INTO users VALUES (1)"],
    "an account of a bank": ["CREATE TABLE account (id INTEGER, owner TEXT)", "INSERT INTO account VALUES (1, 'me')"],
    "some of the tables": ["CREATE TABLE account_runs (run INTEGER)"],
    "a view": ["CREATE VIEW account AS SELECT 1 AS format"],
    "an empty table": ["CREATE TABLE ACCOUNT (format INTEGER)"],
}


@pytest.mark.parametrize("log", ["delete", "wal"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_a_database_of_something_else_is_refused_and_stays_as_it_is(tmp_path, monkeypatch, capsys, kind, log):
    monkeypatch.chdir(tmp_path)
    foreign("there.db", FOREIGN[kind], log=log)
    Path("people.csv").write_text("a\n0\n1\n")
    Path("schema.json").write_text('{"a": 2}')
    data = pypgm.Dataset({"a": [0, 1]}, pypgm.Domain({"a": 2}))
    pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9).save("out.pgm")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for how in ({}, {"budget": Budget(rho=1)}):
        with pytest.raises(ValueError, match=r"there\.db holds something else, and is no account of pypgm"):
            Account("there.db", **how)
    by = ["--by", "me", "--why", "a test"]
    commands = [
        ["account", "create", "there.db", "--rho", "1"],
        ["account", "show", "there.db"],
        ["account", "history", "there.db"],
        ["account", "reserve", "there.db", "--rho", "1", "--what", "a survey"],
        ["account", "settle", "there.db", "1", *by],
        ["account", "widen", "there.db", "--rho", "2", *by],
        ["account", "close", "there.db", *by],
        ["info", "out.pgm", "--account", "there.db"],
        *(["synth", "people.csv", "--schema", "schema.json", "--epsilon", "1", "--delta", "1e-9", "--out", "o.csv",
           "--account", "there.db"],),
    ]  # fmt: skip
    for command in commands:
        assert cli.main(command) == 2
        assert "is no account of pypgm" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.suffix not in {".db-shm"}} == before


def test_a_log_beside_a_database_of_something_else_is_left_alone(tmp_path):
    """Whoever opens such a database to write, and is the last to close it, moves its log into it."""
    connection = foreign(tmp_path / "there.db", FOREIGN["another table"], log="wal", process_ends=False)
    for name in ("there.db", "there.db-wal"):
        shutil.copy(tmp_path / name, tmp_path / f"left-{name}")
    connection.close()
    before = {path.name: path.read_bytes() for path in tmp_path.glob("left-*")}
    assert len(before) == 2
    for how in ({}, {"budget": Budget(rho=1)}):
        with pytest.raises(ValueError, match="is no account of pypgm"):
            Account(tmp_path / "left-there.db", **how)
    assert {name: (tmp_path / name).read_bytes() for name in before} == before


def test_what_is_no_file_and_no_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="an account is a file"):
        Account(tmp_path, budget=Budget(rho=1))
    with pytest.raises(FileNotFoundError, match="there is no directory"):
        Account(tmp_path / "none" / "people.account", budget=Budget(rho=1))


amounts = st.fractions(min_value=Fraction(1, 3), max_value=2, max_denominator=60)


@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_as_many_more_runs_fit_as_are_said(tmp_path_factory, data):
    whole = data.draw(
        st.sampled_from(
            [Budget(rho=1), Budget(rho=1, reserved_delta="1/100"), Budget(epsilon=2), Budget(epsilon=3, delta="1e-6")]
        )
    )
    amount = data.draw(amounts)
    kinds = {
        "rho": lambda: Budget(rho=amount, reserved_delta=data.draw(st.sampled_from(["0", "1/300"]))),
        "pure": lambda: Budget(epsilon=amount),
        "gdp": lambda: Budget(epsilon=amount, delta="1e-7"),
    }
    of_whole = {"zcdp": ["rho", "pure", "gdp"], "pure": ["pure"], "gdp": ["gdp", "pure"]}[whole.accounting]
    budget = kinds[data.draw(st.sampled_from(of_whole))]()
    account = Account(tmp_path_factory.mktemp("accounts") / "a", budget=whole)
    for _ in range(data.draw(st.integers(0, 2))):
        try:
            account.reserve(budget, what="a run")
        except BudgetError:
            break
    said, n = account.n_fitting(budget), 0
    assume(said < 50)
    with pytest.raises(BudgetError):  # noqa: PT012
        while n <= said:
            account.reserve(budget, what="a run")
            n += 1
    assert n == said
    assert account.n_fitting(budget) == 0
    account.widen(
        Budget(**{name: 4 * v if name in {"rho", "epsilon"} else v for name, v in whole.arguments().items()}), **WHY
    )
    account.close(**WHY)
    assert account.n_fitting(budget) == 0


def test_very_many_runs_are_not_counted(account):
    assert account.n_fitting(Budget(rho="1e-9")) == MOST_FITTING
    assert account.n_fitting(Budget(rho=Fraction(1, MOST_FITTING - 1))) == MOST_FITTING - 1
    with pytest.raises(TypeError, match="needs a Budget"):
        account.n_fitting(1)
    with pytest.raises(ValueError, match="has no such bound"):
        Account(account._store._path.with_name("gdp"), budget=Budget(epsilon=1, delta=1e-9)).n_fitting(SMALL)


def test_show_says_how_many_more_runs_fit(account, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    show = ["account", "show", "people.account"]
    assert cli.main(show) == 0
    assert "more runs" not in capsys.readouterr().out
    for n, budget in enumerate([Budget(rho="1/4"), Budget(epsilon=1, delta=1e-9), Budget(epsilon="1/10")], 1):
        account.reserve(budget, what="a run").settle()
        assert cli.main(show) == 0
        (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("more runs"))
        number = account.n_fitting(budget)
        assert f"  {number} like run {n}, with " in line
        assert math.isclose(number, {1: 4, 2: 60, 3: 200}[n], abs_tol=1)


@settings(max_examples=30, deadline=None)
@given(
    key=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    name=st.text("ab/ \n\x1b", min_size=1),
)
def test_the_history_says_keys_and_files(tmp_path_factory, key, name):
    account = Account(tmp_path_factory.mktemp("accounts") / "a", budget=Budget(rho=1))
    account.reserve(SMALL, what="a run", key=key).settle()
    account.reserve(SMALL, what="another").settle()
    account.keep(2, name, "abc")
    text = account.report()
    assert ("\n     key " in text) == bool(key)
    assert text.count("\n     release ") == 1
    assert pypgm._base.terminal.escaped(key) in text
    assert f"\n     release {pypgm._base.terminal.escaped(name)}\n" in text
    assert "\x1b" not in text


NAMED = {  # how records come to an account that has the name of a table; the name that they have
    "a frame": (lambda frame, path, a, **how: pypgm.synthesize(frame, how.pop("schema"), account=a, **how), None),
    "a path": (lambda frame, path, a, **how: pypgm.synthesize(path, how.pop("schema"), account=a, **how), "people.csv"),
    "a path of a mechanism": (lambda frame, path, a, **how: pypgm.mechanisms.mst(path, account=a, **how), "people.csv"),
    "a frame of a mechanism": (lambda frame, path, a, **how: pypgm.mechanisms.mst(frame, account=a, **how), None),
    "codes": (
        lambda frame, path, a, **how: pypgm.mechanisms.mst(
            pypgm.Dataset.from_frame(frame, pypgm.Schema(how.pop("schema"))), account=a, **how
        ),
        None,
    ),
    "a path of a learner": (
        lambda frame, path, a, **how: pypgm.mrf.learn_pairwise(path, account=a, radius=1.0, **how),
        "people.csv",
    ),
    "a private table": (
        lambda frame, path, a, schema, budget: PrivateTable(
            pypgm.Dataset.from_frame(frame, pypgm.Schema(schema)), None, Ledger(budget), account=a
        ).close(),
        None,
    ),
    "a reservation": (lambda frame, path, a, schema, budget: a.reserve(budget, what="a run").settle(), None),
}


@pytest.mark.parametrize("stated", [None, "people.csv", "visits.csv"])
@pytest.mark.parametrize("of_account", [None, "people.csv", "visits.csv"])
@pytest.mark.parametrize("way", NAMED)
def test_an_account_takes_runs_on_its_own_table_alone(tmp_path, monkeypatch, way, of_account, stated):
    monkeypatch.chdir(tmp_path)
    call, name = NAMED[way]
    frame = {"a": ["x", "y"] * 20, "b": ["u", "v"] * 20}
    Path("people.csv").write_text("a,b\n" + "x,u\ny,v\n" * 20)
    Account("people.account", budget=Budget(rho=1), table=of_account)
    how = {"schema": {"a": ["x", "y"], "b": ["u", "v"]}, "budget": Budget(rho="1/8")}
    if stated is not None and stated != (of_account or ""):
        with pytest.raises(ValueError, match=r"the account people\.account has table"):
            Account("people.account", table=stated)
        return
    account = Account("people.account", table=stated)
    if of_account in {None, stated or name}:
        call(frame, "people.csv", account, **how)
        assert len(account.runs()) == 1
        return
    with pytest.raises(ValueError, match=r"^people\.account is for the table '"):
        call(frame, "people.csv", account, **how)
    assert account.runs() == ()
