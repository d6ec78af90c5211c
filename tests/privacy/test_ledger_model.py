"""Random sequences of all that can be done to a ledger, against a reference that adds up a list."""

import copy
import pickle
import threading
from fractions import Fraction

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from pypgm.errors import BudgetError
from pypgm.privacy import Budget, Ledger, LedgerReport, Privacy
from pypgm.privacy.laws import Stated

LIMIT, RESERVED = Fraction(3), Fraction(1, 100)
RELATIONS = [Privacy(), Privacy("replace"), Privacy(records_per_person=2)]
COPIES = [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), lambda x: Ledger.from_dict(x.to_dict())]

places = st.integers(0, 5)
amounts = st.sampled_from([Fraction(n, d) for n in (0, 1, 2, 7) for d in (1, 3, 1009)])
deltas = st.sampled_from([Fraction(0), Fraction(1, 1000), Fraction(1, 101), Fraction(1, 50)])


class Reference:
    """A tree of limits, each with the amounts spent in it or in its parts."""

    def __init__(self, limit, reserved, parent=None):
        self.limit, self.reserved, self.parent = limit, reserved, parent
        self.open, self.parts, self.spent, self.failed, self.count = True, [], Fraction(0), Fraction(0), 0

    def left(self):
        held = sum(p.limit - p.spent for p in self.parts if p.open)
        held_delta = sum(p.reserved - p.failed for p in self.parts if p.open)
        return (self.limit - self.spent - held, self.reserved - self.failed - held_delta) if self.open else (0, 0)

    def fits(self, cost, delta):
        return self.open and cost <= self.left()[0] and delta <= self.left()[1]

    def charge(self, cost, delta):
        whole = self
        while whole is not None:
            whole.spent, whole.failed, whole.count = whole.spent + cost, whole.failed + delta, whole.count + 1
            whole = whole.parent


def refused(act, error, *given, **named):
    try:
        act(*given, **named)
    except error:
        return True
    return False


class LedgerModel(RuleBasedStateMachine):
    """A ledger and its parts beside their references."""

    def __init__(self):
        super().__init__()
        self.tree = [(Ledger(Budget(rho=LIMIT, reserved_delta=RESERVED)), Reference(LIMIT, RESERVED))]
        self.bound, self.mark, self.last = None, "", (Fraction(1, 3), Fraction(0))

    def at(self, place):
        return self.tree[place % len(self.tree)]

    @rule(place=places, cost=amounts, delta=deltas)
    def charge(self, place, cost, delta):
        self.last = cost, delta
        ledger, known = self.at(place)
        fits = known.fits(cost, delta)
        assert refused(ledger.charge, BudgetError, "do", "it", Stated(rho=cost, delta=delta)) != fits
        if fits:
            known.charge(cost, delta)

    @rule(place=places)
    def charge_the_same_again(self, place):
        self.charge(place, *self.last)

    @rule(place=places, cost=amounts, delta=deltas)
    def charge_in_a_thread(self, place, cost, delta):
        work = threading.Thread(target=self.charge, args=(place, cost, delta))
        work.start()
        work.join()

    @rule(place=places, amount=amounts, delta=deltas)
    def allocate(self, place, amount, delta):
        ledger, known = self.at(place)
        fits = amount > 0 and known.fits(amount, delta)
        if not fits:
            assert refused(ledger.allocate, ValueError, "part", amount=amount, reserved_delta=delta)
            return
        known.parts.append(Reference(amount, delta, known))
        self.tree.append((ledger.allocate("part", amount=amount, reserved_delta=delta), known.parts[-1]))

    @rule(place=places)
    def close(self, place):
        ledger, known = self.at(place)
        inside = any(p.open for p in known.parts)
        assert refused(ledger.close, ValueError) == (inside and known.parent is not None)
        known.open = known.open and (known.parent is None or inside)

    @rule(place=places, how=st.sampled_from(COPIES))
    def copies_say_the_same_and_cannot_be_charged(self, place, how):
        ledger, known = self.at(place)
        other = how(ledger)
        assert type(other) is LedgerReport
        assert (other.spent(), other.spent_delta(), len(other.lines)) == (known.spent, known.failed, known.count)
        assert (other.privacy, other.not_private) == (self.bound, self.mark)

    @rule(place=places)
    def mark_it(self, place):
        self.mark = "a test"
        self.at(place)[0].mark_not_private("a test")

    @rule(place=places, privacy=st.sampled_from(RELATIONS))
    def bind(self, place, privacy):
        assert refused(self.at(place)[0].bind, ValueError, privacy) == (self.bound not in {None, privacy})
        self.bound = self.bound or privacy

    @invariant()
    def all_sums_agree(self):
        for own, known in self.tree:
            assert (own.spent(), own.spent_delta()) == (known.spent, known.failed)
            assert (own.remaining(), own.remaining_delta()) == known.left()
            assert len(own.lines) == known.count
            assert own.spent() == sum(line.cost for line in own.lines) <= own.budget.limit
            assert (own.privacy, own.not_private) == (self.bound, self.mark)


LedgerModel.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestLedgerModel = LedgerModel.TestCase
