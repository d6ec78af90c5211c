"""Two related tables: parents, and children that each belong to one of them; a parent is protected with all of them."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import checked_integer, whole_array
from pypgm._base.signatures import with_options
from pypgm.data import Codes, Dataset, Schema
from pypgm.data.columns.values import Exact, as_list, is_number, plain
from pypgm.data.sources.frames import as_values
from pypgm.data.sources.layout import Family, family_of
from pypgm.domain import Clique, Domain
from pypgm.mechanisms.related_release import NAMES, RelatedRelease
from pypgm.mechanisms.run import DEFAULTS, Options
from pypgm.mechanisms.tables import BEST, mechanism_named
from pypgm.privacy.account_use import reserved
from pypgm.privacy.arguments import as_budget, warn_at_door
from pypgm.privacy.budget import Budget
from pypgm.privacy.entry import check_noise
from pypgm.privacy.rational import Number, as_fraction
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler

if TYPE_CHECKING:
    from typing_extensions import Unpack


class _Key(NamedTuple):
    """A key that is neither a number nor a text: those stand for themselves."""

    kind: str
    value: Hashable


_Known: TypeAlias = Exact | str | _Key | None

_KINDS: dict[Family, str] = {"text": "text", "bool": "booleans", "int": "numbers", "float": "numbers"}
_KINDS |= {"decimal": "numbers", "date": "times", "time": "times"}

_OF_THE_PAIR = {"account", "budget", "neighbours", "privacy", "measurements", "constraints"}


def parent_rows(primary_keys: ArrayLike, foreign_keys: ArrayLike) -> NDArray[np.int64]:
    """Return the row of the parent that each child's key names, -1 for a key without a parent.

    Parameters
    ----------
    primary_keys : array_like, shape (n_parents,)
        The key of each parent, all different. A key has a kind and equals only keys of this kind: numbers by value,
        whatever their type, texts exactly, times by their instant. A missing key (None, NaN, NaT) is nobody's.
    foreign_keys : array_like, shape (n_children,)
        The key of each child's parent.

    Raises
    ------
    TypeError
        If the types of two arrays or series rule out keys of one kind, such as numbers and text; or a value cannot be
        a key.
    ValueError
        If a primary key is repeated, or a key is a float of 2^53 or more, which stands for several whole numbers (the
        row is named, not the key), or an array does not have one dimension.

    Examples
    --------
    >>> parent_rows(["x", "y"], ["y", "x", "z", "y"])
    array([ 1,  0, -1,  1])
    """
    one, other = map(_kind_of_type, (primary_keys, foreign_keys))
    if one and other and one != other:
        raise TypeError(f"keys of parents and of children need to be of one kind, got {one}, and {other}")
    keys, references = (_keys(*given) for given in (("primary", primary_keys), ("foreign", foreign_keys)))
    row_of: dict[_Known, int] = {}
    for row, key in enumerate(keys):
        if key is not None and row_of.setdefault(key, row) != row:
            raise ValueError(f"primary keys need to differ: row {row} has that of row {row_of[key]}")
    return np.fromiter((row_of.get(key, -1) for key in references), np.int64, len(references))


def _keys(side: str, given: Any) -> list[_Known]:  # noqa: ANN401 - a column of any library
    """Return the key of each row; None where it is missing."""
    values = as_values(given)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise ValueError(f"keys need one dimension, got shape {values.shape}")
        # Times keep their digits below a microsecond, which Python's types cannot hold.
        values = list(values) if values.dtype.kind in "mM" else as_list(values)
    if any(set(map(type, values)) <= {kind, NoneType} for kind in (int, str)):
        return list(values)
    return [_key(f"row {row} of the {side} keys", value) for row, value in enumerate(values)]


def _kind_of_type(given: Any) -> str:  # noqa: ANN401 - a column of any library
    """Return the kind that the type of a column gives its keys, whatever they are; empty where it may be any."""
    dtype = getattr(given, "dtype", getattr(given, "type", None))
    if isinstance(dtype, np.dtype) and dtype.kind in "US":
        return _KINDS["text"]
    return _KINDS.get(family_of(str(dtype)), "")


def _key(where: str, value: object) -> _Known:
    known = plain(value)
    if known is None or is_number(known):
        return known
    if type(known) is float:  # from 2^53 on
        raise ValueError(f"{where} is a float that stands for several whole numbers: give integers or text")
    if isinstance(value, str):
        return str(value)
    if isinstance(known, bool):
        return _Key("booleans", known)
    if isinstance(value, np.datetime64 | datetime.date):
        return _time(value)
    if not isinstance(value, Hashable):
        raise TypeError(f"{where} is a {type(value).__name__}, which cannot be a key")
    return _Key(type(value).__name__, value)


def _time(value: np.datetime64 | datetime.date) -> _Key:
    """Return a time by its instant, to the nanosecond if it has that many digits; a date is its midnight."""
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return _Key("times in a zone", (value.astimezone(datetime.timezone.utc), getattr(value, "nanosecond", 0)))
    if isinstance(value, np.datetime64):
        micros = value.astype("datetime64[us]")
        return _Key("times", (micros, int((value - micros) / np.timedelta64(1, "ns"))))
    return _Key("times", (np.datetime64(value, "us"), getattr(value, "nanosecond", 0)))


@with_options(Options, DEFAULTS, apart=[*sorted(_OF_THE_PAIR - {"account", "budget"}), "schema"])
def synthesize_related(
    parents: Dataset,
    children: Dataset,
    parent_of: ArrayLike,
    *,
    max_children: int,
    epsilon: Number | None = None,
    delta: Number | None = None,
    mechanism: str = BEST,
    context: Sequence[str] | None = None,
    count: str = "children",
    parents_share: Number = "1/2",
    parents_options: Mapping[str, Any] | None = None,
    children_options: Mapping[str, Any] | None = None,
    **options: Unpack[Options],
) -> RelatedRelease:
    """Release models of two related tables: of parents, and of children given their parent.

    The presence of any one parent with all their children in the tables is protected. Parents get one more attribute,
    the number of their children; children get the context, attributes of their parent. Each table is then released by
    one run of a mechanism, for its share of the budget.

    Parameters
    ----------
    parents, children : Dataset
        Unweighted records, possibly none, of domains without a common name.
    parent_of : array_like of int, shape (n_children,)
        The row of each child's parent, the first is 0; `parent_rows` finds it from keys. A child with any other number
        belongs to nobody and is left out.
    max_children : int
        At least 1, public: the first `max_children` children of a parent, in the order of the table, are kept.
        It multiplies the sensitivity of the children's table. If the schema of the parents states several records for
        a person, or keeps several of each, the sensitivities of both tables are multiplied by that number.
    epsilon, delta : number
        The guarantee for both tables together; or `budget` among the options.
    mechanism : str
        Name of a function of `pypgm.mechanisms`.
    context : sequence of str, optional
        Attributes of the parent, or `count`, that a child's distribution may depend on, the most important first. All
        attributes of the parents by default.
    count : str
        Name of the attribute that holds the number of children.
    parents_share : number
        Share of the budget for the parents, between 0 and 1; the children get the rest.
    parents_options, children_options : mapping, optional
        Options of only one run, such as ``{"workload": ...}``.
    **options
        `budget`, `account`, and those of `pypgm.mechanisms.Options` that both runs take; a time limit is for each run.
        `neighbours` can only be "add-remove": neighbouring tables differ by one parent with all their children.

    Returns
    -------
    RelatedRelease

    Raises
    ------
    ValueError
        If tables are weighted, names clash, lengths differ, a number or an option is out of range, or the schema of the
        children states more records per person than are kept.
    TypeError
        If an argument is of the wrong kind, or the budget is given twice or not at all.

    Notes
    -----
    The choice of the children to keep is made parent by parent. Without one parent and all their children, the parents
    have one record less, the children at most `max_children` less, and all other records are the same: see "Two
    related tables" in docs/privacy.md. Given their context, siblings are drawn independently.

    Examples
    --------
    >>> import pypgm
    >>> homes = pypgm.Dataset({"tenure": [0, 1, 1]}, pypgm.Domain({"tenure": ["own", "rent"]}))
    >>> people = pypgm.Dataset({"sex": [0, 1, 1, 0]}, pypgm.Domain({"sex": ["F", "M"]}))
    >>> release = synthesize_related(
    ...     homes, people, [0, 0, 1, 2], max_children=4, epsilon=1, delta=1e-9, mechanism="mst"
    ... )
    >>> tables = release.synthetic_data(rng=0)
    >>> len(tables.children) == len(tables.parent_of), tables.parents.domain == homes.domain
    (True, True)
    """
    common = dict(options)
    neighbours = common.pop("neighbours", None) or "add-remove"
    if neighbours != "add-remove":
        raise ValueError(f"related tables are released under add-remove only, got neighbours={neighbours!r}")
    bound = checked_integer("max_children", max_children, 1)
    secret = Sampler(options.get("unsafe_seed")).secret()
    whole = as_budget(epsilon, delta, options.get("budget"))
    common.pop("budget", None)
    account = common.pop("account", None)
    parts = _parts(whole, parents_share)
    run = mechanism_named(mechanism)
    both_options = [_checked_options(mechanism, {**common, **(o or {})}) for o in (parents_options, children_options)]
    tables = joined(parents, children, parent_of, max_children=bound, context=context, count=count, secret=secret)
    used = tables[1].domain.attributes[len(children.domain) :]
    people = _per_person(parents)
    person = () if parents.schema is None else parents.schema.key_columns
    relations = [Privacy("add-remove", of_person, person) for of_person in (people, people * bound)]
    for part, relation in zip(parts, relations, strict=True):
        check_noise(mechanism, relation, part.unit, part.limit)
    warn_at_door(None, whole)  # the parts, of rho, have no delta
    with reserved(account, whole, f"{mechanism}, related tables") as reservation:
        first, second = (
            run(table, budget=part, privacy=relation, account=reservation and reservation.within(name), **given)
            for name, table, part, relation, given in zip(NAMES, tables, parts, relations, both_options, strict=True)
        )
    return RelatedRelease(first, second, whole, bound, used, count)


def joined(
    parents: Dataset,
    children: Dataset,
    parent_of: ArrayLike,
    *,
    max_children: int,
    context: Sequence[str] | None = None,
    count: str = "children",
    secret: bytes = b"",
) -> tuple[Dataset, Dataset]:
    """Return the parents with their numbers of children, and the kept children with their context.

    One parent, with all their children, is one record of the first and at most `max_children` of the second, whoever
    else is in the tables. Where the schema of the parents names a person, the secret says which of a person's parents
    are kept; the children of the others belong to nobody. The arguments are those of `synthesize_related`, which raises
    their errors. The schemas of the tables become schemas of the returned ones, rules and records per person included.

    Examples
    --------
    >>> parents = Dataset({"a": [0, 1]}, Domain({"a": 2}))
    >>> children = Dataset({"b": [2, 1, 0]}, Domain({"b": 3}))
    >>> [t.columns for t in joined(parents, children, [1, 1, 7], max_children=1)]  # doctest: +NORMALIZE_WHITESPACE
    [{'a': array([0, 1]), 'children': array([0, 1])}, {'b': array([2]), 'a': array([1])}]
    """
    for name, table in (("parents", parents), ("children", children)):
        if not isinstance(table, Dataset):
            raise TypeError(f"{name} needs a pypgm.Dataset, got {type(table).__name__}")
        if table.weights is not None:
            raise ValueError(f"{name} needs unweighted records: weights have no sensitivity bound")
    rows_of = _checked_rows(parent_of, len(children))
    if parents.schema is not None and parents.schema.person is not None:
        parents, rows_of = _parents_kept(parents, rows_of, secret)
    numbered = _extended(parents.domain, Domain({count: max_children + 1}), "the number of children")
    used = parents.domain.attributes if context is None else _checked_context(numbered, context)
    domain = _extended(children.domain, numbered.project(used), "the context of the children")
    kept, rows = _kept(rows_of, len(parents), max_children)
    columns = {**parents.columns, count: np.bincount(rows, minlength=len(parents))}
    kept_columns = {a: column[kept] for a, column in children.columns.items()}
    counted = _schema_of_parents(parents, count, max_children)
    of_kept = _schema_of_children(children, counted, numbered.project(used), _per_person(parents) * max_children)
    return (
        Dataset(columns, numbered, schema=counted),
        Dataset(
            {**kept_columns, **{a: columns[a][rows] for a in used}},
            of_kept.domain if of_kept else domain,
            schema=of_kept,
        ),
    )


def _parts(budget: Budget, share: Number) -> tuple[Budget, Budget]:
    """Return the budgets of the two runs; their limits add up to the whole's exactly."""
    part = as_fraction("parents_share", share)
    if not 0 < part < 1:
        raise ValueError(f"parents_share must lie between 0 and 1, got {share}")
    first: Fraction = budget.limit * part
    return budget.of_amount(first), budget.of_amount(budget.limit - first)


