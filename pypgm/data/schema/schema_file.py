"""Schema files: the declarations of a parsed JSON or YAML file, and all that is wrong with them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pypgm._base.file_kind import it_looks_like
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.closed import Boolean, Codes
from pypgm.data.columns.codebook import read_json, writable
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Date
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference
from pypgm.data.columns.made import Fake, Id, Made
from pypgm.data.columns.numbers import Integer, Real
from pypgm.data.columns.open_columns import OpenColumn, OpenSet, QuantileBins
from pypgm.data.schema.mapping_file import columns_in
from pypgm.data.schema.person import Person
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.schema.rules import AnyRule, Blank, Rule
from pypgm.data.schema.yaml_text import MOST_YAML, parse_yaml
from pypgm.data.sources.files import read_text
from pypgm.domain import listed

KINDS: dict[str, type[Column | OpenSet | Made]] = {
    **{kind.kind: kind for kind in (Categorical, Boolean, Codes, Integer, Real, Date, Difference)},
    "open": OpenSet,
    **{made.kind: made for made in (Derived, Id, Fake)},
}
JSON_SCHEMA = Path(__file__).with_name("schema.json")
"""The JSON Schema of schema files: editors that know it complete and check them."""

_Declared = Column | OpenColumn | Made
_NOTES = {"comment", "warning"}
_SHOWN = {"codes": "size", "source": "from", "first": "from"}  # names of the fields of columns in files
_ASIDE = {*_NOTES, "$schema"}  # further entries of a file, for people and editors
_TOP = ("columns", "drop", "rules", "records_per_person", "person")
_EXAMPLE = '{"age": 85, "sex": ["F", "M"]}'


def read_object(path: str | os.PathLike[str]) -> object:
    """Return the content of a JSON or, by its name, YAML file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is of another form, or a name comes twice in an object.
    ImportError
        If it is YAML, and PyYAML is not installed.
    """
    if not os.fspath(path).endswith((".yaml", ".yml")):
        return read_json(path, "JSON, or YAML if its name ends in .yaml")
    name = os.fspath(path)
    text = read_text(path, most=MOST_YAML)
    try:
        return writable(parse_yaml(text))
    except ImportError:
        raise ImportError(f"{name} is YAML, which needs the extra: pip install pypgm[yaml]") from None
    except ValueError as error:
        separator = " " if str(error).startswith("must") else ": "
        raise ValueError(f"{name}{separator}{error}{it_looks_like(text)}") from None


def declarations(fields: object) -> tuple[dict[str, _Declared], dict[str, Any], list[str]]:
    """Return the columns a parsed file declares, its other entries, and all that is wrong."""
    if not isinstance(fields, Mapping) or not fields:
        return {}, {}, [f"needs an object of attributes, such as {_EXAMPLE}"]
    given = columns_in(fields)
    rest = {} if given is fields else {n: v for n, v in fields.items() if n != "columns" and n not in _ASIDE}
    warned = {n: w for n, s in given.items() if isinstance(s, Mapping) and (w := _warning(s, s.get("bins")))}
    columns: dict[str, _Declared] = {}
    problems = [f"{name!r} is none of {', '.join(_TOP)}" for name in rest if name not in _TOP]
    drop = rest.get("drop", [])
    if not isinstance(drop, list | Mapping) or not all(isinstance(name, str) for name in drop):
        problems.append("drop needs a list of names, or an object that says of each why")
    rules, wrong_rules = _rules(rest.get("rules", []))
    problems += wrong_rules
    if rest.get("person") is not None:
        rest["person"], wrong_person = _person(rest["person"])
        problems += wrong_person
    if not given:
        problems.append("columns needs at least one column")
    for name, spec in given.items():
        if not isinstance(name, str):
            problems.append(f"names of columns are text, got {name!r}")
        elif name not in _ASIDE or not isinstance(spec, str):
            column, wrong = _column(spec)
            problems += [f"attribute {name!r}{' ' if w.startswith('needs') else ': '}{w}" for w in wrong]
            if column is not None:
                columns[name] = column
    written = rest.get("rules", [])
    notes = {n: v for n, v in given.items() if isinstance(v, str)}  # beside columns, where none has that name
    warning = _warning({} if given is fields else fields, notes, *(written if isinstance(written, list) else []))
    return columns, rest | {"warned": warned, "warning": warning, "rules": rules}, problems


def _warning(*places: object) -> str:
    """Return the warnings of some objects of a file as one text."""
    texts = [place.get("warning") for place in places if isinstance(place, Mapping)]
    return "; ".join(str(text) for text in texts if text)


def _person(entry: object) -> tuple[Person | None, list[str]]:
    """Return the person that an entry of a parsed file names, or all that is wrong with it."""
    if not isinstance(entry, Mapping):
        return None, ['person needs an object, such as {"column": "patient", "at_most": 2}']
    given = {n: v for n, v in entry.items() if n != "comment"}
    wanted = {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(Person)}
    if wrong := _key_problems("person", given, wanted):
        return None, [w if w.startswith("person") else f"person {w}" for w in wrong]
    try:
        return Person(**given), []
    except (TypeError, ValueError) as error:
        return None, [str(error)]


def _rules(given: object) -> tuple[list[AnyRule], list[str]]:
    """Return the rules of a parsed file, and the problems of the others."""
    rules: list[AnyRule] = []
    wrong: list[str] = []
    for rule in given if isinstance(given, list) else [given]:
        entries = {n: v for n, v in rule.items() if n not in _NOTES} if isinstance(rule, Mapping) else {}
        is_cells = set(entries) == {"columns", "forbidden"} and all(isinstance(v, list) for v in entries.values())
        is_blank = set(entries) == {"blank", "unless"}
        text = rule if isinstance(rule, str) else ""
        if not (is_cells or is_blank or text):
            form = "objects with columns and forbidden, each a list, or with blank and unless, or of texts such as"
            wrong.append(f"rules needs a list of {form} 'start <= end'")
            continue
        try:
            made = Blank(entries["blank"], entries["unless"]) if is_blank else Comparison(text) if text else None
            rules.append(made or Rule(**entries))
        except (TypeError, ValueError) as error:
            wrong.append(str(error))
    return rules, wrong


def _column(spec: object) -> tuple[_Declared | None, list[str]]:
    """Return the column that an entry declares, or all that is wrong with it."""
    if isinstance(spec, list):
        return _made(Categorical, {"values": spec})
    if isinstance(spec, int) and not isinstance(spec, bool):
        return _made(Codes, {"codes": spec})
    if not isinstance(spec, Mapping):
        came = json.dumps(spec, default=str)
        return None, [f"needs a size or a list of labels, got {came}, or an object with a kind"]
    kind = KINDS.get(spec["kind"]) if isinstance(spec.get("kind"), str) else None
    if kind is None:
        return None, [f"needs a kind: one of {', '.join(KINDS)}"]
    shown_names: dict[Any, str] = {shown: name for name, shown in _SHOWN.items() if name in _keys(kind)}
    entries: dict[Any, Any] = {shown_names.get(n, n): v for n, v in spec.items() if n != "kind" and n not in _NOTES}
    entries = {n: v for n, v in entries.items() if v is not None or n not in _keys(kind)}
    if kind in {Integer, Real} and isinstance(entries.get("bins"), Mapping):
        rest = {n: v for n, v in entries.items() if n != "bins"}
        bins = {n: v for n, v in entries["bins"].items() if n not in _NOTES}
        of_bins = {"quantiles": True, "share": True}
        wrong = _key_problems(kind.kind, rest, _keys(kind)) + _key_problems("bins", bins, of_bins)
        return (None, wrong) if wrong else _made(partial(_quantile_bins, kind, rest), bins)
    wrong = _key_problems(spec["kind"], entries, _keys(kind))
    return (None, wrong) if wrong else _made(kind, entries)


def _keys(kind: type[Column | OpenSet | Made]) -> dict[str, bool]:
    """Return the keys that an entry of a kind may have, its own first, and whether each is required."""
    own_first = sorted(dataclasses.fields(kind), key=lambda field: field.kw_only is True)
    return {f.name: f.default is dataclasses.MISSING for f in own_first}


def _key_problems(what: str, entries: Mapping[str, Any], wanted: Mapping[str, bool]) -> list[str]:
    """Return the problems of the keys of an object: unknown ones, and missing ones."""
    unknown = [repr(n) for n in entries if n not in wanted]
    there = ", ".join(_SHOWN.get(n, n) for n in wanted)
    wrong = [f"{what} has no {listed(unknown)}, only {there}"] if unknown else []
    missing = [_SHOWN.get(n, n) for n, needed in wanted.items() if needed and n not in entries]
    return wrong + ([f"needs {listed(missing)}"] if missing else [])


def _made(kind: Callable[..., _Declared], entries: Mapping[str, Any]) -> tuple[_Declared | None, list[str]]:
    try:
        return kind(**entries), []
    except (TypeError, ValueError) as error:
        return None, str(error).split("; ")


def _quantile_bins(
    kind: Callable[..., Any], entries: Mapping[str, Any], quantiles: int, share: float | str
) -> QuantileBins:
    """Return the column of an entry whose bins are ``{"quantiles": 8, "share": 0.05}``."""
    if "width" in entries or "edges" in entries:
        raise ValueError("bins by quantiles need no width and no edges")
    low, high = entries.get("low"), entries.get("high")
    one: dict[str, Any] = {} if kind is Integer else {"bins": 1}
    if kind is Integer and type(low) is int and type(high) is int and low <= high:
        one = {"width": high - low + 1}
    return QuantileBins(kind(**{"within": "tapered", **entries}, **one), quantiles, share)
