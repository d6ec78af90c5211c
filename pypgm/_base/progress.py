"""Progress on standard error: a bar in terminals and notebooks, a line now and then in logs."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pypgm._base.numeric import checked_flag
from pypgm._base.terminal import escaped

Text = Callable[[], str]
Listener = Callable[[str, Text, float | None], None]
"""Receiver of the head of a bar, its text, and the share of the budget, if there is one."""

_listener: Listener | None = None
_is_alone = False
_BETWEEN = 0.1  # seconds between two changes of a bar
_LOGGED = 10.0  # seconds between two lines of a log
_PLAIN = "{desc}"
_SHARES = "{desc} |{bar:20}| {percentage:3.0f} % of the budget"


@contextmanager
def heard_by(listener: Listener, *, alone: bool) -> Iterator[None]:
    """Pass every step of the bars of this process to a listener; to nothing else if it is `alone`."""
    global _listener, _is_alone
    before = _listener, _is_alone
    _listener, _is_alone = listener, alone
    try:
        yield
    finally:
        _listener, _is_alone = before


class Bar:
    """Bar with a text, and a share if there is one: by tqdm if it is installed, otherwise a plain line.

    All that it shows is public: released numbers and the charges of a ledger.

    Parameters
    ----------
    what : str
        The head of the line.
    shares : bool
        Whether each step names the share of the budget that is spent.
    """

    def __init__(self, what: str, *, shares: bool = False) -> None:
        self.what = what
        self._started = time.perf_counter()
        self._shown = -1.0
        self._text: Text = str
        self._share = 0.0
        self._is_seen = _is_seen()
        self._between = _BETWEEN if self._is_seen else _LOGGED
        self._is_behind = False
        self._bar = _tqdm(_SHARES if shares else _PLAIN) if self._is_seen and not _is_alone else None
        self._shares = shares

    def show(self, text: Text, share: float | None = None) -> None:
        """Show how far the call is, if it is time to; a text is made where it is shown."""
        self._text = text
        self._share = self._share if share is None else min(max(share, 0.0), 1.0)
        self._is_behind = not _is_alone
        if _listener is not None:
            _listener(self.what, text, share)
        if _is_alone:
            return
        seconds = time.perf_counter() - self._started
        if self._shown < 0 or seconds - self._shown >= self._between:
            self._shown = seconds
            self._write()

    def close(self) -> None:
        """Show where the call ended, and end the line."""
        if self._is_behind:
            self._write()
        if self._bar is not None:
            self._bar.close()
        elif self._shown >= 0 and self._is_seen:
            _said("\n")
        self._shown, self._bar = -1.0, None

    def _write(self) -> None:
        self._is_behind = False
        text = f"{self.what}: {escaped(self._text())}"
        if self._bar is not None:  # the clock of tqdm itself is another one
            self._bar.n = round(self._share, 4)
            self._bar.set_description_str(f"{text}, {self._shown:.0f} s")
            return
        text += f", {self._share:.0%} of the budget" if self._shares else ""
        _said(f"\r{text}   " if self._is_seen else f"{text}\n")


def checked_progress(value: object) -> bool | Bar:
    """Return whether to show the progress of a call, or the bar of the call that this one is a part of."""
    return value if isinstance(value, Bar) else checked_flag("progress", value)


def _said(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _is_seen() -> bool:
    """Return whether standard error is a terminal or a notebook, in which a line can change."""
    return _is_notebook() or bool(getattr(sys.stderr, "isatty", bool)())


def _is_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def _tqdm(form: str) -> Any:  # noqa: ANN401 - a bar of a library that may not be there
    """Return a bar of tqdm, a widget where a notebook has some; None where tqdm is not installed."""
    if importlib.util.find_spec("tqdm") is None:
        return None
    widgets = _is_notebook() and importlib.util.find_spec("ipywidgets") is not None
    kind = importlib.import_module("tqdm.notebook" if widgets else "tqdm.std").tqdm
    # Without a thread that watches it.
    quiet = type("Quiet", (kind,), {"monitor_interval": 0})
    return quiet(total=1.0, bar_format=form, file=sys.stderr, dynamic_ncols=not widgets, mininterval=0)
