"""Workload error: how far two answers to the same marginals are apart."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from pypgm._base.constraints import one_of
from pypgm._base.html import Shown
from pypgm._base.numeric import check_choice
from pypgm._base.terminal import escaped
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, as_clique, listed
from pypgm.factor import Factor

__all__ = ["Evaluation", "Metric", "evaluate"]

Metric = Literal["tv", "l1", "l2", "rmse"]

_CELLS_AT_ONCE = 1 << 22
_NOT_PRIVATE = "compared with unsafe_data"


@runtime_checkable
class Marginals(Protocol):
    """Source of marginals: a model, a release, a table of records, a CliqueVector."""

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the counts of some attributes, axes in the given order."""


Answers = Marginals | Sequence[Factor]


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Shown):
    """The distance of two answers on each clique of a workload."""

    metric: Metric
    """Metric, see `evaluate`."""
    cliques: tuple[Clique, ...]
    """The workload."""
    values: NDArray[np.float64]
    """Distance of each clique, shape (cliques,): shares in 0 .. 1 for "tv", else counts."""
    pooled: float
    """The same over all cells of all cliques as one vector; for "tv" the mean over cliques."""
    not_private: str
    """Why the numbers protect nobody; empty where both sides do."""

    @property
    def mean(self) -> float:
        """The mean over cliques, in the unit of `values`."""
        return float(self.values.mean())

    @property
    def worst(self) -> tuple[Clique, float]:
        """The clique with the largest distance, and that distance."""
        index = int(self.values.argmax())
        return self.cliques[index], float(self.values[index])

    def __str__(self) -> str:
        clique, value = self.worst
        warning = f"; not private: {self.not_private}" if self.not_private else ""
        number = "1 clique" if len(self.cliques) == 1 else f"{len(self.cliques)} cliques"
        text = f"{self.metric} over {number}: mean {self.mean:.4g}, worst {value:.4g} ({', '.join(clique)}){warning}"
        return escaped(text)

    def __repr__(self) -> str:
        return f"Evaluation({self})"


def evaluate(
    a: Answers,
    b: Answers | None = None,
    *,
    cliques: Iterable[str | Iterable[str]],
    metric: Metric = "tv",
    unsafe_data: Answers | None = None,
) -> Evaluation:
    r"""Measure how far two answers to a workload of marginals are apart.

    Each side is a model, a release, records (synthetic ones, unless they come as `unsafe_data`), a `CliqueVector` of
    counts or a sequence of tables of counts.

    Parameters
    ----------
    a : GraphicalModel, Release, Dataset, CliqueVector or sequence of Factor
        The judged answers. A sequence holds the table of each clique, in the order of `cliques`.
    b : the same, optional
        The table to compare with, if it may be seen by anyone.
    cliques : sequence of cliques
        The workload: tuples of attributes, or single names.
    metric : {"tv", "l1", "l2", "rmse"}
        With :math:`d` the difference of two tables of counts: "tv" is the total variation, half the sum of
        :math:`|a/\sum a - b/\sum b|`, a share in 0 .. 1; "l1" is :math:`\sum |d|`, "l2" :math:`\sqrt{\sum d^2}`,
        "rmse" :math:`\sqrt{\operatorname{mean} d^2}`, in counts.
    unsafe_data : Dataset or any of the above
        Instead of `b`: the real records. The result is then not private and says so: publishing it, or choosing by
        it what to publish, leaks.

    Returns
    -------
    Evaluation
        The distance on each clique, and their mean.

    Raises
    ------
    ValueError
        If not one of `b` and `unsafe_data` is given, there is no clique, a clique does not fit a side, the sides
        disagree about an attribute's values, the metric is unknown, or a side without records has no shares.
    TypeError
        If a side does not answer marginals.

    References
    ----------
    McKenna, Pradhan, Sheldon, Miklau: Relaxed marginal consistency for differentially private query answering,
    NeurIPS 2021 (mean total variation over the marginals of a workload).

    Examples
    --------
    >>> import itertools, pypgm
    >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
    >>> records = pypgm.Dataset({"a": [0, 0, 1, 1], "b": [0, 0, 1, 1], "c": [0, 1, 0, 1]}, domain)
    >>> model = pypgm.estimate(domain, [pypgm.LinearMeasurement([3, 1], "a"), pypgm.LinearMeasurement([2, 2], "b")])
    >>> pairs = list(itertools.combinations(domain.attributes, 2))
    >>> evaluate(model, unsafe_data=records, cliques=pairs).not_private
    'compared with unsafe_data'
    >>> evaluate(model, model.synthetic_data(rng=0), cliques=pairs, metric="l1").values.shape
    (3,)
    """
    one_of("evaluate", b=b, unsafe_data=unsafe_data)
    check_choice("metric", metric, get_args(Metric))
    if isinstance(cliques, str):
        raise TypeError(f"cliques needs a sequence of cliques, got the name {cliques!r}; write [({cliques!r},)]")
    workload = [as_clique(c) for c in cliques]
    if not workload:
        raise ValueError("evaluate needs at least one clique, got none")
    other = unsafe_data if b is None else b
    assert other is not None
    values, squares, cells = [], 0.0, 0
    for clique, left, right in zip(workload, _tables("a", a, workload), _other(b, other, workload), strict=True):
        _check_same(clique, left.domain, right.domain)
        difference = _difference(metric, clique, left, right)
        values.append(_DISTANCES[metric](difference))
        squares += float(difference @ difference)
        cells += difference.size
    each = np.array(values)
    pooled = {
        "tv": float(each.mean()),
        "l1": float(each.sum()),
        "l2": squares**0.5,
        "rmse": (squares / cells) ** 0.5,
    }[metric]
    each.setflags(write=False)
    return Evaluation(metric, tuple(workload), each, pooled, _reason(unsafe_data, a, b))


