"""Texts of dates and times in a format: read leniently, and written exactly as the format spells them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

EPOCH = datetime.datetime(1970, 1, 1)

_DIRECTIVE = re.compile(r"%([-^_]|:{1,3})?([1-9])?([A-Za-z%])")
_WIDTHS = {"Y": 4, "y": 2, "m": 2, "d": 2, "e": 2, "H": 2, "k": 2, "I": 2, "l": 2, "M": 2, "S": 2, "q": 1}
_KNOWN = {*_WIDTHS, "f", "p", "P", "b", "B", "z", "s", "%"}
_SPACED = {"e", "k", "l"}  # numbers with a space in front
_CLOCK = {"H", "k", "I", "l", "M", "S", "f", "p", "P", "z"}
_OTHER_CLOCK = {"c", "X"}  # of directives that are left to Python
_ZONE = r"(Z|UTC|GMT|[+-]\d\d(?::?\d\d(?::?\d\d)?)?)"
_PIVOT = 69  # the first year of two digits that is of the last century
_MAX_DIGITS = 9  # of a fraction
_OFFSETS = {"": "+0000", ":": "+00:00", "::": "+00:00:00", ":::": "+00"}


class Token(NamedTuple):
    """A directive of a format, or a text between two of them."""

    name: str
    """Letter of the directive; empty for a text."""
    flag: str = ""
    """``-`` for numbers without zeros in front, ``^`` for capitals, colons of an offset."""
    digits: int = 0
    """Digits of a fraction; 0 where they are not given."""
    text: str = ""

    @property
    def width(self) -> int:
        """Number of digits of a number that is padded; 0 for other tokens."""
        return self.digits or 6 if self.name == "f" else _WIDTHS.get(self.name, 0)

    @property
    def is_number(self) -> bool:
        """True for directives of digits."""
        return self.name == "s" or self.width > 0


def tokens_of(form: str) -> list[Token]:
    """Return the directives of a format and the texts between them.

    Examples
    --------
    >>> [token.name or token.text for token in tokens_of("%-d.%m.%Y")]
    ['d', '.', 'm', '.', 'Y']
    """
    tokens: list[Token] = []
    end = 0
    for match in _DIRECTIVE.finditer(form):
        if match.start() > end:
            tokens.append(Token("", text=form[end : match.start()]))
        flag, digits, name = match[1] or "", int(match[2] or 0), match[3]
        tokens.append(Token("", text="%") if name == "%" else Token(name, flag, digits))
        end = match.end()
    return [*tokens, *([Token("", text=form[end:])] if end < len(form) else [])]


class DateFormat:
    """Format of dates and times, by the directives of ``strptime`` and those of other tools where it has none.

    ``%-d`` is a number without a zero in front; ``%^b`` is in capitals, as ``%b`` between digits is, 05MAR2021, unless
    it is ``%_b``; ``%P`` is in small letters; ``%e``, ``%k`` and
    ``%l`` are a day and hours with a space in front; ``%3f`` is a fraction of so many digits; ``%:z`` and ``%:::z`` are
    offsets as +00:00 and +00; ``%q`` is a quarter; ``%s`` counts seconds from 1970 on. A format of digits alone whose
    first directive is unpadded is a whole number: 930 is half past nine by ``%-H%M``. Numbers are read with or without
    zeros in front, a fraction with any digits or none, letters in either case.

    Parameters
    ----------
    form : str

    Raises
    ------
    ValueError
        If a directive is unknown, or comes twice.

    Examples
    --------
    >>> form = DateFormat("%d%^b%Y:%H:%M:%S")
    >>> form.written(form.read("05MAR2021:10:03:05"))
    '05MAR2021:10:03:05'
    """

    def __init__(self, form: str) -> None:
        import calendar  # and the names of the locale

        self.form = form
        self.tokens = tokens_of(form)
        names = [token.name for token in self.tokens if token.name]
        if len(set(names)) < len(names) or any(token.text.replace("%", "") != token.text for token in self._texts()):
            raise ValueError(f"the format {form} has a directive twice, or a % without one")
        self.is_plain = _KNOWN.issuperset(names)
        if not self.is_plain and any(token.flag or token.digits or token.name in {"q", "s"} for token in self.tokens):
            raise ValueError(f"the format {form} has directives that do not go together")
        numbers = bool(self.tokens) and all(token.width for token in self.tokens)
        self._n_digits = sum(token.width for token in self.tokens) if numbers else 0
        self.is_number = numbers or all(token.is_number for token in self.tokens)
        self._is_bare = numbers and self.tokens[0].flag == "-"
        self._names = {"b": list(calendar.month_abbr), "B": list(calendar.month_name)}

    def _texts(self) -> list[Token]:
        """Return the texts between directives; a doubled percent sign is none."""
        doubled = self.form.count("%%")
        return [token for token in self.tokens if not token.name and not (doubled and token.text == "%")]

    @cached_property
    def step(self) -> int:
        """Seconds between two times that the format tells apart; 0 for a format without a time of day."""
        names = {token.name for token in self.tokens}
        if names & {"S", "f", "s", *_OTHER_CLOCK}:
            return 1
        return 60 if "M" in names else 3600 if names & {"H", "k", "I", "l"} else 0

    @cached_property
    def digits(self) -> int:
        """Digits of the fraction of a second."""
        return next((token.width for token in self.tokens if token.name == "f"), 0)

    @property
    def is_clock(self) -> bool:
        """True for a time of day without a date, which is of the first of January 1900."""
        names = {token.name for token in self.tokens if token.name}
        return self.step > 0 and names <= _CLOCK

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        parts: list[str] = []
        for i, token in enumerate(self.tokens):
            beside = [self.tokens[j] for j in (i - 1, i + 1) if 0 <= j < len(self.tokens)]
            is_fixed = any(other.is_number or other.text[-1:].isdigit() or other.text[:1].isdigit() for other in beside)
            if token.name == "f" and parts and self.tokens[i - 1].text[-1:] in {".", ","}:
                parts[-1] = _spaced(self.tokens[i - 1].text[:-1])
                parts.append(f"(?:{re.escape(self.tokens[i - 1].text[-1])}(\\d{{1,{_MAX_DIGITS}}}))?")
            else:
                parts.append(self._pattern_of(token, is_fixed))
        return re.compile("".join(parts), re.IGNORECASE)

    def _pattern_of(self, token: Token, is_fixed: bool) -> str:
        """Return the pattern of a token; a number beside another has all of its digits."""
        if not token.name:
            return _spaced(token.text)
        if token.name == "s":
            return r"(-?\d+)" if self.digits else r"(-?\d{1,12})"
        if token.name in {"p", "P"}:
            return "(am|pm)"
        if token.name == "z":
            return _ZONE
        if token.name in self._names:
            return f"({'|'.join(re.escape(name) for name in self._names[token.name][1:])})"
        is_padded = token.flag != "-" or bool(self._n_digits)
        least = token.width if (is_fixed and is_padded) or token.name == "Y" else 1
        most = _MAX_DIGITS if token.name == "f" and not is_fixed else token.width
        return (r"\s*" if token.name in _SPACED else "") + rf"(\d{{{least},{most}}})"

    def read(self, text: str) -> datetime.datetime:
        """Return the time that a text spells, as its clock shows it; ``ValueError`` for any other text."""
        return self.read_with_zone(text)[0]

    def read_with_zone(self, text: str) -> tuple[datetime.datetime, str]:
        """Return a time and the text of its offset, empty without one."""
        try:
            return self._read(text)
        except (ValueError, OverflowError, re.error):  # the last of a directive that comes twice
            raise ValueError(f"needs a date in the format {self.form}") from None

    def _read(self, text: str) -> tuple[datetime.datetime, str]:
        if not self.is_plain:
            return datetime.datetime.strptime(text, self.form), ""
        if self._n_digits > len(text) and self.tokens[0].name not in {"Y", "s"} and text.isdigit():
            text = text.zfill(self._n_digits)
        match = self._pattern.fullmatch(text)
        if match is None:
            raise ValueError
        names = [token.name for token in self.tokens if token.name]
        parts = dict(zip(names, match.groups(), strict=True))
        return self._time(parts), parts.get("z", "")

    def _time(self, parts: dict[str, str]) -> datetime.datetime:
        micros = int((parts.get("f") or "0").ljust(6, "0")[:6])
        if "s" in parts:
            return EPOCH + datetime.timedelta(seconds=int(parts["s"]), microseconds=micros)
        year = int(parts.get("Y", 1900))
        if "y" in parts:
            year = int(parts["y"]) + (1900 if int(parts["y"]) >= _PIVOT else 2000)
        month = int(parts.get("m", 3 * (int(parts.get("q", 1)) - 1) + 1))
        for name in ("b", "B"):
            if name in parts:
                month = [known.casefold() for known in self._names[name]].index(parts[name].casefold())
        hour = int(parts.get("H", parts.get("k", 0)))
        if "I" in parts or "l" in parts:
            hour = int(parts.get("I", parts.get("l", 0)))
            if not 1 <= hour <= 12:
                raise ValueError
            hour = hour % 12 + 12 * (parts.get("p", parts.get("P", "am")).casefold() == "pm")
        minute, second = int(parts.get("M", 0)), int(parts.get("S", 0))
        if "q" in parts and not 1 <= int(parts["q"]) <= 4:
            raise ValueError
        return datetime.datetime(year, month, int(parts.get("d", parts.get("e", 1))), hour, minute, second, micros)

    def written(self, time: datetime.datetime, zone: str = "") -> str:
        """Return the text of a time, with an offset of zero where no other is given."""
        if not self.is_plain:
            return time.strftime(self.form.replace("%z", _OFFSETS[""]))
        text = "".join([write(time) if token.name != "z" or not zone else zone for token, write in self._writers])
        return text.lstrip("0") or "0" if self._is_bare else text

    @cached_property
    def _writers(self) -> list[tuple[Token, Callable[[datetime.datetime], str]]]:
        return [(token, self._writer(token)) for token in self.tokens]

    def _writer(self, token: Token) -> Callable[[datetime.datetime], str]:
        name, text = token.name, token.text or _OFFSETS.get(token.flag, "")
        if name in {"", "z"}:
            return lambda _: text
        if name in self._names:
            is_high = token.flag == "^" or (token.flag != "_" and is_joined(self.form))
            known = [month.upper() if is_high else month for month in self._names[name]]
            return lambda time: known[time.month]
        if name in {"p", "P"}:
            words = ("AM", "PM") if name == "p" else ("am", "pm")
            return lambda time: words[time.hour >= 12]
        if name == "f":
            return lambda time: f"{time.microsecond:06}".ljust(token.width, "0")[: token.width]
        number = _NUMBERS[name]
        padded = "" if token.flag == "-" else f"{' >' if name in _SPACED else '0'}{token.width}"
        spec = "" if name == "s" else f"{padded}d"
        return lambda time: format(number(time), spec)


_NUMBERS: dict[str, Callable[[datetime.datetime], int]] = {
    "Y": lambda time: time.year,
    "y": lambda time: time.year % 100,
    "q": lambda time: (time.month + 2) // 3,
    "m": lambda time: time.month,
    **dict.fromkeys(("d", "e"), lambda time: time.day),
    **dict.fromkeys(("H", "k"), lambda time: time.hour),
    **dict.fromkeys(("I", "l"), lambda time: (time.hour - 1) % 12 + 1),
    "M": lambda time: time.minute,
    "S": lambda time: time.second,
    "s": lambda time: (time - EPOCH) // datetime.timedelta(seconds=1),
}


def is_joined(form: str) -> bool:
    """Return whether the name of a month stands between digits, where tools that write dates so use capitals.

    Examples
    --------
    >>> is_joined("%d%b%Y"), is_joined("%d-%b-%Y")
    (True, False)
    """
    return re.search(r"%-?d%[_^]?b%[Yy]", form) is not None


def _spaced(text: str) -> str:
    """Return the pattern of a text in which any white space stands for any other."""
    return r"\s+".join(map(re.escape, re.split(r"\s+", text)))
