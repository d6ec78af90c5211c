"""Models that a release can hold, and how each kind is written to a file and read from it."""

from __future__ import annotations

import contextlib
import fnmatch
import importlib
import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np

from pypgm._base.numeric import checked_integer
from pypgm.clique_vector import CliqueVector
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.estimation.fit import Fit
from pypgm.estimation.measurement import joined_marks
from pypgm.factor import Factor
from pypgm.files.file import digest_of, file_bytes, parse_file, write_file
from pypgm.graphs.evidence import Evidence


class ReleasedModel(Protocol):
    """Interface of the model of a release.

    Attributes
    ----------
    not_private : str
        Why the model protects nobody; empty where it does. Set by the release, kept in the file.
    """

    not_private: str

    @property
    def domain(self) -> Domain:
        """All attributes."""

    @property
    def total(self) -> float:
        """Number of records."""

    @property
    def cliques(self) -> tuple[Clique, ...]:
        """Cliques of the tables of the model."""

    @property
    def potentials(self) -> CliqueVector:
        """Natural logs of its tables."""

    @property
    def fit(self) -> Fit | None:
        """End of its estimate; None where nothing was optimised."""

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the marginal of any clique, in counts."""

    def query(self, targets: str | Iterable[str], evidence: Evidence | None = None) -> Factor:
        """Return the joint probabilities of some attributes, given evidence on others."""

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
    ) -> Dataset:
        """Return records drawn from the model, given the evidence; by default the rounded total."""

    @property
    def digest(self) -> str:
        """SHA-256 of the contents of its file."""

    def archive(self) -> dict[str, Any]:
        """Return the fields of its file; ``kind`` is a key of `READERS`."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file."""


Reader = Callable[[dict[str, Any]], ReleasedModel]

READERS = {
    "junction tree": ("pypgm.files.stored_models", "graphical_model"),
    "region graph": ("pypgm.files.stored_models", "region_model"),
    "bayesian network": ("pypgm.bayes.counted", "counted_network"),
    "markov random field": ("pypgm.mrf.field", "markov_random_field"),
    "weighted records": ("pypgm.reconstruction.weighted_records", "weighted_records"),
}
"""Module and name of the function that makes a model of each kind of the fields of its file.

It raises `KeyError`, `TypeError` or `ValueError` where these do not fit; `not_private` is restored by the caller.
"""

_FEWEST_RECORDS = 1e-100  # below which shares of a model lose digits
_MOST_RECORDS = 2.0**53  # beyond which counts have gaps


class Stored(ABC):
    """Base of objects saved, pickled and copied as the fields of their file: plans and caches are rebuilt."""

    __slots__ = ()

    @property
    def digest(self) -> str:
        """SHA-256 of the contents of its file except times, 64 hexadecimal digits: equal for equal releases.

        It does not prove who made the file: anyone who changes it can compute another one.
        """
        return digest_of(self.archive())

    @abstractmethod
    def archive(self) -> dict[str, Any]:
        """Return the fields of the file: JSON values, however nested, and arrays among them."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to a file, whole or not at all; `pypgm.load` reads it. A file of that name is replaced.

        Measurements go with it, a model's for its standard errors; no pickle does. A model whose user's own query is
        too large to be written as a matrix is written without them.

        Raises
        ------
        ValueError
            If the query of a measurement of a release is too large to be written as a matrix, or the file is the one
            that holds the original records.
        OSError
            If the file cannot be written; nothing is left behind then, and a file of that name stays as it is.
        """
        self._check_place(path)
        write_file(path, self.archive())

    def _check_place(self, path: str | os.PathLike[str]) -> None:
        """Raise ``ValueError`` where a path is among the files that a release was made of, or would be."""
        for place in getattr(self, "_places", ()):
            if _is_among(path, place):
                reason = "it holds the records that the release was made of; give the result another name"
                raise ValueError(f"{os.fspath(path)} would be overwritten: {reason}")

    def __reduce__(self) -> tuple[Callable[[bytes], object], tuple[bytes]]:
        return unpickled, (file_bytes(self.archive()),)


