"""Columns of listed values: labels that are texts, numbers or booleans."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.data.columns.closed import Closed
from pypgm.data.columns.column import taken, unless_flag
from pypgm.data.columns.values import Exact, is_missing, is_number, plain, read_number, spelled_number
from pypgm.domain import Label, listed

_MOST_DECIMALS = 9
_DIGITS = 15  # that a double tells apart
_FLAGS = {"true": True, "false": False}


@dataclass(frozen=True)
class Categorical(Closed):
    """A closed list of values.

    Parameters
    ----------
    values : sequence of str, int, float or bool
        The values, in the order of their codes. A number of a table is recognized by its value, whatever its type and
        spelling, a text by its text: see "How a value is matched" in docs/your_table.md.
    ordinal : bool, optional
        Whether that order means something; by default it does if all values are numbers that rise.
    other : bool or str
        The label of all values that are not listed; True is "other". Without it they are refused.
    decimals : int, optional
        Digits after the point of numbers in a file: with 2, 0 is written as ``0.00``.
    null, objects
        See `Column`.

    Raises
    ------
    ValueError
        If there are no values, or a value of a table would match two, such as 1 and "1.0".

    Examples
    --------
    >>> shirt = Categorical(["S", "M", "L"], ordinal=True, other=True)
    >>> shirt.labels, shirt.encode(["L", "XL"])[0].tolist()
    (('S', 'M', 'L', 'other'), [2, 3])
    """

    values: Sequence[Label]
    ordinal: bool | None = None
    other: bool | str = False
    decimals: int | None = None
    kind = "categorical"
    may_have_other = True

    def __post_init__(self) -> None:
        if isinstance(self.values, str | bytes) or not isinstance(self.values, Sequence):
            raise TypeError(f"values needs a list of labels, got {self.values!r}")
        plain = (value.item() if isinstance(value, np.generic) else value for value in self.values)
        object.__setattr__(self, "values", tuple(plain))
        object.__setattr__(self, "other", "other" if self.other is True else self.other)
        object.__setattr__(self, "ordinal", self._rises if self.ordinal is None else self.ordinal)
        super().__post_init__()

    @property
    def n_values(self) -> int:
        """Number of values listed."""
        return len(self.values)

    @property
    def value_labels(self) -> tuple[Label, ...]:
        """The values."""
        return tuple(self.values)

    @property
    def other_label(self) -> str | None:
        """Label of values that are not listed."""
        return self.other if isinstance(self.other, str) and self.other else None

    @property
    def is_ordinal(self) -> bool:
        """True if the order of the values means something."""
        return bool(self.ordinal)

    @property
    def has_numbers(self) -> bool:
        """True if all values are finite numbers."""
        return bool(self.values) and all(
            isinstance(v, int | float) and not isinstance(v, bool) and abs(v) <= sys.float_info.max for v in self.values
        )

    @property
    def _rises(self) -> bool:
        values: Any = self.values
        return self.has_numbers and all(one < other for one, other in itertools.pairwise(values))

    @property
    def value_texts(self) -> list[str]:
        """Texts of the values in a file."""
        return list(map(str, self.values)) if self.decimals is None else [f"{v:.{self.decimals}f}" for v in self.values]

    @property
    def value_types(self) -> frozenset[type]:
        """The types of the values: str, bool, and object for numbers, or where there are none."""
        return frozenset(next(t for t in (str, bool, object) if isinstance(v, t)) for v in self.values or (0,))

    @property
    def allowed(self) -> str:
        """The values, in words."""
        if not self.values:  # of an open column: any text is another value, but an empty one is none
            return "a value that is not empty"
        return f"one of {listed([repr(str(v)) for v in self.labels or ()])}"

    def _decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the label of each code, and None for nulls; of numbers that are not all whole each is a float."""
        values: Any = self.values
        if self.has_numbers and any(isinstance(value, float) for value in values):
            values = map(float, values)
        others = [] if self.other_label is None else [self.other_label]
        return taken([*values, *others, *[None] * len(self.null_kinds)], codes)

    def to_dict(self) -> dict[str, Any]:
        """Return the entry of the column in a schema file, which has no order where none is expected."""
        fields = super().to_dict()
        if not self.ordinal and not self._rises:
            del fields["ordinal"]
        return fields

    def _problems(self) -> Iterator[str]:
        yield from super()._problems()
        yield from unless_flag("ordinal", self.ordinal)
        if self.other is not False and self.other_label is None:
            yield f"other needs true, false or a text that is its label, got {self.other!r}"
        if self.decimals is not None:
            yield from self._decimal_problems()
        if not self.values and self.other_label is None:
            yield "needs at least one label, got an empty list"
        wrong = [value for value in self.values if not isinstance(value, Label) or is_missing(value)]
        for value in wrong:
            yield f"needs labels that are text or numbers, got {value!r}"
        if not wrong and all(isinstance(text, str) for text in self.nulls):
            yield from dict.fromkeys(self._alike())

    def _decimal_problems(self) -> Iterator[str]:
        if not (type(self.decimals) is int and 0 <= self.decimals <= _MOST_DECIMALS):
            yield f"decimals needs a whole number from 0 to {_MOST_DECIMALS}"
        elif not self.has_numbers:
            yield "decimals is for values that are numbers"
        elif any(abs(v) * 10**self.decimals >= 10**_DIGITS for v in self.values if not isinstance(v, str)):
            yield f"values with {self.decimals} decimals need at most {_DIGITS} digits, which a double tells apart"
        elif any(Decimal(str(v)) != round(Decimal(str(v)), self.decimals) for v in self.values):
            yield f"a value has more than {self.decimals} decimals"

    def _alike(self) -> Iterator[str]:
        """Yield the problems of labels that one value would match two of."""
        owners: dict[tuple[str, object], tuple[int, Label]] = {}
        alike = [
            (owner[1], label)
            for code, label in self._coded
            for key in self._keys(code, label)
            if (owner := owners.setdefault(key, (code, label)))[0] != code
        ]
        alike += [
            (owners[key][1], label)
            for code, label in (self._coded if self._reads else ())
            for key in (self._read_keys(label.strip()) if isinstance(label, str) else ())
            if owners.get(key, (code,))[0] != code
        ]
        for one, other in alike:
            same = f"label {str(other)!r} comes more than once"
            yield same if str(one) == str(other) else f"labels {one!r} and {other!r} are one: a value would match both"

    @property
    def _coded(self) -> Iterator[tuple[int, Label]]:
        """Each label with its code, and each text of nulls with theirs."""
        yield from enumerate(self.values)
        if self.other_label is not None:
            yield self.n_values, self.other_label
        first = self.size - len(self.null_kinds)
        yield from ((first + self.null_texts[text.strip()], text) for text in self.nulls)

    @cached_property
    def _reads(self) -> bool:
        """True if texts may stand for labels that are numbers or booleans."""
        return not all(isinstance(value, str) for value in self.values)

    def _keys(self, code: int, label: Label) -> Iterator[tuple[str, object]]:
        """Yield the keys of a label: a text, a number, a number that a text was read as, or a boolean."""
        bare = plain(label)
        is_null = bool(self.nulls) and code >= self.size - len(self.null_kinds)
        if isinstance(bare, bool):
            yield "boolean", bare
        else:
            yield "text", str(label).strip()
        number = bare
        if isinstance(bare, str):
            number = read_number(bare) if is_null else spelled_number(bare)
        if is_number(number):
            yield "number", number
            if is_null or not isinstance(bare, str):
                yield "read", number

    @cached_property
    def _found_by(self) -> dict[tuple[str, object], int]:
        """The code of each key."""
        return {key: code for code, label in self._coded for key in self._keys(code, label)}

    def _read_keys(self, text: str) -> list[tuple[str, object]]:
        """Return the keys of a label that texts are read as."""
        if not self._reads:
            return []
        number = read_number(text)
        return [("boolean", _FLAGS.get(text.casefold())) if number is None else ("read", number)]

    def _of_text(self, text: str) -> int | None:
        keys = [("text", text), *self._read_keys(text)]
        return next((self._found_by[key] for key in keys if key in self._found_by), None)

    def _of_number(self, number: Exact) -> int | None:
        return self._found_by.get(("number", number))

    def _of_boolean(self, value: bool) -> int | None:
        text = str(value)
        keys = (("boolean", value), *(("text", t) for t in (text, text.lower(), text.upper())))
        return next((self._found_by[key] for key in keys if key in self._found_by), None)

    def _of_other(self, value: object) -> int | None:
        return self._found_by.get(("text", str(value)))
