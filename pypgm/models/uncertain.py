"""What a model says of its own errors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pypgm.clock import Clock
from pypgm.domain import as_clique, as_cliques
from pypgm.models.error_bars import standard_errors
from pypgm.models.queryable import Queryable, Table

if TYPE_CHECKING:
    import numpy as np

    from pypgm.estimation.constraint import Masks
    from pypgm.estimation.fit import Fit
    from pypgm.factor import Factor
    from pypgm.graphs.evidence import Evidence
    from pypgm.inference.folding import Folding
    from pypgm.models.origin import Origin

__all__ = ["Uncertain"]


class Uncertain(Queryable[Table]):
    """A model that knows what noise it was estimated from."""

    is_exact: ClassVar[bool]
    """Whether marginals are those of one joint distribution."""
    fit: Fit | None
    folding: Folding
    masks: Masks
    origin: Origin | None

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
            If the model was not estimated from measurements with a named loss, or was loaded from a file that does
            not hold them; if "gls" is asked for where it does not hold; if there are fewer than 2 draws.

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
        with Clock("standard_error", time_limit, progress) as clock:
            how: dict[str, Any] = {"method": method, "draws": draws, "rng": rng, "n_threads": n_threads, "clock": clock}
            found = standard_errors(self, [as_clique(clique)], evidence, **how)
            clock.warn_if_over("the bootstrap", stacklevel=3)
        return found[0]

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
        with Clock("standard_errors", time_limit, progress) as clock:
            how: dict[str, Any] = {"method": method, "draws": draws, "rng": rng, "n_threads": n_threads, "clock": clock}
            found = standard_errors(self, as_cliques(cliques), evidence, **how)
            clock.warn_if_over("the bootstrap", stacklevel=3)
        return found
