"""Public facts about a table before it is read: its attributes, and the texts of their values."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from pypgm._base.file_kind import it_looks_like
from pypgm._base.numeric import whole_of
from pypgm.data.sources.files import NO_TEXT, read_text
from pypgm.domain import Domain, Label, first_repeat


def read_domain(path: str | os.PathLike[str]) -> Domain:
    """Read a domain from a JSON file: an object with a size or a list of labels for each attribute.

    A domain is public: write it from public knowledge of the attributes, never from the records.

    Parameters
    ----------
    path : str or path-like
        For example ``{"age": 85, "sex": ["F", "M"]}``. The order of the names is the order of the attributes.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not such an object; the message names the attribute and what it needs.

    Examples
    --------
    >>> read_domain("domain.json")  # doctest: +SKIP
    Domain(age: 85, sex: 2)
    """
    name = os.fspath(path)
    attributes = read_json(path)
    if not isinstance(attributes, dict) or not attributes:
        raise ValueError(f'{name} needs an object of attributes, such as {{"age": 85, "sex": ["F", "M"]}}')
    try:
        for attribute, values in attributes.items():
            _check_values(attribute, values)
        return Domain(attributes)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None


def read_json(path: str | os.PathLike[str], needed: str = "JSON") -> object:
    """Return the content of a JSON file; an object that repeats a name is refused.

    Parameters
    ----------
    path : str or path-like
    needed : str
        Name of the expected content in errors.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is not JSON; the message names the file and the line.
    """
    name = os.fspath(path)
    text = read_text(path)
    try:
        return writable(json.loads(text, object_pairs_hook=distinct, parse_int=_integer))
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        hint = it_looks_like(text, "JSON")
        raise ValueError(f"{name} must be {needed}, but is not at {where}: {error.msg}{hint}") from None
    except RecursionError:
        raise ValueError(f"{name} is nested too deep to hold attributes") from None
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def writable(parsed: object) -> object:
    """Return the content of a JSON or YAML file; ``ValueError`` if it has a text that no text file can hold.

    Both formats can write half of a surrogate pair, which would be found out when a table with it is written.
    """
    try:
        json.dumps(parsed, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(NO_TEXT) from None
    return parsed


def label_texts(domain: Domain, attribute: str) -> list[str] | None:
    """Return the text of each label of an attribute, or None if it has no labels.

    Parameters
    ----------
    domain : Domain
    attribute : str

    Raises
    ------
    ValueError
        If two labels have the same text, as 1 and "1" do: a text file could not tell them apart.

    Examples
    --------
    >>> label_texts(Domain({"size": [1, 2.5, "more"]}), "size")
    ['1', '2.5', 'more']
    """
    labels = domain.labels.get(attribute)
    if labels is None:
        return None
    texts = [str(label) for label in labels]
    if len(set(texts)) != len(texts):
        raise ValueError(f"attribute {attribute!r} has two labels that read the same as text")
    return texts


def distinct(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Return names and values as a dictionary; ``ValueError`` if a name is repeated."""
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError(f"attribute {first_repeat(name for name, _ in pairs)!r} comes more than once")
    return entries


def _integer(text: str) -> int:
    number = whole_of(text.removeprefix("-"))
    if number is None:
        raise ValueError(f"an integer has {len(text)} digits: more than are read")
    return -number if text.startswith("-") else number


def _check_values(attribute: str, values: object) -> None:
    if isinstance(values, list):
        for value in values:
            if not isinstance(value, Label):
                raise TypeError(f"attribute {attribute!r} needs labels that are text or numbers, got {value!r}")
        if not values:
            raise ValueError(f"attribute {attribute!r} needs at least one label, got an empty list")
    elif isinstance(values, bool) or not isinstance(values, int):
        raise TypeError(f"attribute {attribute!r} needs a size or a list of labels, got {json.dumps(values)}")
    elif values >= 1 << 63:
        raise ValueError(f"attribute {attribute!r} needs a size below 2^63")
