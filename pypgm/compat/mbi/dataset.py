"""Records as columns of codes."""

from __future__ import annotations

import contextlib
import csv
import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import whole_array
from pypgm.compat.mbi.domain import Attribute, Domain, every_spelling
from pypgm.compat.mbi.factor import Factor, refuse_mesh


class Columns(dict[Attribute, NDArray[Any]]):
    """Stand-in for a data frame without pandas: columns with `to_numpy`."""

    class Column(np.ndarray[Any, Any]):
        """A column."""

        def to_numpy(self) -> NDArray[Any]:
            return np.asarray(self)

    def __getitem__(self, name: Attribute) -> Any:
        return super().__getitem__(name).view(Columns.Column)


class Counts(Factor):
    """The counts of a projection, and what `Dataset` says of the records, which projections were before mbi 1.0."""

    def __getattr__(self, name: str) -> Any:
        if name in {"data", "df", "drop", "records", "to_dict", "weights"}:
            return getattr(self.__dict__["projected"](), name)
        raise AttributeError(f"a {type(self).__name__} has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:  # without the records
        return Factor, (self.domain, self.values)


@every_spelling
class Dataset:
    """Records of a domain, from a dict of columns, an array in the domain's order or a data frame.

    Examples
    --------
    >>> Dataset({"a": [0, 1, 1]}, Domain(["a"], [2])).project("a").datavector()
    array([1., 2.])
    """

    def __init__(self, data: Any, domain: Domain, weights: ArrayLike | None = None) -> None:
        self.domain = domain
        self._data = {a: _codes(a, column, n) for (a, n), column in _paired(data, domain)}
        lengths = {len(column) for column in self._data.values()}
        values = None if weights is None else np.asarray(weights, dtype=np.float64)
        if values is not None:
            lengths |= {len(values)}
        if len(lengths) > 1 or not (lengths or isinstance(self, JaxDataset)):
            raise ValueError(f"columns, and weights if any, need one length, got {sorted(lengths) or 'none'}")
        self._weights = values

    @property
    def data(self) -> dict[Attribute, NDArray[Any]]:
        """Codes by attribute."""
        return self._data

    def to_dict(self) -> dict[Attribute, NDArray[Any]]:
        return dict(self._data)

    @property
    def weights(self) -> Any:
        """Weights of the records."""
        return np.ones(self.records) if self._weights is None else self._weights

    @property
    def records(self) -> int:
        """Number of records."""
        return len(next(iter(self._data.values()), () if self._weights is None else self._weights))

    @property
    def df(self) -> Any:
        """A pandas DataFrame in the domain's order; without pandas, columns that have `to_numpy`."""
        try:
            import pandas
        except ImportError:
            return Columns(self._data)
        return pandas.DataFrame(self._data, columns=list(self.domain.attributes))

    @classmethod
    def synthetic(cls, domain: Domain, N: int) -> Any:  # noqa: N803 - mbi's name
        """Return uniform records."""
        return cls({a: np.random.randint(0, n, N) for a, n in domain.config.items()}, domain)  # noqa: NPY002

    @classmethod
    def load(cls, path: str, domain: Domain | str) -> Any:
        """Return the records of a CSV file of codes; the domain may be the path of a JSON file of sizes."""
        if not isinstance(domain, Domain):
            domain = Domain.fromdict(json.loads(Path(domain).read_text(encoding="utf-8")))
        with Path(path).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return cls({a: [_code_of(a, i, row) for i, row in enumerate(rows)] for a in domain}, domain)

    def project(self, attributes: object) -> Factor:
        """Return the weighted counts of the values of some attributes."""
        domain = self.domain.project(attributes)
        cells = np.zeros(self.records, dtype=np.int64)
        for a, n in domain.config.items():
            cells = cells * n + self._data[a]
        counts = Counts(domain, np.bincount(cells, self._weights, domain.size()).astype(np.float64))
        counts.__dict__["projected"] = functools.partial(self._changed, domain, self._data)
        return counts

    def datavector(self, flatten: bool = True) -> NDArray[np.float64]:
        """Return the counts of all cells of the domain."""
        return self.project(self.domain.attributes).datavector(flatten)

    def supports(self, attributes: object) -> bool:
        return self.domain.supports(attributes)

    def apply_sharding(self, mesh: object = None) -> Any:
        refuse_mesh(mesh)
        return self

    def drop(self, attributes: object) -> Any:
        """Return the records without some attributes."""
        return self._changed(self.domain.marginalize(attributes), self._data)

    def _changed(self, domain: Domain, columns: Mapping[Attribute, NDArray[Any]]) -> Any:
        return type(self)({a: columns[a] for a in domain}, domain, self._weights)

    def compress(self, mapping: Mapping[Attribute, ArrayLike], labels: Mapping[Attribute, Any] | None = None) -> Any:
        """Return the records with values mapped to others, for all attributes that the mapping names."""
        images = {a: _image(a, image, self.domain) for a, image in mapping.items()}
        domain = _resized(self.domain, {a: int(image.max()) + 1 for a, image in images.items()}, labels)
        return self._changed(domain, self._data | {a: image[self._data[a]] for a, image in images.items()})

    def decompress(self, mapping: Mapping[Attribute, ArrayLike]) -> Any:
        """Return records that `compress` may have mapped to these, each value a random one of its preimages."""
        columns, sizes = dict(self._data), {}
        for a, given in mapping.items():
            image, codes = np.asarray(given), self._data[a]
            sizes[a] = image.size
            order = np.argsort(image, kind="stable")
            first = np.searchsorted(image[order], np.arange(self.domain[a] + 1))
            many = np.diff(first)[codes]
            if (many == 0).any():
                raise ValueError(f"the mapping of {a!r} has no preimage of some value that records have")
            columns[a] = order[first[codes] + np.floor(np.random.rand(codes.size) * many).astype(np.int64)]  # noqa: NPY002
        return self._changed(_resized(self.domain, sizes, None), columns)


@every_spelling
class JaxDataset(Dataset):
    """Records whose weights may be missing; of NumPy arrays here."""

    @property
    def weights(self) -> Any:
        """Weights of the records, or None."""
        return self._weights

    @property
    def records(self) -> int:
        """Number of records; unknown without columns."""
        if not self._data:
            raise ValueError("a JaxDataset without columns has no number of records")
        return super().records

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self.records if self._weights is None else self._weights.sum())

    def synthetic_data(self, rows: int | None = None) -> Dataset:
        """Return records, each as often as its weight says, rounded at random."""
        n = int(self.total if rows is None else rows)
        weights = np.ones(self.records) if self._weights is None else self._weights
        expected = np.cumsum(weights) * (n / weights.sum())
        points = np.arange(n) + np.random.rand()  # noqa: NPY002
        chosen = np.minimum(np.searchsorted(expected, points, side="right"), weights.size - 1)
        return Dataset({a: column[chosen] for a, column in self._data.items()}, self.domain)


