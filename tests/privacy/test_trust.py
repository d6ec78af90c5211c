"""The trusted core trusts no object: what a caller hands over is copied and checked before it is paid for."""

import math
import threading
import traceback
import warnings
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.errors import ReleaseError
from pypgm.mechanisms import mst
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.mrf.stability import Stability
from pypgm.privacy import (
    Budget,
    Charge,
    Ledger,
    LedgerReport,
    Privacy,
    PrivateColumn,
    PrivateTable,
    private_bounds,
    private_quantiles,
    sparse_histogram,
)
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.laws import DiscreteGaussian, Stated
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Identity, Kronecker, LinearQuery, Matrix

DOMAIN = Domain({"a": 3, "b": 2})
RECORDS = {"a": np.arange(60) % 3, "b": np.arange(60) % 2}


def opened(budget=None, privacy=None, data=None):
    ledger = Ledger(budget or Budget(rho=10, reserved_delta="1/10"))
    return PrivateTable(data or Dataset(RECORDS, DOMAIN), privacy or Privacy(), ledger)


def zero(clique):
    return np.zeros(DOMAIN.size(clique))


# --- Budgets, relations and ledgers ---


class FreeLedger(Ledger):
    def charge(self, line):
        return line


class LargeBudget(Budget):
    @property
    def more(self):
        return 100


class MildPrivacy(Privacy):
    def squared_l2_sensitivity(self, query):
        return 0


class QuietSampler(Sampler):
    def gaussian(self, variance):
        return lambda counts: counts


class One(int):
    def __mul__(self, other):
        return other

    __rmul__ = __mul__


@pytest.mark.parametrize(
    "make",
    [
        lambda: PrivateTable(Dataset(RECORDS, DOMAIN), Privacy(), FreeLedger(Budget(rho=1))),
        lambda: PrivateColumn([1, 2], Privacy(), FreeLedger(Budget(rho=1))),
        lambda: PrivateTable(Dataset(RECORDS, DOMAIN), Privacy(), Ledger(Budget(rho=1)), sampler=QuietSampler()),
        lambda: PrivateColumn([1, 2], Privacy(), Ledger(Budget(rho=1)), sampler=QuietSampler()),
        lambda: Ledger(LargeBudget(rho=1)),
        lambda: LedgerReport(LargeBudget(rho=1)),
        lambda: mst(Dataset(RECORDS, DOMAIN), budget=LargeBudget(rho=1)),
        lambda: PrivateTable(Dataset(RECORDS, DOMAIN), MildPrivacy(), Ledger(Budget(rho=1))),
        lambda: PrivateColumn([1, 2], MildPrivacy(), Ledger(Budget(rho=1))),
    ],
)
def test_subclasses_are_refused(make):
    with pytest.raises(TypeError, match=r"needs? a|bound to a Privacy"):
        make()


def test_numbers_of_classes_of_ones_own_are_read_once_or_refused():
    with pytest.raises(ValueError, match="positive integer"):
        Privacy(records_per_person=One(5))

    class Rising(Fraction):
        reads = 0

        @property
        def numerator(self):
            Rising.reads += 1
            return Rising.reads

    table = opened()
    line = table.measure("a", rho=Rising(1, 8)) and table.ledger.lines[0]
    assert Rising.reads == 1
    assert line.cost <= Fraction(1, 8)
    assert type(line.parameters["variance"]) is Fraction


@pytest.mark.parametrize(
    ("made", "again"),
    [
        (Budget(rho=1), {"rho": 100}),
        (Privacy(records_per_person=5), {"records_per_person": 1}),
        (Ledger(Budget(rho=1)), {"budget": Budget(rho=100)}),
        (LedgerReport(Budget(rho=1)), {"budget": Budget(rho=100)}),
        (Charge("x", "y", Stated(rho=1)), {"what": "x", "on": "y", "law": Stated(rho=0)}),
        (Stated(rho=1), {"rho": 0}),
        (DiscreteGaussian(1, 1), {"variance": 9, "squared_sensitivity": 1}),
        (Sampler(), {"unsafe_seed": 1}),
        (PrivateColumn([1], Privacy(), Ledger(Budget(rho=1))), None),
        (opened(), None),
    ],
    ids=lambda value: type(value).__name__,
)
def test_nothing_is_initialised_twice(made, again):
    if again is None:
        again = {"privacy": Privacy(), "ledger": Ledger(Budget(rho=100))}
        again |= {"data": Dataset(RECORDS, DOMAIN)} if isinstance(made, PrivateTable) else {"values": [2]}
    before = repr(made)
    with pytest.raises(TypeError, match="initialised again"):
        made.__init__(**again)
    assert repr(made) == before


