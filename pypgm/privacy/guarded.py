"""What private tables and columns have in common: one relation, one ledger, and nothing that tells the records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn, SupportsIndex, get_args

from pypgm.numeric import checked_threads
from pypgm.privacy.budget import check_new
from pypgm.privacy.charged_noise import ChargedNoise, NoiseBackend, charge_noise, charge_screen
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import unsafe_words
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.queries import LinearQuery

__all__ = ["Guarded"]


class Guarded:
    """Records behind a ledger, which is bound to their relation; not counted, iterated, copied or pickled."""

    __slots__ = ("__weakref__", "_ledger", "_n_threads", "_noise", "_privacy", "_words")

    def __init__(
        self,
        privacy: Privacy,
        ledger: Ledger,
        *,
        n_threads: int = 0,
        noise: NoiseBackend = "pypgm",
        unsafe_seed: int | None = None,
    ) -> None:
        check_new(self, "_ledger")
        if noise not in get_args(NoiseBackend):
            raise ValueError(f"noise must be one of {get_args(NoiseBackend)}, got {noise!r}")
        if type(ledger) is not Ledger:  # nor a subclass, which could charge less than it is asked to
            raise TypeError(f"records need a Ledger, got {type(ledger).__name__}: a copy of a ledger cannot be charged")
        words = unsafe_words(unsafe_seed)
        threads = checked_threads(n_threads)
        ledger.bind(privacy)
        self._privacy = replace(privacy)  # a copy: nothing the caller does to its own changes a sensitivity
        self._ledger = ledger
        self._n_threads = threads
        self._noise = noise
        self._words = words
        if words is not None:
            ledger.mark_not_private("noise drawn from a seed")

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation."""
        return self._privacy

    @property
    def ledger(self) -> Ledger:
        """Where answers are charged."""
        return self._ledger

    def _charge_noise(
        self,
        query: LinearQuery,
        what: str,
        on: str,
        *,
        rho: Number | None = None,
        variance: Number | None = None,
        scale: Number | None = None,
        delta: Number | None = None,
        ledger: Ledger | None = None,
    ) -> ChargedNoise:
        """Charge noise on answers by exactly one of its cost in rho, its variance parameter and its Laplace scale.

        To the ledger of these records, or to a part of it.
        """
        if sum(given is not None for given in (rho, variance, scale)) != 1:
            raise ValueError(f"noise on {on} takes exactly one of rho, variance and scale")
        if rho is not None:
            exact = as_fraction("rho", rho)
            if exact <= 0:
                raise ValueError(f"rho must be more than 0, got {rho}")
            variance = self._privacy.squared_l2_sensitivity(query) / (2 * exact)
            if variance == 0:
                raise ValueError("no record changes this answer, so rho gives no variance; pass variance")
        return charge_noise(
            self._ledger if ledger is None else ledger,
            self._privacy,
            query,
            what,
            on,
            scale=None if scale is None else as_fraction("scale", scale),
            variance=None if variance is None else as_fraction("variance", variance),
            delta=None if delta is None else as_fraction("delta", delta),
            words=self._words,
            n_threads=self._n_threads,
            backend=self._noise,
        )

    def _charge_screen(self, changes: Sequence[int], what: str, on: str, rho: Number) -> ChargedNoise:
        """Charge discrete Gaussian noise on integers by its cost; a neighbour changes each by at most `changes`."""
        amount, seeded, backend = as_fraction("rho", rho), self._words, self._noise
        n = self._n_threads
        return charge_screen(self._ledger, changes, what, on, rho=amount, words=seeded, n_threads=n, backend=backend)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(records behind a ledger)"

    def __len__(self) -> int:
        raise TypeError("the number of private records is not told; measure it")

    def __iter__(self) -> NoReturn:
        raise TypeError("a private table or column gives no records, only charged answers")

    def __getitem__(self, key: object) -> NoReturn:
        raise TypeError("a private table or column gives no records, only charged answers")

    def __bool__(self) -> bool:
        return True

    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")

    def __copy__(self) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise TypeError("a private table or column is neither pickled nor copied")