def _checked_options(mechanism: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of one run, refusing by name what could only fail once the other run has spent its part."""
    stated = sorted(_OF_THE_PAIR & options.keys())
    if stated:
        raise TypeError(f"{stated[0]} is not an option of the runs of related tables")
    known = inspect.signature(mechanism_named(mechanism)).parameters.keys() | Options.__annotations__.keys()
    unknown = sorted(options.keys() - known | options.keys() & {"data", "options"})
    if unknown:
        raise TypeError(f"{mechanism} got an unexpected keyword argument {unknown[0]!r}")
    return dict(options)


def _checked_context(domain: Domain, context: Sequence[str]) -> Clique:
    if isinstance(context, str):
        raise TypeError(f"context needs a sequence of attributes, got the name {context!r}; write [{context!r}]")
    domain.indices(tuple(context))
    return tuple(context)


def _extended(domain: Domain, other: Domain, what: str) -> Domain:
    """Return a domain with the attributes of another one after its own."""
    common = [a for a in other if a in domain]
    if common:
        raise ValueError(f"{what} needs names of its own: attribute {common[0]!r} is in the table already")
    names = (*domain.attributes, *other.attributes)
    return Domain(names, (*domain.shape, *other.shape), {**domain.labels, **other.labels})


def _checked_rows(parent_of: ArrayLike, n_children: int) -> NDArray[Any]:
    rows = whole_array(parent_of)
    if rows.size == 0:
        rows = rows.astype(np.int64)
    if rows.shape != (n_children,):
        raise ValueError(f"parent_of needs one row number for each of the children, got shape {rows.shape}")
    if rows.dtype.kind not in "iu":
        raise TypeError(f"parent_of needs integer rows, got dtype {rows.dtype}; parent_rows finds them from keys")
    return rows


def _parents_kept(parents: Dataset, rows_of: NDArray[Any], secret: bytes) -> tuple[Dataset, NDArray[np.int64]]:
    """Return the parents that are kept of each person, and the row of each child among these, -1 of the others."""
    is_kept = parents.is_kept(secret)
    row_of = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    is_known = (rows_of >= 0) & (rows_of < len(parents))
    rows = np.full(len(rows_of), -1)
    rows[is_known] = row_of[rows_of[is_known].astype(np.int64)]
    return parents.where(is_kept), rows


def _per_person(parents: Dataset) -> int:
    return 1 if parents.schema is None else parents.schema.records_per_person


def _schema_of_parents(parents: Dataset, count: str, max_children: int) -> Schema | None:
    """Return the schema of parents with their numbers of children, where they have one."""
    schema: Schema | None = parents.schema
    if schema is None:
        return None
    return schema.extended({count: Codes(max_children + 1)}, schema.stated_records_per_person)


def _schema_of_children(children: Dataset, parents: Schema | None, context: Domain, bound: int) -> Schema | None:
    """Return the schema of children with their context, where they or the parents have one, for `bound` of a person."""
    if children.schema is None and parents is None:
        return None
    schema, of_context = children.schema or Schema.of(children.domain), parents or Schema.of(context)
    if schema.person is not None:
        named = "the schema of the children names a person"
        raise ValueError(
            f"{named}; the protected person is a parent with all their children: name it in the schema of the parents"
        )
    if schema.records_per_person > bound:
        stated = f"the schema of the children states records_per_person={schema.records_per_person}"
        raise ValueError(f"{stated}, and max_children keeps at most {bound} of a person: leave it out, or keep as many")
    rules = [rule for rule in of_context.rules if set(rule.columns) <= set(context)]
    return schema.extended({a: of_context.columns[a] for a in context}, bound, rules, of_context)


def _kept(parent_of: NDArray[Any], n_parents: int, most: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Return which children are kept, and their parents' rows: of each parent the first `most` of the table's order."""
    known = np.flatnonzero((parent_of >= 0) & (parent_of < n_parents))
    rows = parent_of[known].astype(np.int64)
    order = np.argsort(rows, kind="stable")
    begins = np.searchsorted(rows[order], rows[order])  # where the run of the same parent begins
    chosen = np.sort(order[np.arange(len(order)) - begins < most])
    return known[chosen], rows[chosen]
