"""The one door between a mechanism and the records: it opens only against a charge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NoReturn, Protocol, SupportsIndex, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm.data import Dataset
from pypgm.domain import Clique, Domain, as_clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.charged_noise import ChargedNoise, NoiseBackend, charge_noise
from pypgm.privacy.l1_selector import GRID_BITS, L1Selector, on_grid
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import unsafe_words
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.subsampling import amplified_epsilon, poisson_sample
from pypgm.queries import Identity, LinearQuery

__all__ = ["GRID_BITS", "Counts", "L1Selector", "PrivateTable", "on_grid"]


class Counts(Protocol):
    """What a table must offer: its domain, whether it is weighted, and exact counts."""

    @property
    def domain(self) -> Domain:
        """Attributes and sizes."""

    @property
    def weights(self) -> NDArray[Any] | None:
        """Weights of the records, None for plain records."""

    @property
    def n_records(self) -> int:
        """Number of records."""

    def count(self, cliques: Sequence[Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Return the flat int64 table of each clique, C order over its attributes as given."""


class PrivateTable:
    """Records behind a ledger: each answer is charged before a record is read, and carries exact noise.

    It has no length, is not iterated, copied, pickled or printed. What goes wrong is said in terms of the domain,
    the query and the budget alone.

    Parameters
    ----------
    data : Dataset
        Unweighted records.
    privacy : Privacy
        The neighbour relation and the records a person may have.
    ledger : Ledger
        Where every answer is charged.
    noise : {"pypgm", "opendp"}
        Whose samplers draw the noise of measurements; OpenDP's need the extra ``[opendp]`` and take no seed.
    unsafe_seed : int, optional
        Draw all noise from this number: the same every time, and private for nobody. The ledger says so.

    Raises
    ------
    ValueError
        If the records are weighted: weights have no bound that a sensitivity could rest on.
    """

    __slots__ = ("__data", "_domain", "_ledger", "_n_threads", "_noise", "_privacy", "_words")

    def __init__(
        self,
        data: Counts,
        privacy: Privacy,
        ledger: Ledger,
        *,
        n_threads: int = 0,
        noise: NoiseBackend = "pypgm",
        unsafe_seed: int | None = None,
    ) -> None:
        if noise not in get_args(NoiseBackend):
            raise ValueError(f"noise must be one of {get_args(NoiseBackend)}, got {noise!r}")
        if not hasattr(type(data), "n_records"):  # asked of the class: nothing of the records is read
            raise TypeError(
                f"data needs a pypgm.Dataset, got {type(data).__name__}: pypgm.read_table(path, domain) reads one, "
                "pypgm.Dataset(columns, domain) makes one"
            )
        if data.weights is not None:
            raise ValueError("a private release needs unweighted records: weights have no sensitivity bound")
        self.__data: Counts | None = data
        self._domain = data.domain
        self._privacy = privacy
        self._ledger = ledger
        self._n_threads = n_threads
        self._noise = noise
        self._words = unsafe_words(unsafe_seed)
        if self._words is not None:
            ledger.mark_not_private("noise drawn from a seed")

    @property
    def domain(self) -> Domain:
        """Attributes and sizes; public."""
        return self._domain

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation."""
        return self._privacy

    @property
    def ledger(self) -> Ledger:
        """Where answers are charged."""
        return self._ledger

    @property
    def public_total(self) -> int | None:
        """The number of records where the relation makes it public ("replace"), else None."""
        return self.__records().n_records if self._privacy.total_is_public else None

    @property
    def closed(self) -> bool:
        """Whether the records were let go of."""
        return self.__data is None

    def close(self) -> None:
        """Let go of the records: from now on whatever asks for them raises, and nothing more is charged.

        Estimating, sampling and saving need the released measurements alone; a table used in a ``with`` block is
        closed at its end.
        """
        self.__data = None

    def __enter__(self) -> PrivateTable:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __records(self) -> Counts:
        if self.__data is None:
            raise ValueError("this private table is closed: its records are gone, only what was released is left")
        return self.__data

    def measure(
        self,
        clique: str | Sequence[str],
        query: LinearQuery | None = None,
        *,
        rho: Fraction | None = None,
        variance: Fraction | None = None,
        scale: Fraction | None = None,
    ) -> LinearMeasurement:
        """Charge, count, add noise.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes; the answers follow their order.
        query : LinearQuery, optional
            What of the clique's table is measured; every cell by default.
        rho, variance, scale : Fraction
            Exactly one. `rho`: what discrete Gaussian noise may cost; `variance`: its parameter sigma^2;
            `scale`: of discrete Laplace noise. Parameters the sampler cannot take exactly are rounded to more noise.

        Returns
        -------
        LinearMeasurement
            Its values are int64.

        Raises
        ------
        BudgetError
            If the charge does not fit; then nothing was read.
        """
        attributes = as_clique(clique)
        cells = self.domain.size(attributes)
        asked = Identity(cells) if query is None else query
        if asked.shape[1] != cells:
            raise ValueError(f"clique {attributes} has {cells} cells, the query is for {asked.shape[1]}")
        records = self.__records()
        noise = self._charge(attributes, asked, rho, variance, scale)
        answers = asked.matvec(records.count([attributes], self._n_threads)[0]).astype(np.int64, copy=False)
        return LinearMeasurement(noise.add(answers), attributes, noise.stddev, query, noise.law)

    def measure_total(self, **noise: Fraction) -> LinearMeasurement:
        """Measure the number of records: as `measure`, over the clique of no attributes."""
        return self.measure((), None, **noise)

    def _charge(
        self,
        clique: Clique,
        query: LinearQuery,
        rho: Fraction | None,
        variance: Fraction | None,
        scale: Fraction | None,
    ) -> ChargedNoise:
        if sum(given is not None for given in (rho, variance, scale)) != 1:
            raise ValueError("a measurement takes exactly one of rho, variance and scale")
        if scale is None and variance is None:
            variance = self._variance(rho, self._privacy.squared_l2_sensitivity(query))
        return charge_noise(
            self._ledger,
            self._privacy,
            query,
            "measure",
            f"({', '.join(clique)})",
            scale=scale,
            variance=variance,
            words=self._words,
            n_threads=self._n_threads,
            backend=self._noise,
        )

    @staticmethod
    def _variance(rho: Fraction | None, squared_sensitivity: int) -> Fraction:
        if rho is None or rho <= 0:
            raise ValueError(f"rho must be more than 0, got {rho}")
        if squared_sensitivity == 0:
            raise ValueError("no record changes this answer, so rho gives no variance; pass variance")
        return Fraction(squared_sensitivity) / (2 * rho)

    def l1_selector(
        self,
        candidates: Sequence[Clique],
        estimate: Callable[[Clique], ArrayLike],
        query: Callable[[Clique], LinearQuery | None] = lambda _: None,
    ) -> L1Selector:
        """Return a way to select among cliques by how far public estimates are from the truth; reads nothing yet.

        Parameters
        ----------
        candidates : sequence of clique
            Chosen without looking at the data.
        estimate : callable
            Gives a candidate's public estimate: counts, one for each answer of its query.
        query : callable
            Gives what of a candidate's table is compared, every cell by default. Its columns must be unit vectors,
            as those of `Identity` and `Partition` are.
        """
        self.__records()

        def count(cliques: Sequence[Clique]) -> list[NDArray[np.int64]]:
            return self.__records().count(cliques, self._n_threads)

        return L1Selector(self, candidates, estimate, query, count, words=self._words)

    def subsample(self, rate: Number, *, epsilon: Number) -> PrivateTable:
        """Charge, then keep every record independently with one probability, behind a pure ledger of its own.

        Whatever is charged to that ledger, up to `epsilon`, costs the records log(1 + rate (exp(epsilon) - 1)), charged
        here at once and rounded up. This holds for pure epsilon and records that come or go; nothing else is
        amplified: a budget in rho is charged half the square of that epsilon.

        Parameters
        ----------
        rate : number
            In (0, 1].
        epsilon : number
            What may be spent on the sample.

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
            If the records are not a `Dataset`: others cannot be sampled.

        References
        ----------
        Balle, Barthe and Gaboardi 2018, "Privacy Amplification by Subsampling".
        """
        if self._privacy != Privacy():
            raise ValueError("sampling protects records that come or go, one a person: neighbours='add-remove' alone")
        records = self.__records()
        if not isinstance(records, Dataset):
            raise TypeError("only a Dataset can be sampled")
        chance = as_fraction("rate", rate)
        inner = Ledger(Budget(epsilon=epsilon))
        used = amplified_epsilon(chance, inner.budget.limit)
        parameters = {"rate": chance, "inner_epsilon": inner.budget.limit, "epsilon": used}
        cost = self._ledger.cost_of_pure(used)
        self._ledger.charge(Charge("sample", "records", cost, "Poisson sample", parameters))
        inner.mark_not_private(self._ledger.not_private)
        sample = PrivateTable(
            poisson_sample(records, chance, self._words),
            self._privacy,
            inner,
            n_threads=self._n_threads,
            noise=self._noise,
        )
        sample._words = self._words
        return sample

    def __repr__(self) -> NoReturn:
        raise TypeError("a private table is not printed; print its domain, its privacy or its ledger")

    def __len__(self) -> int:
        raise TypeError("the number of records of a private table is not told; use measure_total")

    def __iter__(self) -> NoReturn:
        raise TypeError("a private table gives no records, only charged measurements")

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError("a private table gives no columns, only charged measurements")

    def __bool__(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TypeError("a private table is neither pickled nor copied")
