"""Texts of numbers: the mark of decimals and the mark between groups of digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

DecimalMark = Literal[".", ","]

PLAIN: tuple[DecimalMark, str] = (".", "")
"""The marks of numbers of most files: of decimals, and none between groups of digits."""

WRITTEN: tuple[tuple[DecimalMark, str], ...] = (
    (".", ","),
    (",", ""),
    (",", "."),
    (",", " "),
    (",", "\u00a0"),
    (",", "\u202f"),
    (".", " "),
    (".", "'"),
    (".", "’"),
    (".", "\u00a0"),
    (".", "\u202f"),
)
"""The marks of decimals and of groups that tables have, besides the plain ones."""

SIGNS = (
    "a percent sign",
    "a currency",
    "a minus behind it",
    "brackets, which mean a minus",
    "a minus that is none of ASCII (U+2212)",
)
"""Marks beside numbers that no column reads."""

_DIGITS = r"[0-9][0-9.,'’ \u00a0\u202f]*"
_CODES = (  # currencies; other letters before digits belong to ids, as in PAT000123
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP GHS HKD HUF IDR ILS INR ISK JPY KES KRW KZT LKR "
    "MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD TZS UAH UGX USD UYU VND XAF "
    "XOF ZAR"
)
_MONEY = rf"(?:[€$£¥]|{_CODES.replace(' ', '|')})"
_SIGNED = [
    re.compile(form)
    for form in (
        rf"[+-]?{_DIGITS}%",
        rf"[+-]?(?!0[0-9])(?:{_DIGITS}{_MONEY}|{_MONEY}\s?[+-]?(?!0[0-9]){_DIGITS})",
        rf"{_DIGITS}-",
        rf"\({_DIGITS}\)",
        rf"\u2212{_DIGITS}",
    )
]
_GROUPS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}")  # of three digits, in India of two before the last
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")


def mark_problems(decimal: object, thousands: object) -> Iterator[str]:
    """Yield the problems of the decimal mark, and of the mark between groups of digits, which may be empty.

    Examples
    --------
    >>> [len([*mark_problems(".", text)]) for text in (",", " ", "'", "", "1", "-", "e", ".")]
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    if decimal not in get_args(DecimalMark):
        yield f"decimal must be '.' or ',', got {decimal!r}"
    is_mark = isinstance(thousands, str) and len(thousands) <= 1 and not thousands.isalnum()
    if not is_mark or thousands in [*'+-"\r\n\t\0']:
        yield f"thousands needs one character that is no digit, letter or sign, got {thousands!r}"
    elif thousands == decimal:
        yield "decimals and thousands have the same mark"


def plain_number(text: str, decimal: DecimalMark, thousands: str) -> str:
    """Return a number with a decimal point and no other mark; ``.``, which is none, for a text with misplaced marks.

    Examples
    --------
    >>> [plain_number(text, ",", ".") for text in ("1.234,5", "12", "1.5", "1,5")]
    ['1234.5', '12', '.', '1.5']
    """
    whole, mark, rest = text.partition(decimal)
    if thousands and thousands in whole:
        whole = whole.replace(thousands, "\0").replace(",", ".").replace("\0", ",")
        if not _GROUPS.fullmatch(whole):
            return "."
        whole = whole.replace(",", "")
    return "." if decimal == "," and "." in whole + rest else f"{whole}{mark and '.'}{rest}"


def marked_number(text: str, decimal: DecimalMark, thousands: str) -> str:
    """Return a plain number with marks.

    Examples
    --------
    >>> marked_number("-1234567.50", ",", "."), marked_number("1e-05", ".", ","), marked_number("999", ".", ",")
    ('-1.234.567,50', '1e-05', '999')
    """
    whole, point, rest = text.partition(".")
    digits = whole.removeprefix("-")
    if thousands and digits.isdigit():
        whole = whole[: len(whole) - len(digits)] + f"{int(digits):,}".replace(",", thousands)
    return f"{whole}{point and decimal}{rest}"


def written_as(text: str) -> int | None:
    """Return the index in `WRITTEN` of the marks with which a text is a number; None if there are none.

    Examples
    --------
    >>> [WRITTEN[i] if (i := written_as(text)) is not None else None for text in ("62,347.69", "0,5", "1,234", "a,b")]
    [('.', ','), (',', ''), ('.', ','), None]
    """
    able = (i for i, marks in enumerate(WRITTEN) if (marks[1] or marks[0]) in text)
    return next((i for i in able if _NUMBER.fullmatch(plain_number(text, *WRITTEN[i]))), None)


def marks_hint(decimal: DecimalMark, thousands: str) -> str:
    """Return a hint at the marks of a number, and the options that declare them.

    Examples
    --------
    >>> marks_hint(".", ",")
    "may have thousands separators: thousands=',' or --thousands , says so"
    """
    marks: list[tuple[str, str, str]] = [("a decimal comma", "decimal", ",")] if decimal == "," else []
    marks += [("thousands separators", "thousands", thousands)] if thousands else []
    python = ", ".join(f"{name}={mark!r}" for _, name, mark in marks)
    shell = " ".join(f"--{name} {mark if mark in {',', '.'} else repr(mark)}" for _, name, mark in marks)
    what, says = " and ".join(what for what, _, _ in marks), "says" if len(marks) == 1 else "say"
    return f"may have {what}: {python} or {shell} {says} so"


def sign_of(text: str) -> int | None:
    """Return the index in `SIGNS` of the sign beside a number, whatever its marks; None if there is none.

    Examples
    --------
    >>> [SIGNS[i] if (i := sign_of(text)) is not None else None for text in ("24,8 %", "72.65-", "(7)", "7 up", "7")]
    ['a percent sign', 'a minus behind it', 'brackets, which mean a minus', None, None]
    >>> sign_of("EUR 7,50") == sign_of("7EUR"), sign_of("PAT000123"), sign_of("EUR000123")
    (True, None, None)
    """
    bare = text.strip()
    return next((i for i, form in enumerate(_SIGNED) if form.fullmatch(bare)), None)
