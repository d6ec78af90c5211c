"""The UAI format of the probabilistic-inference competitions."""

from __future__ import annotations

import gzip
import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain
from pypgm.factor import transpose_cells

if TYPE_CHECKING:
    import os

    from numpy.typing import NDArray

__all__ = ["read_uai"]


def read_uai(path: str | os.PathLike[str]) -> CliqueVector:
    """Read a Markov or Bayesian network in UAI format.

    Parameters
    ----------
    path : path
        A ``.uai`` file, or one compressed as ``.uai.gz``.

    Returns
    -------
    CliqueVector
        Natural logs of the tables, scopes in the file's order; attributes are named "0", "1", …. In a
        ``BAYES`` file the last attribute of a scope is the child, as in the format's definition.

    Raises
    ------
    ValueError
        If the file is not of this format, ends early, goes on after its last table, or holds a negative or
        non-finite entry.
    OSError
        If it cannot be read.

    References
    ----------
    File format of the UAI 2008-2014 inference evaluations.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pair.uai"
    >>> _ = path.write_text("MARKOV 2  2 2  1  2 0 1  4  1.0 2.0 2.0 1.0")
    >>> read_uai(path).cliques
    (('0', '1'),)
    """
    tokens = _Tokens(Path(path))
    kind = tokens.word()
    if kind not in {"MARKOV", "BAYES"}:
        raise ValueError(f"{path}: a UAI file begins with MARKOV or BAYES, got {kind[:20]!r}")
    sizes = [tokens.integer("the size of an attribute", 1) for _ in range(tokens.integer("the number of attributes"))]
    domain = Domain([str(i) for i in range(len(sizes))], sizes)
    n_tables = tokens.integer("the number of tables")
    scopes = [_read_scope(tokens, len(sizes)) for _ in range(n_tables)]
    tables = [_read_table(tokens, domain, scope) for scope in scopes]
    tokens.end()
    return CliqueVector(domain, scopes, np.concatenate([np.empty(0), *tables]))


def _read_scope(tokens: _Tokens, n_attributes: int) -> tuple[str, ...]:
    indices = [
        tokens.integer("an attribute of a scope", 0, n_attributes - 1)
        for _ in range(tokens.integer("the length of a scope"))
    ]
    if len(set(indices)) != len(indices):
        raise ValueError(f"{tokens.path}: scope {indices} names an attribute more than once")
    return tuple(str(i) for i in indices)


def _read_table(tokens: _Tokens, domain: Domain, scope: tuple[str, ...]) -> NDArray[np.float64]:
    table_domain = domain.project(scope)
    cells = tokens.integer(f"the length of the table over {scope}")
    if cells != table_domain.size():
        raise ValueError(f"{tokens.path}: the table over {scope} needs {table_domain.size()} entries, got {cells}")
    weights = np.array([tokens.weight() for _ in range(cells)])
    with np.errstate(divide="ignore"):
        return transpose_cells(np.log(weights), table_domain, domain.canonical(scope))


class _Tokens:
    """The words of a file, with messages that say what was expected."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            self._words: Iterator[str] = iter(raw.decode("ascii").split())
        except (EOFError, gzip.BadGzipFile, zlib.error, UnicodeDecodeError) as error:
            raise ValueError(f"{path}: not a readable UAI file: {error}") from error

    def word(self, what: str = "MARKOV or BAYES") -> str:
        found = next(self._words, None)
        if found is None:
            raise ValueError(f"{self.path}: the file ends where {what} should stand")
        return found

    def integer(self, what: str, low: int = 0, high: int | None = None) -> int:
        found = self.word(what)
        if not found.isdigit() or int(found) < low or (high is not None and int(found) > high):
            limits = f"at least {low}" if high is None else f"from {low} to {high}"
            raise ValueError(f"{self.path}: {what} needs to be an integer {limits}, got {found!r}")
        return int(found)

    def weight(self) -> float:
        found = self.word("an entry of a table")
        try:
            # Python's own underscores in numbers are not the format's.
            value = math.nan if "_" in found else float(found)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise ValueError(f"{self.path}: entries need to be finite and at least 0, got {found!r}")
        return value

    def end(self) -> None:
        extra = next(self._words, None)
        if extra is not None:
            raise ValueError(f"{self.path}: nothing may follow the last table, got {extra!r}")