def test_the_first_class_of_a_ledger_does_not_initialise_it_again():
    ledger = Ledger(Budget(rho=1))
    with pytest.raises(TypeError, match="initialised again"):
        LedgerReport.__init__(ledger, Budget(rho=100))
    assert ledger.remaining() == 1


def test_what_a_table_was_opened_with_can_change_and_the_table_does_not():
    budget, privacy = Budget(rho=1), Privacy("replace", 5)
    table = PrivateTable(Dataset(RECORDS, DOMAIN), privacy, Ledger(budget))
    object.__setattr__(budget, "limit", Fraction(100))
    object.__setattr__(privacy, "records_per_person", 1)
    assert (table.ledger.budget.limit, table.privacy, table.ledger.privacy) == (1, *[Privacy("replace", 5)] * 2)
    table.measure("a", scale=100)
    assert table.ledger.lines[0].parameters["sensitivity"] == 10


def test_a_domain_that_changes_changes_no_table():
    domain = Domain({"a": 3, "b": 2})
    table = PrivateTable(Dataset(RECORDS, domain), Privacy(), Ledger(Budget(rho=1)))
    domain.shape = (1, 1)
    assert table.domain.shape == (3, 2)


def test_a_table_that_is_refused_binds_no_ledger():
    ledger = Ledger(Budget(rho=1))
    with pytest.raises(TypeError, match="n_threads"):
        PrivateTable(Dataset(RECORDS, DOMAIN), Privacy("replace"), ledger, n_threads="2")
    assert ledger.privacy is None


def test_a_line_that_changes_after_it_was_charged_costs_what_it_cost():
    ledger, law = Ledger(Budget(rho=1)), Stated(rho="1/2")
    ledger.charge("x", "y", law)
    object.__setattr__(law, "rho", Fraction(0))
    assert ledger.spent() == ledger.lines[0].cost == Fraction(1, 2)


# --- Queries and cliques ---


def lying(query):
    """Put another sensitivity over that of a query's class."""
    query.__dict__["_sensitivity"] = lambda neighbours, norm: 0
    query.__dict__["squared_l2_sensitivity"] = lambda neighbours: 0
    query.__dict__["has_unit_columns"] = True
    return query


TRUE = Matrix([[1, 1, 1], [2, 0, 1]])


@pytest.mark.parametrize("inner", [False, True])
def test_a_query_that_was_told_another_sensitivity_is_charged_by_its_own(inner):
    query = Kronecker([lying(Matrix(TRUE.entries)), Identity(2)]) if inner else lying(Matrix(TRUE.entries))
    table = opened()
    table.measure(("a", "b") if inner else "a", query, rho="1/2")
    assert table.ledger.lines[0].parameters["squared_sensitivity"] == TRUE.squared_l2_sensitivity("add-remove") == 5
    with pytest.raises(ValueError, match="sums over groups"):
        table.l1_selector([("a",)], zero, lambda _: lying(Matrix(TRUE.entries))).select(rho="1/2")


def test_a_subclass_of_a_query_is_taken_for_its_matrix():
    class Free(Identity):
        def squared_l2_sensitivity(self, neighbours):
            return 0

    table = opened()
    measured = table.measure("a", Free(3), rho="1/2")
    assert table.ledger.lines[0].parameters["squared_sensitivity"] == 1
    assert type(measured.query) is Matrix
    with pytest.raises(TypeError, match="query"):
        table.measure("a", object(), rho="1/2")
    assert issubclass(Free, LinearQuery)


def test_names_of_classes_of_ones_own_are_taken_for_those_of_the_domain():
    class Name(str):
        __slots__ = ()

    table = opened()
    measured = [table.measure(Name("a"), rho="1/9"), *table.measure_many([(Name("a"), Name("b"))], rho="1/9")]
    assert {type(name) for m in measured for name in m.clique} == {str}
    with pytest.raises(ValueError, match="unknown attribute 'c'"):
        table.selector([("c",)], lambda i, counts: 0, sensitivity=1)


