"""The UAI format of the probabilistic-inference competitions: models and evidence, read and written."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NoReturn, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from pypgm._base.file_kind import it_looks_like
from pypgm._base.html import Shown
from pypgm.clique_vector import CliqueVector
from pypgm.data.sources.files import is_weight, read_text, replacing_text
from pypgm.domain import Clique, Domain, Label, check_kind, listed
from pypgm.factor import Factor
from pypgm.graphs.evidence import code_of

Kind = Literal["MARKOV", "BAYES"]

_MAX_CHARACTERS = 1 << 25  # characters of a file at most
_MAX_DIGITS = 640  # digits of an integer that Python converts under any limit of its own


@dataclass(frozen=True)
class UaiModel(Shown):
    """Contents of a UAI file.

    Attributes
    ----------
    kind : {"MARKOV", "BAYES"}
    domain : Domain
        Attributes in the order of the file, which numbers them.
    tables : tuple of Factor
        Weights, not logarithms; axes in the order of each scope. In a ``BAYES`` model the last is the child.
    """

    kind: Kind
    domain: Domain
    tables: tuple[Factor, ...]


class _Model(Protocol):
    """Interface of a model of the package."""

    @property
    def domain(self) -> Domain: ...

    @property
    def potentials(self) -> CliqueVector: ...


def read_uai(path: str | os.PathLike[str]) -> CliqueVector:
    """Read a Markov or Bayesian network in UAI format.

    Parameters
    ----------
    path : path
        A ``.uai`` file, plain or compressed with gzip.

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
        If the file cannot be read.

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
    model = read_uai_model(path)
    return CliqueVector.from_factors(model.domain, model.tables).log()


def read_uai_model(path: str | os.PathLike[str]) -> UaiModel:
    """Read a UAI file unchanged: its kind, its scopes in their own order, its weights to the last bit.

    Raises as `read_uai` does, and ``ValueError`` if a ``BAYES`` file does not have one table for each attribute.

    Parameters
    ----------
    path : path

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "net.uai"
    >>> _ = path.write_text("BAYES 2  2 2  2  1 1  2 1 0  2  0.2 0.8  4  0.5 0.5 1.0 0.0")
    >>> [table.domain.attributes for table in read_uai_model(path).tables]
    [('1',), ('1', '0')]

    To make a Bayesian network of it, and to write it back:

    >>> from pypgm.bayes import BayesianNetwork
    >>> model = read_uai_model(path)
    >>> tables = {table.domain.attributes[-1]: table for table in model.tables}
    >>> net = BayesianNetwork(model.domain, {a: t.domain.attributes[:-1] for a, t in tables.items()}, tables)
    >>> net.query("0").values
    array([0.9, 0.1])
    >>> write_uai(net, path)
    """
    words = _Words(path)
    kind = words.word("MARKOV or BAYES")
    if kind not in {"MARKOV", "BAYES"}:
        words.fail(f"a UAI file begins with MARKOV or BAYES, got {kind[:20]!r}{words.hint}")
    sizes = [words.integer("the size of an attribute", 1) for _ in range(words.integer("the number of attributes"))]
    domain = Domain([str(i) for i in range(len(sizes))], sizes)
    n_tables = words.integer("the number of tables")
    scopes = [_read_scope(words, len(sizes)) for _ in range(n_tables)]
    tables = tuple(_read_table(words, domain.project(scope)) for scope in scopes)
    words.end("the last table")
    model = UaiModel(cast("Kind", kind), domain, tables)
    try:
        _check_children(model)
    except ValueError as error:
        words.fail(str(error))
    return model


