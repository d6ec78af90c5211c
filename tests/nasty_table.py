"""A table whose every name and text would be markup, and a release of it."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np

import pypgm
from pypgm import mechanisms
from pypgm.data import Categorical, Integer

__all__ = ["NASTY", "SCHEMA", "raw_table", "released"]

NASTY = ["<script>alert(1)</script>", '"><img src=x onerror=y>', "\x1b[2J\u202e", "a & b"]
SCHEMA = pypgm.Schema(
    {
        "<b>who</b>": Categorical(NASTY),
        "age": Integer(0, 99, width=5),
        "city": Categorical(["Aba"], other=True),
        "member": pypgm.data.Boolean(["no", "yes"], null=""),
    },
    drop=["<i>name</i>"],
)


def raw_table(n=1500):
    rng = np.random.default_rng(0)
    return {
        "<b>who</b>": list(rng.choice(NASTY, n)),
        "age": list(map(str, rng.integers(0, 90, n))),
        "city": list(rng.choice(["Aba", "Bor", "Cam"], n, p=[0.5, 0.3, 0.2])),
        "member": list(rng.choice(["no", "yes", ""], n)),
    }


@functools.cache
def released():
    """Return a release, one for all tests that read it."""
    return replace(mechanisms.wide(SCHEMA.encode(raw_table()), epsilon=1, delta=1e-9), schema=SCHEMA)
