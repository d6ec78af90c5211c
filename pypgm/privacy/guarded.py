"""Base of private tables and columns: one relation, one ledger, and nothing that reveals the records."""

from __future__ import annotations

from typing import Any, NoReturn, SupportsIndex

from pypgm.privacy.budget import check_new
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler


class Guarded:
    """Records behind a ledger, which is bound to their relation; not counted, iterated, copied or pickled."""

    __slots__ = ("__weakref__", "_ledger", "_privacy", "_sampler")

    def __init__(self, privacy: Privacy, ledger: Ledger, sampler: Sampler) -> None:
        check_new(self, "_ledger")
        if type(ledger) is not Ledger:  # nor a subclass, which could charge less than the law costs
            raise TypeError(f"records need a Ledger, got {type(ledger).__name__}: a copy of a ledger cannot be charged")
        if type(sampler) is not Sampler:  # nor a subclass, which could draw less noise than charged
            raise TypeError(f"records need a Sampler, got {type(sampler).__name__}")
        ledger.bind(privacy)
        self._privacy = privacy.copy()  # a copy: no later change of the caller's changes a sensitivity
        self._ledger = ledger
        self._sampler = sampler
        if sampler.not_private:
            ledger.mark_not_private(sampler.not_private)

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation."""
        return self._privacy

    @property
    def ledger(self) -> Ledger:
        """The ledger to which answers are charged."""
        return self._ledger

    def __repr__(self) -> str:
        return f"{type(self).__name__}(records behind a ledger)"

    def __len__(self) -> int:
        raise TypeError("the number of private records is not shown; measure it")

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
