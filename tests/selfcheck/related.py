"""Join of two related tables: changes by one more parent with all children."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from pypgm import mechanisms
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, same_run
from pypgm.audit.pairs import Pair
from pypgm.audit.trace import observe
from pypgm.data import Dataset
from pypgm.domain import Domain
from pypgm.mechanisms.related import joined, parent_rows
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy

_PARENTS, _CHILDREN = Domain({"a": 2}), Domain({"b": 3})
_RUNS = (
    # mechanism, budget, children a parent, share of the budget for the parents
    ("mst", Budget(epsilon=1, delta="1/1000000000"), (1, 3, 7), "1/2"),
    ("hdmm", Budget(rho=2), (1, 7), "1/2"),
    ("mwem", Budget(epsilon=2), (1, 7), "1/2"),
    ("mst", Budget(epsilon=1, delta="1/1000000000"), (3,), "4/5"),
    ("hdmm", Budget(rho=2), (3,), "1/9"),
    ("mwem", Budget(epsilon=2), (3,), "99/100"),
)
_ODD_KEYS: tuple[Any, ...] = ("x", 0.5, 1.0, True, b"1", None, float("nan"), np.datetime64("2020-01-31"), "1", 1)


def check_related(pairs: int = 40) -> Finding:
    """Compare the join of two related tables with and without one parent, and whole releases of both.

    The parents must change by one record and the children by at most the public bound: what the noise is drawn for.
    Releases, under both kinds of budget, are observed with and without a parent of `max_children` equal children.
    """
    defects = [*_of_keys(), *(wrong for seed in range(pairs) for wrong in _of_neighbours(seed))]
    for name, budget, bounds, share in _RUNS:
        defects.extend(wrong for k in bounds for wrong in _of_releases(name, budget, k, share))
    return finding("related tables", f"{pairs} pairs of tables", defects, "a parent is 1 record, and their children k")


def _of_keys() -> Iterator[tuple[str, str]]:
    """Find rows by keys, with and without a child whose key has another type: the other rows stay."""
    for keys in ([1, 2, 3], ["1", "2", "3"], [(1 << 53) + 1, (1 << 53) + 3, 7]):
        before = parent_rows(keys, [*keys, *keys, None])
        for odd in (*_ODD_KEYS, keys[0]):
            after = parent_rows(keys, [*keys, *keys, None, odd])
            if not np.array_equal(after[:-1], before):
                yield "sensitivity", f"a key that is {type(odd).__name__} changes whose child another record is"


def _of_neighbours(seed: int) -> Iterator[tuple[str, str]]:
    rng = np.random.default_rng(seed)
    parents, children, most = int(rng.integers(1, 5)), int(rng.integers(13)), int(rng.integers(1, 4))
    a, b = rng.integers(2, size=parents), rng.integers(3, size=children)
    of = rng.integers(-1, parents, size=children)
    row = int(rng.integers(parents))
    fewer, stay = Dataset({"a": np.delete(a, row)}, _PARENTS), of != row
    rest = Dataset({"b": b[stay]}, _CHILDREN)
    try:
        whole = joined(Dataset({"a": a}, _PARENTS), Dataset({"b": b}, _CHILDREN), of, max_children=most)
        less = joined(fewer, rest, of[stay] - (of[stay] > row), max_children=most)
    except Exception as error:
        yield "no release", f"tables {seed}, {most} children a parent, are not joined: {type(error).__name__}"
        return
    for name, bound, one, other in zip(("parents", "children"), (1, most), whole, less, strict=True):
        clique = one.domain.attributes
        moved = int(np.abs(one.count([clique])[0] - other.count([clique])[0]).sum())
        if moved > bound:
            yield "sensitivity", f"{moved} records of the {name} change with one parent, {bound} are declared"


def _of_releases(mechanism: str, budget: Budget, k: int, share: str) -> Iterator[tuple[str, str]]:
    """Compare releases with and without a parent of k equal children, on the same outcomes."""
    where = f"{mechanism}, {k} children a parent, {share} for the parents"
    some, few = np.array([0, 1, 1]), np.array([0, 2, 1, 0, 0])
    of = np.array([0, 0, 1, 2, 2])
    tables = (
        (np.append(some, 1), np.append(few, [2] * k), np.append(of, [3] * k)),
        (some, few, of),
    )
    privacy = Privacy(records_per_person=k)
    traces: list[Any] = []
    for a, b, parent_of in tables:
        parents, children = Dataset({"a": a}, _PARENTS), Dataset({"b": b}, _CHILDREN)

        def released(
            _: Any, whole: Budget, __: Any, parents: Any = parents, children: Any = children, of: Any = parent_of
        ) -> Any:
            release = mechanisms.synthesize_related(
                parents, children, of, max_children=k, budget=whole, mechanism=mechanism, parents_share=share
            )
            return release, _use(release)

        like = traces[0] if traces else None
        traces.append(observe(released, children, budget, privacy, like=like))
    one, other = traces
    runs = Runs(where, budget, ((Pair("one parent", children, children, privacy, True), one, other),))
    for checked in (check_calibration(runs), check_charges(runs)):
        yield from ((name, f"{where}: {checked.detail}") for name in checked.defects)
    yield from ((name, f"{where}: {what}") for name, what in same_run(one, other))
    if one.error:
        yield "no release", f"{where}: {one.error}"
        return
    release = one.release[0]
    for name, table, bound in (("parents", release.parents, 1), ("children", release.children, k)):
        declared = table.privacy.records_per_person
        if declared != bound:
            yield "lost user bound", f"{where}: the {name} are released for {declared} records a parent, not {bound}"
    limits = [r.ledger.budget.limit for r in (release.parents, release.children)]
    if sum(limits) > release.budget.limit:
        yield "overspent", f"{where}: the budgets of both tables are more than that of the release"
    if limits[0] != Fraction(share) * release.budget.limit:
        yield "wrong budget", f"{where}: the parents get {float(limits[0] / release.budget.limit):.3g} of the budget"


def _use(release: Any) -> list[Any]:
    """Return the text, records and file of a release."""
    with tempfile.TemporaryDirectory() as folder:
        release.save(folder)
        files = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    return [release.report(), release.synthetic_data(rng=3), files]