# --- Frank-Wolfe ---

FEATURES = (Feature((1,)), Feature((), -1))


def regressions(*, features=FEATURES, attribute=0, pairs=((0, 1),), candidates=(0, 1), radius=1.0, steps=2):
    return Regressions(features, (Node(attribute, pairs, candidates),), radius, steps)


@pytest.mark.parametrize("radius", [0.0, -0.0, -1.0, -5.0, math.inf, -math.inf, math.nan, "1", True, None, 1j, [1.0]])
def test_a_radius_is_positive_and_finite(radius):
    table = opened()
    with pytest.raises((TypeError, ValueError), match="radius"):
        FrankWolfe(table, regressions(radius=radius))


@pytest.mark.parametrize(
    "asked",
    [
        {"features": (Feature((9,)),)},
        {"features": (Feature((-1,)),)},
        {"features": (Feature((0, 1), 1),)},
        {"features": (Feature((1,), 2),)},
        {"features": (Feature((1,), 1.0),)},
        {"attribute": -1},
        {"attribute": 2},
        {"attribute": True},
        {"pairs": ()},
        {"pairs": ((0, 3),)},
        {"pairs": ((0, -1),)},
        {"pairs": ((1, 1),)},
        {"candidates": ()},
        {"candidates": (2,)},
        {"candidates": (-1,)},
        {"steps": 0},
        {"steps": 1.5},
        {"steps": 1 << 16},
    ],
    ids=repr,
)
def test_what_is_out_of_range_is_refused_before_it_is_paid(asked):
    table = opened()
    with pytest.raises((TypeError, ValueError)):
        FrankWolfe(table, regressions(**asked))
    assert table.ledger.lines == ()


@pytest.mark.parametrize("radius", [1e-9, 1.0, 700.0, 1e308])
@pytest.mark.parametrize("privacy", [Privacy(), Privacy("replace", 3)], ids=repr)
def test_the_range_charged_is_at_least_that_of_all_responses(radius, privacy):
    table = opened(privacy=privacy)
    run = FrankWolfe(table, regressions(radius=radius))
    records = privacy.records_per_person * (2 if privacy.total_is_public else 1)
    assert run.score_range == 2 * records * int(np.abs(run._responses.astype(np.int64)).max())
    (weights,) = run.solve([Fraction(1)])
    assert np.abs(weights).sum() <= radius
    with pytest.raises(ValueError, match="read-only"):
        run._responses[0] = 0


class Growing(list):
    """Pairs of which there are more each time."""

    def __iter__(self):
        self.reads = getattr(self, "reads", 0) + 1
        return iter([(0, 1)] * (1 if self.reads == 1 else 40))

    def __len__(self):
        return 1


class Alone(Node):
    @property
    def composed(self):
        return 1


def test_what_composes_is_counted_in_the_regressions_that_are_solved():
    plain = opened()
    FrankWolfe(plain, regressions(pairs=((0, 1), (0, 2), (0, 1)))).solve([Fraction(1)])
    assert plain.ledger.lines[0].parameters["composed"] == 6
    subclassed = opened()
    asked = Regressions(FEATURES, (Alone(0, ((0, 1), (0, 2), (0, 1)), (0, 1)),), 1.0, 2)
    FrankWolfe(subclassed, asked).solve([Fraction(1)])
    assert subclassed.ledger.lines == plain.ledger.lines
    growing = opened()
    (weights,) = FrankWolfe(growing, regressions(pairs=Growing([(0, 1)]))).solve([Fraction(1)])
    assert len(weights) == growing.ledger.lines[0].parameters["draws"] / 2 == 1


@pytest.mark.parametrize("amounts", [[], [Fraction(1)] * 2, [Fraction(0)], [-1], ["x"], [math.nan], [None]], ids=repr)
def test_amounts_are_checked_before_the_first_is_charged(amounts):
    table = opened()
    with pytest.raises((TypeError, ValueError)):
        FrankWolfe(table, regressions()).solve(amounts)
    assert table.ledger.lines == ()
    assert table.ledger.remaining() == 10


# --- Votes ---

EDGE = ((0, 1),)


class Loud(BaseException):
    """An error that is no `Exception`."""


def shouting(block):
    raise Loud(block.columns["a"].sum())


def exiting(block):
    raise SystemExit(int(block.columns["a"].sum()))


