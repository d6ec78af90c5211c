"""Warnings of drafts: short codes, and the one table of the sentence that each stands for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pypgm.domain import listed


class Code(NamedTuple):
    """Meaning of a code.

    Parameters
    ----------
    sentence : str
        Sentence about a column; ``{}`` stands for the details.
    details : str
        Words in the place of the details where the code is explained by itself; empty for a code without details.
    """

    sentence: str
    details: str = ""


CODES: dict[str, Code] = {
    # Numbers, dates and values.
    "bounds": Code("low and high were read from the records: replace them by publicly known limits"),
    "values": Code("the values were read from the records: replace them by the publicly known ones"),
    "type?": Code(
        "the values are those of the type, which are public unless somebody took them from the records: list them in "
        "bounds, or delete the warning"
    ),
    "open": Code("do these values name people? then drop the column: values that enough people have are published"),
    "key?": Code("no value comes twice: if the values identify people, drop the column"),
    "key": Code(
        "its values look like a key: each may stand for a person or a unit, and they repeat. The entry person limits "
        "the records of each person, or records_per_person states that limit; kind id or fake makes new values"
    ),
    "codes?": Code("these numbers have gaps nearly everywhere: if they are codes, list the publicly known ones"),
    "null?": Code("read as missing: {}; remove from null whatever is a real value", "some values"),
    "far?": Code(
        "far from the others: {}; list under null those that mean no value, and set low and high for the others",
        "some values",
    ),
    "odd": Code("read as missing, since they cannot be read as the others are: {}", "some texts"),
    "outside": Code("numbers beyond the bounds are read as missing, too"),
    "heap": Code("a bin of its own for {}, which many records have: is that publicly known?", "some numbers"),
    "decimals?": Code("{} is taken for the decimal mark: if it is the thousands mark, set both", "a mark"),
    "thousands?": Code("{} is taken for the thousands mark: if it is the decimal mark, set both", "a mark"),
    "signs": Code("numbers with {}, not all in one form: write bare numbers", "signs or units"),
    "format?": Code("the format may be {} as well: the records do not tell them apart", "another one"),
    "dates?": Code("whole numbers were read as dates, by {}: if they are plain numbers, bound them", "a format"),
    "century": Code(
        "years have two digits: each date is read in the century that puts it between low and high, here never in the "
        "future: if some dates lie in the future, raise low and high"
    ),
    "time": Code("the time of day is left out"),
    "hour?": Code("the time of day is drawn evenly: the resolution hour keeps it, in 24 bins a day"),
    "times": Code("spans, such as 36:15, that no format reads as a time of day: write them as numbers of minutes"),
    # Columns that go with others; what would keep them together is proposed.
    "follows": Code(
        "it follows from {} in each record: if it always does, kind derived makes it exact", "another column"
    ),
    "follows_open": Code(
        "it follows from {} in each record, but is better kept as it is: derived, it would be unknown for each value "
        "of that column that is not found privately; if all its values are publicly known, list them, and kind derived "
        "makes this column exact",
        "an open column",
    ),
    "blank": Code("it is blank for some values of {}: if it always is, a rule keeps it so", "another column"),
    "order": Code(
        "it is never before {}: if it never can be, a rule keeps the order, and kind difference the time between both",
        "another column",
    ),
    "equal": Code(
        "it equals {} in each record that has it: if it always does, kind derived makes it exact", "another column"
    ),
    "one_of": Code(
        "exactly one of these columns is true in each record, and the rule keeps it so: if a record may have none or "
        "several, delete the rule"
    ),
    "never": Code(
        "some of its values never occur with some of {}, though chance would give many such records: if they never "
        "can, a rule excludes them",
        "another column",
    ),
    # The whole table.
    "header?": Code("the first line looks like a record, not like the names of columns: add a header line"),
    "header_lines?": Code("some lines do not look like records: {}", "skip, comment and header_lines leave them out"),
    "person?": Code(
        "may one person have several records? Then name under person the columns that identify the person, and how "
        "many records of each person to keep; or state records_per_person. Use public knowledge only. Without either, "
        "the promise is about any one record"
    ),
    # The person.
    "at_most": Code(
        "read from the records: {} looks like the key of a person, and at_most is the largest number of records "
        "with one value of it. Replace at_most by what is publicly known, or by how many records of one person to "
        "keep; name other columns, or delete person, if the column is no such key",
        "the column",
    ),
    "alone": Code("each record without the key is taken for a separate person"),
    "as_one": Code(
        "{}: all records with the same one of these texts count as one person, of whom at most at_most are kept; if a "
        'text means that there is no key, write an empty cell instead, and "null": "alone" makes each such record a '
        "separate person",
        "some values",
    ),
    "first": Code("at_most was found among the first {} values: later ones may have more records", "many"),
    "also": Code("further columns that look like keys of persons: {}", "other columns"),
}
"""Each code that a draft writes; one with ``?`` is a question about how the records were read."""

_BARE = re.compile(r"[^\s,;\"\\](?:[^,;\"\\\x00-\x1f]*[^\s,;\"\\\x00-\x1f])?")
_DETAIL = re.compile(rf'\s*("(?:[^"\\]|\\.)*"|{_BARE.pattern})\s*')
_CODE = re.compile(r"\s*([a-z_]+\??)(?=[\s;]|$)\s*")
_MAX_LISTED = 12  # details that a sentence names


class Note(NamedTuple):
    """A warning of a draft.

    Parameters
    ----------
    code : str
        Code in `CODES`, empty for a sentence that somebody wrote.
    details : tuple of str
        Details of the code; the sentence where there is no code.
    """

    code: str
    details: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Text of the warning in a file."""
        details = ", ".join(self.details if not self.code else map(_quoted, self.details))
        return " ".join(filter(None, (self.code, details)))

    @property
    def sentence(self) -> str:
        """Sentence that the warning stands for."""
        if not self.code:
            return ", ".join(self.details)
        code = CODES[self.code]
        return code.sentence.format(listed([*map(repr, self.details)], _MAX_LISTED) or code.details)


