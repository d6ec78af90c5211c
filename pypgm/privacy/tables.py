"""Learners called with raw tables: a schema encodes them, after its open columns are settled."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, cast

from pypgm._base.clock import standing_still
from pypgm._base.pauses import Pauses, with_limit
from pypgm._base.signatures import with_options
from pypgm.data.columns.open_columns import OpenSet
from pypgm.data.schema.schema import OpenSchema, Schema, as_any_schema
from pypgm.data.sources.counted import InPlaceTable
from pypgm.data.sources.layout import Layout
from pypgm.data.sources.opened import Opened, Records, opened
from pypgm.data.sources.source import Source, open_source
from pypgm.domain import listed
from pypgm.errors import table_checked
from pypgm.privacy.account_use import as_account, charged_to, on_table, reserved
from pypgm.privacy.arguments import as_budget, one_relation, relation_of
from pypgm.privacy.budget import Budget
from pypgm.privacy.entry import Handed
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Neighbours

if TYPE_CHECKING:
    from typing_extensions import Self

    from pypgm.data.schema.schema import SchemaLike
    from pypgm.domain import Domain


class Released(Protocol):
    """Result of a learner that can be given the layout of its records."""

    def of_table(self, layout: Layout, places: tuple[str, ...]) -> Self:
        """Return the result with the layout of its table, and the paths of its files."""


L = TypeVar("L", bound=Callable[..., Released])
R = TypeVar("R", bound=Released)

Call = Mapping[str, Any]
"""Arguments of a learner's call by name, except the records."""

_RESERVED = 10  # part of delta for finding unlisted values: a tenth
_OF_TABLES = {"epsilon", "delta", "budget", "neighbours", "privacy", "account", "unsafe_seed"}
"""Arguments that a private table fixes already."""


def as_given(_: Domain, __: Schema | None, call: Call) -> Call:
    """Return the arguments of a call unchanged."""
    return call


def nothing_known(_: Call) -> SchemaLike | None:
    """Return None: the arguments of a call imply no schema of the records."""
    return None


def takes_any_table(
    options: type,
    defaults: Mapping[str, object],
    *,
    options_for: Callable[[Domain, Schema | None, Call], Call] = as_given,
    known_by: Callable[[Call], SchemaLike | None] = nothing_known,
) -> Callable[[L], L]:
    """Return a decorator of learners, which then take any table that `pypgm.synthesize` takes, with a `schema`.

    A learner receives its records as `pypgm.privacy.entry.Handed`, and enters them by an `Entry`.

    Parameters
    ----------
    options : TypedDict
        The keywords of the learner's ``**options``, `PrivateOptions` among them; written out in its signature.
    defaults : mapping
        Defaults of options other than None.
    options_for : callable
        Returns the arguments of a call translated to records over a domain, encoded by a schema.
    known_by : callable
        Returns the schema that the other arguments of a call imply for a table without one, if any.

    Examples
    --------
    >>> from pypgm.mrf import learn_pairwise
    >>> people = {"age": [31, 7, 44] * 100, "sex": ["F", "M", "F"] * 100}
    >>> schema = {"age": {"kind": "integer", "low": 0, "high": 99, "width": 50}, "sex": ["F", "M"]}
    >>> learn_pairwise(people, epsilon=1, delta=1e-9, schema=schema, radius=1.0).model.domain
    Domain(age: 2, sex: 2)
    """

    def expanded(learner: L) -> L:
        signature, name = inspect.signature(learner), _released_name(learner)

        @functools.wraps(learner)
        def called(
            data: Any,  # noqa: ANN401 - a table of any kind
            *arguments: Any,  # noqa: ANN401 - those of the learner
            **given: Any,  # noqa: ANN401 - as above
        ) -> Released:
            handed = Handed(data)
            del data  # tracebacks from here on do not hold the records
            call = with_limit(_by_name(signature, arguments, given))
            schema = call.pop("schema", None)
            if schema is None and not handed.is_encoded:
                schema = known_by(call)
            if schema is None:
                schema = handed.open_schema
            try:
                if schema is not None and not handed.is_open:
                    known = as_any_schema(schema)
                    call["account"] = on_table(call.get("account"), handed.path)
                    return prepared(called, open_source(handed.take()), known, call, options_for=options_for)()
                if handed.domain is not None:  # a table without a schema is refused by the entry
                    call = dict(options_for(handed.domain, handed.schema, call))
                if schema is not None:
                    call["schema"] = schema
                if call.get("account") is None or handed.is_open:  # an open table has its account, if any
                    with Pauses(call.get("time_limit")):
                        return learner(handed, **call)
                budget = as_budget(*(call.pop(name, None) for name in ("epsilon", "delta", "budget")))
                with (
                    Pauses(call.get("time_limit")),
                    reserved(call["account"], budget, name) as run,
                ):  # the run's ledger has the budget that it reserved
                    return learner(handed, **(call | {"account": run, "budget": budget}))
            finally:
                handed.drop()

        return with_options(options, defaults)(cast("L", called))

    return expanded


