"""Form of a schema as one HTML file, on which its owner answers what a draft left open and saves the finished JSON."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from pypgm._base.terminal import escaped_json
from pypgm.data.draft.questions import MADE, Question, questions_of, whole_of
from pypgm.data.draft.warnings import explained, meaning
from pypgm.reporting.template import rendered

_LONG = 24  # characters, from which a field has several lines
_MAX_ROWS = 12
_OF_PERSON = {"column": "text", "at_most": "json", "null": "text"}  # type of an empty field
_NULL = {"categorical", "boolean", "codes", "integer", "real", "date", "difference", "open"}  # kinds that may have one


def form_page(fields: Mapping[str, Any], file: str) -> str:
    """Return the page of a parsed schema file.

    Parameters
    ----------
    fields : mapping
        Content of the file.
    file : str
        Name of the file that the page saves.

    Raises
    ------
    ImportError
        If jinja2, the extra ``report``, is not installed.
    """
    whole = whole_of(fields)
    questions = questions_of(whole)
    script = resources.files("pypgm.reporting").joinpath("form.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    person = whole.get("person") or {}
    return rendered(
        "form.html",
        title=f"Schema {file}",
        file=file,
        digest=f"sha256-{digest}",
        script=script,
        state=_json(form_state(whole, file)).replace("<", "\\u003c"),
        table=_of_part(questions, "table"),
        person=[(name, _shown(person.get(name), kind)) for name, kind in _OF_PERSON.items()],
        records=_json(whole["records_per_person"]) if "records_per_person" in whole else "",
        of_person=_of_part(questions, "person"),
        columns=[_card(i, name, entry, questions) for i, (name, entry) in enumerate(whole["columns"].items())],
        rules=[
            {"text": _json(rule), "questions": _of_part(questions, "rules", str(i))}
            for i, rule in enumerate(whole.get("rules", []))
        ],
        drop=[(name, meaning(why)) for name, why in _drop(whole).items()],
    )


def form_state(whole: Mapping[str, Any], file: str) -> dict[str, Any]:
    """Return what the script of a form starts from: values are JSON within texts, objects are lists of pairs."""
    drop, person, codes = whole.get("drop"), whole.get("person"), whole.get("codes")
    return {
        "file": file,
        "top": _pairs(whole),
        "columns": [_column(name, entry) for name, entry in whole["columns"].items()],
        "questions": [_question(question) for question in questions_of(whole)],
        "rules": [{"raw": _json(rule), "settled": _json(_settled(rule))} for rule in whole.get("rules", [])],
        "person": _pairs(_settled(person)) if isinstance(person, Mapping) else None,
        "drop": _pairs(_drop(whole)),
        "isDropList": not isinstance(drop, Mapping),
        "emptyDrop": None if drop is None else _json(drop),
        "codes": _pairs(codes) if isinstance(codes, Mapping) else [],
        "keptCodes": list(explained({"drop": drop})),
    }


def _column(name: str, entry: object) -> dict[str, Any]:
    fields = _settled(entry) if isinstance(entry, Mapping) else None
    bins = fields.get("bins") if fields else None
    has_warning = isinstance(bins, Mapping) and "warning" in bins
    return {
        "name": name,
        "raw": _json(entry),
        "entry": None if fields is None else _pairs(fields),
        "settledBins": _json(_settled(bins)) if has_warning else None,
    }


def _question(question: Question) -> dict[str, Any]:
    proposals = [
        {
            "raw": _json(proposal),
            "entry": _pairs(proposal) if isinstance(proposal, Mapping) and "kind" in proposal else None,
            "isMade": isinstance(proposal, Mapping) and proposal.get("kind") in MADE,
        }
        for proposal in question.proposals
    ]
    note = {"note": question.note.text, "code": question.note.code, "fields": list(question.fields)}
    return {"place": question.place, "name": question.name, **note, "proposals": proposals}


def _settled(entry: Any) -> Any:  # noqa: ANN401 - whatever JSON holds
    """Return an entry without its warning."""
    return {k: v for k, v in entry.items() if k != "warning"} if isinstance(entry, Mapping) else entry


def _pairs(fields: Mapping[str, Any]) -> list[list[str]]:
    return [[name, _json(value)] for name, value in fields.items()]


def _drop(whole: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the columns that are left out, with the reason for each."""
    drop = whole.get("drop") or {}
    return drop if isinstance(drop, Mapping) else dict.fromkeys(drop, "")


def _card(place: int, name: str, entry: object, questions: Sequence[Question]) -> dict[str, Any]:
    """Return a column for the template."""
    fields = {k: v for k, v in entry.items() if k not in {"kind", "warning"}} if isinstance(entry, Mapping) else {}
    kind = entry.get("kind", "") if isinstance(entry, Mapping) else _json(entry)
    if kind in _NULL:
        fields.setdefault("null", None)
    return {
        "place": place,
        "name": name,
        "kind": kind,
        "fields": [(field, _shown(value)) for field, value in fields.items()],
        "questions": _of_part(questions, "columns", name) + _of_part(questions, "bins", name),
    }


def _of_part(questions: Sequence[Question], place: str, name: str = "") -> list[dict[str, Any]]:
    """Return the questions of a part for the template."""
    return [
        {"place": i, "sentence": question.note.sentence, "proposals": [*map(_json, question.proposals)]}
        for i, question in enumerate(questions)
        if (question.place, question.name) == (place, name)
    ]


def _shown(value: object, if_empty: str = "lines") -> dict[str, Any]:
    """Return a value as the text of a field: a text as it is, texts a line each, all else as JSON."""
    raw = "" if value is None else _json(value)
    lines = value if isinstance(value, list) and value else []
    if isinstance(value, str) and _is_plain(value):
        text, kind = value, "text"
    elif lines and all(isinstance(line, str) and _is_plain(line) for line in lines):
        text, kind = "\n".join(lines), "lines"
    else:
        text, kind = raw, "json" if raw else if_empty
    n_rows = min(_MAX_ROWS, max(2, text.count("\n") + 1 + len(text) // _LONG))
    is_long = bool(lines) or len(text) > _LONG
    return {"text": text, "raw": raw, "type": kind, "rows": n_rows, "is_long": is_long}


def _is_plain(text: str) -> bool:
    return bool(text) and text.isprintable() and text == text.strip()


def _json(value: object) -> str:
    return escaped_json(json.dumps(value, ensure_ascii=False, default=str))
