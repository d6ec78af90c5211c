"""Mutants of Bayesian networks in the format of HUGIN, .net."""

from __future__ import annotations

from functools import partial

from mutating import mutated_text
from mutating_networks import TOKENS, networks, use

__all__ = ["SUFFIX", "mutated", "seeds", "use"]

SUFFIX = ".net"
seeds = partial(networks, SUFFIX)
mutated = partial(mutated_text, tokens=TOKENS)
