"""Kinds of files, recognised by their first bytes, so that a refusal can name the kind of the file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

START = 1024
"""Bytes of a file that tell its kind."""

RELEASE = "a release or model of pypgm"
"""Kinds of pypgm's own files."""

TABLE = "a CSV table"
"""Kind of a text with two lines of equally many commas, semicolons or tabs."""

DATABASE = "a DuckDB database"
"""By the mark in its first block."""

ARCHIVE = "a zip archive"
"""Kind of a ZIP file with any members."""

TABLES = (".csv", ".csv.gz", ".parquet", ".pq", ".jsonl", ".jsonl.gz")
"""Suffixes of the tables that are written."""

SPSS, STATA, SAS = "a file of SPSS (.sav)", "a file of Stata (.dta)", "a file of SAS (.sas7bdat)"
ORC, HTML, JSON, XML = "an ORC file", "a web page (HTML)", "JSON", "XML"
EXCEL, OLD_EXCEL = (
    f"a workbook of Excel ({ending}), or another file of {office}"
    for ending, office in ((".xlsx", "Office"), (".xls", "old Office"))
)
_FRAME = "{} gives a frame, which is read as it is"
NEXT_STEPS = {
    SPSS: _FRAME.format("pandas.read_spss(path)"),
    STATA: _FRAME.format("pandas.read_stata(path)"),
    SAS: _FRAME.format("pandas.read_sas(path, encoding='utf-8')"),
    "a transport file of SAS (.xpt)": _FRAME.format("pandas.read_sas(path, encoding='utf-8')"),
    ORC: _FRAME.format("pyarrow.orc.read_table(path)"),
    "an HDF5 file": _FRAME.format("pandas.read_hdf(path)"),
    "an Arrow or Feather file": _FRAME.format("pyarrow.feather.read_table(path)"),
    "a Feather file": _FRAME.format("pyarrow.feather.read_table(path)"),
    "an Avro file": _FRAME.format("polars.read_avro(path)"),
    "a file of objects of Python (.pkl)": "load it, if you trust it, and pass the frame in it",
    "an SQLite database": "pass an ibis.Table of it, see the extra sqlite",
    "a file of R (.RData)": "write it from R with write.csv(x, row.names = FALSE)",
    "a Parquet file": "give it a name that ends in .parquet",
    EXCEL: "give it a name that ends in .xlsx, or save it as CSV UTF-8",
    OLD_EXCEL: "give it a name that ends in .xls, or save it as CSV UTF-8",
    HTML: "save the table in it as CSV UTF-8",
    XML: "save the table in it as CSV UTF-8",
    JSON: "give it a name that ends in .jsonl, with one flat object in each line, or .json, with a list of them",
}
"""What to do with files of kinds that are not read, or not under that name."""

