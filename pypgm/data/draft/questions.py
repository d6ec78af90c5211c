"""Questions that a draft leaves to its owner, one for each warning, and schemas with their answers."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from pypgm.data.draft.warnings import Note, explained, notes_of
from pypgm.data.schema.schema_file import columns_in

Place = Literal["table", "person", "columns", "bins", "rules"]
_FIELDS = {  # of an entry, that answer a warning
    "bounds": ("low", "high"),
    "century": ("low", "high"),
    "far?": ("null", "low", "high"),
    "null?": ("null",),
    "odd": ("null",),
    "outside": ("outside",),
    "values": ("values",),
    "open": ("share",),
    "heap": ("bins",),
    "decimals?": ("decimal", "thousands"),
    "thousands?": ("decimal", "thousands"),
    "format?": ("format",),
    "time": ("resolution",),
    "hour?": ("resolution",),
    "person?": ("person", "records_per_person"),
    "header?": (),
    "header_lines?": (),
}
_OF_PERSON = ("column", "at_most", "null")
_ASIDE = {"kind", "comment", "warning"}
MADE = {"derived", "id", "fake"}
"""Kinds of columns that are not read."""


class Answer(TypedDict, total=False):
    """Answer to a question; an empty one keeps what the draft says.

    Parameters
    ----------
    change : dict
        New values of fields of the entry; None removes a field.
    entry : object
        Declaration to write in place of that of the column.
    drop : bool
        Whether to leave the column out, or to remove the person or the rule.
    accept : list of int
        Places of the proposals to take, from 0.
    """

    change: dict[str, Any]
    entry: Any
    drop: bool
    accept: list[int]


@dataclass(frozen=True)
class Question:
    """A warning of a schema file that nobody has answered.

    Parameters
    ----------
    place : {"table", "person", "columns", "bins", "rules"}
        Part of the file that the warning is about.
    name : str
        Name of the column, or number of the rule from 0; empty for the table and the person.
    note : Note
        Warning; its sentence is the question.
    fields : tuple of str
        Fields of the entry that an answer is likely to change.
    proposals : tuple
        Rules, or declarations of the column, that would answer it.
    """

    place: Place
    name: str
    note: Note
    fields: tuple[str, ...] = ()
    proposals: tuple[Any, ...] = ()

    @property
    def subject(self) -> str:
        """Name of the part that the question is about."""
        words = {"table": "the table", "person": "the person", "rules": f"rule {self.name}"}
        return words.get(self.place, self.name)

    @property
    def can_drop(self) -> bool:
        """Whether there is a column, a person or a rule that may be left out."""
        return self.place != "table"


def questions_of(fields: Mapping[str, Any]) -> list[Question]:
    """Return the questions of a parsed schema file, those about the whole table first.

    Examples
    --------
    >>> age = {"kind": "integer", "low": 18, "high": 77, "warning": "bounds; key?"}
    >>> questions = questions_of({"columns": {"age": age}, "warning": "person?"})
    >>> [(question.subject, question.note.code, question.fields) for question in questions[1:]]
    [('age', 'bounds', ('low', 'high')), ('age', 'key?', ())]
    """
    questions = {(each.place, each.name, each.note): each for each in _questions(whole_of(fields))}
    return list(questions.values())


def answered(fields: Mapping[str, Any], question: Question, answer: Answer) -> dict[str, Any]:
    """Return the content of a schema file with the answer to one of its questions; the warning is gone.

    Parameters
    ----------
    fields : mapping
        Content of the file; it stays as it is.
    question : Question
        One of `questions_of`.
    answer : dict
        See `Answer`. It is not checked: `Schema.from_dict` reads the result.

    Examples
    --------
    >>> draft = {"columns": {"age": {"kind": "integer", "low": 18, "high": 77, "warning": "bounds"}}}
    >>> (question,) = questions_of(draft)
    >>> answered(draft, question, {"change": {"low": 0, "high": 120}})
    {'columns': {'age': {'kind': 'integer', 'low': 0, 'high': 120}}}
    """
    whole = copy.deepcopy(whole_of(fields))
    entry = _entry_of(whole, question)
    _settle(whole, entry, question)
    for name, value in answer.get("change", {}).items():
        if value is None:
            entry.pop(name, None)
        else:
            entry[name] = value
    if "entry" in answer and question.place in {"columns", "bins"}:
        whole["columns"][question.name] = answer["entry"]
    for place in answer.get("accept", []):
        _accept(whole, question, question.proposals[place])
    if answer.get("drop"):
        _drop(whole, question)
    return _tidy(whole)


def whole_of(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the content of a schema file with its columns under "columns", even if the file has nothing else.

    Examples
    --------
    >>> whole_of({"comment": "mine", "age": 85})
    {'comment': 'mine', 'columns': {'age': 85}}
    """
    columns = columns_in(fields)
    if columns is not fields:
        rules = fields.get("rules") or []
        return {**fields, **({"rules": rules if isinstance(rules, list) else [rules]} if rules else {})}
    aside = {name: value for name, value in columns.items() if isinstance(value, str)}
    return {**aside, "columns": {name: value for name, value in columns.items() if name not in aside}}