def write_uai(model: CliqueVector | UaiModel | _Model, path: str | os.PathLike[str]) -> None:
    """Write a model in UAI format.

    Parameters
    ----------
    model : CliqueVector, UaiModel, BayesianNetwork, MarkovRandomField or GraphicalModel
        Log-potentials become a ``MARKOV`` file of their exponentials, scopes in the domain's order; if a double has the
        given logarithm, that double is written, so that models read from a file are written back to the last bit. A
        `UaiModel` is written unchanged, a network as a ``BAYES`` file, any other model as its potentials. Attributes
        are numbered in the order of the domain; names and labels have no place in the format.
    path : path
        A name that ends in ``.gz`` compresses the file. It appears whole or not at all.

    Raises
    ------
    ValueError
        If a weight is NaN, infinite or negative or a logarithm outside the range in which its exponential is a double,
        or a ``BAYES`` model does not have one table for each attribute.
    OSError
        If the file cannot be written.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pair.uai"
    >>> potentials = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], np.log([1.0, 2.0, 2.0, 1.0]))
    >>> write_uai(potentials, path)
    >>> path.read_text().split()
    ['MARKOV', '2', '2', '2', '1', '2', '0', '1', '4', '1.0', '2.0', '2.0', '1.0']
    """
    model = _described(model)
    for table in model.tables:
        cells = table.datavector()
        if not ((cells >= 0) & (cells < np.inf)).all():
            raise ValueError(f"weights must be finite and at least 0; the table over {_scope(table)} has others")
    _check_children(model)
    with replacing_text(path) as file:
        file.writelines(_lines(model))


def _described(model: Any) -> UaiModel:  # noqa: ANN401 - see `write_uai`
    """Return the contents of a model's file."""
    if isinstance(model, UaiModel):
        return model
    if isinstance(getattr(model, "tables", None), Mapping):  # a Bayesian network
        return UaiModel("BAYES", model.domain, tuple(model.tables.values()))
    vector = getattr(model, "potentials", model)
    check_kind("model", vector, CliqueVector, "a Bayesian network, a field or a model has one")
    domains = [vector.domain.project(c) for c in vector.cliques]
    tables = [Factor(d, _weights(vector.table(i), d.attributes)) for i, d in enumerate(domains)]
    return UaiModel("MARKOV", vector.domain, tuple(tables))


def read_uai_evidence(path: str | os.PathLike[str], domain: Domain | None = None) -> dict[str, Label]:
    """Read an evidence file: a number of pairs, then the pairs of attribute and code.

    In the older form, of the evaluation of 2008, a number of sets, which must be 1, precedes it.

    Parameters
    ----------
    path : path
    domain : Domain, optional
        Domain of the model, which names the attributes and checks the evidence. By default they are named "0", "1", ….

    Returns
    -------
    dict of str to label or code
        Evidence for any query: labels if the domain has them.

    Raises
    ------
    ValueError
        If the file ends early, goes on after the last pair, holds something else than numbers, names an attribute
        twice, or one or a value that the domain does not have.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "pair.uai.evid"
    >>> _ = path.write_text("2 0 1 3 0")
    >>> read_uai_evidence(path)
    {'0': 1, '3': 0}
    """
    words = _Words(path)
    evidence: dict[str, int] = {}
    # An empty file is one without evidence.
    count = words.integer("the number of pairs") if words.more() else 0
    if count == 1 and words.left() > 2:
        count = words.integer("the number of pairs")
    for _ in range(count):
        number = words.integer("an attribute", 0, None if domain is None else len(domain) - 1)
        name = str(number) if domain is None else domain.attributes[number]
        if name in evidence:
            words.fail(f"evidence names attribute {number} more than once")
        evidence[name] = words.integer("a value", 0, None if domain is None else domain.shape[number] - 1)
    if count:  # libDAI's files without evidence continue after their 0
        words.end("the last pair (one set of evidence is read)")
    return dict(evidence) if domain is None else domain.project(tuple(evidence)).labelled(evidence.values())


def write_uai_evidence(evidence: Mapping[str, object], domain: Domain, path: str | os.PathLike[str]) -> None:
    """Write evidence on single values, labels or codes, in UAI format.

    Parameters
    ----------
    evidence : mapping of str to label or code
    domain : Domain
        Domain of the model, which numbers the attributes.
    path : path

    Raises
    ------
    ValueError
        If an attribute or value is unknown.
    TypeError
        If a value is neither a label nor a code.
    """
    pairs = [(domain.index(name), code_of(domain, name, value)) for name, value in evidence.items()]
    with replacing_text(path) as file:
        file.write(" ".join(map(str, [len(pairs), *(number for pair in pairs for number in pair)])) + "\n")


def _check_children(model: UaiModel) -> None:
    """Refuse a Bayesian network in which an attribute is not the child of exactly one table."""
    if model.kind != "BAYES":
        return
    children = [table.domain.attributes[-1] if len(table.domain) else "" for table in model.tables]
    if sorted(children) != sorted(model.domain):
        raise ValueError(f"a BAYES model needs each attribute to be the child of one table, got {listed(children)}")