_MAGIC = (
    (0, b"PAR1", "a Parquet file"),
    (0, b"ARROW1", "an Arrow or Feather file"),
    (0, b"FEA1", "a Feather file"),
    (0, b"SQLite format 3\x00", "an SQLite database"),
    (8, b"DUCK", DATABASE),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLD_EXCEL),
    (0, b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
    (0, b"\x93NUMPY", "an array of NumPy (.npy)"),
    (0, b"\x1f\x8b", "compressed with gzip"),
    (0, b"BZh", "compressed with bzip2"),
    (0, b"\xfd7zXZ\x00", "compressed with xz"),
    (0, b"\x28\xb5\x2f\xfd", "compressed with zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (0, b"%PDF-", "a PDF"),
    (0, b"$FL2", SPSS),
    (0, b"$FL3", SPSS),
    (0, b"<stata_dta>", STATA),
    *((0, bytes([version, order, 1, 0]), STATA) for version in range(110, 116) for order in (1, 2)),
    (0, bytes(12) + b"\xc2\xea\x81\x60", SAS),
    (0, b"HEADER RECORD*******LIB", "a transport file of SAS (.xpt)"),
    (0, b"Obj\x01", "an Avro file"),
    *((0, bytes([0x80, version]), "a file of objects of Python (.pkl)") for version in range(2, 6)),
    (0, b"RDX2\nX\n", "a file of R (.RData)"),
    (0, b"RDX3\nX\n", "a file of R (.RData)"),
    (257, b"ustar", "a tar archive"),
)
_ZIP = b"PK\x03\x04"
_IN_ZIP = (  # by the name of its first member
    (b"header.npy", RELEASE),
    (b"[Content_Types].xml", EXCEL),
    (b"xl/", "a workbook of Excel (.xlsx)"),
    (b"mimetype", "an OpenDocument file (.ods)"),
)
_TEXTS = tuple(
    (re.compile(pattern, re.IGNORECASE), name)
    for pattern, name in (
        (r"<(?:\?xml|!doctype|!--)?[^\0]*<bif\b|<bif\b", "XMLBIF"),
        (r"<(?:\?xml|!--)?[^\0]*<smile\b|<smile\b", "XDSL (of GeNIe)"),
        (r"<!doctype html|<html\b", HTML),
        (r"<\?xml|<!--|<!doctype", XML),
        (r"(?:%[^\n]*\n\s*)*(?:net\s*\{|class\s+\w+\s*\{)", "a NET file (of Hugin)"),
        (r"belief\s+network\b", "a DSC file (of Microsoft's tools)"),
        (r"(?:network|variable|probability)\b[^,;]*[{(]", "a BIF network"),
        (r"(?:markov|bayes)\s+\d", "a UAI model"),
        (r'\{\s*["}]|\[\s*[\["{]', JSON),
    )
)


def check_suffix(path: str | os.PathLike[str], suffixes: Sequence[str]) -> None:
    """Raise ``ValueError`` if the name of an output file has a suffix that is not among the given ones.

    A name without a suffix, and the name of a device, a pipe or a stream, says nothing about a format.

    Examples
    --------
    >>> check_suffix("records.csv", TABLES)
    >>> check_suffix("records.dta", TABLES[:2])
    Traceback (most recent call last):
    ValueError: records.dta has a name of no format that is written here: .csv, .csv.gz
    """
    name, place = os.fspath(path), Path(path)
    has_none = not place.suffix or place.parts[:2] in {("/", "dev"), ("/", "proc")} or place.is_fifo()
    if not (has_none or name.endswith(tuple(suffixes))):
        hint = "; Excel opens .csv" if name.endswith((".xlsx", ".xls")) and ".csv" in suffixes else ""
        raise ValueError(f"{name} has a name of no format that is written here: {', '.join(suffixes)}{hint}")


def next_step(kind: str) -> str:
    """Return what to do with a file of a kind that is not read as it is, as the end of a sentence.

    Examples
    --------
    >>> next_step(ORC), next_step("a PDF")
    ('; pyarrow.orc.read_table(path) gives a frame, which is read as it is', '')
    """
    return f"; {step}" if (step := NEXT_STEPS.get(kind)) else ""


def file_kind(start: bytes) -> str:
    r"""Return the kind of a file that begins with some bytes, in words; empty if it is unknown.

    Parameters
    ----------
    start : bytes
        The first `START` bytes, or the whole of a shorter file.

    Examples
    --------
    >>> file_kind(b"PAR1..."), file_kind(b'<?xml version="1.0"?><BIF VERSION="0.3">')
    ('a Parquet file', 'XMLBIF')
    >>> file_kind(b"age,sex\n3,F\n"), file_kind(b"some words")
    ('a CSV table', '')
    """
    return binary_kind(start) or text_kind(start.decode("utf-8", "replace"))


def binary_kind(start: bytes) -> str:
    """Return the kind of a binary file, by its first bytes; empty if it may be text."""
    if start.startswith(_ZIP):
        name = start[30 : 30 + int.from_bytes(start[26:28], "little")]
        return next((kind for begins, kind in _IN_ZIP if name.startswith(begins)), ARCHIVE)
    if start.startswith(b"ORC") and b"\0" in start:  # a text may begin with ORCID
        return ORC
    return next((kind for place, magic, kind in _MAGIC if start.startswith(magic, place)), "")


def text_kind(start: str) -> str:
    """Return the kind of a text, by its beginning; empty if it is unknown."""
    plain = start[:START].lstrip("\ufeff \t\r\n")
    return next((kind for pattern, kind in _TEXTS if pattern.match(plain)), "") or _table_kind(start[:START])


def _table_kind(start: str) -> str:
    """Return `TABLE` if the first two lines of a text have equal numbers of a mark between fields, else ""."""
    lines = start.splitlines()[:2]
    is_table = len(lines) == 2 and any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in ",;\t")
    return TABLE if is_table else ""


def it_looks_like(text: str, *known: str) -> str:
    """Return the kind of a text, as the end of a sentence; empty if it is one of the reader's kinds, or unknown.

    Examples
    --------
    >>> it_looks_like("MARKOV 2 2 2"), it_looks_like("[1]", "JSON")
    ('; it looks like a UAI model', '')
    """
    kind = text_kind(text)
    return f"; it looks like {kind}" if kind and kind not in known else ""
