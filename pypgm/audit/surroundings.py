"""Surroundings of a run, the same for every run: a clock that counts, fixed seeds, a stand-in for OpenDP."""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import types
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.laws import GAUSSIAN, LAPLACE, SAMPLERS, Noise
from pypgm.privacy.observer import Observer, observed_by, the_observer

DrawNoise = Callable[[Noise, NDArray[np.int64], Fraction], Any]
"""Called as noise(law, counts, parameter), with the variance of a Gaussian or the scale of a Laplace law."""


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
    """Collect everything printed, logged and warned, by NumPy too, even if it was ignored before."""
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


def opendp_stand_in(noise: DrawNoise) -> types.ModuleType:
    """Return a stand-in for OpenDP's prelude, whose measurements pass counts and scale to `noise`.

    The inputs of OpenDP are then checked whether it is installed or not.
    """

    def make(law: Noise) -> Callable[..., Any]:
        def measurement(domain: str, metric: str, *, scale: float) -> Callable[[NDArray[np.int64]], list[int]]:
            if (domain, metric) != ("vectors of i64", f"L{law.power}"):
                raise TypeError(f"{law} needs vectors of i64 and the L{law.power} distance, got {domain} and {metric}")
            return lambda counts: list(noise(law, counts, Fraction(scale) ** law.power))

        return measurement

    prelude = types.ModuleType("opendp.prelude")
    makers = types.SimpleNamespace(make_laplace=make(LAPLACE), make_gaussian=make(GAUSSIAN))
    prelude.__dict__.update(
        m=makers,
        enable_features=lambda *_: None,
        atom_domain=lambda **given: given["T"],
        vector_domain=lambda atoms: f"vectors of {atoms}",
        l1_distance=lambda **_: "L1",
        l2_distance=lambda **_: "L2",
    )
    return prelude