def _scope(table: Factor) -> str:
    return f"({', '.join(table.domain)})"


def _weights(logs: NDArray[np.float64], clique: Clique) -> NDArray[np.float64]:
    """Return the doubles with these logarithms, or with the nearest ones."""
    with np.errstate(over="ignore", under="ignore"):
        weights = np.exp(logs)
    lost = ~(weights < np.inf) | ((weights == 0) & (logs > -np.inf))
    if lost.any():
        what = f"the table over ({', '.join(clique)}) needs logarithms of doubles, -745 to 709 or -inf"
        raise ValueError(f"{what}, got {logs[lost.argmax()]}")
    # The exponential rounds; a neighbour may have exactly this logarithm.
    some = np.flatnonzero(weights)
    wanted = logs[some]
    for _ in range(3):
        error = np.log(weights[some]) - wanted
        moved = np.nextafter(weights[some], np.where(error < 0, np.inf, 5e-324))
        better = (error != 0) & (np.abs(np.log(moved) - wanted) < np.abs(error))
        weights[some[better]] = moved[better]
    return weights


def _lines(model: UaiModel) -> Iterator[str]:
    yield f"{model.kind}\n{len(model.domain)}\n{' '.join(map(str, model.domain.shape))}\n{len(model.tables)}\n"
    for table in model.tables:
        yield " ".join(map(str, [len(table.domain), *model.domain.indices(table.domain.attributes)])) + "\n"
    for table in model.tables:
        cells = table.datavector()
        yield f"\n{cells.size}\n"
        for row in cells.reshape(-1, table.domain.shape[-1] if len(table.domain) else 1).tolist():
            yield " " + " ".join(map(repr, row)) + "\n"


def _read_scope(words: _Words, n_attributes: int) -> Clique:
    indices = [
        words.integer("an attribute of a scope", 0, n_attributes - 1)
        for _ in range(words.integer("the length of a scope"))
    ]
    if len(set(indices)) != len(indices):
        words.fail(f"scope {indices} names an attribute more than once")
    return tuple(str(i) for i in indices)


def _read_table(words: _Words, domain: Domain) -> Factor:
    cells = words.integer(f"the length of the table over {domain.attributes}")
    if cells != domain.size():
        words.fail(f"the table over {domain.attributes} needs {domain.size()} entries, got {cells}")
    return Factor(domain, words.weights(cells))


class _Words:
    """The words of a file, with messages that name the expected ones."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        text = read_text(path, most=_MAX_CHARACTERS)
        self.hint = it_looks_like(text, "a UAI model")
        self._words = text.split()
        self._next = 0

    def fail(self, message: str) -> NoReturn:
        raise ValueError(f"{self.path}: {message}")

    def more(self) -> bool:
        return self._next < len(self._words)

    def left(self) -> int:
        return len(self._words) - self._next

    def word(self, what: str) -> str:
        if not self.more():
            self.fail(f"the file ends where {what} should stand")
        self._next += 1
        return self._words[self._next - 1]

    def integer(self, what: str, low: int = 0, high: int | None = None) -> int:
        word = self.word(what)
        if len(word) > _MAX_DIGITS:
            needed = f"an integer of at most {_MAX_DIGITS} digits"
            self.fail(f"{what} must be {needed}, got {word[:20]}… with {len(word)}")
        good = word.isascii() and word.isdigit()
        if not good or int(word) < low or (high is not None and int(word) > high):
            limits = f"at least {low}" if high is None else f"from {low} to {high}"
            self.fail(f"{what} must be an integer {limits}, got {word!r}")
        return int(word)

    def weights(self, count: int) -> NDArray[np.float64]:
        words = self._words[self._next : self._next + count]
        self._next += len(words)
        try:
            weights = np.fromiter(map(float, words), np.float64, len(words))
        except ValueError:
            weights = np.array([math.nan])
        if not ((weights >= 0) & (weights < np.inf)).all() or "_" in "".join(words):
            bad = next(word for word in words if not is_weight(word))
            self.fail(f"entries must be finite and at least 0, got {bad!r}")
        if len(words) < count:
            self.fail("the file ends where an entry of a table should stand")
        return weights

    def end(self, what: str) -> None:
        if self.more():
            self.fail(f"nothing may follow {what}, got {self._words[self._next]!r}")