ODD = {
    "none": lambda block: None,
    "list": lambda block: [(0, 1)],
    "text": lambda block: "x",
    "array": lambda block: np.array([[0, 1]]),
    "truths": lambda block: ((False, True),),
    "numpy": lambda block: ((np.int8(0), np.int64(1)),),
    "floats": lambda block: ((0.0, 1.0),),
    "nan": lambda block: ((0, math.nan),),
    "triple": lambda block: ((0, 1, 2),),
    "turned": lambda block: ((1, 0), (0, 1)),
    "negative": lambda block: ((-1, 1),),
    "loud": shouting,
    "exit": exiting,
}


def released(vote, records, n_blocks=20):
    data = Dataset({"a": records, "b": np.zeros(len(records), int)}, Domain({"a": 2, "b": 2}))
    table = opened(Budget(epsilon=50, reserved_delta="1/1000"), data=data)
    return Stability(table, vote, n_blocks).release(epsilon=Fraction(50), delta=Fraction(1, 1000)).edges


@pytest.mark.parametrize("odd", ODD)
def test_one_odd_block_is_not_told(odd):
    def vote(block):
        return ODD[odd](block) if block.columns["a"].any() else EDGE

    found = [released(vote, np.array([0] * 99 + [one])) for one in (0, 1) for _ in range(3)]
    assert found == [EDGE] * 6
    assert {type(number) for edges in found for pair in edges for number in pair} == {int}


@pytest.mark.parametrize("odd", ODD)
def test_equal_votes_are_one_graph_whoever_came_first(odd):
    same = odd in {"list", "array", "truths", "numpy", "turned"}
    found = released(ODD[odd], np.zeros(40, int))
    assert found == (EDGE if same else ())
    assert repr(found) in {"((0, 1),)", "()"}


@pytest.mark.parametrize("n_blocks", [0, -1, 1.5, "3", None, True, 1 << 40])
def test_the_number_of_blocks_is_checked(n_blocks):
    with pytest.raises((TypeError, ValueError), match="block"):
        Stability(opened(), lambda _: EDGE, n_blocks)


@pytest.mark.parametrize(
    "asked", [{"epsilon": 0, "delta": Fraction(1, 9)}, {"epsilon": 1, "delta": 0}, {"epsilon": 1, "delta": 1}]
)
def test_what_stability_cannot_do_is_refused_before_it_is_paid(asked):
    table = opened()
    with pytest.raises(ValueError, match="stability needs"):
        Stability(table, lambda _: EDGE, 3).release(**asked)
    assert table.ledger.lines == ()


# --- Selectors ---

WIDE = Domain({"one": 1, "b": 30})


def wide(n):
    return opened(data=Dataset({"one": np.zeros(n, int), "b": np.zeros(n, int)}, WIDE))


def within(act, *, in_thread=False, swallow=False):
    """Let a selector's second selection do something to the selector while its estimates are asked for."""
    table, made, asked = wide(7), [], []

    def estimate(clique):
        if made and made[0] is not None:
            own = made.pop()
            made.append(None)
            try:
                if in_thread:
                    errors = []
                    worker = threading.Thread(target=lambda: caught(lambda: act(own), errors))
                    worker.start()
                    worker.join()
                    if errors:
                        raise errors[0]
                else:
                    act(own)
            except ValueError as error:
                asked.append(str(error))
                if not swallow:
                    raise
        return np.zeros(WIDE.size(clique))

    own = table.l1_selector([("one",), ("b",)], estimate)
    own.select(rho="1/9")
    own.compare(estimate, [("b",), ("one",)])
    made.append(own)
    return table, own, asked


def caught(act, errors):
    try:
        act()
    except ValueError as error:
        errors.append(error)


def flat(clique):
    return np.zeros(WIDE.size(clique))


SELECTIONS = {
    "select": lambda own: own.select(rho="1/9"),
    "select_top": lambda own: own.select_top(None, 2, rho="1/9"),
    "permute_and_flip": lambda own: own.permute_and_flip(rho="1/9"),
    "screen": lambda own: own.screen(rho="1/9"),
}


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("ask", SELECTIONS)
def test_an_estimate_that_compares_anew_is_refused_before_the_charge(ask, in_thread):
    table, own, _ = within(lambda own: own.compare(flat, [("one",), ("one",)]), in_thread=in_thread)
    with pytest.raises(ValueError, match="must leave its selector alone"):
        SELECTIONS[ask](own)
    assert len(table.ledger.lines) == 1
    assert SELECTIONS["select"](own) in {0, 1}  # it goes on with what it compares now


