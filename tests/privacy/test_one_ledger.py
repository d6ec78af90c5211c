"""A ledger is one thing, in one process, for one neighbour relation: nothing makes a second budget of it."""

import copy
import multiprocessing
import pickle
import sys
import threading
import time
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.errors import BudgetError
from pypgm.mechanisms import mst, wide
from pypgm.privacy import Budget, Ledger, LedgerReport, Privacy, PrivateColumn, PrivateTable
from pypgm.privacy.laws import DiscreteGaussian, Stated

DOMAIN = Domain({"a": 2, "b": 2})
DATA = Dataset({"a": [0, 1, 1], "b": [1, 1, 0]}, DOMAIN)
OTHERS = [Privacy("replace"), Privacy(records_per_person=2), Privacy("replace", 2)]


def half_spent():
    ledger = Ledger(Budget(rho=1, reserved_delta=1e-6))
    ledger.bind(Privacy(records_per_person=3))
    ledger.charge("measure", "a", DiscreteGaussian(variance=1, squared_sensitivity=1))
    ledger.mark_not_private("a test")
    return ledger


@pytest.mark.parametrize(
    "make",
    [
        copy.copy,
        copy.deepcopy,
        lambda ledger: pickle.loads(pickle.dumps(ledger)),
        lambda ledger: pickle.loads(pickle.dumps(ledger, protocol=0)),
        lambda ledger: Ledger.from_dict(ledger.to_dict()),
        lambda ledger: LedgerReport.from_dict(ledger.to_dict()),
        Ledger.snapshot,
        lambda ledger: copy.deepcopy({"kept": [ledger]})["kept"][0],
        lambda ledger: copy.copy(ledger.snapshot()),
    ],
)
def test_a_copy_of_a_ledger_cannot_be_charged(make):
    ledger = half_spent()
    copied = make(ledger)
    assert type(copied) is LedgerReport
    assert not any(hasattr(copied, name) for name in ("charge", "allocate", "charge_gaussian", "bind"))
    assert copied.lines == ledger.lines
    assert copied.privacy == ledger.privacy == Privacy(records_per_person=3)
    assert (copied.budget, copied.not_private) == (ledger.budget, "a test")
    assert (copied.spent(), copied.remaining()) == (Fraction(1, 2), Fraction(1, 2))
    assert str(copied) == str(ledger)
    assert repr(copied).startswith("LedgerReport(")
    with pytest.raises(TypeError, match="cannot be charged"):
        PrivateTable(DATA, Privacy(records_per_person=3), copied)


def test_a_copy_of_a_part_cannot_be_charged():
    ledger = Ledger(Budget(rho=1))
    with ledger.allocate("part", fraction="1/2") as part:
        part.charge("measure", "a", Stated(rho="1/4"))
        assert type(copy.copy(part)) is type(pickle.loads(pickle.dumps(part))) is LedgerReport


def test_tables_and_columns_are_not_copied():
    table = PrivateTable(DATA, Privacy(), Ledger(Budget(rho=1)))
    for private in (table, table.column("a"), PrivateColumn([1, 2], Privacy(), Ledger(Budget(rho=1)))):
        for duplicate in (copy.copy, copy.deepcopy, pickle.dumps, lambda t: copy.deepcopy([t])):
            with pytest.raises(TypeError, match="neither pickled nor copied"):
                duplicate(private)


def test_a_release_holds_a_report_and_pickles():
    release = mst(DATA, 1, 1e-9, iterations=2)
    assert type(release.ledger) is LedgerReport
    again = pickle.loads(pickle.dumps(release))
    assert again.ledger.lines == release.ledger.lines
    assert again.privacy == release.privacy == Privacy()
    assert np.array_equal(again.project("a").values, release.project("a").values)


