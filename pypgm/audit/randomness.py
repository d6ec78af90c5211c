"""Where randomness comes from: no shared streams, no seeds, no open table."""

from __future__ import annotations

import copy
import os
import pickle
import re
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import pypgm
from pypgm import _core
from pypgm.audit.finding import Finding, finding
from pypgm.audit.pairs import neighbour_pairs
from pypgm.audit.trace import LAWS, Mechanism
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler

__all__ = ["check_integer_noise", "check_open_table", "check_seeds", "check_streams", "noise_words"]

Words = Callable[[int], NDArray[np.uint64]]
Found = Iterator[tuple[str, str]]

_THREADS = 8


def check_streams(words: Words = _core.secure_words, forks: int = 8, each: int = 10_000) -> Finding:
    """Draw words in threads of forked children and of the parent: not one of them may come twice.

    Two of a million honest 64-bit words are equal once in 40 million runs.
    """
    words(3)  # the parent's stream is open and buffered when it is forked
    streams = [_threads(words, each)]
    if forks and hasattr(os, "fork"):
        streams += [_forked(words, each) for _ in range(forks)]
    drawn = np.concatenate(streams)
    doubles = drawn.size - np.unique(drawn).size
    found = [("shared stream", f"{doubles} of {drawn.size} words came more than once")] if doubles else []
    return finding(
        "streams", f"{len(streams) - 1} forks x {_THREADS} threads", found, f"{drawn.size} words, all different"
    )


def noise_words(n: int, n_threads: int = 4) -> NDArray[np.uint64]:
    """Return words made of the noise of several threads of the core: two wide draws each, some 62 random bits."""
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
    """Demand fresh noise by default, seeds refused under any name but `unsafe_seed`, and their use declared."""
    data = neighbour_pairs([Privacy()])[-1].one
    budget = Budget(rho=1e-6)  # noise so wide that two runs agree by chance at most once in 25,000, four in 10^13
    found: list[tuple[str, str]] = []

    def run(**more: Any) -> Any:
        return mechanism(data, budget, Privacy(), **more)

    first = _values(run())
    if all(_values(run()) == first for _ in range(3)):
        found.append(("seeded by default", "four runs released the same values"))
    for name in ("seed", "rng", "random_state", "prng"):
        for value in (7, np.random.default_rng(7)):
            found.extend(_not_refused(run, name, value))
    found.extend(_not_refused(run, "unsafe_seed", np.random.default_rng(7)))
    found.extend(_declared(run))
    return finding("seeds", subject, found, "fresh by default, refused by any other name, declared in ledger and file")


def _not_refused(run: Callable[..., Any], name: str, value: Any) -> Found:
    try:
        run(**{name: value})
    except (TypeError, ValueError):
        return
    yield "seeded by default", f"{name}={type(value).__name__} was taken"


def _declared(run: Callable[..., Any]) -> Found:
    try:
        one, other = run(unsafe_seed=7), run(unsafe_seed=7)
    except TypeError:  # no seed is taken under any name
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


def check_integer_noise(core: Any = _core) -> Finding:
    """Demand that every function of the core that makes noise takes and gives int64 alone."""
    found = []
    words = r"noise|laplace|gaussian|normal|gumbel|geometric|exponential|select|permute"
    makers = [n for n in dir(core) if re.search(words, n) and not n.startswith(("enumerate_", "scripted_"))]
    for name in makers:
        for numbers in (np.zeros(3), np.zeros(3, dtype=np.float32), np.zeros(3, dtype=np.int32)):
            try:
                getattr(core, name)(numbers, 1, 1)
            except TypeError:
                continue
            found.append(("floats released", f"{name} takes {numbers.dtype}"))
    found += [("floats released", f"{name} is gone") for name in LAWS if name not in makers]
    return finding("integer noise", ", ".join(makers), found, "int64 in, int64 out, nothing else")


def check_open_table(make: Callable[..., Any] = PrivateTable) -> Finding:
    """Ask a private table for its length, records, text and copies: nothing may tell records."""
    pair = neighbour_pairs([Privacy()])[0]
    tables = [make(data, Privacy(), Ledger(Budget(rho=1))) for data in (pair.one, pair.other)]
    found = []
    asks: Sequence[tuple[str, Callable[[Any], Any]]] = (
        ("len", len),
        ("iteration", iter),
        ("indexing", lambda t: t["a"]),
        ("pickling", pickle.dumps),
        ("copying", copy.copy),
        ("deep copying", copy.deepcopy),
        ("vars", vars),
        ("counting", lambda t: t.count([("a",)])),
        ("the data", lambda t: t.data),
    )
    for name, ask in asks:
        try:
            ask(tables[0])
        except (TypeError, AttributeError):
            continue
        found.append(("open table", f"{name} is answered"))
    tells: Sequence[tuple[str, Callable[[Any], Any]]] = (
        ("truth", bool),
        ("text", repr),
        ("printing", str),
        ("total", lambda t: t.public_total),
    )
    for name, tell in tells:
        if tell(tables[0]) != tell(tables[1]):
            found.append(("records counted exactly", f"{name} tells tables of different length apart"))
    return finding("private table", "PrivateTable", found, f"{len(asks)} ways in are shut")
