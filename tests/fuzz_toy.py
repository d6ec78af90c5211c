"""A format that does all a reader must not, to see that the fuzzer notices."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path

SUFFIX = ".toy"


def seeds() -> dict[str, bytes]:
    """Return one whole file."""
    return {"whole": b"read"}


def mutated(rng: random.Random, data: bytes) -> tuple[bytes, str]:
    """Return another text, and a number that nothing reads."""
    text = rng.choice(["read", "refused", "wrong"])
    return f"{text} {rng.random()}".encode(), f"{data.decode()} to {text}"


def use(path: str) -> str:
    """Do what the file says."""
    text = Path(path).read_text(encoding="ascii").split()[0]
    if text == "refused":
        raise ValueError("not today")
    if text == "pythons":
        raise ValueError("'int' object is not iterable")
    if text == "foreign":
        raise KeyError(text)
    if text == "memory":
        bytearray(2 << 30)
    if text == "crash":
        os.abort()
    while text == "hang":
        pass
    if text == "warned":
        warnings.warn("overflow encountered in exp", RuntimeWarning, stacklevel=1)
    return "another value" if text == "wrong" else ""
