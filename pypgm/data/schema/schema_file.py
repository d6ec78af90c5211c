"""Schema files: their YAML, the mapping files they name, their declarations, and all that is wrong with them."""

from __future__ import annotations

import dataclasses
import io
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pypgm._base.file_kind import it_looks_like
from pypgm._base.numeric import whole_of
from pypgm.data.columns.categorical import Categorical
from pypgm.data.columns.closed import Boolean, Codes
from pypgm.data.columns.codebook import distinct, read_json, writable
from pypgm.data.columns.column import Column
from pypgm.data.columns.dates import Date
from pypgm.data.columns.derived import Derived
from pypgm.data.columns.difference import Difference
from pypgm.data.columns.made import Fake, Id, Made
from pypgm.data.columns.numbers import Integer, Real
from pypgm.data.columns.open_columns import OpenColumn, OpenSet, QuantileBins
from pypgm.data.schema.one_of import OneOf
from pypgm.data.schema.person import Person
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.data.schema.rules import AnyRule, Blank, Rule
from pypgm.data.schema.weight import Weight
from pypgm.data.sources.files import as_path, csv_rows, read_text
from pypgm.domain import listed

MOST_YAML = 1 << 19
"""Characters of a file of YAML, at most: it takes ten times as long to read as JSON, which holds the same."""