def _released_name(learner: Callable[..., object]) -> str:
    """Return the name of a learner in its releases: that of a mechanism alone, of others with their package."""
    package = learner.__module__.split(".")[1]
    return learner.__name__ if package == "mechanisms" else f"{package}.{learner.__name__}"


def _by_name(signature: inspect.Signature, arguments: Sequence[Any], given: Call) -> dict[str, Any]:
    """Return the arguments of a call by name, except the first; ``TypeError`` if there are too many."""
    bound = signature.bind_partial(None, *arguments, **given).arguments
    first, *_ = signature.parameters
    more = [name for name, p in signature.parameters.items() if p.kind is p.VAR_KEYWORD]
    named = {name: value for name, value in bound.items() if name not in {first, *more}}
    return named | {name: value for rest in more for name, value in bound.get(rest, {}).items()}


def prepared(
    learner: Callable[..., R],
    source: Source,
    schema: Schema | OpenSchema,
    call: Call,
    *,
    ignore_extra: bool = False,
    options_for: Callable[[Domain, Schema | None, Call], Call] = as_given,
) -> Callable[[], R]:
    """Check all arguments, read a table, and return a function that spends the budget on it.

    Parameters
    ----------
    learner : callable
        A learner that takes any table.
    source : Source
    schema : Schema or OpenSchema
    call : mapping
        The other arguments.
    ignore_extra : bool
        See `pypgm.read_table`.
    options_for : callable
        See `takes_any_table`.
    """
    call = with_limit(call)
    pauses = Pauses(call.get("time_limit"))
    relation, known = one_relation(call.get("neighbours"), call.get("privacy")), schema.provisional
    known.check_there()
    if (account := as_account(call.get("account"))) is not None:  # again, in a transaction, where the run is charged
        account.check(relation_of(relation, known))
    budget = budget_for(schema, call.get("epsilon"), call.get("delta"), call.get("budget"))
    adapted = options_for(known.domain, known, call)
    sampler = Sampler(call.get("unsafe_seed"), n_threads=call.get("n_threads", 0))
    has_rows = source.has_rows and schema.weight is None
    if isinstance(schema, OpenSchema):  # open columns are paid for before the learner is called
        check_call(learner, schema, relation, budget, left_of(adapted), has_rows=has_rows)
    with table_checked(), pauses:
        held, places = [opened(source, schema, ignore_extra=ignore_extra)], source.places
    layout, close = held[0].layout, held[0].close

    def settled(schema: OpenSchema) -> R:
        from pypgm.privacy.settling import settle

        with reserved(call.get("account"), budget, _released_name(learner)) as run:
            table, ledger = held.pop(), Ledger(budget)
            if run is not None:
                charged_to(run, ledger, relation_of(relation, schema))
            closed = settle(schema, table.values, relation, ledger, sampler=sampler)
            with standing_still:
                private = PrivateTable(table.records(closed), relation, ledger, sampler=sampler, account=run)
            del table  # tracebacks from here on do not hold the records
            with private:
                return learner(private, **left_of(call))

    def read_to_the_end() -> R:
        try:
            with pauses:
                if isinstance(schema, OpenSchema):
                    release = settled(schema)
                else:
                    release = learner(_records(held.pop(), known), **adapted)
            return release.of_table(layout, places)
        finally:
            close()

    return read_to_the_end


