"""Ctrl-C at any line: a ledger stays usable, and nothing is ever cheaper than what was released."""

import contextlib
import sys
from fractions import Fraction

import numpy as np
import pytest

from pypgm import Dataset, Domain
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.mrf.stability import Stability
from pypgm.privacy import (
    Budget,
    Ledger,
    Privacy,
    PrivateTable,
    private_bounds,
    private_quantiles,
    sparse_histogram,
)
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Stated
from pypgm.queries import Partition

WATCHED = (
    *("ledger", "ledger_report", "budget", "charge", "laws", "access", "guarded", "fixed_errors", "private_table"),
    *("selector", "l1_selector", "cell_selector", "sign_selector", "score_weights", "selection", "private_column"),
    *("quantiles", "unknown_keys", "subsampling", "trusted_query", "noise", "sampler"),
)
FILES = (*(f"pypgm/privacy/{name}.py" for name in WATCHED), "pypgm/mrf/stability.py", "pypgm/mrf/frank_wolfe.py")
LIMIT, RESERVED = Fraction(10), Fraction(1, 10)
DOMAIN = Domain({"a": 3, "b": 2})
DATA = Dataset({"a": np.arange(60) % 3, "b": np.arange(60) % 2}, DOMAIN)


class Interrupts:
    """Raises at the n-th of the different lines that are reached, at the first or the last time known."""

    def __init__(self, at=None):
        self.at, self.reached, self.code_is_watched = at, {}, {}

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def _call(self, frame, event, arg):
        code = frame.f_code
        if code not in self.code_is_watched:
            self.code_is_watched[code] = code.co_filename.replace("\\", "/").endswith(FILES)
        return self._line if self.code_is_watched[code] else None

    def _line(self, frame, event, arg):
        if event == "line":
            where = (frame.f_code, frame.f_lineno)
            self.reached[where] = self.reached.get(where, 0) + 1
            if (where, self.reached[where]) == self.at:
                self.at = None
                raise KeyboardInterrupt
        return self._line


def opened():
    return PrivateTable(DATA, Privacy(), Ledger(Budget(rho=LIMIT, reserved_delta=RESERVED)), n_threads=1)


def zero(clique):
    return np.zeros(DOMAIN.size(clique))


def parts(table, got):
    with table.ledger.allocate("outer", amount=2, reserved_delta="1/100") as outer:
        got.append(outer.charge("x", "y", DiscreteGaussian(variance=2, squared_sensitivity=1)))
        with outer.allocate("inner", fraction="1/4", reserved_delta="1/1000") as inner:
            got.append(inner.charge("x", "y", Stated(rho="1/9", delta="1/2000")))
        got.append(outer.charge("x", "y", DiscreteLaplace(scale=9, sensitivity=1)))
    table.ledger.snapshot()


def selections(table, got):
    own = table.l1_selector([("a",), ("b",), ("a", "b")], zero)
    got.append(own.select(rho="1/8"))
    own.compare(zero, [("b",), ("a",)])
    got.extend(own.select_top(None, 2, rho="1/8", weights=[1, 2]))
    got.append(own.permute_and_flip([0, 1], rho="1/8"))
    got.append(own.screen(rho="1/8"))


def stated(table, got):
    own = table.selector([("a",), ("b",)], lambda i, counts: int(counts.max()), sensitivity=1)
    got.append(own.select(epsilon="1/2", offsets=[0, 3]))
    cells = table.cell_selector([("a",), ("b",)])
    got.extend(cells.draw(2, [np.zeros(3), np.zeros(2)], 60.0, 2, rho="1/8")[:1])
    signs = table.sign_selector({"a": [[0, 1, 0]], "b": [[0, 1]]}, [np.array([[0, 1]])])
    got.append(signs.select([0.0], rho="1/8"))


def columns(table, got):
    column = table.column("a")
    got.extend(private_quantiles(column, [0.25, 0.5], range(4), rho="1/8"))
    got.append(private_bounds(column, [-1, 0, 1, 2, 3], scale=9))
    got.append(sparse_histogram(column, delta="1/1000", rho="1/8"))


def measurements(table, got):
    got.append(table.measure("a", rho="1/3"))
    got.append(table.measure(("b", "a"), Partition([0, 0, 0, 1, 1, 1]), scale=9))
    got.extend(table.measure_many(["a", ("b",), ("a", "b")], rho="1/2", weights=[1, 2, 3]))


