"""Dialogue that finishes a schema: one question of its draft at a time, each answer saved at once."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from pypgm._base.terminal import escaped
from pypgm.cli.printing import show
from pypgm.data.draft.questions import Answer, Question, answered, questions_of, whole_of
from pypgm.data.draft.text import schema_text
from pypgm.data.schema.schema import Schema
from pypgm.data.schema.schema_file import read_object
from pypgm.data.sources.files import write_text

_MAX_SHOWN = 400  # characters of an entry


class Checking:
    """Questions of a schema file that are asked on a terminal.

    Parameters
    ----------
    path : str
        JSON file of the schema; each answer replaces it, whole or not at all.

    Raises
    ------
    OSError
        If it cannot be read.
    ValueError
        If it is no schema.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.fields: dict[str, Any] = {}
        try:
            self._read(read_object(path))
        except ImportError as error:  # of a package for YAML
            raise ValueError(str(error)) from None
        self.questions = questions_of(self.fields)
        self._later: set[tuple[str, str, str]] = set()

    @property
    def left(self) -> list[Question]:
        """Questions that are still open."""
        return questions_of(self.fields)

    def run(self) -> None:
        """Ask until nothing is open or the user leaves; ``KeyboardInterrupt`` says that all answers are kept."""
        try:
            while waiting := [question for question in self.left if _key(question) not in self._later]:
                number = max(1, len(self.questions) - len(waiting) + 1)
                if not self._ask(waiting[0], f"{number} of {max(number, len(self.questions))}"):
                    return
        except EOFError:
            show([""])  # the line of the prompt ends here
        except KeyboardInterrupt:
            show([""])
            raise KeyboardInterrupt(f"all answers so far are in {self.path}, and the same command goes on") from None

    def _read(self, fields: Any) -> None:  # noqa: ANN401 - whatever JSON holds
        """Take the content of a schema file; ``ValueError`` where it is none."""
        Schema.from_dict(fields, self.path, Path(self.path).parent)
        self.fields = whole_of(fields)

    def _ask(self, question: Question, place: str) -> bool:
        """Ask a question until it is answered or left for later; return whether to go on."""
        show(["", f"({place}) {question.subject}", *described(self.fields, question)])
        while True:
            key = _heard(f"{_keys(question)}: ").casefold()
            if key == "q":
                return False
            if key == "s":
                self._later.add(_key(question))
                return True
            try:
                answer = self._answer(question, key)
                if answer is None:
                    continue
                changed = answered(self.fields, question, answer)
                self._read(changed)
            except ValueError as error:
                show([f"  not taken: {error}"])
                continue
            write_text(self.path, schema_text(self.fields))
            return True

    def _answer(self, question: Question, key: str) -> Answer | None:
        """Return the answer that a key begins; None for a key that means nothing, or where nothing was changed."""
        if key == "k":
            return {}
        if key == "d" and question.can_drop:
            return {"drop": True}
        if key.isdecimal() and 1 <= int(key) <= len(question.proposals):
            return {"accept": [int(key) - 1]}
        if key == "e" and question.place == "columns":
            return {"entry": json.loads(_heard("  the whole entry as JSON: "))}
        if key == "c" and question.place != "rules":
            person = question.place == "table" and not self.fields.get("person")
            change = _asked_person() if person else self._changes(question)
            return {"change": change} if change else None
        return None

    def _changes(self, question: Question) -> dict[str, Any]:
        """Return the fields for which new values were typed."""
        entry = entry_of(self.fields, question)
        names = question.fields or tuple(filter(None, [_heard("  field to change: ")]))
        changes = {}
        for name in names:
            now = entry.get(name)
            text = _heard(f"  {name} (now {_shortened(now)}; Enter keeps it, null removes it): ")
            if text:
                changes[name] = _value(text, now)
        return changes


def described(fields: dict[str, Any], question: Question) -> list[str]:
    """Return the lines that show an entry, the question about it, and what is proposed."""
    entry = {name: value for name, value in entry_of(fields, question).items() if name not in {"warning", "comment"}}
    lines = [] if question.place == "table" else [f"  {_shortened(entry)}"]
    lines.append(f"  {question.note.sentence}")
    return lines + [f"  {i}: {_shortened(proposal)}" for i, proposal in enumerate(question.proposals, 1)]


def entry_of(fields: dict[str, Any], question: Question) -> dict[str, Any]:
    """Return the object of a schema file that a question is about."""
    places: dict[str, Any] = {"table": fields, "person": fields.get("person")}
    if question.place in places:
        entry: dict[str, Any] = places[question.place]
    elif question.place == "rules":
        entry = fields["rules"][int(question.name)]
    else:
        entry = fields["columns"][question.name]
        entry = entry["bins"] if question.place == "bins" else entry
    return entry


def _key(question: Question) -> tuple[str, str, str]:
    return question.place, question.name, question.note.text


def _keys(question: Question) -> str:
    """Return the keys that answer a question."""
    keys = ["k leave as it is"] + ["c change"] * (question.place != "rules")
    keys += [f"d drop {'the column' if question.place in {'columns', 'bins'} else 'it'}"] * question.can_drop
    keys += [f"{i} accept {i}" for i in range(1, len(question.proposals) + 1)]
    keys += ["e entry as JSON"] * (question.place == "columns")
    return f"  {', '.join(keys)}, s later, q quit"


def _heard(prompt: str) -> str:
    return input(escaped(prompt)).strip()


def _asked_person() -> dict[str, Any]:
    """Return who the person of a record is, or how many records one has."""
    names = _heard("  columns that name the person, with commas between them (Enter: none does): ")
    most = _heard("  records of one person, at most (Enter: one record is protected): ")
    if not most:
        return {}
    columns = _value(names, []) if names else []
    if not columns:
        return {"records_per_person": _value(most, None)}
    return {"person": {"column": columns[0] if len(columns) == 1 else columns, "at_most": _value(most, None)}}


def _value(text: str, now: object) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return the value of a typed text, of the type of the present one.

    Examples
    --------
    >>> _value("12", 3), _value("12", "3"), _value("1, 2", ["a"]), _value("1, 2", [3]), _value('["a,b"]', ["a"])
    (12, '12', ['1', '2'], [1, 2], ['a,b'])
    """
    parsed: Any = text
    with contextlib.suppress(ValueError):
        parsed = json.loads(text)
    if parsed is None or isinstance(parsed, dict | list):
        return parsed
    if isinstance(now, list):
        one = next(iter(now), "")
        return [_value(part.strip(), one) for part in text.split(",")]
    return text if isinstance(now, str) else parsed


def _shortened(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]} …"
