"""Data of a release, from which all reports are computed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, get_args

from pypgm._base.html import Shown
from pypgm._base.numeric import check_choice
from pypgm._core import __version__
from pypgm.data import Schema
from pypgm.data.sources.layout import Layout
from pypgm.estimation.measurement import LinearMeasurement, Unmeasured, joined_marks
from pypgm.estimation.pair_screen import PairScreen
from pypgm.files.stored_model import Stored
from pypgm.privacy.account_entry import AccountEntry
from pypgm.privacy.ledger import Ledger, LedgerReport
from pypgm.privacy.promise import Promise
from pypgm.privacy.relation import Privacy

if TYPE_CHECKING:
    from typing_extensions import Self, TypeVar

    from pypgm.files.stored_model import ReleasedModel
    from pypgm.intervals.known import ReleaseErrors

    # Of a release of any model, where nothing else is said.
    Model_co = TypeVar("Model_co", bound=ReleasedModel, covariant=True, default=ReleasedModel)
else:
    from typing import TypeVar

    Model_co = TypeVar("Model_co", covariant=True)

__all__ = ["Model_co", "Released"]

_NAME = re.compile(r"\w+([ .-]\w+)*")


@dataclass(frozen=True, slots=True, eq=False)
class Released(Shown, Stored, Generic[Model_co]):
    """Fields of a `pypgm.Release`, which documents them.

    Attributes
    ----------
    _kind : str
        Kind of release in its file, of a class that is read as itself; empty for `pypgm.Release`.
    """

    _kind: ClassVar[str] = ""

    model: Model_co
    measurements: tuple[LinearMeasurement, ...]
    ledger: LedgerReport
    mechanism: str
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__
    log: tuple[Mapping[str, Any], ...] = ()
    schema: Schema | None = None
    layout: Layout | None = None
    unmeasured: Unmeasured = "not asked"
    key: str = ""
    request: str = ""
    account: AccountEntry | None = None
    screen: PairScreen | None = None
    _kept: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # results that take long to compute
    _places: tuple[str, ...] = field(default=(), init=False, repr=False)  # paths of the records, not saved

    def __post_init__(self) -> None:
        if isinstance(self.ledger, Ledger):
            object.__setattr__(self, "ledger", self.ledger.snapshot())
        if self.ledger.privacy is None:
            raise ValueError("a release needs a ledger that a private table has bound to its relation")
        if self.schema is not None:
            self.schema.check_domain(self.model.domain)
        if not _NAME.fullmatch(self.mechanism):
            raise ValueError(f"the name of a mechanism needs words of letters, digits and _, got {self.mechanism!r}")
        check_choice("unmeasured", self.unmeasured, get_args(Unmeasured))
        self.model.not_private = joined_marks([self.ledger, self.model, *self.measurements])

    def of_table(self, layout: Layout, places: tuple[str, ...]) -> Self:
        """Return the release with the layout of its table, and the paths of the records, which it never overwrites."""
        release = replace(self, layout=layout)
        object.__setattr__(release, "_places", places)
        return release

    @property
    def _known(self) -> ReleaseErrors | None:
        """Errors of the release, where its kind knows them."""
        return None

    @property
    def _details(self) -> list[str]:
        """Lines for summaries and reports that only releases of this kind have."""
        return []

    @property
    def privacy(self) -> Privacy:
        """Neighbour relation of the guarantee: that of the ledger."""
        return self.ledger.privacy or Privacy()

    @property
    def not_private(self) -> str:
        """Reason why the release protects nobody; empty if it protects people."""
        return self.model.not_private

    @property
    def promise(self) -> Promise:
        """Promise of the release: the protected unit and any missing protection; every view begins with it."""
        return Promise.of(
            self.ledger, self.privacy.sentence, [self.schema], self.not_private, self.privacy.assumption()
        )

    @property
    def guarantee(self) -> str:
        """Guarantee of the budget, such as ``epsilon 1.0, delta 1e-09``; ``none`` if the release protects nobody.

        It begins with the missing protection, by a schema drafted from the records or a budget that is too weak.
        """
        return self.promise.guarantee


def _refuse(self: object, name: str, value: object) -> None:
    del self, value
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


setattr(Released, "__setattr__", _refuse)  # noqa: B010 - a frozen dataclass with slots refuses new names by a TypeError