def spend_in_a_child(ledger, part, table, selector, answers):
    def tried(act):
        try:
            act()
        except BudgetError as error:
            return str(error)
        return "charged"

    answers.put(
        [
            tried(lambda: ledger.charge("measure", "a", Stated(rho="1/4"))),
            tried(lambda: ledger.allocate("more", amount="1/4")),
            tried(lambda: part.charge("measure", "a", Stated(rho="1/8"))),
            tried(part.close),
            tried(lambda: table.measure("a", rho="1/8")),
            tried(lambda: selector.select([0], rho="1/8")),
            tried(lambda: Ledger(Budget(rho=1)).charge("measure", "a", Stated(rho=1))),
        ]
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
@pytest.mark.parametrize("locked", [False, True])
def test_a_forked_child_charges_a_ledger_of_its_own_alone(locked):
    ledger = Ledger(Budget(rho=1))
    part = ledger.allocate("part", amount="1/4")
    table = PrivateTable(DATA, Privacy(), ledger, n_threads=1)
    selector = table.l1_selector([("a",)], lambda c: np.zeros(2))
    context = multiprocessing.get_context("fork")
    answers = context.SimpleQueue()
    # A child that waited for a lock which another thread held at the fork would wait for ever.
    if locked:
        ledger._lock.acquire()
    child = context.Process(target=spend_in_a_child, args=(ledger, part, table, selector, answers))
    child.start()
    told = answers.get()
    child.join()
    if locked:
        ledger._lock.release()
    assert all("another one" in text for text in told[:-1])
    assert told[-1] == "charged"
    assert ledger.spent() == 0


def test_a_closed_part_and_what_is_in_it_are_refused():
    ledger = Ledger(Budget(rho=1))
    outer = ledger.allocate("outer", fraction="1/2")
    inner = outer.allocate("inner", amount="1/4")
    inner.charge("measure", "a", Stated(rho="1/4"))  # nothing is held any more, but the part is open
    with pytest.raises(ValueError, match="open allocations"):
        outer.close()
    inner.close()
    outer.close()
    for part in (outer, inner):
        for act in (
            lambda part=part: part.allocate("more", amount="1/1000"),
            lambda part=part: part.charge("measure", "a", Stated(rho=0)),
            lambda part=part: PrivateTable(DATA, Privacy(), part).measure("a", rho="1/1000"),
        ):
            with pytest.raises(BudgetError, match="is closed"):
                act()
        assert part.remaining() == 0
    assert ledger.remaining() == Fraction(3, 4)


def test_threads_charge_parts_one_after_the_other():
    ledger = Ledger(Budget(rho=10))
    charged = []

    def work():
        for _ in range(20):
            try:
                with ledger.allocate("part", amount="1/4") as part:
                    part.charge("measure", "a", Stated(rho="1/4"))
                    charged.append(1)
            except BudgetError:
                pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent() == 10 == Fraction(len(charged), 4) == sum(line.cost for line in ledger.lines)
    assert ledger.remaining() == 0


@pytest.mark.parametrize("part", [False, True])
@pytest.mark.parametrize("act", ["charge", "allocate"])
def test_no_thread_comes_between_a_check_and_its_entry(monkeypatch, act, part):
    """Each of the threads is held up after its check, for long enough that all of them would have passed it."""
    ledger = Ledger(Budget(rho=1))
    whole = ledger.allocate("part", amount=1) if part else ledger
    check, done = Ledger._check, []

    def slow(self, *given):
        check(self, *given)
        time.sleep(0.05)

    def work():
        try:
            if act == "charge":
                whole.charge("measure", "a", Stated(rho=1))
            else:
                whole.allocate("all", amount=1)
        except BudgetError:
            return
        done.append(1)

    monkeypatch.setattr(Ledger, "_check", slow)
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [1]
    assert whole.remaining() == ledger.remaining() == 0


# --- one relation ---


@pytest.mark.parametrize("other", OTHERS)
def test_the_first_table_pins_the_relation(other):
    ledger = Ledger(Budget(rho=1))
    assert ledger.privacy is None
    PrivateTable(DATA, Privacy(), ledger).measure("a", rho="1/8")
    PrivateTable(DATA, Privacy(), ledger).measure("a", rho="1/8")
    part = ledger.allocate("part", amount="1/8")
    for enter in (
        lambda: PrivateTable(DATA, other, ledger),
        lambda: PrivateTable(DATA, other, part),
        lambda: PrivateColumn([1], other, ledger),
        lambda: ledger.bind(other),
    ):
        with pytest.raises(ValueError, match="this ledger's charges are for"):
            enter()
    assert ledger.privacy == part.privacy == Privacy()
    for wrong in ("replace", None):
        with pytest.raises(TypeError, match="Privacy"):
            ledger.bind(wrong)


def test_a_part_pins_the_relation_of_the_whole():
    ledger = Ledger(Budget(rho=1))
    first, second = ledger.allocate("one", amount="1/4"), ledger.allocate("two", amount="1/4")
    PrivateTable(DATA, Privacy("replace"), first)
    assert ledger.privacy == second.privacy == Privacy("replace")
    with pytest.raises(ValueError, match="charges are for"):
        PrivateTable(DATA, Privacy(), second)


@pytest.mark.parametrize("privacy", [Privacy(), *OTHERS])
def test_the_relation_is_stored(privacy):
    ledger = Ledger(Budget(rho=1))
    assert Ledger.from_dict(ledger.to_dict()).privacy is None
    ledger.bind(privacy)
    stored = {"records_per_person": privacy.records_per_person} if privacy.is_of_people else {}
    assert ledger.to_dict()["privacy"] == {"neighbours": privacy.neighbours, **stored}
    again = Ledger.from_dict(ledger.to_dict()).privacy
    assert again == privacy
    assert again.sentence == privacy.sentence
    for broken in ({"neighbours": "bounded"}, {"records_per_person": 0}, {"k": 3}, 3):
        with pytest.raises(ValueError, match=r"neighbours|records_per_person|not a stored"):
            Ledger.from_dict(ledger.to_dict() | {"privacy": broken})


def test_a_release_names_the_relation_of_its_ledger():
    release = mst(DATA, 1, 1e-9, privacy=Privacy("replace", 2), iterations=2)
    assert release.privacy == release.ledger.privacy == Privacy("replace", 2)
    assert "replace neighbours, 2 record(s) a person" in release.summary()
    with pytest.raises(ValueError, match="bound to its relation"):
        type(release)(release.model, release.measurements, Ledger(Budget(rho=1)), "mine")


def test_a_column_of_a_table_is_charged_where_the_table_is():
    ledger = Ledger(Budget(rho=1))
    table = PrivateTable(DATA, Privacy("replace"), ledger, unsafe_seed=1)
    column = table.column("a")
    assert column.ledger is ledger
    assert column.privacy == Privacy("replace")
    with pytest.raises(ValueError, match="unknown attribute"):
        table.column("z")


@pytest.mark.parametrize("seed", [None, 3])
def test_mechanisms_that_share_a_table_spend_no_more_than_its_budget_together(seed):
    """Each released measurement was charged, and every line is in the sum; who comes late gets a refusal."""
    draw = np.random.default_rng(0)
    domain = Domain({f"x{i}": 3 for i in range(4)})
    data = Dataset({name: draw.integers(0, 3, 500) for name in domain}, domain)
    ledger, ends = Ledger(Budget(rho=1)), []
    table = PrivateTable(data, None, ledger, unsafe_seed=seed)
    together = threading.Barrier(4)

    def run():
        together.wait()
        try:
            ends.append(wide(table))
        except (BudgetError, ValueError) as refusal:  # a rest too small for any noise is the second
            ends.append(refusal)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(ends) == 4
    assert sum(line.cost for line in ledger.lines) == ledger.spent() <= 1
    released = [end for end in ends if not isinstance(end, Exception)]
    assert sum(len(release.measurements) for release in released) <= len(ledger.lines)
    for release in released:
        assert all("not charged" not in line for line in release.report().splitlines())