def _paired(data: Any, domain: Domain) -> list[tuple[tuple[Attribute, int], Any]]:
    """Return each attribute and its size with its column."""
    if isinstance(data, Mapping):
        if data and set(data) != set(domain):
            raise ValueError(f"data needs the columns {[*domain]}, got {[*data]}")
        return [(item, data[item[0]]) for item in domain.config.items()] if data else []
    if hasattr(data, "columns"):
        missing = [a for a in domain if a not in data.columns]
        if missing:
            raise ValueError(f"data needs the columns {[*domain]}, {missing} are missing")
        return [(item, data[item[0]].to_numpy()) for item in domain.config.items()]
    columns = list(zip(*data, strict=True) if isinstance(data, list | tuple) else np.atleast_1d(data).T)
    if len(columns) != len(domain):
        raise ValueError(f"data needs {len(domain)} columns, got {len(columns)}")
    return list(zip(domain.config.items(), columns, strict=True))


def _code_of(attribute: Attribute, row: int, fields: Mapping[Attribute, str | None]) -> int:
    """Return a field of a file as a code; ``ValueError``, without its text, if it is none."""
    if attribute not in fields:
        raise ValueError(f"the file has no column {attribute!r}")
    with contextlib.suppress(OverflowError, TypeError, ValueError):
        code = float(fields[attribute] or "")
        if code.is_integer():
            return int(code)
    raise ValueError(f"column {attribute!r} needs integers, row {row} (the first is 0) has none")


def _codes(attribute: Attribute, column: Any, size: int) -> NDArray[Any]:
    codes = whole_array(column)
    if codes.ndim != 1:
        raise ValueError(f"column {attribute!r} needs one dimension, got shape {codes.shape}")
    if codes.dtype.kind not in "iu":
        if codes.size:
            raise ValueError(f"column {attribute!r} needs integers, got {codes.dtype}")
        codes = codes.astype(np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= size):
        raise ValueError(f"invalid entry in coordinates array: column {attribute!r} needs codes 0 to {size - 1}")
    return codes


def _image(attribute: Attribute, image: ArrayLike, domain: Domain) -> NDArray[Any]:
    codes = np.asarray(image)
    if codes.shape != (domain[attribute],) or codes.dtype.kind not in "iu" or codes.min() < 0:
        needed = f"an integer of at least 0 for each of {domain[attribute]} values"
        raise ValueError(f"the mapping of {attribute!r} needs {needed}, got {codes.dtype} of shape {codes.shape}")
    return codes


def _resized(
    domain: Domain, sizes: Mapping[Attribute, int], labels: Mapping[Attribute, Sequence[Any]] | None
) -> Domain:
    shape = tuple(sizes.get(a, n) for a, n in domain.config.items())
    old = domain.labels_config or {}
    named = {a: (labels or {}).get(a, None if a in sizes else old.get(a)) for a in domain}
    known = [each for each in named.values() if each is not None]
    return Domain(domain.attributes, shape, known if len(known) == len(domain) else None)