def _records(table: Opened, schema: Schema) -> Records:
    with standing_still:
        return table.records(schema)


def left_of(call: Call) -> dict[str, Any]:
    """Return the arguments that a learner takes along with a private table."""
    return {name: value for name, value in call.items() if name not in _OF_TABLES}


def budget_for(
    schema: Schema | OpenSchema, epsilon: Number | None, delta: Number | None = None, budget: Budget | None = None
) -> Budget:
    """Return the requested budget, with part of delta reserved for values that have to be found."""
    if schema.open_share >= 1:
        raise ValueError("the shares of open columns leave nothing of the budget for the records")
    whole = as_budget(epsilon, delta, budget)
    sets = [repr(name) for name, column in schema.open.items() if isinstance(column, OpenSet)]
    if not sets or budget is not None:
        return whole
    if not whole.delta:
        reason = f"values of {listed(sets)} are open in the schema, and found with a probability of failure"
        raise ValueError(f"delta must be more than 0: {reason}")
    return Budget(epsilon=whole.epsilon, delta=whole.delta, reserved_delta=whole.delta / _RESERVED)


def check_call(
    learner: Callable[..., object],
    schema: Schema | OpenSchema,
    neighbours: Neighbours | Privacy | None,
    budget: Budget,
    options: Mapping[str, Any],
    *,
    has_rows: bool = True,
) -> None:
    """Raise the error of a learner that refuses a call, with the budget that open columns leave, before it is spent.

    A learner checks everything before it reads a record, so it is called on a table that cannot be read, over the
    schema as it is before open columns are settled. A table without rows offers only counts.

    Examples
    --------
    >>> from pypgm import OpenSchema, mechanisms
    >>> from pypgm.data import OpenSet
    >>> schema = OpenSchema({"a": 2, "b": OpenSet("1/4")})
    >>> check_call(mechanisms.mst, schema, None, Budget(rho=1), {"iterations": 0})
    Traceback (most recent call last):
    ValueError: iterations must be at least 1, got 0
    """
    nobody = (_NobodyInRows if has_rows else _Nobody)(schema.provisional)
    finds = any(isinstance(column, OpenSet) for column in schema.open.values())
    reserved = Fraction(0) if finds else budget.reserved_delta
    ledger = Ledger(budget.of_amount(budget.limit * (1 - schema.open_share), reserved))
    try:
        with PrivateTable(nobody, neighbours, ledger, sampler=Sampler()) as table:
            learner(table, **options)
    except Exception:
        if not nobody.was_read:
            raise


class _Nobody(InPlaceTable):
    """A table without records that cannot be read, and notes an attempt to."""

    _has_weights = True

    def __init__(self, schema: Schema) -> None:
        super().__init__(schema)
        self._n_records = 0
        self.was_read = False

    def kept(self, secret: bytes) -> _Nobody:
        """Return the same table, since nobody in it has too many records."""
        del secret
        return self

    def _scan(self, cliques: object, tables: object, n_threads: int) -> NoReturn:
        del cliques, tables, n_threads
        self._refuse()

    def _refuse(self) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        self.was_read = True
        raise RuntimeError("a dry run reads no records")


class _NobodyInRows(_Nobody):
    """A table like `_Nobody` for learners that read single records."""

    def codes_of(self, names: Sequence[str]) -> NoReturn:
        """Note that all checks have been passed, and go no further."""
        del names
        self._refuse()
