"""The release of two related tables: two releases, one budget, and synthetic tables of both."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pypgm._base.fields import check_fields
from pypgm._base.html import Shown
from pypgm._base.numeric import as_generator
from pypgm.data import Dataset
from pypgm.data.sources.files import as_path
from pypgm.domain import Clique
from pypgm.errors import ImpossibleEvidenceError
from pypgm.estimation.measurement import joined_marks
from pypgm.files.format import BUDGET
from pypgm.files.stored_model import message_of
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import LedgerReport
from pypgm.privacy.promise import Promise
from pypgm.privacy.relation import Privacy, known_by
from pypgm.release import Release, load
from pypgm.report import caveat_lines
from pypgm.reporting.audited import read_audit
from pypgm.reporting.facts import Facts
from pypgm.reporting.page import Part, write_page
from pypgm.reporting.text import related_lines
from pypgm.reporting.words import TITLE

NAMES = ("parents", "children")
"""Names of the two tables, in the common ledger and in an account."""
_FILES = tuple(f"{name}.pgm" for name in NAMES)
_SHARED = {"budget": BUDGET, "max_children": int, "context": [str], "count": str, "measured": str}
_KEY = "related"  # name of the option that both releases share


class RelatedTables(NamedTuple):
    """Two tables, with the parent of each child.

    Attributes
    ----------
    parents, children : Dataset
    parent_of : ndarray of int64, shape (n_children,)
        The row of each child's parent; ascending where the tables are synthetic.
    """

    parents: Dataset
    children: Dataset
    parent_of: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class RelatedRelease(Shown):
    """Releases of both tables of `synthesize_related`, and their joint guarantee.

    Parameters
    ----------
    parents, children : Release
        Releases of the parents with their number of children, and of the children with their context, each with its own
        budget.
    budget : Budget
        Budget of both together.
    max_children : int
        The most children of one parent that are kept.
    context : tuple of str
        Attributes of the parent that the children's model has, the most important first.
    count : str
        The attribute of the parents' model that holds the number of children.

    Raises
    ------
    ValueError
        If the two releases do not share one budget, one relation and one context; a `BudgetError` if their lines
        are in a unit other than the budget's, or cost more than the budget.
    """

    parents: Release
    children: Release
    budget: Budget
    max_children: int
    context: Clique
    count: str

    def __post_init__(self) -> None:
        first, second = self.parents, self.children
        of_person = first.privacy.records_per_person * self.max_children
        bound = Privacy("add-remove", of_person, first.privacy.person)
        if first.privacy.total_is_public or second.privacy != bound:
            raise ValueError(f"its ledgers are not for at most {self.max_children} children of a parent")
        if first.ledger.budget.limit + second.ledger.budget.limit != self.budget.limit:
            raise ValueError(f"its parts have other budgets than {self.budget!r}")
        self.ledger.spent()  # raises unless all lines are in the unit of the budget and within it
        domain, other = first.model.domain, second.model.domain
        if domain.size(self.count) != self.max_children + 1:
            raise ValueError(f"{self.count!r} does not count 0 to {self.max_children} children")
        in_both = sorted(a for a in other if a in domain)
        if in_both != sorted(self.context) or other.project(in_both) != domain.project(in_both):
            raise ValueError(f"the context {self.context} is not that of both tables")

    @property
    def ledger(self) -> LedgerReport:
        """The charges of both tables, against the budget of both.

        The sensitivity of a line is that of its own table: 1 record for each parent, or `max_children`. The relation is
        that of one parent with all their children, at most ``1 + max_children`` records, or a multiple of it if the
        schema of the parents states several records per person.
        """
        lines = [
            replace(line, within=f"{name} / {line.within}" if line.within else name)
            for name, release in zip(NAMES, (self.parents, self.children), strict=True)
            for line in release.ledger.lines
        ]
        of_both = (release.privacy.records_per_person for release in (self.parents, self.children))
        relation = Privacy("add-remove", sum(of_both), self.parents.privacy.person)
        return LedgerReport(self.budget, lines, relation, self.not_private)

    @property
    def account(self) -> AccountEntry | None:
        """The run of both in an account, if there is one."""
        return self.parents.account

    @property
    def not_private(self) -> str:
        """The reason why the release protects nobody; empty if it protects."""
        return joined_marks([self.parents, self.children])

    def report_html(
        self, path: str | os.PathLike[str], *, audit: str | os.PathLike[str] | None = None, title: str = TITLE
    ) -> None:
        """Write a page of both tables, with their joint promise, as `Release.report_html` does.

        Parameters
        ----------
        path : str or path-like
        audit : str or path-like, optional
            Output of ``python -m pypgm.audit MECHANISM --out audit.json``, shown folded.
        title : str
            Title of the page.

        Raises
        ------
        ImportError
            If jinja2, the extra ``report``, is not installed.
        ValueError
            If the audit's file is none.
        OSError
            If a file cannot be read or written.
        """
        parts = [Part(name, facts) for name, facts in self._facts.items()]
        findings = None if audit is None else read_audit(audit)
        write_page(path, parts, self.ledger, self.promise, title=title, audit=findings)

    @property
    def _facts(self) -> dict[str, Facts]:
        """Facts of each table, by its name."""
        return {"parents": Facts(self.parents), "children": Facts(self.children)}

    @property
    def protects(self) -> str:
        """Description of the protected unit."""
        people, person = self.parents.privacy.records_per_person, self.parents.privacy.person
        parents = f"{people} parent{'' if people == 1 else 's'}{' kept' if person else ''}"
        who = f"any one person ({known_by(person)}at most {parents})" if person or people > 1 else "any one parent"
        return (
            f"whether {who}, with all their children (at most {self.max_children} kept), is in the real tables at all"
        )

    @property
    def promise(self) -> Promise:
        """Promise for both tables together, protected and not, which every view states first."""
        schemas = [self.parents.schema, self.children.schema]
        return Promise.of(
            self.ledger, self.protects, schemas, assumes=self.parents.privacy.assumption("the real table of parents")
        )

    def report(self, *, ledger: bool = False) -> str:
        """Return the protected unit, the use of the budget, and the quality of each table as text.

        Parameters
        ----------
        ledger : bool
            Whether to add the measurements, the models and the law of each draw.
        """
        return "\n".join(related_lines(self._facts, self.ledger, self.promise, whole=ledger))

    def __repr__(self) -> str:
        first = "".join(f"{text} " for text in caveat_lines(self.promise))
        return f"RelatedRelease({first}{self.budget!r}, parents={self.parents!r}, children={self.children!r})"

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> RelatedTables:
        """Return synthetic parents and their children.

        Parents are drawn from their model, each with its number of children. The children of
        all parents with the same context are drawn from the children's model given that context. Where a context has
        probability zero there, its last attribute is disregarded, then the one before, until the rest is possible.

        Parameters
        ----------
        rows : int, optional
            Number of parents; by default the rounded total of their model.
        rng : numpy.random.Generator or int, optional
            Source of the draws.

        Returns
        -------
        RelatedTables
            Over the domains of the original tables.

        Raises
        ------
        ValueError
            If `rows` is negative.
        """
        draws = as_generator(rng)
        parents = self.parents.synthetic_data(rows, draws)
        parent_of = np.repeat(np.arange(len(parents)), parents.columns[self.count])
        domain = self.children.model.domain
        child_domain = domain.project([a for a in domain if a not in self.context])
        columns = {a: np.zeros(len(parent_of), dtype=np.int64) for a in child_domain}
        for known, group in self._contexts(parents, parent_of):
            drawn = self._children(len(group), known, draws)
            dealt = draws.permutation(group)  # whatever order a model draws records in, siblings are exchangeable
            for a, column in columns.items():
                column[dealt] = drawn.columns[a]
        kept = parents.domain.project([a for a in parents.domain if a != self.count])
        alone = Dataset({a: parents.columns[a] for a in kept}, kept)
        return RelatedTables(alone, Dataset(columns, child_domain), parent_of)

    def _contexts(
        self, parents: Dataset, parent_of: NDArray[np.int64]
    ) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
        """Yield each context that occurs, as codes, and the children that have it."""
        if not len(parent_of):
            return
        codes = np.zeros((len(parent_of), len(self.context)), dtype=np.int64)
        for i, a in enumerate(self.context):
            codes[:, i] = parents.columns[a][parent_of]
        order = np.lexsort(codes.T[::-1]) if self.context else np.arange(len(codes))
        new = np.flatnonzero((codes[order][1:] != codes[order][:-1]).any(axis=1)) + 1
        for group in np.split(order, new):
            yield tuple(codes[group[0]].tolist()), group

    def _children(self, rows: int, known: tuple[int, ...], rng: np.random.Generator) -> Dataset:
        """Draw children given as much of a context as is possible."""
        domain = self.children.model.domain
        for length in range(len(known), 0, -1):
            pairs = zip(self.context[:length], known[:length], strict=True)
            given = {
                a: np.eye(domain.size(a))[code] for a, code in pairs
            }  # likelihoods: no label is mistaken for a code
            try:
                return self.children.synthetic_data(rows, rng, evidence=given)
            except ImpossibleEvidenceError:
                continue
        return self.children.synthetic_data(rows, rng)

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write both releases into a directory, ``parents.pgm`` and ``children.pgm``; `load` reads them.

        Each file is a whole release, which `pypgm.load` reads on its own. The directory is made if it does not exist.

        Raises
        ------
        ValueError
            If a release cannot be written, see `Release.save`.
        OSError
            If a file cannot be written.
        """
        as_path(directory).mkdir(parents=True, exist_ok=True)
        shared = {
            "budget": {name: str(value) for name, value in self.budget.arguments().items()},
            "max_children": self.max_children,
            "context": list(self.context),
            "count": self.count,
            "measured": _digest([self.parents, self.children]),
        }
        for name, release in zip(_FILES, (self.parents, self.children), strict=True):
            marked = replace(release, options={**release.options, _KEY: shared})
            marked.save(Path(directory) / name)

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, max_bytes: float | None = None) -> RelatedRelease:
        """Read what `save` wrote; each file may take `max_bytes` of memory, as for `pypgm.load`.

        Raises
        ------
        ValueError
            If the files are not the two halves of one release.
        OSError
            If the files cannot be read.
        """
        loaded = [load(Path(directory) / name, max_bytes=max_bytes) for name in _FILES]
        releases = [r for r in loaded if isinstance(r, Release)]
        shared = [r.options.get(_KEY) for r in releases]
        both = shared[0] if len(releases) == len(_FILES) and shared[0] == shared[1] else None
        if not isinstance(both, dict) or both.get("measured") != _digest(releases):
            raise ValueError(f"{directory}: not the two files of one release of related tables")
        first, second = (replace(r, options={k: v for k, v in r.options.items() if k != _KEY}) for r in releases)
        try:
            check_fields(both, _SHARED, _KEY)
            most, context = both["max_children"], tuple(both["context"])
            return cls(first, second, Budget(**both["budget"]), most, context, both["count"])
        except (ArithmeticError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{directory}: not a whole release of related tables ({message_of(error)})") from error


def _digest(releases: Iterable[Release]) -> str:
    """Return a checksum of the noisy measurements: two releases hardly ever have the same by chance."""
    checksum = 0
    for release in releases:
        for measurement in release.measurements:
            checksum = zlib.crc32(repr(measurement.clique).encode(), checksum)
            checksum = zlib.crc32(np.ascontiguousarray(measurement.values, dtype="<f8").tobytes(), checksum)
    return f"{checksum:08x}"
