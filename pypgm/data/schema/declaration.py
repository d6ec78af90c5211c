"""Base class of schemas, whether or not some of their columns are open."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from pypgm._base.html import Shown
from pypgm._base.numeric import fraction_of
from pypgm._base.terminal import escaped
from pypgm.data.columns.column import Column
from pypgm.data.columns.made import Made
from pypgm.data.columns.open_columns import OpenColumn
from pypgm.data.schema.one_of import Member, OneOf, members_of
from pypgm.data.schema.person import Person
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.schema.rules import AnyRule
from pypgm.data.schema.weight import Weight, weight_of
from pypgm.data.sources.encoding import as_column, check_writable
from pypgm.data.sources.files import write_text
from pypgm.domain import Label, listed, nearest

_NOT_REVIEWED = "drafted from a table, and not reviewed"


class Declaration(Shown):
    """A declaration of each column, as in a file; `Schema` and `OpenSchema` tell its parameters."""

    __slots__ = (
        *("declared", "drop", "made", "notes", "one_of", "person", "proposals", "rules", "stated_records_per_person"),
        *("warned", "warning", "warning_texts", "weight"),
    )
    made: Mapping[str, Made]
    """Columns that are made when records are decoded: those that are never read, and those of `one_of`."""
    one_of: tuple[OneOf, ...]
    """Rules of columns of which exactly one is true; the others are in `rules`."""

    def __init__(
        self,
        columns: Mapping[str, Column | OpenColumn | Made | int | Sequence[Label]],
        *,
        drop: Iterable[str] = (),
        rules: Iterable[AnyRule | OneOf | str] = (),
        records_per_person: int | None = None,
        person: Person | Mapping[str, Any] | None = None,
        weight: Weight | Mapping[str, Any] | None = None,
        warned: Iterable[str] | Mapping[str, str] = (),
        warning: str = "",
        proposals: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(columns, Mapping):
            raise TypeError(f"a schema needs a mapping of names to columns, got {type(columns).__name__}")
        self.declared = {name: as_column(name, given) for name, given in columns.items()}
        self.drop = (drop,) if isinstance(drop, str) else tuple(drop)
        self.person = Person(**person) if isinstance(person, Mapping) else person
        self.weight = weight_of(weight)
        self.warned = tuple(warned)
        self.warning = str(warning)
        noted = [given for given in (drop, warned) if isinstance(given, Mapping)]
        self.warning_texts = {name: str(text) for given in noted for name, text in given.items()}
        self.notes = _notes(self.warning_texts) if self.warning_texts else {}
        self.proposals = dict(proposals or {})
        every_rule = [Comparison(rule) if isinstance(rule, str) else rule for rule in rules]
        self.rules = tuple(rule for rule in every_rule if not isinstance(rule, OneOf))
        self.one_of = tuple(rule for rule in every_rule if isinstance(rule, OneOf))
        self.made = {name: column for name, column in self.declared.items() if isinstance(column, Made)}
        if len(self.made) == len(self.declared):
            raise ValueError(f"a schema needs at least one column{' that is read' if self.declared else ''}")
        check_writable(self.declared)
        both = [name for name in self.drop if name in self.declared]
        if both:
            raise ValueError(f"column {both[0]!r} is declared and dropped")
        self.stated_records_per_person = self._checked_bound(records_per_person)
        for rule in every_rule:
            self._check_names(rule.columns)
        members = members_of(self.one_of, self.declared)
        in_two = [name for rule in self.rules for name in rule.columns if name in members]
        if in_two:
            raise ValueError(f"a rule names {in_two[0]!r}, which is in a rule one_of: no other rule can name it")
        self.made = {**self.made, **members}
        self._complete()

    @abstractmethod
    def _complete(self) -> None:
        """Check the declarations together, and derive the domain and the relations."""

    def _checked_bound(self, stated: int | None) -> int | None:
        """Return how many records a person has at most, as stated or as is kept; ``ValueError`` where both differ."""
        if stated is not None and (type(stated) is not int or stated < 1):
            raise ValueError(f"records_per_person needs a whole number, 1 or more, got {stated!r}")
        if self.weight is not None:
            return self._checked_weight(self.weight, stated)
        if self.person is None:
            return stated
        if not isinstance(self.person, Person):
            raise TypeError(f"person needs a pypgm.data.Person, got {type(self.person).__name__}")
        check_writable(self.person.columns)
        published = [name for name in self.person.columns if name in self.declared and name not in self.made]
        if published:
            raise ValueError(
                f"column {published[0]!r} names the person of a record and is never published: take it out of columns, "
                "or declare a copy of it under another name"
            )
        if stated not in {None, self.person.at_most}:
            kept = f"at most {self.person.at_most} records of each person are kept"
            raise ValueError(f"{kept}, and records_per_person is {stated}: leave it out, it follows from person")
        return self.person.at_most

    def _checked_weight(self, weight: Weight, stated: int | None) -> int:
        """Return how many equal records a weighted one stands for at most; ``ValueError`` if more is declared."""
        check_writable([weight.column])
        if weight.column in self.declared:
            read = f"column {weight.column!r} is the weight of a record and is never published"
            raise ValueError(f"{read}: take it out of columns, or declare a copy of it under another name")
        if self.person is not None or stated not in {None, weight.at_most}:
            needed = "a weight protects any one record, whatever it weighs, and nobody who has several"
            raise ValueError(f"{needed}: leave out person and records_per_person, or the weight")
        return weight.at_most

    @property
    def records_per_person(self) -> int:
        """Records that one person has at most: as stated, or as are kept of each, else 1."""
        return self.stated_records_per_person or 1

    @property
    def open(self) -> dict[str, OpenColumn]:
        """Open columns: their values or bins are found privately before records can be encoded."""
        return {name: column for name, column in self.declared.items() if isinstance(column, OpenColumn)}

    @property
    def open_share(self) -> Fraction:
        """Part of a budget that is spent on open columns."""
        return sum((fraction_of(str(column.share)) for column in self.open.values()), Fraction(0))

    @property
    def every_rule(self) -> tuple[AnyRule | OneOf, ...]:
        """All rules, those of columns of which exactly one is true last."""
        return (*self.rules, *self.one_of)

    @property
    def unread(self) -> tuple[str, ...]:
        """Columns of a table that are left out: those that are dropped, and those that are made anew."""
        return (*self.drop, *(name for name, column in self.made.items() if not isinstance(column, Member)))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns that name the person of a record; none where `person` is not given."""
        return () if self.person is None else self.person.columns

    @property
    def unit_columns(self) -> tuple[str, ...]:
        """Columns of the person and of the weight of a record, which are read and never published."""
        return self.key_columns if self.weight is None else (self.weight.column,)

    @property
    def whole_warning(self) -> str:
        """Warnings of a draft about the whole table: at the top of the schema, and of the person."""
        return "; ".join(filter(None, (self.warning, self.person.warning if self.person else "")))

    @property
    def draft_warning(self) -> str:
        """Warning text if draft warnings remain, else ""."""
        places = ["at its top"] * bool(self.warning)
        places += ["at its person"] * bool(self.person and self.person.warning)
        places += [f"of {listed(self.warned)}"] * bool(self.warned)
        left = f"a draft's warnings are still in the schema, {' and '.join(places)}"
        return f"Not protected: what the schema took from the records or left open ({left})" if places else ""

    def _check_names(self, names: Iterable[str]) -> None:
        unknown = [name for name in names if name not in self.declared]
        made = [name for name in names if isinstance(self.declared.get(name), Made)]
        if made:
            raise ValueError(f"a rule names {made[0]!r}, which is made of other columns: name those")
        if unknown:
            near = nearest(str(unknown[0]), self.declared)
            raise ValueError(f"a rule names {unknown[0]!r}, and no such column is declared{near}")

    def to_dict(self) -> dict[str, Any]:
        """Return the content of a schema file; `Schema.from_dict` reads it.

        It holds that there is a warning, not its text: a draft's text comes from the records, and stays in files of
        `save`.
        """
        fields: dict[str, Any] = {"warning": _NOT_REVIEWED} if self.warning else {}
        fields["columns"] = {name: column.to_dict() for name, column in self.declared.items()}
        for name in self.warned:
            fields["columns"][name]["warning"] = _NOT_REVIEWED
        if self.drop:
            fields["drop"] = list(self.drop)
        if self.every_rule:
            fields["rules"] = [rule.to_dict() for rule in self.every_rule]
        if self.weight is not None:
            return fields | {"weight": self.weight.to_dict()}
        if self.person is not None:
            fields["person"] = self.person.to_dict() | ({"warning": _NOT_REVIEWED} if self.person.warning else {})
            return fields
        k = self.stated_records_per_person
        return fields | ({} if k is None else {"records_per_person": k})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the schema to a JSON file, whole or not at all; ``OSError`` if it cannot be written."""
        from pypgm.data.draft.text import schema_text
        from pypgm.data.draft.warnings import explained

        given = self.to_dict() | ({"warning": self.warning} if self.warning else {})
        for name in self.warned:
            given["columns"][name]["warning"] = self.warning_texts.get(name, given["columns"][name]["warning"])
        if self.person is not None:
            given["person"] = self.person.to_dict()
        if any(name in self.warning_texts for name in self.drop):
            given["drop"] = {name: self.warning_texts.get(name, "") for name in self.drop}
        codes = explained(given)
        given = ({"codes": codes} if codes else {}) | given
        write_text(path, schema_text(given | ({"proposals": self.proposals} if self.proposals else {})))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Declaration):
            return NotImplemented
        return self._said == other._said

    @property
    def _said(self) -> tuple[object, ...]:
        of_records = self.stated_records_per_person, self.person, self.weight
        return list(self.declared.items()), self.drop, self.every_rule, of_records

    def __hash__(self) -> int:
        return hash((tuple(self.declared), self.drop))

    def __repr__(self) -> str:
        kinds = {n: f"{c.kind} {c.size}" if isinstance(c, Column) else "open" for n, c in self.declared.items()}
        unread = set(self.unread)
        kinds |= {name: column.kind for name, column in self.made.items() if name in unread}
        columns = listed([f"{escaped(name)}: {what}" for name, what in kinds.items()], 12)
        return f"{type(self).__name__}({columns})"


def _notes(warnings: Mapping[str, str]) -> dict[str, str]:
    """Return the meaning of each warning of a draft."""
    from pypgm.data.draft.warnings import meaning

    return {name: meaning(text) for name, text in warnings.items()}
