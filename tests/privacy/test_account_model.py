"""Random sequences of all that can be done to an account, against a reference that adds up a list."""

import json
import pathlib
import shutil
import tempfile
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from pypgm.errors import BudgetError
from pypgm.privacy import Account, Budget, Ledger, Privacy
from pypgm.privacy.laws import Stated

RESERVED = Fraction(1, 100)
UNITS = ["rho", "epsilon"]

places = st.integers(0, 5)
amounts = st.sampled_from([Fraction(n, d) for n in (1, 2, 7) for d in (1, 3, 1009)])
deltas = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 101), Fraction(1, 50)])


class Run:
    """A run of the reference: what it may spend, in its own unit and the account's, and what it did spend."""

    def __init__(self, handle, budget, amount, is_step):
        self.handle, self.budget, self.amount, self.is_step = handle, budget, amount, is_step
        self.ledger = Ledger(budget, handle.observer)
        self.ledger.bind(Privacy())
        self.charged, self.failed, self.is_open, self.is_alive, self.lines = Fraction(0), Fraction(0), True, True, []

    @property
    def spent(self):
        return (self.amount if self.charged else Fraction(0)) if self.is_step else self.charged

    @property
    def taken(self):
        return (self.amount, self.budget.reserved_delta) if self.is_open else (self.spent, self.failed)


class AccountModel(RuleBasedStateMachine):
    """An account beside its reference."""

    def __init__(self):
        super().__init__()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.runs, self.is_closed = [], False

    def teardown(self):
        shutil.rmtree(self.folder)

    @initialize(unit=st.sampled_from(UNITS))
    def create(self, unit):
        self.unit, self.limit = unit, Fraction(3)
        self.account = Account(self.folder / "account", budget=self.budget(unit, self.limit, RESERVED))

    @staticmethod
    def budget(unit, amount, delta=Fraction(0)):
        return Budget(**{unit: amount}, reserved_delta=delta)

    def left(self):
        taken = [run.taken for run in self.runs]
        return self.limit - sum(t for t, _ in taken), RESERVED - sum(d for _, d in taken)

    @rule(unit=st.sampled_from(UNITS), amount=amounts, delta=deltas)
    def reserve(self, unit, amount, delta):
        budget = self.budget(unit, amount, delta)
        if self.unit == "epsilon" and unit == "rho":
            with pytest.raises(ValueError, match="is pure") if not self.is_closed else pytest.raises(BudgetError):
                self.account.reserve(budget, what="a run")
            return
        is_step = unit != self.unit
        price, (left, left_delta) = amount**2 / 2 if is_step else amount, self.left()
        if self.is_closed or price > left or delta > left_delta:
            with pytest.raises(BudgetError):
                self.account.reserve(budget, what="a run")
            return
        handle = self.account.reserve(budget, what="a run")
        assert handle.entry.amount == price
        self.runs.append(Run(handle, budget, price, is_step))

    def at(self, place):
        return self.runs[place % len(self.runs)] if self.runs else None

    @rule(place=places, cost=amounts, delta=deltas, times=st.integers(1, 3))
    def charge(self, place, cost, delta, times):
        run = self.at(place)
        if run is None or not run.is_alive:
            return
        law = Stated(**{run.budget.unit: cost}, delta=delta)
        fits = run.charged + times * cost <= run.budget.limit
        fits &= run.failed + times * delta <= run.budget.reserved_delta
        before = run.ledger.lines
        if not fits or not run.is_open:
            with pytest.raises(BudgetError):
                run.ledger.charge_many("do", [("it", law)] * times)
            assert run.ledger.lines == before  # neither in the account, as the invariant says
            return
        run.lines += run.ledger.charge_many("do", [("it", law)] * times)
        run.charged, run.failed = run.charged + times * cost, run.failed + times * delta

    @rule(place=places)
    def end(self, place):
        run = self.at(place)
        if run is not None and run.is_alive:
            run.handle.settle()
            run.is_open = run.is_alive = False

    @rule(place=places)
    def crash(self, place):
        run = self.at(place)
        if run is not None:
            run.is_alive = False

    @rule(place=places)
    def settle(self, place):
        run = self.at(place)
        if run is None:
            return
        number = run.handle.entry.run
        if run.is_open:
            run.is_open = False
            assert self.account.settle(number, by="a person", why="a test").spent == run.spent
        else:
            with pytest.raises(ValueError, match="no open run"):
                self.account.settle(number, by="a person", why="a test")

    @rule(more=amounts)
    def widen(self, more):
        if not self.is_closed:
            self.limit += more
            self.account.widen(self.budget(self.unit, self.limit, RESERVED), by="a person", why="a test")

    @rule(less=amounts)
    def narrow(self, less):
        if less < self.limit:
            with pytest.raises(ValueError, match=r"less|closed"):
                self.account.widen(self.budget(self.unit, self.limit - less, RESERVED), by="a person", why="a test")

    @rule(really=st.booleans())
    def close(self, really):
        if really and len(self.runs) > 3:
            self.account.close(by="a person", why="a test")
            self.is_closed = True

    @rule()
    def open_again(self):
        self.account = Account(self.folder / "account", budget=self.budget(self.unit, self.limit, RESERVED))

    @invariant()
    def amounts_add_up(self):
        if not hasattr(self, "account"):
            return
        runs = self.account.runs()
        assert [(run.amount, run.spent, run.spent_delta, run.is_settled) for run in runs] == [
            (run.amount, run.spent, run.failed, not run.is_open) for run in self.runs
        ]
        assert self.account.spent() == sum(run.spent for run in self.runs if not run.is_open)
        assert self.account.reserved() == sum(run.amount for run in self.runs if run.is_open)
        assert self.account.remaining() == (0 if self.is_closed else self.left()[0])
        assert sum(run.taken[0] for run in self.runs) <= self.account.budget.limit == self.limit
        assert [list(self.account.lines(run.run)) for run in runs[-2:]] == [run.lines for run in self.runs[-2:]]

    @invariant()
    def it_is_written_out(self):
        if hasattr(self, "account"):
            assert self.account.is_closed == self.is_closed
            assert len(json.loads(json.dumps(self.account.to_dict()))["runs"]) == len(self.runs)


AccountModel.TestCase.settings = settings(max_examples=12, stateful_step_count=25, deadline=None, derandomize=True)
TestAccountModel = AccountModel.TestCase