@pytest.mark.parametrize("in_thread", [False, True])
@pytest.mark.parametrize("ask", SELECTIONS)
def test_an_estimate_that_selects_is_refused(ask, in_thread):
    table, own, _ = within(SELECTIONS[ask], in_thread=in_thread)
    with pytest.raises(ValueError, match="must leave its selector alone"):
        own.select(rho="1/9")
    assert len(table.ledger.lines) == 1
    table, own, told = within(SELECTIONS[ask], in_thread=in_thread, swallow=True)
    own.select(rho="1/9")
    assert len(told) == 1
    assert len(table.ledger.lines) == 2


@pytest.fixture
def scored(monkeypatch):
    """The scores that selections draw by."""
    seen, draw = [], Sampler.select

    def select(self, scores, rate):
        seen.append((scores >> 16).tolist())
        return draw(self, scores, rate)

    monkeypatch.setattr(Sampler, "select", select)
    return seen


@pytest.mark.parametrize("n", [7, 8])
def test_scores_are_of_the_comparison_that_was_charged(scored, n):
    """A record more changes each score by one, whatever is compared meanwhile."""
    table = wide(n)

    def score(number, counts):
        own.compare(lambda i, counts: 10**6)
        return int(counts.sum())

    own = table.selector([("one",), ("b",)], score, sensitivity=1)
    own.select(rho="1/9")
    assert scored == [[n, n]]


@pytest.mark.parametrize("among", [[0.0], ["0"], [None], [-1], [2], [True], []], ids=repr)
def test_positions_are_checked_before_the_charge(among):
    table = wide(7)
    own = table.l1_selector([("one",), ("b",)], flat)
    with pytest.raises((TypeError, ValueError)):
        own.select(among, rho="1/9")
    assert table.ledger.lines == ()


@pytest.mark.parametrize("error", [Loud, SystemExit, GeneratorExit, MemoryError, RecursionError, LookupError])
def test_a_score_that_raises_anything_is_0(scored, error):
    def score(number, counts):
        raise error(int(counts.sum()))

    table = wide(7)
    own = table.selector([("one",), ("b",)], score, sensitivity=1)
    assert own.select([1], rho="1/9") == 1
    assert scored == [[0]]


class Warned(float):
    """A number that says what it is where it is read."""

    def __float__(self):
        warnings.warn(f"value {SECRET}", stacklevel=1)
        return 3.0


class Exiting(str):
    """A text that ends all where it is read."""

    def __str__(self):
        raise SystemExit(SECRET)


def warned(counts):
    warnings.warn(f"counts {counts}", stacklevel=2)
    return 0


def warned_of_votes(block):
    warned(block.n_records)
    return ()


def read_column(read):
    values = [1.0, Warned(2), Exiting("7"), 3.0] * 9
    return lambda: read(PrivateColumn(values, Privacy(), Ledger(Budget(rho=100, reserved_delta="1/10"))))


WARNING = {
    "a score": lambda: wide(7).selector([("one",), ("b",)], lambda i, c: warned(c), sensitivity=1).select(rho=1),
    "a vote": lambda: released(warned_of_votes, np.zeros(40, int)),
    "quantiles": read_column(lambda column: private_quantiles(column, ["1/2"], [0, 1, 2, 8], rho=1)),
    "bounds": read_column(lambda column: private_bounds(column, [-1, 0, 2, 6], rho=1)),
    "keys": read_column(lambda column: sparse_histogram(column, delta="1/1000", variance=9)),
}


@pytest.mark.parametrize("what", WARNING)
def test_what_is_shown_records_or_is_one_is_not_heard(what):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        WARNING[what]()
    assert heard == []


def raise_(kind):
    raise kind(SECRET)


@pytest.mark.parametrize("base", [KeyboardInterrupt, SystemExit, GeneratorExit, Exception])
def test_an_error_of_a_class_of_ones_own_is_one_fixed_text(base):
    """Which class is raised may depend on a count."""
    own, told = type("Own", (base,), {}), None
    try:
        with fixed_errors:
            raise_(own)
    except BaseException as error:
        told = error
    assert type(told) is ReleaseError
    assert told.__cause__ is told.__context__ is None


