"""Private tables: the only access of a mechanism to records, charged each time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast
from weakref import WeakSet

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.html import Shown
from pypgm.data import Dataset
from pypgm.data.sources.counted import InPlaceTable
from pypgm.data.sources.counted_table import CountedTable, as_counted
from pypgm.domain import Clique, Domain
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.access import ChargedNoise, TableAccess
from pypgm.privacy.account import Account
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.account_use import as_account, charged_to
from pypgm.privacy.arguments import relation_of, warn_at_door
from pypgm.privacy.budget import Budget
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.counts import (
    Counts,
    batches,
    check_counts,
    check_weights,
    has_rows,
    in_rows,
    kept,
    part_of,
    schema_of,
)
from pypgm.privacy.fixed_errors import fixed_errors
from pypgm.privacy.l1_selector import GRID_BITS, L1Selector, on_grid
from pypgm.privacy.laws import PoissonSample
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import Guarded, PrivateColumn, TableColumn
from pypgm.privacy.rational import Number, as_fraction, exact_sum
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.privacy.selector import Selector, StatedSelector
from pypgm.privacy.sign_selector import SignSelector
from pypgm.privacy.trusted_query import Trusted, named, own_clique, trusted_many, trusted_on
from pypgm.queries import LinearQuery, Neighbours, Products, on_lattice

__all__ = ["GRID_BITS", "Counts", "L1Selector", "PrivateTable", "RealAnswers", "measure_real", "on_grid"]


_Selector = TypeVar("_Selector", bound=Selector[Any] | CellSelector | SignSelector)


class PrivateTable(Shown, Guarded):
    """Records behind a ledger: each answer is charged before a record is read, and carries exact noise.

    A private table has no length, is not iterated, copied or pickled, and its text is the same for all. Errors name
    only the domain, the query and the budget. Threads may share it: charges are entered whole, in the order they come,
    and never exceed the budget; mechanisms that run side by side compete for it, may end with a `BudgetError` midway,
    and are not reproducible from a seed.

    Parameters
    ----------
    data : Dataset or CountedTable
        Records, unweighted unless their schema names the weight; if they know their `schema`, the table and its
        releases have the same one.
    privacy : Privacy, "add-remove" or "replace", optional
        The neighbour relation and the records a person may have. Given by name alone, or left out for "add-remove", the
        number is that of the records' schema, or 1 without one.
    ledger : Ledger
        The ledger to which every answer is charged; bound to the relation.
    unsafe_seed : int, optional
        Draw all noise from this number: the same every time, and private for nobody. The ledger says so.
    sampler : Sampler, optional
        The sampler of another table, in place of `n_threads` and `unsafe_seed`.
    account : Account or Reservation, optional
        The account of the table, in which the budget of a new ledger is reserved until the table is closed.

    Raises
    ------
    BudgetError
        If the account has less than the ledger's budget left.
    ValueError
        If the records are weighted and their schema does not bound the weights, so that nothing bounds a sensitivity;
        if their schema has
        another domain, states another number of records per person than `privacy`, or names a person whom the records
        do not identify; or if the ledger has another relation.
    """

    __slots__ = ("__data", "__views", "_domain", "_run", "ends_run", "schema")

    def __init__(
        self,
        data: Counts | CountedTable,
        privacy: Privacy | Neighbours | None,
        ledger: Ledger,
        *,
        n_threads: int = 0,
        unsafe_seed: int | None = None,
        sampler: Sampler | None = None,
        account: Account | Reservation | None = None,
    ) -> None:
        data = cast("Counts", as_counted(data))
        check_counts(data)
        schema = schema_of(data)
        check_weights(data, schema)
        relation = relation_of(privacy, schema)
        if sampler is None:  # else the caller was warned when the records came in
            warn_at_door(schema, ledger.budget)
        source = Sampler(unsafe_seed, n_threads=n_threads) if sampler is None else sampler
        super().__init__(relation, ledger, source)
        self.ends_run = isinstance(account, Account)
        known = as_account(account)
        self._run = None if known is None else charged_to(known, ledger, relation)
        self.__data: Counts | None = None
        try:
            self.__data = kept(data, schema, source)
        except BaseException:
            self._settle()
            raise
        self.__views: WeakSet[Selector[Any] | CellSelector | SignSelector | PrivateTable] = WeakSet()
        self._domain, self.schema = data.domain.project(data.domain), schema  # a copy

    @property
    def domain(self) -> Domain:
        """Attributes and sizes; public."""
        return self._domain

    @property
    def public_total(self) -> int | None:
        """The number of records if the relation makes it public ("replace"), else None."""
        return self.__records().n_records if self._privacy.total_is_public else None

    @property
    def closed(self) -> bool:
        """Whether the records were dropped."""
        return self.__data is None

    @property
    def account_entry(self) -> AccountEntry | None:
        """The entry of the table's run in its account, if it has one."""
        return None if self._run is None else self._run.entry

    def close(self) -> None:
        """Drop the records: from now on every question raises, and nothing more is charged.

        Its selectors, columns and samples end with it. Estimating, sampling and saving need the released measurements
        alone; a table used in a ``with`` block is closed at its end.
        """
        data, self.__data = self.__data, None
        for view in self.__views:
            view.close()
        if isinstance(data, InPlaceTable):
            data.end_snapshot()
        self._settle()

    def _settle(self) -> None:
        """Give back what an account reserved for this table, and was not charged."""
        if self.ends_run and self._run is not None:
            self._run.end()

    def __enter__(self) -> PrivateTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __records(self) -> Counts:
        if self.__data is None:
            raise ValueError("this private table is closed: its records are gone, only released results are left")
        return self.__data

    def __until_closed(self, selector: _Selector) -> _Selector:
        """Return a selector that ends with the table; ``ValueError`` if the table is closed."""
        self.__records()
        self.__views.add(selector)
        return selector

    @property
    def trusted_access(self) -> TableAccess:
        """Access to the records, for the steps of this package, which charge before they count."""
        check_open = self.__records
        parts = self._privacy, self._ledger, self._sampler, check_open, self._domain, self.schema, self.__records
        return TableAccess(*parts)

    def measure(
        self,
        clique: str | Sequence[str],
        query: LinearQuery | Products | None = None,
        *,
        rho: Number | None = None,
        variance: Number | None = None,
        scale: Number | None = None,
    ) -> LinearMeasurement:
        """Measure a query on a clique: charge, count, add noise.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes; the answers follow their order.
        query : LinearQuery, optional
            The answers to measure; every cell by default. A query of a class that is not from `pypgm.queries` is
            measured by its matrix, with the sensitivity of that, on up to 4096 cells.
        rho, variance, scale : number
            Exactly one. `rho`: cost of discrete Gaussian noise; `variance`: its parameter sigma^2;
            `scale`: scale of discrete Laplace noise. A float means its shortest decimal; parameters the sampler cannot
            take exactly are rounded to more noise.

        Returns
        -------
        LinearMeasurement
            Its values are int64.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If the query does not fit the clique or has no integer matrix, or a number is out of range.
        """
        attributes, stated, done = trusted_on(self.domain, clique, query)
        self.__records()  # raises where they are gone
        access = self.trusted_access
        noise = access.charge_noise(done, "measure", named(attributes), rho=rho, variance=variance, scale=scale)
        with fixed_errors:
            values = noise.add(_answers(done, next(access.count([attributes]))))
        law = noise.law
        mark = self._ledger.not_private
        return LinearMeasurement(values, attributes, law.stddev, stated, law.measured, not_private=mark)

    def measure_many(
        self,
        cliques: Sequence[str | Sequence[str]],
        queries: Sequence[LinearQuery | Products | None] | None = None,
        *,
        rho: Number,
        weights: Sequence[Number] | None = None,
    ) -> list[LinearMeasurement]:
        """Charge discrete Gaussian noise on many cliques, count all of them, add noise.

        Parameters
        ----------
        cliques : sequence of clique
            See `measure`; chosen without looking at the data.
        queries : sequence of LinearQuery or None, optional
            The query on each clique; every cell by default.
        rho : number
            The cost of all measurements together, at most.
        weights : sequence of number, optional
            The part of rho that each gets, in proportion, more than 0; equal parts by default.

        Returns
        -------
        list of LinearMeasurement
            The measurements, in the order of the cliques.

        Raises
        ------
        BudgetError
            If rho does not fit; then nothing was read or charged.
        ValueError
            If lengths differ, a query does not fit its clique, nobody changes its answers, or a number is out of range.

        Examples
        --------
        >>> from pypgm import Budget
        >>> data = Dataset({"a": [0, 1, 1], "b": [1, 0, 1]}, Domain({"a": 2, "b": 2}))
        >>> table = PrivateTable(data, Privacy(), Ledger(Budget(rho=1)))
        >>> [m.stddev for m in table.measure_many(["a", ("a", "b")], rho=0.5, weights=[1, 3])]
        [2.0, 1.1547005383792515]
        """
        trusted, shares = trusted_many(self.domain, cliques, queries, weights)
        for clique, done in {id(done): (clique, done) for clique, _, done in trusted}.values():
            if self._privacy.squared_l2_sensitivity(done) == 0:
                raise ValueError(f"no record changes the answers on {named(clique)}: they need no noise, and no rho")
        self.__records()  # raises where they are gone
        total = as_fraction("rho", rho)
        unit = total / exact_sum(shares)
        parts = {key: unit * share for key, share in {id(share): share for share in shares}.items()}
        each = [
            (done, named(clique), parts[id(share)]) for (clique, _, done), share in zip(trusted, shares, strict=True)
        ]
        noises = self.trusted_access.charge_gaussians(each, "measure", within=f"{len(trusted)} cliques")
        with fixed_errors:
            values = self.__noisy(trusted, noises)
        measurements: list[LinearMeasurement] = []
        first: dict[int, LinearMeasurement] = {}  # one for each noise, and so each query: checked once
        for noisy, noise, (clique, query, _) in zip(values, noises, trusted, strict=True):
            law, known = noise.law, first.get(id(noise))
            if known is None:
                mark = self._ledger.not_private
                known = first[id(noise)] = LinearMeasurement(
                    noisy, clique, law.stddev, query, law.measured, not_private=mark
                )
            noisy.setflags(write=False)
            measurements.append(known.answered(noisy, clique))
        return measurements

    def __noisy(self, trusted: Sequence[Trusted], noises: Sequence[ChargedNoise]) -> list[NDArray[np.int64]]:
        """Count many cliques in batches, answer and add noise."""
        values = []
        for first, last in batches([done.shape[1] for _, _, done in trusted]):
            counted = self.__records().count([clique for clique, _, _ in trusted[first:last]], self._sampler.n_threads)
            for i, counts in enumerate(counted, first):
                values.append(noises[i].add(_answers(trusted[i][2], counts)))
        return values

    def measure_total(self, **noise: Number) -> LinearMeasurement:
        """Measure the number of records: like `measure`, over the clique of no attributes."""
        return self.measure((), None, **noise)

    def column(self, attribute: str) -> PrivateColumn:
        """Return an attribute as a column: its labels, or its codes if it has none.

        The column is for `private_quantiles`, `private_bounds` and `sparse_histogram`, and charged to the same ledger.

        Raises
        ------
        ValueError
            If the attribute is unknown.

        Examples
        --------
        >>> from pypgm import Budget
        >>> from pypgm.privacy import private_quantiles
        >>> data = Dataset({"age": [20, 31, 31, 80] * 99}, Domain({"age": 100}))
        >>> table = PrivateTable(data, Privacy(), Ledger(Budget(rho=10**6)))
        >>> private_quantiles(table.column("age"), [0.5], range(100), rho=1000).tolist()
        [31.0]
        """
        (name,) = clique = own_clique(self.domain, (attribute,))
        levels = self.domain.labels.get(name, range(self.domain.size(clique)))
        values = TableColumn(levels, lambda: next(self.trusted_access.count([clique])), self.__records)
        return PrivateColumn(values, self._privacy, self._ledger, sampler=self._sampler)

    def l1_selector(
        self,
        candidates: Sequence[Clique],
        estimate: Callable[[Clique], ArrayLike],
        query: Callable[[Clique], LinearQuery | None] = lambda _: None,
    ) -> L1Selector:
        """Return a selector of cliques by the L1 distance of public estimates from the true counts; reads nothing yet.

        Parameters
        ----------
        candidates : sequence of clique
            Chosen without looking at the data; `L1Selector.compare` takes other ones, and another model's estimates.
        estimate : callable
            Gives a candidate's public estimate: counts, one for each answer of its query. All are computed before the
            first charge.
        query : callable
            Gives the query on a candidate's table that is compared, every cell by default. Its columns must be unit
            vectors, as those of `Identity` and `Partition` are.
        """
        return self.__until_closed(L1Selector(self.trusted_access, candidates, estimate, query))

    def selector(
        self,
        candidates: Sequence[Clique],
        score: Callable[[int, NDArray[np.int64]], int],
        *,
        sensitivity: int,
        score_range: int | None = None,
    ) -> StatedSelector:
        """Return a selector of cliques by a user's integer score, whose sensitivity the author states.

        The ledger cannot check the sensitivity, and names it as stated.

        Parameters
        ----------
        candidates : sequence of clique
            Chosen without looking at the data.
        score : callable
            Gives a Python integer for a position in the candidates and the counts of that clique, int64, after the
            charge. It must do nothing else; if it raises an error, the score is 0.
        sensitivity : int
            The most that one record changes one score, by being added or removed or, under "replace", replaced; at
            least 1.
        score_range : int, optional
            Length of an interval that holds the changes of all scores: the sensitivity where scores all rise or all
            fall; by default twice the sensitivity.
        """
        stated = (sensitivity, 2 * sensitivity if score_range is None else score_range)
        return self.__until_closed(StatedSelector(self.trusted_access, candidates, score, stated))

    def cell_selector(self, cliques: Sequence[Clique]) -> CellSelector:
        """Return a selector of single cells of cliques and their complements, by their counts; reads nothing yet.

        Parameters
        ----------
        cliques : sequence of clique
            Chosen without looking at the data.
        """
        return self.__until_closed(CellSelector(self.trusted_access, cliques))

    @property
    def has_rows(self) -> bool:
        """Whether the codes of single records can be read, as `sign_selector` does, and not only their counts."""
        return has_rows(self.__records())

    def sign_selector(self, signs: Mapping[str, ArrayLike], sets: Sequence[ArrayLike]) -> SignSelector:
        """Return a selector of sets of signs, by the sums of their products over the records; reads nothing yet.

        Parameters
        ----------
        signs : mapping of str to array_like of bool, shape (signs, values)
            For each attribute its signs: whether each value counts as -1. Chosen without looking at the data.
        sets : sequence of array_like of int, shape (sets, order)
            Numbers of the signs in each set, over all attributes in the order of the mapping; one array an order.

        Raises
        ------
        ValueError
            If signs or sets do not fit.
        TypeError
            If the table has only counts.
        """
        if not self.has_rows:
            raise TypeError("only records have signs, a table of counts is not enough")
        return self.__until_closed(SignSelector(self.trusted_access, signs, sets))

    def subsample(self, rate: Number, *, epsilon: Number) -> PrivateTable:
        """Charge, then keep every record independently with one probability, behind its own pure ledger.

        All that is charged to that ledger, up to `epsilon`, costs the records log(1 + rate (exp(epsilon) - 1)), charged
        here at once and rounded up. This holds for pure epsilon and records that come or go; nothing else is amplified:
        a budget in rho is charged half the square of that epsilon. The sample ends with this table.

        Parameters
        ----------
        rate : number
            Rate in (0, 1].
        epsilon : number
            The budget for steps on the sample.

        Returns
        -------
        PrivateTable
            The sample; its ledger is ``Ledger(Budget(epsilon=epsilon))``.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        ValueError
            If the relation is not add-remove with one record a person, or a number is out of range.
        TypeError
            If the table has only counts.

        References
        ----------
        Balle, Barthe and Gaboardi 2018, "Privacy Amplification by Subsampling".
        """
        if self._privacy.total_is_public or self._privacy.records_per_person != 1:
            raise ValueError("sampling protects records that come or go, one per person: only neighbours='add-remove'")
        if not has_rows(self.__records()):
            raise TypeError("only records can be sampled, a table of counts is not enough")
        chance = as_fraction("rate", rate)
        inner = Ledger(Budget(epsilon=epsilon))
        law = PoissonSample(chance, inner.budget.limit)
        self._ledger.charge("sample", "records", law)
        if self._ledger.not_private:
            inner.mark_not_private(self._ledger.not_private)
        with fixed_errors:
            records = self.__sampled(law)
        sample = PrivateTable(records, self._privacy, inner, sampler=self._sampler)
        sample.schema = self.schema
        self.__views.add(sample)
        return sample

    def over(self, domain: Domain) -> PrivateTable:
        """Return the same records without some attributes, behind the same ledger; they end with this table.

        Parameters
        ----------
        domain : Domain
            The domain of the remaining attributes.

        Examples
        --------
        >>> import pypgm
        >>> data = pypgm.Dataset({"a": [0, 1], "b": [1, 1]}, pypgm.Domain({"a": 2, "b": 3}))
        >>> table = PrivateTable(data, "add-remove", Ledger(Budget(rho=1)))
        >>> table.over(pypgm.Domain({"b": 3})).measure("b", rho="1/2").clique, table.ledger.spent()
        (('b',), Fraction(1, 2))
        """
        part = part_of(self.__records(), domain)
        view = PrivateTable(part, self._privacy, self._ledger, sampler=self._sampler, account=self._run)
        view.schema = self.schema
        self.__views.add(view)
        return view

    def __sampled(self, law: PoissonSample) -> Dataset:
        """Return the records that stay, in their order."""
        data = in_rows(self.__records())
        rows = law.kept(data.n_records, self._sampler)
        return data.where(rows)


