"""An account in PostgreSQL: the same statements, several processes, a database that goes away."""

import os

import pytest
from account_stress import check, stress

from pypgm import Dataset, Domain, mechanisms
from pypgm.errors import BudgetError
from pypgm.privacy import Account, Budget, Ledger, Privacy
from pypgm.privacy.laws import Stated

psycopg = pytest.importorskip("psycopg")
SERVER = os.environ.get("PYPGM_POSTGRES")
pytestmark = pytest.mark.skipif(not SERVER, reason="PYPGM_POSTGRES is not set: the address of a PostgreSQL server")


@pytest.fixture
def place():
    """URL of a schema of its own."""
    with psycopg.connect(SERVER, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS pypgm_account CASCADE")
        connection.execute("CREATE SCHEMA pypgm_account")
    return f"{SERVER}{'&' if '?' in SERVER else '?'}options=-csearch_path%3Dpypgm_account"


def test_a_release_is_charged_to_it(place):
    with pytest.raises(FileNotFoundError, match="pass budget= to create one"):
        Account(place)
    account = Account(place, budget=Budget(epsilon=3, delta=1e-8), table="people", neighbours="add-remove")
    data = Dataset({"a": [0, 1, 1] * 30}, Domain({"a": 2}))
    release = mechanisms.mst(data, epsilon=1, delta=1e-9, account=account)
    assert account.lines(1) == release.ledger.lines
    assert account.spent() == release.ledger.spent()
    assert "settled" in Account(place).check_release(release)
    with pytest.raises(BudgetError):
        mechanisms.mst(data, epsilon=3, delta=1e-8, account=account)
    with pytest.raises(ValueError, match="is for neighbours='add-remove'"):
        mechanisms.mst(data, epsilon=1, delta=1e-9, neighbours="replace", account=account)
    account.widen(Budget(epsilon=4, delta=1e-8), by="a person", why="a test")
    account.close(by="a person", why="a test")
    assert [run["state"] for run in account.to_dict()["runs"]] == ["settled", "settled"]
    assert len(account.report().splitlines()) == 8


def test_a_lost_connection_refuses_the_charge_and_nothing_else(place):
    account = Account(place, budget=Budget(rho=1))
    run = account.reserve(Budget(rho="1/2"), what="a run")
    ledger = Ledger(Budget(rho="1/2"), run.observer)
    ledger.bind(Privacy())
    with psycopg.connect(SERVER, autocommit=True) as other:
        other.execute("ALTER SCHEMA pypgm_account RENAME TO pypgm_gone")
        with pytest.raises(OSError, match=r"cannot be reached \(UndefinedTable\)"):
            ledger.charge("measure", "(a)", Stated(rho="1/8"))
        other.execute("ALTER SCHEMA pypgm_gone RENAME TO pypgm_account")
    assert ledger.spent() == 0
    ledger.charge("measure", "(a)", Stated(rho="1/8"))
    assert account.lines(1) == ledger.lines
    with pytest.raises(OSError, match=r"the account in d cannot be reached \(OperationalError\)$"):
        Account("postgresql://a:secret@127.0.0.1:1/d", budget=Budget(rho=1))
    with pytest.raises(ValueError, match="not one of PostgreSQL"):
        Account("postgresql://a?no_such_option=1", budget=Budget(rho=1))


@pytest.mark.slow
def test_processes_that_are_killed_never_cost_less_than_they_released(place, tmp_path):
    account = Account(place, budget=Budget(rho=5))
    released = stress(place, tmp_path, processes=6, runs=5, seed=1, pace=0.5)
    assert check(account, released)["runs"] > 6