# --- Errors behind the charge ---

SECRET = 48_115_623


class Broken(Dataset):
    """Records that cannot be counted, and say why."""

    error = ValueError

    def __repr__(self):
        return "Broken()"

    def count(self, cliques, n_threads=0):
        counts = np.full(3, SECRET)
        raise self.error(f"value {counts[0]} of a record")

    @property
    def columns(self):
        if not self.__dict__.get("is_broken"):
            return self.__dict__["columns"]
        raise self.error(f"value {SECRET} of a record")

    @columns.setter
    def columns(self, columns):
        self.__dict__["columns"] = columns


class Sour:
    def __len__(self):
        return 3

    def __iter__(self):
        raise Broken.error(f"value {SECRET} of a record")


def cells(table):
    return table.cell_selector([("a",)]).draw(1, [np.zeros(3)], 60.0, rho="1/9")


def signs(table):
    return table.sign_selector({"a": [[0, 1, 1]], "b": [[0, 1]]}, [np.array([[0, 1]])]).select([2.5], rho="1/9")


BEHIND = {
    "measure": lambda t: t.measure("a", rho="1/9"),
    "measure_many": lambda t: t.measure_many(["a", "b"], rho="1/9"),
    "measure_total": lambda t: t.measure_total(rho="1/9"),
    "select": lambda t: t.l1_selector([("a",), ("b",)], zero).select(rho="1/9"),
    "select_top": lambda t: t.l1_selector([("a",), ("b",)], zero).select_top(None, 2, rho="1/9"),
    "permute_and_flip": lambda t: t.l1_selector([("a",), ("b",)], zero).permute_and_flip(rho="1/9"),
    "screen": lambda t: t.l1_selector([("a",), ("b",)], zero).screen(rho="1/9"),
    "stated": lambda t: t.selector([("a",)], lambda i, counts: 0, sensitivity=1).select(rho="1/9"),
    "cells": cells,
    "signs": signs,
    "quantiles": lambda t: private_quantiles(t.column("a"), [0.5], range(3), rho="1/9"),
    "bounds": lambda t: private_bounds(t.column("a"), range(3), scale=9),
    "keys": lambda t: sparse_histogram(t.column("a"), delta="1/1000", rho="1/9"),
    "quantiles of values": lambda t: private_quantiles(
        PrivateColumn(Sour(), t.privacy, t.ledger), [0.5], [1], rho="1/9"
    ),
    "keys of values": lambda t: sparse_histogram(PrivateColumn(Sour(), t.privacy, t.ledger), delta="1/999", rho="1/9"),
    "regressions": lambda t: FrankWolfe(t, regressions()).solve([Fraction(1)]),
    "votes": lambda t: Stability(t, lambda _: EDGE, 3).release(epsilon=Fraction(1), delta=Fraction(1, 1000)),
    "sample": lambda t: t.subsample("1/2", epsilon="1/2"),
}


def failed(ask, error, monkeypatch):
    monkeypatch.setattr(Broken, "error", error)
    data = Broken(RECORDS, DOMAIN)
    table = opened(data=data)
    data.__dict__["is_broken"] = True
    with pytest.raises(BaseException) as told:  # noqa: PT011 - which it is, is what is compared
        BEHIND[ask](table)
    assert len(table.ledger.lines) >= 1
    return told.value


@pytest.mark.parametrize("ask", BEHIND)
def test_an_error_behind_a_charge_is_one_fixed_text(ask, monkeypatch):
    for error in (ValueError, MemoryError, OverflowError, Loud):
        told = failed(ask, error, monkeypatch)
        assert type(told) is ReleaseError
        assert str(told).startswith("a step failed after it was charged: it releases nothing")
        assert told.__context__ is told.__cause__ is None
        whole = traceback.TracebackException.from_exception(told, capture_locals=True)
        frames = [frame for frame in whole.stack if "test_trust" not in frame.filename]
        assert str(SECRET) not in str([frame.locals for frame in frames])


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_comes_from_outside_stays_what_it_is_and_leaves_the_frames(kind, monkeypatch):
    for ask in BEHIND:
        told = failed(ask, kind, monkeypatch)
        assert type(told) is kind
        assert (told.args, told.__context__, told.__cause__) == ((), None, None)
