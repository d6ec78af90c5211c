"""Files of cards: Markdown or Croissant, by their names."""

from __future__ import annotations

import os
import re

from pypgm._base.file_kind import check_suffix
from pypgm._base.text import checked_text
from pypgm.data.sources.files import write_text
from pypgm.data.sources.layout import Layout
from pypgm.released import Released
from pypgm.reporting.card import CardFacts, Licence, card_of, written_columns
from pypgm.reporting.croissant import croissant_of
from pypgm.reporting.facts import Facts
from pypgm.reporting.record_file import RecordFile

_DAY = re.compile(r'"datePublished": "[^"]*"')

CARDS = (".md", ".json")
"""Endings of the names of cards."""


def write_card(
    release: Released,
    path: str | os.PathLike[str],
    *,
    file: str | os.PathLike[str] | None,
    license: str,  # noqa: A002 - the word of data catalogues
    title: str,
) -> None:
    """Write the card of a release's records, whole or not at all; see `pypgm.Release.card`."""
    write_text(path, card_text(Facts(release), path, file=file, license=license, title=title))


def card_text(
    facts: Facts,
    path: str | os.PathLike[str],
    *,
    file: str | os.PathLike[str] | None,
    license: str,  # noqa: A002
    title: str,
) -> str:
    """Return the text of a card whose file has some name."""
    release = facts.release
    license, title = checked_text("license", license), checked_text("title", title)  # noqa: A001
    check_suffix(path, CARDS)
    for place in (path, *(() if file is None else (file,))):
        release._check_place(place)
    if file is not None and _is_same(path, file):
        raise ValueError(f"{os.fspath(path)} would be overwritten: it holds the records; give the card another name")
    read = None if file is None else RecordFile.read(file, written_columns(facts), release.layout or Layout())
    card = CardFacts(facts, title, Licence.of(license), read)
    if not os.fspath(path).endswith(".json"):
        return card_of(card)
    if read is None:
        raise ValueError(f"{os.fspath(path)}: Croissant describes a file of records, and needs its name as file")
    return croissant_of(card, read)


def is_same_card(text: str, other: str) -> bool:
    """Return whether two texts are one card, whatever their days are.

    Examples
    --------
    >>> is_same_card('{"datePublished": "2030-01-01"}', '{"datePublished": "2030-01-02"}')
    True
    """
    return _DAY.sub("", text) == _DAY.sub("", other)


def _is_same(path: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    return os.path.exists(path) and os.path.exists(other) and os.path.samefile(path, other)