_DISTANCES: dict[str, Callable[[NDArray[np.float64]], float]] = {
    "tv": lambda d: float(np.abs(d).sum() / 2),
    "l1": lambda d: float(np.abs(d).sum()),
    "l2": lambda d: float(np.sqrt(d @ d)),
    "rmse": lambda d: float(np.sqrt(d @ d / d.size)),
}


def _other(b: Answers | None, other: Answers, workload: Sequence[Clique]) -> Iterator[Factor]:
    return _tables("unsafe_data" if b is None else "b", other, workload)


def _reason(unsafe_data: Answers | None, *sides: Answers | None) -> str:
    """Return why the comparison protects nobody: the real records took part, or a model that was drawn from a seed."""
    reasons = [_NOT_PRIVATE] if unsafe_data is not None else []
    reasons += [getattr(_model_of(side), "not_private", "") for side in sides]
    return "; ".join(dict.fromkeys(r for r in reasons if r))


def _tables(name: str, side: Answers, workload: Sequence[Clique]) -> Iterator[Factor]:
    """Yield one side's table of each clique, many computed at once."""
    side = _model_of(side)
    domain = getattr(side, "domain", None)
    if isinstance(side, Sequence) and all(isinstance(f, Factor) for f in side):
        yield from _given(name, side, workload)
    elif isinstance(side, Dataset) and side.weights is None:
        for block in _blocks(side.domain, workload):
            for clique, counts in zip(block, side.count(block), strict=True):
                yield Factor(side.domain.project(clique), counts)
    elif isinstance(domain, Domain) and hasattr(side, "project_many"):
        for block in _blocks(domain, workload):
            yield from side.project_many(block)
    elif isinstance(domain, Domain) and isinstance(side, Marginals):
        yield from (side.project(clique) for clique in workload)
    else:
        needed = "a model, a release, a Dataset, a CliqueVector or a sequence of Factor"
        raise TypeError(f"{name} must be {needed}, got {type(side).__name__}")


def _model_of(side: Any) -> Any:  # noqa: ANN401 - what it is, is asked next
    """Return the model of a release, or any other object unchanged."""
    return getattr(side, "model", side)


def _given(name: str, tables: Sequence[Any], workload: Sequence[Clique]) -> Iterator[Factor]:
    if len(tables) != len(workload):
        raise ValueError(f"{name} needs a table for each of {len(workload)} cliques, got {len(tables)}")
    for clique, table in zip(workload, tables, strict=True):
        if sorted(table.domain.attributes) != sorted(clique):
            raise ValueError(f"{name}: clique {clique} needs a table over it, got one over {table.domain.attributes}")
        yield table.transpose(clique)


def _blocks(domain: Domain, workload: Sequence[Clique]) -> Iterator[list[Clique]]:
    """Yield the workload in runs of consecutive cliques whose tables fit a modest buffer."""
    block: list[Clique] = []
    cells = 0
    for clique in workload:
        size = domain.size(clique)
        if block and cells + size > _CELLS_AT_ONCE:
            yield block
            block, cells = [], 0
        block.append(clique)
        cells += size
    yield block


def _check_same(clique: Clique, left: Domain, right: Domain) -> None:
    for name in clique:
        if left.size(name) != right.size(name):
            raise ValueError(
                f"attribute {name!r} has {left.size(name)} values on one side, {right.size(name)} on the other"
            )
        ours, theirs = left.labels.get(name), right.labels.get(name)
        if ours is not None and theirs is not None and ours != theirs:
            raise ValueError(f"attribute {name!r} has labels {listed(ours)} on one side, {listed(theirs)} on the other")


def _difference(metric: Metric, clique: Clique, left: Factor, right: Factor) -> NDArray[np.float64]:
    mine, yours = left.datavector(), right.datavector()
    if metric != "tv":
        return mine - yours
    sums = float(mine.sum()), float(yours.sum())
    if not min(sums) > 0:
        raise ValueError(
            f"the total variation needs records on both sides, got a table over {clique} that sums to {min(sums)}"
        )
    return mine / sums[0] - yours / sums[1]
