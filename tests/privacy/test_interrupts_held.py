"""Signals that come while answers are on their way: each is heard, in the end, and handlers are as before."""

from __future__ import annotations

import contextlib
import itertools
import signal

import pytest

from pypgm._base.interrupts import interrupts_held

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDS = (None, ValueError, SystemExit)


class Heard:
    """Handlers that note signals; some of them then raise an error."""

    def __init__(self, raising):
        self.numbers, self._raising = [], raising

    def __call__(self, number, _):
        self.numbers.append(number)
        if self._raising is not None:
            raise self._raising


@pytest.fixture(autouse=True)
def handlers():
    """Handlers of the test run, set again."""
    before = {number: signal.getsignal(number) for number in SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("raised", ENDS)
@pytest.mark.parametrize("handler", [None, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("came", [n for k in range(3) for n in itertools.product(SIGNALS, repeat=k)])
def test_no_signal_is_lost(came, handler, raised):
    heard = Heard(handler)
    for number in SIGNALS:
        signal.signal(number, heard)
    done = []

    def paid():
        for number in came:
            signal.raise_signal(number)
        done.append(True)
        if raised is not None:
            raise raised

    ended = None
    try:
        with interrupts_held():
            paid()
    except BaseException as error:
        ended = type(error)
    assert [signal.getsignal(number) for number in SIGNALS] == [heard] * 3
    assert set(heard.numbers) >= set(came)
    if len(came) < 2:
        assert done
        assert heard.numbers == list(came)
    if not came or handler is None:
        assert ended is raised
    else:  # an error is not hidden by Ctrl-C
        assert ended is (raised if raised and handler is KeyboardInterrupt and len(came) < 2 else handler)


@pytest.mark.parametrize("change", range(4))
@pytest.mark.parametrize("late", SIGNALS)
def test_a_signal_between_two_changes_of_handlers_leaves_none_out(late, change, monkeypatch):
    heard, numbers, own = Heard(KeyboardInterrupt), itertools.count(), signal.signal
    for number in SIGNALS:
        signal.signal(number, heard if number in {signal.SIGINT, late} else signal.SIG_IGN)

    def slow(number, handler):
        own(number, handler)
        if next(numbers) == change:
            signal.raise_signal(late)

    monkeypatch.setattr(signal, "signal", slow)
    with contextlib.suppress(KeyboardInterrupt), interrupts_held():
        pass
    assert signal.getsignal(signal.SIGINT) == signal.getsignal(late) == heard
    assert heard.numbers == ([late] if change < 2 * len({signal.SIGINT, late}) else [])
