"""Workbooks of Excel, written with nothing but the standard library."""

from __future__ import annotations

import datetime
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_EPOCH = datetime.date(1899, 12, 30)


def _cell(place: str, value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    if isinstance(value, datetime.date):
        return f'<c r="{place}" s="1"><v>{(value - _EPOCH).days}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'


def _row(number: int, values: Sequence[object]) -> str:
    cells = "".join(_cell(f"{chr(65 + i)}{number}", value) for i, value in enumerate(values))
    return f'<row r="{number}">{cells}</row>'


def write_workbook(path: Path, sheets: Mapping[str, Sequence[Sequence[object]]]) -> Path:
    """Write rows of texts, numbers, booleans and days as sheets of a workbook."""
    numbers = range(1, len(sheets) + 1)
    styles = f'<styleSheet {_MAIN}><cellXfs count="2"><xf numFmtId="0"/><xf numFmtId="14"/></cellXfs></styleSheet>'
    entries = "".join(
        f'<sheet name="{escape(name)}" sheetId="{n}" r:id="r{n}"/>' for n, name in zip(numbers, sheets, strict=True)
    )
    relations = "".join(
        f'<Relationship Id="r{n}" Type="{_RELATED}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n in numbers
    )
    relations += f'<Relationship Id="s" Type="{_RELATED}/styles" Target="styles.xml"/>'
    kinds = f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>' + "".join(
        f'<Override PartName="/xl/worksheets/sheet{n}.xml" ContentType="{_TYPE}.worksheet+xml"/>' for n in numbers
    )
    with zipfile.ZipFile(path, "w") as file:
        xml = '<Default Extension="xml" ContentType="application/xml"/><Default Extension="rels" ContentType="x/x"/>'
        file.writestr("[Content_Types].xml", f'<Types xmlns="{_PACKAGE}/content-types">{xml}{kinds}</Types>')
        book = f'<Relationship Id="b" Type="{_RELATED}/officeDocument" Target="xl/workbook.xml"/>'
        file.writestr("_rels/.rels", f'<Relationships xmlns="{_PACKAGE}/relationships">{book}</Relationships>')
        named = f'<workbook {_MAIN} xmlns:r="{_RELATED}"><sheets>{entries}</sheets></workbook>'
        file.writestr("xl/workbook.xml", named)
        inside = f'<Relationships xmlns="{_PACKAGE}/relationships">{relations}</Relationships>'
        file.writestr("xl/_rels/workbook.xml.rels", inside)
        file.writestr("xl/styles.xml", styles)
        for n, rows in zip(numbers, sheets.values(), strict=True):
            body = "".join(_row(number, row) for number, row in enumerate(rows, 1))
            file.writestr(
                f"xl/worksheets/sheet{n}.xml", f"<worksheet {_MAIN}><sheetData>{body}</sheetData></worksheet>"
            )
    return path
