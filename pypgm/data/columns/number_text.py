"""Texts of numbers: marks of decimals and of groups of digits, texts around numbers, and forms of a minus."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple, get_args

DecimalMark = Literal[".", ","]
Minus = Literal["-", "typographic", "inner", "trailing", "brackets", "plus"]

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
    "a letter for thousands or millions",
)
"""Marks beside numbers, which a column must declare; the last kind no column reads."""

SIGN_HINTS = (
    '"suffix": "%" says so',
    '"prefix" or "suffix" says so, such as "prefix": "$"',
    '"minus": "trailing" says so',
    '"minus": "brackets" says so',
    '"minus": "typographic" says so',
    "no column reads that: write all digits",
)
"""Declarations of the marks of `SIGNS`, in words."""

_DIGITS = r"[0-9](?:[0-9.,'’ \u00a0\u202f]*[0-9])?"
_CODES = (  # currencies; other letters before digits belong to ids, as in PAT000123
    "AED ARS AUD BDT BGN BRL CAD CHF CLP CNY COP CZK DKK EGP EUR GBP GHS HKD HUF IDR ILS INR ISK JPY KES KRW KZT LKR "
    "MAD MXN MYR NGN NOK NZD PEN PHP PKR PLN QAR RON RSD RUB SAR SEK SGD THB TND TRY TWD TZS UAH UGX USD UYU VND XAF "
    "XOF ZAR"
).replace(" ", "|")
_SYMBOL = r"(?:[A-Z]{0,3}[$€£¥₹₽₺₩₪₫₴₦₱₡₲₸฿]|Rs\.?|kr\.?|zł|Kč|Ft)"
_BEFORE = rf"(?:{_SYMBOL}\s*|%\s*|(?:{_CODES})(?:\s+|(?=[-+\u2212(]?[0-9]+[.,])))"
_UNITS = (  # that follow a number without a space; behind a space any word is one
    "kg|g|mg|µg|ug|lbs?|oz|km|m|cm|mm|mi|ft|in|ha|m²|m2|km²|km2|l|L|ml|mL|dl|dL|kWh|MWh|Wh|kW|MW|W|V|A|Hz|kB|MB|GB|TB|"
    "°|°C|°F|bpm|mmHg|mg/dl|mg/dL|mmol/l|mmol/L|km/h|mph|h|hrs?|min|s|ms|yrs?|px|pt|x"
)
_MULTIPLIER = r"(?:[kKMBT]|Mio|Mrd|bn|mn|million|billion|thousand|lakh|crore)"
_WORD = r"[^\W\d_]{1,12}[²³23]?(?:/[^\W\d_]{1,6}[²³23]?)?"
_BEHIND = rf"(?:\s*[%‰]|\s*(?:{_SYMBOL}|{_CODES})|{_UNITS}|\s+(?!{_MULTIPLIER}\.?$|{_MULTIPLIER}\b){_WORD}\.?)"
_PARTS = (  # compiled when first used, as `_SIGNED`: it takes long, and only drafts and errors read such texts
    rf"(?P<open>\()?(?P<lead>[-+\u2212])?(?P<prefix>{_BEFORE})?(?P<inner>[-+\u2212])?(?P<open2>\()?"
    rf"(?P<digits>{_DIGITS})(?P<trail>\s?-)?(?P<suffix>{_BEHIND})?(?P<trail2>-)?(?P<close>\)?\)?)"
)
_MONEY = rf"(?:{_SYMBOL}|{_CODES})"
_SIGNED = (
    rf"[+-]?{_DIGITS}\s*%",
    rf"[+-]?(?!0[0-9])(?:{_DIGITS}\s*{_MONEY}|{_BEFORE}[+-]?(?!0[0-9]){_DIGITS})",
    rf"{_DIGITS}-",
    rf"\({_DIGITS}\)",
    rf"\u2212{_DIGITS}",
    rf"[+-]?{_BEFORE}?(?!0[0-9]){_DIGITS}\s*{_MULTIPLIER}\.?",
)
_GROUPS = re.compile(r"[+-]?[0-9]{1,3}(?:,[0-9]{2,3})*,[0-9]{3}")  # of three digits, in India of two before the last
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
_AROUND = 20  # characters of a text beside a number
_NO_AFFIX = frozenset('+-\u2212()"\r\n\t\0')


class Spelling(NamedTuple):
    """Form of the numbers of a column in texts.

    Parameters
    ----------
    decimal, thousands : str
        Marks of decimals and between groups of digits.
    prefix, suffix : str
        Texts around a number, such as ``$`` and `` %``, with their spaces; a number may come without them.
    minus : {"-", "typographic", "inner", "trailing", "brackets", "plus"}
        Form of a negative number: a minus before the prefix, that of U+2212 there, a minus behind the prefix or behind
        the digits, or brackets around all; with "plus" a minus, and a plus before all other numbers.
        A minus before the digits is read in any case.
    """

    decimal: DecimalMark = "."
    thousands: str = ""
    prefix: str = ""
    suffix: str = ""
    minus: Minus = "-"

    def plain(self, text: str) -> str:
        """Return a number with a decimal point and no other mark; ``.``, which is none, for misplaced marks.

        Examples
        --------
        >>> dollars = Spelling(thousands=",", prefix="$", minus="brackets")
        >>> [dollars.plain(text) for text in ("$4,032.10", "($5)", "$(5)", "-$5", "$-5", "5", "5$", "-($5)")]
        ['4032.10', '-5', '-5', '-5', '-5', '5', '5$', '.']
        """
        rest, signs = self._signed(text.strip(), "")
        if self.prefix:
            rest, signs = self._signed(rest.removeprefix(self.prefix.strip()).lstrip(), signs)
        if self.suffix:
            rest = rest.removesuffix(self.suffix.strip()).rstrip()
            rest, signs = self._signed(rest, signs)
        number = plain_number(rest, self.decimal, self.thousands)
        if len(signs) > 1 or (signs and not number[:1].isdigit() and number[:1] != "."):
            return "."
        return signs.replace("\u2212", "-") + number

    def _signed(self, text: str, signs: str) -> tuple[str, str]:
        """Return a text without a sign at its ends, and the signs so far."""
        if self.minus == "brackets" and text[:1] == "(" and text[-1:] == ")":
            return text[1:-1].strip(), signs + "-"
        if self.minus == "trailing" and text[-1:] == "-":
            return text[:-1].rstrip(), signs + "-"
        is_typographic = self.minus == "typographic" and text[:1] == "\u2212"
        if is_typographic or (text[:1] in {"-", "+"} and (self.prefix or self.suffix)):
            return text[1:].lstrip(), signs + text[0]
        return text, signs

    def marked(self, text: str) -> str:
        """Return a plain number as the column spells it.

        Examples
        --------
        >>> Spelling(",", ".", "", " €", "trailing").marked("-1234.50"), Spelling(prefix="$").marked("-5")
        ('1.234,50- €', '-$5')
        """
        digits = marked_number(text.removeprefix("-"), self.decimal, self.thousands)
        if not text.startswith("-"):
            return f"{'+' if self.minus == 'plus' else ''}{self.prefix}{digits}{self.suffix}"
        if self.minus in {"inner", "trailing"}:
            digits = f"-{digits}" if self.minus == "inner" else f"{digits}-"
            return f"{self.prefix}{digits}{self.suffix}"
        first, last = {"brackets": ("(", ")"), "typographic": ("\u2212", "")}.get(self.minus, ("-", ""))
        return f"{first}{self.prefix}{digits}{self.suffix}{last}"

    def problems(self) -> Iterator[str]:
        """Yield the problems of the marks and of the texts around numbers."""
        yield from mark_problems(self.decimal, self.thousands)
        for name, given in (("prefix", self.prefix), ("suffix", self.suffix)):
            is_text = isinstance(given, str) and len(given) <= _AROUND and not any(map(_NO_AFFIX.__contains__, given))
            if not is_text or (given and (not given.strip() or given.strip()[0 if name == "suffix" else -1].isdigit())):
                yield f"{name} needs a short text without signs, brackets and quotes, and no digit beside the number"
        if self.minus not in get_args(Minus):
            yield f"minus must be one of {', '.join(get_args(Minus))}, got {self.minus!r}"


class Parts(NamedTuple):
    """Parts of a text around a number."""

    prefix: str
    digits: str
    suffix: str
    minus: Minus | None


def parts_of(text: str) -> Parts | None:
    """Return the parts of a number with a currency, a percent sign, a unit or a minus; None for other texts.

    Examples
    --------
    >>> [tuple(parts_of(text) or ()) for text in ("$-5.00", "24,8 %", "(12 kg)")]
    [('$', '5.00', '', 'inner'), ('', '24,8', ' %', None), ('', '12', ' kg', 'brackets')]
    >>> [parts_of(text) for text in ("PAT000123", "EUR750", "1.2M", "12b", "Room 5", "--5")]
    [None, None, None, None, None, None]
    """
    match = re.fullmatch(_PARTS, text)
    if match is None:
        return None
    opened = [mark for mark in ("open", "open2") if match[mark]]
    signs = [mark for mark in ("lead", "inner", "trail", "trail2") if match[mark]]
    if len(opened) != len(match["close"]) or len(opened) + len(signs) > 1:
        return None
    minus: Minus | None = "brackets" if opened else None
    if signs and match[signs[0]] != "+":
        is_typographic, is_inner = match[signs[0]] == "\u2212", signs[0] == "inner" and bool(match["prefix"])
        if is_typographic and is_inner:
            return None
        minus = "trailing" if signs[0].startswith("trail") else "inner" if is_inner else "-"
        minus = "typographic" if is_typographic else minus
    return Parts(match["prefix"] or "", match["digits"], match["suffix"] or "", minus)


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
    return next((i for i, form in enumerate(_SIGNED) if re.fullmatch(form, bare)), None)
