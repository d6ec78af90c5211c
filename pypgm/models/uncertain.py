"""What a model says of its own errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from pypgm.clock import Clock
from pypgm.domain import as_clique, as_cliques
from pypgm.models.base import Table
from pypgm.models.error_bars import standard_errors
from pypgm.models.estimated_again import Simulation
from pypgm.models.expected_error import Basis, basis, expected_errors
from pypgm.models.queryable import Queryable
from pypgm.numeric import as_generator

if TYPE_CHECKING:
    import numpy as np

    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence

__all__ = ["Uncertain"]


class Uncertain(Queryable[Table]):
    """A model that knows what noise it was estimated from."""

    def standard_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        method: Literal["auto", "gls", "bootstrap"] = "auto",
        draws: int = 50,
        rng: np.random.Generator | int | None = 0,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Factor:
        """Return the standard error of each count of a clique that the noise of the measurements leaves.

        It is how much an answer would vary if the same records were measured again, not how far an estimate is drawn
        towards its start: a validated estimate trades the one for the other, and cliques that were never measured
        rest on the independences of the model besides.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the order asked.
        evidence : mapping, optional
            As for `query`, whose probabilities the errors are then of.
        method : {"auto", "gls", "bootstrap"}
            "gls" is the covariance of generalised least squares: exact where a weighted L2 estimate went to the
            optimum, a measured clique holds the one asked for, there are no constraints and no count is held from
            below by zero (all are at least 4 standard errors away from it). "bootstrap" draws measurements of the
            model, with their noise, and estimates each time again. "auto" is the first where it holds and the system
            is moderate (1,500 parameters), else the second.
        draws : int
            Estimates of a bootstrap; with 50 a standard error is known to 10 %.
        rng : Generator, int or None
            Where a bootstrap's noise comes from; the same every time by default.
        n_threads : int
            0 for all threads.
        time_limit : float, optional
            Seconds after which a bootstrap ends with the estimates it has.
        progress : bool
            Whether to show the estimates of a bootstrap on standard error.

        Returns
        -------
        Factor
            Standard errors in counts; of probabilities under evidence.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended the bootstrap.

        Raises
        ------
        TimeoutError
            If there is no time for two estimates.
        ValueError
            If the model was not estimated from measurements with a named loss, from none at all, or was loaded from a
            file that does not hold them; if "gls" is asked for where it does not hold; if there are fewer than 2 draws.

        References
        ----------
        Efron and Tibshirani: An introduction to the bootstrap, 1993, chapter 6.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2})
        >>> m = pypgm.LinearMeasurement([[40, 10], [10, 40]], ("a", "b"), stddev=1.0)
        >>> pypgm.estimate(domain, [m], 100, stop="optimum").standard_error("a").values.round(3)
        array([1., 1.])
        """
        with Clock("standard_error", time_limit, progress, n_threads=n_threads, ends="the bootstrap") as clock:
            asked = Simulation(self, [as_clique(clique)], evidence, draws, as_generator(rng), clock)
            return standard_errors(asked, method)[0]

    def standard_errors(
        self,
        cliques: Sequence[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        method: Literal["auto", "gls", "bootstrap"] = "auto",
        draws: int = 50,
        rng: np.random.Generator | int | None = 0,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> list[Factor]:
        """Return the standard errors of many cliques from one bootstrap, in the order asked; see `standard_error`."""
        with Clock("standard_errors", time_limit, progress, n_threads=n_threads, ends="the bootstrap") as clock:
            asked = Simulation(self, as_cliques(cliques), evidence, draws, as_generator(rng), clock)
            return standard_errors(asked, method)

    def expected_error(
        self,
        clique: str | Iterable[str],
        evidence: Evidence | None = None,
        *,
        draws: int = 20,
        rng: np.random.Generator | int | None = 0,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> Factor:
        """Return the error to expect of each count of a clique: the root mean square distance from the records.

        It holds the noise and all the estimate leaves or adds: where it was drawn towards its start, what it assumed of
        cells that were measured together, and of attributes that were not measured together. Tables are drawn with
        replacement from records of this model, measured with the same queries and noise and estimated from again, and
        so is a prior that was itself estimated from some of the measurements. The squared errors of those estimates
        are averaged over the cell and, where that is more, over answers of about the same size in its clique whose true
        counts are above 0: intervals of 1.645 errors are to hold nine in ten counts, and of those above 0 as well. So
        the error of a small answer is about a record, unless no such answer ever had one. Made-up tables have no other
        dependence than the model's; so counts that were merged or not measured together, see `basis`, get besides some
        of the noise, or of themselves where that is less: as much as dependence has that noise hides. Probabilities
        given `evidence` do without. That a few tables tell
        the error itself only roughly is counted: it is wider by the quantiles of Student's t, so few `draws` hold as
        often as many.

        Parameters
        ----------
        clique : str or sequence of str
            Attributes, in any order; axes come in the order asked.
        evidence : mapping, optional
            As for `query`, whose probabilities the errors are then of.
        draws : int
            Tables; with 20 an error is known to 16 %, and 5 % wider than the root mean square.
        rng : Generator, int or None
            Where the tables and their noise come from; the same every time by default.
        n_threads : int
            0 for all threads.
        time_limit : float, optional
            Seconds after which the tables so far are taken.
        progress : bool
            Whether to show how far it is on standard error.

        Returns
        -------
        Factor
            Errors in counts, of probabilities under evidence. Nothing is known of an attribute that no measurement
            holds: inf.

        Warns
        -----
        TimeLimitWarning
            If the time limit ended it.

        Raises
        ------
        TimeoutError
            If there is no time for two estimates.
        ValueError
            If the model was not estimated from measurements with a named loss, or was loaded from a file that does
            not hold them; if there are fewer than 2 draws.

        Notes
        -----
        On adult, titanic, msnbc, fire and loans at epsilon .1, 1 and 10, `bench/bench_expected_error.py` counts how
        often intervals of 1.645 errors hold the truth: 85 to 97 % of the cells of measured, merged and unmeasured
        answers each, 99 % where most are empty, and 85 to 95 % of those above 0. Dependence that nothing measured is
        not known: where noise hides much of it, errors may be larger than expected.

        Examples
        --------
        >>> import pypgm
        >>> domain = pypgm.Domain({"a": 2, "b": 2, "c": 2})
        >>> ab = pypgm.LinearMeasurement([[400, 100], [100, 400]], ("a", "b"), stddev=5.0)
        >>> model = pypgm.estimate(domain, [ab], 1000)
        >>> model.basis("a"), model.basis("c"), model.expected_error("c").values
        ('measured', 'unknown', array([inf, inf]))
        >>> bool((model.expected_error(("a", "b")).values < 20).all())
        True
        """
        with Clock("expected_error", time_limit, progress, n_threads=n_threads, ends="the made-up tables") as clock:
            return expected_errors(Simulation(self, [as_clique(clique)], evidence, draws, as_generator(rng), clock))[0]

    def expected_errors(
        self,
        cliques: Sequence[str | Iterable[str]],
        evidence: Evidence | None = None,
        *,
        draws: int = 20,
        rng: np.random.Generator | int | None = 0,
        n_threads: int = 0,
        time_limit: float | None = None,
        progress: bool = False,
    ) -> list[Factor]:
        """Return the expected errors of many cliques from the same tables, in the order asked; see `expected_error`."""
        with Clock("expected_errors", time_limit, progress, n_threads=n_threads, ends="the made-up tables") as clock:
            return expected_errors(Simulation(self, as_cliques(cliques), evidence, draws, as_generator(rng), clock))

    def basis(self, clique: str | Iterable[str]) -> Basis:
        """Return what the counts of a clique rest on.

        Returns
        -------
        {"measured", "merged", "unmeasured", "unknown"}
            "measured": some measurement holds the clique and tells its cells apart; "merged": only together with
            others in groups; "unmeasured": its attributes were measured, but never together; "unknown": some attribute
            was not measured at all.

        Raises
        ------
        ValueError
            If the model does not hold its measurements, or the clique is none of its domain.
        """
        return basis(self, as_clique(clique))