def regressions(table, got):
    asked = Regressions([Feature((1,)), Feature(())], [Node(0, [(0, 1), (1, 2)], [0, 1])], 1.0, 2)
    got.extend(FrankWolfe(table, asked).solve([Fraction(1)]))


def votes(table, got):
    got.append(Stability(table, lambda block: ((0, 1),), 3).release(epsilon=Fraction(1), delta=Fraction(1, 1000)))


def samples(table, got):
    inner = table.subsample("1/2", epsilon="1/2")
    got.append(inner)
    inner.measure("a", scale=9)


OPERATIONS = [parts, selections, stated, columns, measurements, regressions, votes, samples]


def check(table, got):
    """Check all that must hold of a ledger, whatever was interrupted, and that what is left can be spent."""
    ledger = table.ledger
    lines, failed = sum(line.cost for line in ledger.lines), sum(line.delta for line in ledger.lines)
    assert (ledger.spent(), ledger.spent_delta()) == (lines, failed)
    assert 0 <= ledger.remaining() <= LIMIT - lines
    assert 0 <= ledger.remaining_delta() <= RESERVED - failed
    assert len(got) <= sum(int(line.parameters.get("draws", 1)) for line in ledger.lines)
    assert ledger.snapshot().lines == ledger.lines
    if ledger.remaining():
        ledger.charge("the rest", "all", Stated(rho=ledger.remaining()))
    with pytest.raises(ValueError, match="needs rho"):
        ledger.charge("more", "than all", Stated(rho=LIMIT))
    assert ledger.spent() == sum(line.cost for line in ledger.lines) <= LIMIT


def interrupted(operation, at):
    """Run an operation that is interrupted; return whether it was, its table and what it had released."""
    table, got = opened(), []
    with Interrupts(at) as interrupts, contextlib.suppress(KeyboardInterrupt):
        operation(table, got)
    return interrupts.at is None, table, got


@pytest.mark.slow
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_interrupt_at_any_line_leaves_a_ledger_that_can_be_used(operation):
    table, got = opened(), []
    with Interrupts() as whole:
        operation(table, got)
    check(table, got)
    of_ledger = [at for at in whole.reached if at[0].co_filename.endswith("ledger.py")]
    places = [*whole.reached.items(), *((at, 1) for at in of_ledger if whole.reached[at] > 1)]
    assert len(places) > 50
    hit = 0
    for at in places:
        was, table, got = interrupted(operation, at)
        hit += was
        check(table, got)
    assert hit >= 0.9 * len(places)  # others are reached by chance: rejected draws of noise


@pytest.mark.slow
def test_what_a_part_held_returns_whole_after_any_interrupt_within_it():
    """Nobody has to know the part: the block that it was allocated for ends it."""
    probe = opened()
    with Interrupts() as whole:
        parts(probe, [])
    inside = [at for at in whole.reached if at[0].co_name not in {"__exit__", "__enter__"}]
    for where in inside:
        for n in {1, whole.reached[where]}:
            _, table, _ = interrupted(parts, (where, n))
            assert table.ledger.remaining() == LIMIT - table.ledger.spent()


def test_an_interrupt_is_not_replaced_by_an_error_of_open_allocations():
    ledger, made = Ledger(Budget(rho=1)), []

    def work():
        with ledger.allocate("outer", amount=1) as outer:
            made.extend([outer, outer.allocate("inner", amount="1/2")])
            made[1].charge("x", "y", Stated(rho="1/4"))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert ledger.remaining() == Fraction(3, 4)
    for closed in made:
        with pytest.raises(ValueError, match="is closed"):
            closed.charge("x", "y", Stated(rho="1/9"))


class Looks(Interrupts):
    """Asks a ledger for its sums at each line of it, as another thread may."""

    def __init__(self, ledger):
        super().__init__()
        self.ledger, self.is_looking = ledger, False

    def _line(self, frame, event, arg):
        if not self.is_looking and frame.f_code.co_filename.endswith("ledger.py"):
            self.is_looking = True
            self.ledger.spent(), self.ledger.spent_delta()
            self.is_looking = False
        return self._line


def test_a_look_at_any_line_of_a_charge_leaves_the_sums_right():
    table = opened()
    with Looks(table.ledger):
        parts(table, [])
    lines = table.ledger.lines
    assert len(lines) == 3
    assert table.ledger.spent() == sum(line.cost for line in lines)
    assert table.ledger.spent_delta() == sum(line.delta for line in lines)