def _questions(whole: Mapping[str, Any]) -> Iterator[Question]:
    proposals = whole.get("proposals", {})
    for note in notes_of(whole.get("warning")):
        yield Question("table", "", note, _FIELDS.get(note.code, ()), _proposals(proposals, "", note))
    person = whole.get("person") or {}
    yield from (Question("person", "", note, _OF_PERSON) for note in notes_of(person.get("warning")))
    for name, entry in whole["columns"].items():
        if not isinstance(entry, Mapping):
            continue
        others = tuple(field for field in entry if field not in _ASIDE)
        for note in notes_of(entry.get("warning")):
            able = tuple(_FIELDS.get(note.code, () if note.code else others))
            yield Question("columns", name, note, able, _proposals(proposals, name, note))
        if isinstance(bins := entry.get("bins"), Mapping):
            yield from (Question("bins", name, note, ("quantiles", "share")) for note in notes_of(bins.get("warning")))
    for place, rule in enumerate(whole.get("rules", [])):
        if isinstance(rule, Mapping):
            yield from (Question("rules", str(place), note) for note in notes_of(rule.get("warning")))


def _proposals(proposals: Mapping[str, Any], name: str, note: Note) -> tuple[Any, ...]:
    return tuple(proposals.get(name, {}).get(note.text, ()))


def _entry_of(whole: dict[str, Any], question: Question) -> dict[str, Any]:
    """Return the object that a question is about."""
    entry: dict[str, Any] = whole
    if question.place == "person":
        entry = whole["person"]
    elif question.place == "rules":
        entry = whole["rules"][int(question.name)]
    elif question.place != "table":
        entry = whole["columns"][question.name]
        entry = entry["bins"] if question.place == "bins" else entry
    return entry


def _settle(whole: dict[str, Any], entry: dict[str, Any], question: Question) -> None:
    """Remove a warning, and what was proposed for it."""
    notes = [note.text for note in notes_of(entry.pop("warning")) if note != question.note]
    if notes:
        entry["warning"] = "; ".join(notes)
    if isinstance(whole.get("proposals"), dict) and question.place in {"columns", "table"}:
        whole["proposals"].get(question.name, {}).pop(question.note.text, None)


def _accept(whole: dict[str, Any], question: Question, proposal: Any) -> None:  # noqa: ANN401 - whatever JSON holds
    """Add a proposed rule, or declare a column as it is proposed; warnings of a column that is read remain."""
    if not isinstance(proposal, Mapping) or "kind" not in proposal:
        whole["rules"] = [*whole.get("rules", []), proposal]
        return
    columns = whole["columns"]
    kept = {} if proposal["kind"] in MADE else {k: v for k, v in columns[question.name].items() if k == "warning"}
    columns[question.name] = {**proposal, **kept}


def _drop(whole: dict[str, Any], question: Question) -> None:
    if question.place == "person":
        del whole["person"]
    elif question.place == "rules":
        del whole["rules"][int(question.name)]
    elif question.place != "table":
        del whole["columns"][question.name]
        drop = whole.get("drop", [])
        whole["drop"] = {**drop, question.name: ""} if isinstance(drop, Mapping) else [*drop, question.name]
        whole.get("proposals", {}).pop(question.name, None)


def _tidy(whole: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file without proposals and codes that no warning needs, and without empty lists."""
    left = {(question.name, question.note.text) for question in questions_of(whole) if question.place != "person"}
    proposals: Mapping[str, Mapping[str, Sequence[Any]]] = whole.get("proposals", {})
    proposals = {
        name: kept for name, by in proposals.items() if (kept := {w: p for w, p in by.items() if (name, w) in left})
    }
    now = {"codes": explained(whole), "proposals": proposals, "rules": whole.get("rules")}
    return {name: now.get(name, value) for name, value in whole.items() if name not in now or now[name]}