_DEPTH = 100  # collections within each other
_WORDS: dict[str, object] = dict.fromkeys(("", "~", "null", "Null", "NULL"))
_WORDS |= dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(("false", "False", "FALSE"), False)
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|(?:0|[1-9][0-9]*)(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_TEXT = "tag:yaml.org,2002:str"


class _Open:
    """A list or an object that is being read."""

    def __init__(self, is_object: bool) -> None:
        self.is_object = is_object
        self.values: list[Any] = []
        self.names: list[str] = []

    @property
    def wants_name(self) -> bool:
        return self.is_object and len(self.names) == len(self.values)

    def whole(self) -> object:
        return distinct(list(zip(self.names, self.values, strict=True))) if self.is_object else self.values


def parse_yaml(text: str) -> object:
    """Return the data of a YAML text of one document; names are texts as written.

    Raises
    ------
    ValueError
        If it is not YAML, has an alias, a tag or several documents, or an object repeats a name.
    ImportError
        If PyYAML is not installed.

    Examples
    --------
    >>> parse_yaml("{country: [no, se], zip: [01234], null: 5, 2020: true}")  # doctest: +SKIP
    {'country': ['no', 'se'], 'zip': ['01234'], 'null': 5, '2020': True}
    """
    import yaml

    root = _Open(is_object=False)
    stack = [root]
    events = iter(yaml.parse(text, Loader=yaml.SafeLoader))
    while (event := _next(events)) is not None:
        _take(event, stack)
    if len(root.values) > 1:
        raise ValueError("must be one YAML document, but has several")
    return root.values[0] if root.values else None


def _next(events: Iterator[Any]) -> Any:  # noqa: ANN401 - of a package that may be missing
    """Return the next event, None at the end."""
    try:
        return next(events, None)
    except Exception as error:
        # Besides errors of its own it raises those of Python, such as of an escape beyond Unicode.
        mark = getattr(error, "problem_mark", None)
        where = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
        raise ValueError(f"must be YAML, but is not{where}") from None


def _take(event: Any, stack: list[_Open]) -> None:  # noqa: ANN401 - of a package that may be missing
    """Add the content of an event to the open collection, or open or close one."""
    kind = type(event).__name__
    line = event.start_mark.line + 1
    if kind == "AliasEvent":
        raise ValueError(f"line {line}: aliases such as *{event.anchor[:20]} are not read: write the value out")
    if getattr(event, "tag", None) not in {None, "!", _TEXT}:
        raise ValueError(f"line {line}: tags such as {event.tag[:40]} are not read")
    if kind in {"SequenceStartEvent", "MappingStartEvent"}:
        if stack[-1].wants_name:
            raise ValueError(f"line {line}: a name must be a text, but is a collection")
        if len(stack) > _DEPTH:
            raise ValueError(f"line {line}: nested too deep to hold attributes")
        stack.append(_Open(kind == "MappingStartEvent"))
    elif kind in {"SequenceEndEvent", "MappingEndEvent"}:
        whole = stack.pop().whole()
        stack[-1].values.append(whole)
    elif kind == "ScalarEvent":
        if stack[-1].wants_name:
            stack[-1].names.append(event.value)
        else:
            is_plain = event.implicit[0] and event.style is None
            stack[-1].values.append(_scalar(event.value, line) if is_plain else event.value)


def _scalar(text: str, line: int) -> object:
    """Return the value of a text without quotes."""
    if text in _WORDS:
        return _WORDS[text]
    if _INTEGER.fullmatch(text):
        number = whole_of(text.lstrip("+-"))
        if number is None:
            raise ValueError(f"line {line}: an integer has {len(text)} digits: more than are read")
        return -number if text.startswith("-") else number
    return float(text) if _FLOAT.fullmatch(text) else text


def columns_in(fields: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """Return the columns of a parsed schema file: the entry "columns", else the whole file.

    A file of columns only may have one of this name, whose kind is a text; a column named "kind" is not one.

    Examples
    --------
    >>> columns_in({"columns": {"kind": ["cat", "dog"]}, "drop": ["name"]})
    {'kind': ['cat', 'dog']}
    >>> list(columns_in({"columns": {"kind": "boolean"}, "rows": 3}))
    ['columns', 'rows']
    """
    under = fields.get("columns")
    return under if isinstance(under, Mapping) and not isinstance(under.get("kind"), str) else fields


def with_mappings(fields: object, folder: str | os.PathLike[str]) -> object:
    """Return a parsed schema file with the mappings of the files that it names.

    Parameters
    ----------
    told : object
        Mapping that `Schema.from_dict` accepts.
    folder : str or path-like
        Folder that names of files are relative to.

    Raises
    ------
    OSError
        If a file cannot be read.
    ValueError
        If its name leads out of the folder, or it is not a CSV file whose header names both columns, or a value comes
        twice.
    """
    if not isinstance(fields, Mapping):
        return fields
    columns = columns_in(fields)
    whole = {name: _with_mapping(name, spec, Path(folder)) for name, spec in columns.items()}
    return whole if columns is fields else {**fields, "columns": whole}


def _with_mapping(name: object, spec: object, folder: Path) -> object:
    if not isinstance(spec, Mapping) or spec.get("kind") != "derived" or not isinstance(spec.get("mapping"), str):
        return spec
    return {**spec, "mapping": _read(_below(folder, spec["mapping"], name), spec.get("from"), name)}


def _below(folder: Path, text: str, name: object) -> Path:
    """Return the path of a file below a folder; ``ValueError`` if a name leads out of it, or to no regular file.

    The author of the schema may not know this machine's files, and learns nothing about those outside the folder: all
    names that lead there are refused in the same words, whatever is there. The contents of a mapping are published
    with a release.
    """
    given = as_path(text)
    root, path = Path(os.path.realpath(folder)), Path(os.path.realpath(folder / given))
    if given.anchor or ".." in given.parts or root not in path.parents:
        needed = "needs the name of a file below the folder of the schema, which no link leads out of"
        raise ValueError(f"the mapping of column {name!r} {needed}, got {text!r}: copy it there")
    if path.exists() and not path.is_file():
        raise ValueError(f"the mapping of column {name!r} needs a file, and {text!r} is a folder, a pipe or a device")
    return folder / given


def _read(path: Path, source: object, name: object) -> list[list[Any]]:
    sources = [str(column) for column in source] if isinstance(source, list) else [str(source)]
    rows = csv_rows(path, io.StringIO(read_text(path), newline=""))
    header = [field.strip() for field in next(rows, [])]
    wanted = [*sources, str(name)]
    if any(header.count(column) != 1 for column in wanted):
        names = " and ".join(map(repr, wanted))
        raise ValueError(f"{path} needs a header that names the columns {names}, once each")
    places = [header.index(column) for column in wanted]
    images: dict[tuple[str, ...], str] = {}
    for number, row in enumerate(filter(None, rows), 1):
        where = f"{path}, row {number} (the header is row 0)"
        if len(row) != len(header):
            raise ValueError(f"{where}: needs {len(header)} fields, got {len(row)}")
        *values, image = (row[place] for place in places)
        if images.setdefault(tuple(values), image) != image:
            raise ValueError(f"{where}: maps a value a second time, to another")
    return [[list(values) if isinstance(source, list) else values[0], image] for values, image in images.items()]


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
_NULLABLE = {(Derived, "other")}  # fields of which null is a value, and not a field that is left out
_FIELDS = {"blank": "column"}  # names in files, and of the fields of rules
_ASIDE = {*_NOTES, "$schema"}  # further entries of a file, for people and editors
_OF_DRAFTS = {"codes", "proposals"}  # further entries of a draft: its warnings explained, and what would answer them
_TOP = ("columns", "drop", "rules", "records_per_person", "person", "weight")
_EXAMPLE = '{"age": 85, "sex": ["F", "M"]}'


def read_object(path: str | os.PathLike[str]) -> object:
    """Return the content of a JSON or, by its name, YAML file.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is of another form, or an object repeats a name.
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
    rest = {} if given is fields else {n: v for n, v in fields.items() if n not in {"columns", *_ASIDE, *_OF_DRAFTS}}
    warned = {n: w for n, s in given.items() if isinstance(s, Mapping) and (w := _warning(s, s.get("bins")))}
    columns: dict[str, _Declared] = {}
    problems = [f"{name!r} is none of {', '.join(_TOP)}" for name in rest if name not in _TOP]
    drop = rest.get("drop", [])
    if not isinstance(drop, list | Mapping) or not all(isinstance(name, str) for name in drop):
        problems.append("drop needs a list of names, or an object that says of each why")
    rules, wrong_rules = _rules(rest.get("rules", []))
    problems += wrong_rules
    problems += _read_units(rest)
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
    proposals = {} if given is fields else fields.get("proposals", {})
    if not _is_proposed(proposals):
        problems.append("proposals needs an object of a draft: a list for each warning of each column")
    rest |= {"proposals": proposals} if proposals else {}
    return columns, rest | {"warned": warned, "warning": warning, "rules": rules}, problems


def _is_proposed(proposals: object) -> bool:
    """Return whether an entry has what a draft proposes: lists by column and warning."""
    if not isinstance(proposals, Mapping) or not all(isinstance(by, Mapping) for by in proposals.values()):
        return False
    return all(isinstance(some, list) for by in proposals.values() for some in by.values())


def _warning(*places: object) -> str:
    """Return the warnings of some objects of a file as one text."""
    texts = [place.get("warning") for place in places if isinstance(place, Mapping)]
    return "; ".join("; ".join(map(str, text)) if isinstance(text, list) else str(text) for text in texts if text)


def _read_units(entries: dict[str, Any]) -> list[str]:
    """Replace the person and the weight among a file's entries by what they declare, and return what is wrong."""
    problems = []
    kinds: dict[str, type[Person | Weight]] = {"person": Person, "weight": Weight}
    for name, kind in kinds.items():
        if entries.get(name) is not None:
            entries[name], wrong = _of_record(name, kind, entries[name])
            problems += wrong
    return problems


def _of_record(name: str, kind: type[Person] | type[Weight], entry: object) -> tuple[Person | Weight | None, list[str]]:
    """Return the person or the weight of a record as an entry of a parsed file has it, or all that is wrong with it."""
    if not isinstance(entry, Mapping):
        return None, [f'{name} needs an object, such as {{"column": "patient", "at_most": 2}}']
    given = {n: v for n, v in entry.items() if n != "comment"}
    wanted = {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(kind)}
    if wrong := _key_problems(name, given, wanted):
        return None, [w if w.startswith(name) else f"{name} {w}" for w in wrong]
    try:
        return kind(**given), []
    except (TypeError, ValueError) as error:
        return None, [str(error)]


def _rules(given: object) -> tuple[list[AnyRule | OneOf], list[str]]:
    """Return the rules of a parsed file, and the problems of the others."""
    rules: list[AnyRule | OneOf] = []
    wrong: list[str] = []
    for rule in given if isinstance(given, list) else [given]:
        entries = {n: v for n, v in rule.items() if n not in _NOTES} if isinstance(rule, Mapping) else {}
        is_cells = set(entries) == {"columns", "forbidden"} and all(isinstance(v, list) for v in entries.values())
        is_blank = set(entries) == {"blank", "unless"}
        is_one_of, text = set(entries) == {"one_of"}, rule if isinstance(rule, str) else ""
        if not (is_cells or is_blank or is_one_of or text):
            form = "objects with columns and forbidden, each a list, with blank and unless, or with one_of, or of texts"
            wrong.append(f"rules needs a list of {form} such as 'start <= end'")
            continue
        try:
            kind = Rule if is_cells else Blank if is_blank else OneOf
            rules.append(Comparison(text) if text else kind(**{_FIELDS.get(n, n): v for n, v in entries.items()}))
        except (TypeError, ValueError) as error:
            wrong.append(str(error))
    return rules, wrong


def with_orders(fields: Any) -> Any:  # noqa: ANN401 - it is checked afterwards
    """Return the schema of a release file, in which listed values have an order only where it says so.

    Releases before lists of numbers were ordered by themselves did not say that theirs are not.
    """
    if not isinstance(fields, Mapping) or not isinstance(fields.get("columns"), Mapping):
        return fields
    columns = {
        name: {"ordinal": False, **entry}
        if isinstance(entry, Mapping) and entry.get("kind") == "categorical"
        else entry
        for name, entry in fields["columns"].items()
    }
    return {**fields, "columns": columns}


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
    entries = {n: v for n, v in entries.items() if v is not None or n not in _keys(kind) or (kind, n) in _NULLABLE}
    if kind in {Integer, Real} and isinstance(entries.get("bins"), Mapping):
        rest = {n: v for n, v in entries.items() if n != "bins"}
        bins = {n: v for n, v in entries["bins"].items() if n not in _NOTES}
        of_bins = {"quantiles": True, "share": True, "heaps": False, "find_bounds": False}
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
    kind: Callable[..., Any],
    entries: Mapping[str, Any],
    quantiles: int,
    share: float | str,
    **more: Any,  # noqa: ANN401
) -> QuantileBins:
    """Return the column of an entry whose bins are ``{"quantiles": 8, "share": 0.05, "heaps": [0]}``."""
    if "width" in entries or "edges" in entries:
        raise ValueError("bins by quantiles need no width and no edges")
    low, high = entries.get("low"), entries.get("high")
    one: dict[str, Any] = {} if kind is Integer else {"bins": 1}
    if kind is Integer and type(low) is int and type(high) is int and low <= high:
        one = {"width": high - low + 1}
    return QuantileBins(kind(**{"within": "tails", **entries}, **one), quantiles, share, **more)