def _is_among(path: str | os.PathLike[str], place: str) -> bool:
    """Return whether a path is a file, in a folder, or fits a pattern; or the folder itself."""
    with contextlib.suppress(OSError):  # one of them is not there
        if os.path.samefile(path, place):
            return True
    whole = os.path.abspath(path)
    if os.path.isdir(place):
        return os.path.realpath(whole).startswith(os.path.join(os.path.realpath(place), ""))
    return not os.path.exists(place) and fnmatch.fnmatch(whole, place)


class CountedModel(Stored):
    """Model with a number of records, which is drawn by default."""

    __slots__ = ()
    total: float

    def synthetic_data(
        self,
        rows: int | None = None,
        rng: np.random.Generator | int | None = None,
        *,
        evidence: Evidence | None = None,
    ) -> Dataset:
        """Draw records from the model.

        Parameters
        ----------
        rows : int, optional
            Number of records; the rounded total by default.
        rng : Generator or int, optional
            The operating system's entropy by default.
        evidence : mapping, optional
            See `query`: all records agree with it.
        """
        return self._drawn(checked_integer("rows", round(self.total) if rows is None else rows), rng, evidence)

    @abstractmethod
    def _drawn(self, rows: int, rng: np.random.Generator | int | None, evidence: Evidence | None) -> Dataset:
        """Return `rows` records."""


def fields_of(model: ReleasedModel, kind: str) -> dict[str, Any]:
    """Return the fields of the file of a model of any kind."""
    domain = {"attributes": model.domain.attributes, "shape": model.domain.shape, "labels": dict(model.domain.labels)}
    return {"kind": kind, **domain, "not_private": model.not_private}


def domain_of(fields: dict[str, Any]) -> Domain:
    """Return the domain of the model whose fields these are."""
    return Domain(fields["attributes"], fields["shape"], fields["labels"])


def model_of_archive(fields: dict[str, Any], path: str) -> ReleasedModel:
    """Return the model whose `archive` this is; ``ValueError`` with its place in the file for any other number."""
    try:
        model = _reader(fields["kind"])(fields)
        model.not_private = fields.get("not_private", "")
        recipe = getattr(model, "recipe", None)
        model.not_private = joined_marks([model, *(() if recipe is None else recipe.measurements)])
        _check_numbers(model)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(f"{path}: not a whole pypgm model file ({message_of(error)})") from error
    return model


def _check_numbers(model: ReleasedModel) -> None:
    """Raise ``ValueError`` unless a number of records and the logs of tables are such as an estimate ends with."""
    if not (model.total == 0 or _FEWEST_RECORDS <= model.total <= _MOST_RECORDS):
        raise ValueError(f"the total of a model is 0 or lies between 1e-100 and 2**53, got {model.total}")
    logs = model.potentials.values
    if not (logs < np.inf).all():  # -inf is a structural zero
        raise ValueError("potentials of a model are finite or -inf, got NaN or inf")


def _reader(kind: str) -> Reader:
    """Return the reader of a kind, whose module is imported where it has to be."""
    reader: Reader = in_module(*READERS[kind])
    return reader


def in_module(module: str, name: str) -> Any:  # noqa: ANN401 - a function or a class
    """Return an object by its name in a module of the package, importing the module if needed."""
    return getattr(importlib.import_module(module), name)


def message_of(error: Exception) -> str:
    """Return the message of a reader's error; a `KeyError` has its key alone."""
    return f"{error} is missing" if isinstance(error, KeyError) else str(error)


def unpickled(packed: bytes) -> ReleasedModel:
    """Return the model of an archive's bytes."""
    return model_of_archive(parse_file(io.BytesIO(packed), "a pickle"), "a pickle")
