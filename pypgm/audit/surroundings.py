"""What a run is surrounded by, made the same for every run: a clock that counts, fixed seeds."""

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

from pypgm.privacy.observer import Observer, observed_by, the_observer


@contextlib.contextmanager
def fixed_surroundings() -> Iterator[None]:
    """Let the clock move a second each time it is looked at, and post-processing draw from one seed.

    Progress lines and synthetic records of two runs are then equal unless the runs are told apart.
    """
    clock, generator = itertools.count(), np.random.default_rng

    def seeded(seed: Any = None) -> np.random.Generator:
        return generator(0 if seed is None else seed)

    with patch("time.perf_counter", lambda: float(next(clock))), patch("numpy.random.default_rng", seeded):
        yield


class _Terminal(io.StringIO):
    """Text that is written to as to a terminal: whatever shows itself on one alone is shown."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def all_output() -> Iterator[io.StringIO]:
    """Collect what is printed, logged and warned, by NumPy too, whatever it ignored before."""
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
    """Return all that an exception says: its text, arguments and notes, and those of what it came from."""
    told: list[str] = []
    at: BaseException | None = error
    while at is not None:
        notes = getattr(at, "__notes__", [])
        told += [f"{type(at).__name__}: {at}", *(repr(a) for a in at.args if str(a) not in str(at)), *notes]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "; ".join(told)


def core_with(**functions: Callable[..., Any]) -> contextlib.AbstractContextManager[None]:
    """Let samplers find some functions in the place of those of the core, and the others where they found them."""
    return observed_by(_Core(the_observer().core, functions))


class _Core(Observer):
    not_private = ""

    def __init__(self, others: Any, functions: dict[str, Callable[..., Any]]) -> None:
        names = ("add_discrete_gaussian", "add_discrete_laplace", "select_exponential", "select_top")
        own = {name: getattr(others, name) for name in (*names, "permute_and_flip", "flip_coins")}
        self.core = types.SimpleNamespace(**own | functions)
