"""Sources of randomness: no shared streams, and no seeds."""

from __future__ import annotations

import os
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pypgm
from pypgm import _core
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.trace import Mechanism
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler

Words = Callable[[int], NDArray[np.uint64]]
Found = Iterator[tuple[str, str]]

_THREADS = 8


def check_streams(words: Words = _core.secure_words, forks: int = 8, each: int = 10_000) -> Finding:
    """Draw words in threads of the parent and of forked children: no word may occur twice.

    Two of a million honest 64-bit words are equal once in 40 million runs.
    """
    words(3)  # the parent's stream is open and buffered when it is forked
    streams = [_threads(words, each)]
    if forks and hasattr(os, "fork"):
        streams += [_forked(words, each) for _ in range(forks)]
    drawn = np.concatenate(streams)
    doubles = drawn.size - np.unique(drawn).size
    defects = [("shared stream", f"{doubles} of {drawn.size} words occurred more than once")] if doubles else []
    return finding(
        "streams", f"{len(streams) - 1} forks x {_THREADS} threads", defects, f"{drawn.size} words, all different"
    )


def noise_words(n: int, n_threads: int = 4) -> NDArray[np.uint64]:
    """Return words made of noise drawn by several threads of the core, two wide draws each: about 62 random bits."""
    wide = Sampler(n_threads=n_threads).gaussian(Fraction(1 << 61))(np.zeros(2 * n, dtype=np.int64))
    high, low = wide.view(np.uint64).reshape(2, n)
    words: NDArray[np.uint64] = high << np.uint64(32) ^ low
    return words


def _threads(words: Words, each: int) -> NDArray[np.uint64]:
    drawn: list[NDArray[np.uint64]] = [np.empty(0, dtype=np.uint64)] * _THREADS

    def work(i: int) -> None:
        drawn[i] = words(each)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(_THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return np.concatenate(drawn)


def _forked(words: Words, each: int) -> NDArray[np.uint64]:
    out, into = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child makes threads, it inherits none it needs
        child = os.fork()
    if child == 0:
        try:
            os.close(out)
            with os.fdopen(into, "wb") as pipe:
                pipe.write(words(each).tobytes() + _threads(words, each).tobytes())
        finally:
            os._exit(0)
    os.close(into)
    with os.fdopen(out, "rb") as pipe:
        drawn = np.frombuffer(pipe.read(), dtype=np.uint64)
    os.waitpid(child, 0)
    return drawn


def check_seeds(subject: str, mechanism: Mechanism) -> Finding:
    """Check that noise is fresh by default, that only `unsafe_seed` takes a seed, and that its use is declared."""
    data = neighbour_pairs([Privacy()])[-1].one
    budget = Budget(rho=1e-6)  # so wide that two runs agree by chance at most once in 25,000, four once in 10^13
    defects: list[tuple[str, str]] = []

    def run(**more: Any) -> Any:
        return mechanism(data, budget, Privacy(), **more)

    first = _values(run())
    if all(_values(run()) == first for _ in range(3)):
        defects.append(("seeded by default", "four runs released the same values"))
    for name in ("seed", "rng", "random_state", "prng"):
        for value in (7, np.random.default_rng(7)):
            defects.extend(_not_refused(run, name, value))
    defects.extend(_not_refused(run, "unsafe_seed", np.random.default_rng(7)))
    defects.extend(_declared(run))
    return finding(
        "seeds", subject, defects, "fresh by default, refused by any other name, declared in ledger and file"
    )


def _not_refused(run: Callable[..., Any], name: str, value: Any) -> Found:
    try:
        run(**{name: value})
    except (TypeError, ValueError):
        return
    yield "seeded by default", f"{name}={type(value).__name__} was accepted"


def _declared(run: Callable[..., Any]) -> Found:
    try:
        one, other = run(unsafe_seed=7), run(unsafe_seed=7)
    except TypeError:  # no seed is accepted under any name
        return
    if _values(one) != _values(other):
        yield "seed not declared", "unsafe_seed does not make runs the same"
    if not one.ledger.not_private or "not private" not in one.ledger.report():
        yield "seed not declared", "the ledger of a seeded run does not say that it is not private"
    if not all(getattr(measurement, "not_private", "marked") for measurement in one.measurements):
        yield "seed not declared", "a measurement of a seeded run does not say that it is not private"
    with tempfile.TemporaryDirectory() as folder:
        one.model.save(Path(folder) / "model.npz")
        if not pypgm.load(Path(folder) / "model.npz").not_private:
            yield "seed not declared", "the model file of a seeded run does not say that it is not private"


def _values(release: Any) -> list[bytes]:
    return [np.asarray(m.values).tobytes() for m in release.measurements]