def note(code: str, *details: object) -> str:
    """Return a warning as a draft writes it.

    Parameters
    ----------
    code : str
        Code in `CODES`.
    *details : object
        Names of columns, values or formats that the warning is about.

    Raises
    ------
    KeyError
        If there is no such code.

    Examples
    --------
    >>> note("null?", 98, 99), note("follows", "city, or town")
    ('null? 98, 99', 'follows "city, or town"')
    """
    _ = CODES[code]
    return Note(code, tuple(map(str, details))).text


def warn(fields: dict[str, Any], *warnings: str) -> None:
    """Add warnings to an entry of a draft; one that is there already is not repeated.

    Examples
    --------
    >>> fields = {"warning": "bounds"}
    >>> warn(fields, note("key?"), note("bounds"))
    >>> fields
    {'warning': 'bounds; key?'}
    """
    texts = [*filter(None, [fields.get("warning")]), *warnings]
    fields["warning"] = "; ".join(dict.fromkeys(texts))


def propose(draft: dict[str, Any], name: str, warning: str, *proposals: object) -> None:
    """Add a warning to a column of a draft, and what would answer it: rules, or declarations of the column.

    They are not read until somebody accepts them, and stand under "proposals" by the column and the warning.

    Examples
    --------
    >>> draft = {"columns": {"left": {"kind": "date"}}}
    >>> propose(draft, "left", note("order", "came"), "came <= left")
    >>> draft["columns"]["left"], draft["proposals"]
    ({'kind': 'date', 'warning': 'order came'}, {'left': {'order came': ['came <= left']}})
    """
    warn(draft["columns"][name], warning)
    if proposals:
        draft.setdefault("proposals", {}).setdefault(name, {}).setdefault(warning, []).extend(proposals)


def notes_of(warning: object) -> list[Note]:
    """Return the notes of a warning in a file; a text with anything but known codes is one note.

    Examples
    --------
    >>> [tuple(note) for note in notes_of("bounds; null? 98, 99")]
    [('bounds', ()), ('null?', ('98', '99'))]
    >>> [tuple(note) for note in notes_of("ask Jo; bounds are hers")]
    [('', ('ask Jo; bounds are hers',))]
    """
    text = "; ".join(map(str, warning)) if isinstance(warning, list) else str(warning or "")
    if not text.strip():
        return []
    notes = list(_parsed(text))
    return [note for note in notes if note is not None] if None not in notes else [Note("", (text,))]


def sentences(warning: object) -> list[str]:
    """Return the sentences that a warning in a file stands for.

    Examples
    --------
    >>> sentences("key?; far? -999")[1]
    "far from the others: '-999'; list under null those that mean no value, and set low and high for the others"
    """
    return [note.sentence for note in notes_of(warning)]


def meaning(warning: object) -> str:
    """Return the sentences that a warning stands for as one text."""
    return "; ".join(sentences(warning))


def explained(fields: Mapping[str, Any]) -> dict[str, str]:
    """Return the codes of a parsed schema file, each explained once, in the order of `CODES`.

    Examples
    --------
    >>> list(explained({"columns": {"age": {"warning": "far? 99; bounds"}, "job": {"warning": "bounds"}}}))
    ['bounds', 'far?']
    """
    codes = {note.code for warning in _warnings(fields) for note in notes_of(warning)}
    return {code: CODES[code].sentence.format(CODES[code].details) for code in CODES if code in codes}


def _warnings(entry: object) -> Iterator[object]:
    """Yield the warnings of a parsed file, wherever they are, and the reasons of its dropped columns."""
    if isinstance(entry, Mapping):
        yield from (value for name, value in entry.items() if name == "warning" and isinstance(value, str | list))
        yield from (why for why in _reasons(entry.get("drop")))
        for value in entry.values():
            yield from _warnings(value)
    elif isinstance(entry, list):
        for value in entry:
            yield from _warnings(value)


def _reasons(drop: object) -> Iterable[object]:
    return drop.values() if isinstance(drop, Mapping) else ()


def _parsed(text: str) -> Iterator[Note | None]:
    """Yield the notes of a text; None for a part that is not a note."""
    place = 0
    while place <= len(text):
        code = _CODE.match(text, place)
        if code is None or code[1] not in CODES:
            yield None
            return
        details, place = [], code.end()
        while place < len(text) and text[place] != ";":
            detail = _DETAIL.match(text, place)
            if detail is None or not CODES[code[1]].details:
                yield None
                return
            details.append(json.loads(detail[1]) if detail[1].startswith('"') else detail[1])
            place = detail.end()
            if text[place : place + 1] == ",":
                place += 1
        yield Note(code[1], tuple(details))
        place += 1


def _quoted(detail: str) -> str:
    return detail if _BARE.fullmatch(detail) else json.dumps(detail, ensure_ascii=False)