def _answers(query: LinearQuery, counts: NDArray[np.int64]) -> NDArray[np.int64]:
    is_every_cell = query.is_identity and counts.shape == query.shape[1:]  # noise is added to a copy anyway
    return counts if is_every_cell else query.matvec(counts).astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True, eq=False)
class RealAnswers:
    """Private answers to queries with real entries.

    Attributes
    ----------
    values : ndarray of float64, shape (answers,)
        The answers, in counts times the unit of the entries.
    stddev : ndarray of float64, shape (answers,)
        Standard deviation of the noise of each.
    measurement : LinearMeasurement
        The integers that were released; `values` follow only from them.
    """

    values: NDArray[np.float64]
    stddev: NDArray[np.float64]
    measurement: LinearMeasurement


def measure_real(
    table: PrivateTable,
    clique: str | Sequence[str],
    entries: ArrayLike,
    *,
    lattice: int | None = None,
    rho: Number | None = None,
    variance: Number | None = None,
    scale: Number | None = None,
) -> RealAnswers:
    """Answer real-valued queries on a clique, from integers that were measured exactly.

    Parameters
    ----------
    table : PrivateTable
        The records.
    clique : str or sequence of str
        Attributes; the entries' columns follow the cells of their table in this order.
    entries : array_like of float, shape (answers, cells)
        The queries, chosen without looking at the data.
    lattice : int, optional
        Number of steps in one unit, to which entries are rounded; the rounded queries are then measured directly. By
        default every cell is measured, and the queries are applied to the noisy cells: their noise is then correlated.
    rho, variance, scale : number
        Exactly one, as for `PrivateTable.measure`; `variance` and `scale` in the unit of the integers measured:
        counts, or counts times the lattice.

    Returns
    -------
    RealAnswers
        Values and standard deviations; with a lattice, of the rounded queries.

    Raises
    ------
    BudgetError
        If the charge does not fit; then nothing was read.
    ValueError
        If the entries are not finite, do not fit the clique, or do not fit the lattice.

    Examples
    --------
    >>> from pypgm import Budget, Dataset, Domain, Ledger, Privacy
    >>> data = Dataset({"a": [0, 1, 1]}, Domain({"a": 2}))
    >>> table = PrivateTable(data, Privacy(), Ledger(Budget(rho=1000)))
    >>> measure_real(table, "a", [[0.5, 0.25]], variance="1/1000").values
    array([1.])
    """
    matrix = np.asarray(entries, dtype=np.float64)
    cells = table.domain.size(table.domain.canonical((clique,) if isinstance(clique, str) else tuple(clique)))
    if matrix.ndim != 2 or matrix.shape[1] != cells or not np.isfinite(matrix).all():
        raise ValueError(f"queries on {clique} need finite entries of shape (answers, {cells}), got {matrix.shape}")
    if lattice is None:
        measured = table.measure(clique, rho=rho, variance=variance, scale=scale)
        spread = np.sqrt(np.square(matrix).sum(axis=1))
        return RealAnswers(matrix @ measured.values, measured.stddev * spread, measured)
    measured = table.measure(clique, on_lattice(matrix, lattice), rho=rho, variance=variance, scale=scale)
    values = measured.values / lattice
    return RealAnswers(values, np.full(values.shape, measured.stddev) / lattice, measured)
