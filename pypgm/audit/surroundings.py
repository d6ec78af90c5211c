"""Surroundings of a run, the same for every run: a clock that counts, fixed seeds."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import numpy as np

from pypgm.audit.laws import SAMPLERS
from pypgm.privacy.observer import Observer, observed_by, the_observer


@contextlib.contextmanager
def fixed_surroundings() -> Iterator[None]:
    """Advance the clock by a second at each reading, and let post-processing draw from one seed.

    Progress lines and synthetic records of two runs are then equal unless the records make a difference.
    """
    clock, generator = itertools.count(), np.random.default_rng

    def seeded(seed: Any = None) -> np.random.Generator:
        return generator(0 if seed is None else seed)

    with patch("time.perf_counter", lambda: float(next(clock))), patch("numpy.random.default_rng", seeded):
        yield


class _Terminal(io.StringIO):
    """Text that counts as a terminal, so that output for terminals alone is collected too."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def all_output() -> Iterator[io.StringIO]:
    """Collect all text that is printed, logged or warned, by NumPy too, even if it was ignored before."""
    said = _Terminal()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    output = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    heard = np.errstate(divide="warn", over="warn", invalid="warn")
    with output[0], output[1], heard, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            yield said
        finally:
            said.writelines(f"{w.category.__name__}: {w.message}\n" for w in warned)
            root.removeHandler(handler)
            root.setLevel(level)


def as_told(error: BaseException) -> str:
    """Return the text, arguments and notes of an exception and of its causes."""
    lines: list[str] = []
    at: BaseException | None = error
    while at is not None:
        notes = getattr(at, "__notes__", [])
        lines += [f"{type(at).__name__}: {at}", *(repr(a) for a in at.args if str(a) not in str(at)), *notes]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "; ".join(lines)


def core_with(**functions: Callable[..., Any]) -> contextlib.AbstractContextManager[None]:
    """Replace some functions of the core for samplers, and leave the others."""
    return observed_by(_Core(the_observer().core, functions))


class _Core(Observer):
    not_private = ""

    def __init__(self, others: Any, functions: dict[str, Callable[..., Any]]) -> None:
        held = {name: getattr(others, name) for name in (*SAMPLERS, "flip_coins")}
        self.core = types.SimpleNamespace(**held | functions)
