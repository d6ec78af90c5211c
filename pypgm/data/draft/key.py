"""Columns whose values look like numbers or codes of persons or of units: the keys of a table."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# Whom numbers are given to, and numbers of persons that have a name of their own.
_PERSONS = _set("""
id ids uuid guid pid uid mrn nhs chi ssn ssin nino cpr cpf cnp bsn nif nie nib dni cuil curp rut nir niss ahv avs
iban msisdn imsi imei passport email pesel personnummer fødselsnummer fodselsnummer hetu tckn aadhaar aadhar
person patient pat user customer cust client member subject usubj participant proband employee student pupil
respondent household subscriber caller callee beneficiary bene insured policyholder cardholder account acct enrol
enrollee citizen taxpayer voter kunde mitglied versicherter patientin mitarbeiter schüler teilnehmer konto reisepass
cliente paciente persona usuario alumno empleado afiliado socio cuenta pasaporte cédula cedula personne adhérent
adherent assuré usager élève eleve salarié compte passeport pessoa utente conta matrícula matricula paziente
assistito tessera klant patiënt kund medlem pasient potilas asiakas pacjent klient osoba páciens müşteri клиент
пациент абонент
""")
# What is numbered by person as well as by itself, so that a number has to be named beside it.
_UNITS = _set("""
case hospital staff personal resp hh emp holder national social security tax identity identification phone mobile
fall ausweis kunden patienten mitglieds versicherten versicherungs steuer telefon dossier sécurité sociale identité
identidad identidade fiscale identificación teléfono rekening burger hasta
""")
_NUMBERS = _set("""
id ids no nr nbr num number nummer numero número numéro n° nº key ref uuid guid pseudonym hash codice código номер
numer azonosító 番号 编号
""")
_FILLERS = _set("of the de del della des der du do da la le el l d")
_QUANTITIES = _set("""
amount amt income salary wage wages pay price cost costs total sum charge charges fee fees tax balance bal revenue
sales turnover profit value rate pct percent percentage score weight wgt wt height length width distance area
population pop count qty quantity time date datum day month year epoch ts timestamp duration seconds age size
betrag umsatz preis gehalt lohn einkommen kosten summe gewicht höhe länge zeit dauer montant prix salaire revenu
coût poids taille durée heure importe precio ingreso ingresos salario peso altura hora valor receita renda prezzo
reddito stipendio zip zipcode postcode postal plz postleitzahl cap cep pincode postnummer postnr
""")
_CAMEL = re.compile(r"(?<=[a-zß-ÿ])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+[°º]?")
_ENDING = re.compile(f"(.+?)(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})")


def _words(name: str) -> set[str]:
    """Return the words of a name in small letters, without a number at its end.

    Examples
    --------
    >>> [sorted(_words(name)) for name in ("userId", "NHS Number", "Kundennummer")]
    [['id', 'user'], ['nhs', 'number'], ['kunden', 'number']]
    """
    words: set[str] = set()
    for word in map(str.lower, _WORD.findall(_CAMEL.sub(" ", name))):
        stem = _ENDING.fullmatch(word) if word not in _PERSONS | _NUMBERS else None
        words |= {stem[1], "number"} if stem and stem[1] in _PERSONS | _UNITS else {word}
    return words


def is_of_persons(name: str) -> bool:
    """Return whether a name suggests numbers that identify persons.

    Examples
    --------
    >>> [is_of_persons(name) for name in ("patient", "Kundennummer", "numero_client", "Hospital number", "enrolid")]
    [True, True, True, True, True]
    >>> [is_of_persons(name) for name in ("hospital", "Facility Id", "customer age", "number of patients")]
    [False, False, False, False]
    """
    words = _words(name) - _FILLERS
    is_numbered = bool(words & _UNITS and words & _NUMBERS)
    return words <= _PERSONS | _UNITS | _NUMBERS and (bool(words & _PERSONS) or is_numbered)


def is_of_quantities(name: str) -> bool:
    """Return whether a name suggests quantities, times or postcodes.

    Examples
    --------
    >>> [is_of_quantities(name) for name in ("annual_income", "Umsatz (€)", "zip", "NHS Number")]
    [True, True, True, False]
    """
    return not _QUANTITIES.isdisjoint(_words(name))


LEAST = 10
"""Records from which a column that is all different is an identifier."""

NEARLY_ALL = 0.9
"""Different values for each record above which all count as different, apart from a few errors."""

_LISTED = 20  # codes that may as well be categories
_LONG, _MIDDLE, _SERIAL = 8, 6, 4  # digits that hardly any quantity has, that few have, and behind letters, as in P0001
_SAFE = 10  # digits of a number that is not a quantity, whatever its name
_OFTEN = 20  # records that one person may have in a table of any length
_FREQUENT = 0.02  # of the records with one value
_NAMED = 0.25  # the same of a column whose name says that it is of persons
_TOP = 0.25  # of the records with one hundredth of the values: products and diagnoses are as uneven
_REGULAR = 0.95  # of the values have the shape of most
_CHOICE = 1000  # texts that could be made of the same characters, for each that came
_SPARSE, _DENSE = 0.01, 0.5  # of the numbers between the least and the largest came
_SAMPLE = 2000  # texts that show which characters may stand where
_BINS = 50  # within which a quantity is as likely to be one number as another
_SURE = 7  # pairs of equal values that chance would make: that none came is a chance of one in a thousand
_MIN_NUMBERS = 60  # numbers, each once, that are hardly all different by chance
_EVEN = 0.45  # width of the middle half of the values, for that of nine tenths: 0.56 of even ones, 0.41 of normal ones
_ROUND = ((10, 0.35), (5, 0.6))  # that more values are multiples of ten, or of five, is so of amounts alone
_ZERO = str.maketrans("123456789", "000000000")
_FILLER = re.compile(r"([0-9])\1{4,}")  # 9999999999, which stands for unknown
_LETTERED = re.compile(r"[^\W\d_]+[ _-]?0+")
_SURELY, _LIKELY, _PERHAPS = 3, 2, 1  # strengths of shapes
_POSTCODES = {"00000-000", "0000-000", "000-0000", "00000-0000"}  # of Brazil, Portugal, Japan and the United States
_DAY, _MONTH, _YEAR = "(0[1-9]|[12][0-9]|3[01])", "(0[1-9]|1[0-2])", "(19|20)[0-9]{2}"
_CLOCK = "([01][0-9]|2[0-3])([0-5][0-9]([0-5][0-9][0-9]*)?)?"
_TIMES = (
    f"{_YEAR}({_MONTH}({_DAY}({_CLOCK})?)?)?",
    f"{_YEAR}[0-5][0-9]",  # weeks
    f"{_DAY}{_MONTH}({_YEAR}|[0-9]{{2}})",
    f"{_MONTH}({_DAY})?({_YEAR}|[0-9]{{2}})",
    f"[0-9]{{2}}{_MONTH}{_DAY}",
    "([01][0-9]|2[0-3])[0-5][0-9][0-5][0-9]",
    "1[1-9][0-9]{8}([0-9]{3}){0,2}",  # seconds since 1970, or parts of them
)


class Key(NamedTuple):
    """Column whose values stand for persons or for units.

    Parameters
    ----------
    most : int
        Records with one value; 1 if no value comes again.
    rank : tuple of float
        Likeness to the key of a person: the larger, the more alike.
    """

    most: int
    rank: tuple[float, ...] = ()


class _Shape(NamedTuple):
    """Shape of values: the strength of the evidence that they are a key, from 0, and the texts with the shape."""

    strength: int
    texts: Sequence[str]


def key_of(name: str, values: Mapping[str, int]) -> Key | None:
    """Return a column of whole numbers or texts as a key; None if it does not look like one.

    Parameters
    ----------
    name : str
        May tip the scales, and does not decide.
    values : mapping of str to int
        Number of records of each value, missing ones aside.

    Examples
    --------
    >>> found = key_of("no", {f"{4_000_000_000 + 7 * i}": 1 + i % 3 for i in range(90)})
    >>> found and found.most
    3
    >>> key_of("height", {str(150 + i): 1 + i % 3 for i in range(45)})
    """
    counts = {text.removesuffix(".0"): count for text, count in values.items() if not is_filler(text)}
    n_records = sum(counts.values())
    if len(counts) < NEARLY_ALL * LEAST or max(counts.values()) > max(_OFTEN, _NAMED * n_records):
        return None
    is_named = is_of_persons(name)
    shape = _shape(counts, is_quantity=is_of_quantities(name)) or (_Shape(0, list(counts)) if is_named else None)
    if shape is None:
        return None
    kept = sorted((counts[text] for text in shape.texts), reverse=True)
    is_sure = shape.strength == _SURELY
    is_key = is_named or (shape.strength > 0 and _is_even(kept, is_sure=is_sure))
    if kept[0] == 1 or not is_key or (len(kept) < _LISTED and not is_sure):
        return Key(1) if is_all_different(kept) else None
    return Key(kept[0], (is_named, shape.strength, round(math.log2(sum(kept) / len(kept)))))


def is_filler(text: str) -> bool:
    """Return whether a text repeats one digit, as written for an unknown number.

    Examples
    --------
    >>> is_filler("9999999999"), is_filler("9999999998")
    (True, False)
    """
    return _FILLER.fullmatch(text.removesuffix(".0")) is not None


def is_all_different(counts: Iterable[int]) -> bool:
    """Return whether nearly every record has a different value, in enough records to tell."""
    counts = list(counts)
    return sum(counts) >= LEAST and len(counts) >= NEARLY_ALL * sum(counts)


def _is_even(kept: Sequence[int], *, is_sure: bool) -> bool:
    """Return whether no value is frequent, by their counts, the largest first."""
    n_records, top = sum(kept), sum(kept[: math.ceil(len(kept) / 100)])
    if not is_sure and (kept[0] > 2 * _OFTEN or n_records > _OFTEN * len(kept)):
        return False
    return kept[0] <= max(_OFTEN, _FREQUENT * n_records) and top <= max(_OFTEN, _TOP * n_records)


def _shape(counts: Mapping[str, int], *, is_quantity: bool) -> _Shape | None:
    """Return the shape of values; None if keys have no such shape."""
    digits = [text for text in counts if text.isascii() and text.isdigit()]
    if len(digits) >= _REGULAR * len(counts):
        return _of_numbers(digits, counts, is_quantity=is_quantity)
    if sum("@" in text for text in counts) >= _REGULAR * len(counts):
        return _Shape(_SURELY, list(counts))
    length = Counter(map(len, counts)).most_common(1)[0][0]
    texts = [text for text in counts if len(text) == length]
    mask = Counter(text.translate(_ZERO) for text in texts).most_common(1)[0][0]
    alike = [text for text in texts if text.translate(_ZERO) == mask]
    if len(alike) >= _REGULAR * len(counts):
        return _of_codes(mask, alike, counts, is_quantity=is_quantity)
    return _Shape(_SURELY, texts) if len(texts) >= _REGULAR * len(counts) and _is_token(texts) else None


def _of_codes(mask: str, texts: Sequence[str], counts: Mapping[str, int], *, is_quantity: bool) -> _Shape | None:
    """Return the shape of texts that have digits, 0 in the mask, between the same characters."""
    n_digits = mask.count("0")
    if _LETTERED.fullmatch(mask) and n_digits >= _SERIAL:
        return _Shape(_SURELY if n_digits >= _LONG else _LIKELY, texts)
    if n_digits < _MIDDLE or mask in _POSTCODES:
        return None
    bare = {"".join(filter(str.isdigit, text)): counts[text] for text in texts}
    shape = _of_numbers(list(bare), bare, is_quantity=is_quantity)
    return shape and _Shape(shape.strength, texts)


def _is_token(texts: Sequence[str]) -> bool:
    """Return whether texts of one length, half of them with digits, are few among all that their characters could make.

    Examples
    --------
    >>> _is_token([f"{i * 2654435761 % 2**32:08x}" for i in range(99)]), _is_token([f"January {i}" for i in range(9)])
    (True, False)
    """
    sample = texts[:_SAMPLE]
    if len(sample[0]) < _LONG or any(character.isspace() for text in sample for character in text):
        return False
    if 2 * sum(any(map(str.isdigit, text)) for text in sample) < len(sample):
        return False
    return math.prod(len({*characters}) for characters in zip(*sample, strict=True)) >= _CHOICE * len(texts)


def _of_numbers(digits: Sequence[str], counts: Mapping[str, int], *, is_quantity: bool) -> _Shape | None:
    """Return the shape of whole numbers; None where they may as well be quantities, times or postcodes."""
    length, n_texts = Counter(map(len, digits)).most_common(1)[0]
    if n_texts >= _REGULAR * len(digits):
        digits = [text for text in digits if len(text) == length]
    else:
        length = 0
    least = (1 if length == _MIDDLE else _REGULAR) * len(digits)  # so few digits may be a time by chance
    if any(sum(map(bool, map(form.fullmatch, digits))) >= least for form in map(re.compile, _TIMES)):
        return None
    if length >= _SAFE or (length >= _LONG and not is_quantity and not _is_round(digits)):
        return _Shape(_SURELY, digits)
    if length >= _MIDDLE and any(text[0] == "0" for text in digits):
        return None if is_quantity else _Shape(_LIKELY, digits)
    numbers = np.array(digits, dtype=np.float64)
    if max(map(len, digits)) > 15 or is_quantity or _is_round(digits):
        return None
    order = np.argsort(numbers)
    numbers, came = numbers[order], np.array([counts[text] for text in digits])[order]
    if _is_repeated(numbers, came, length):
        return _Shape(_PERHAPS, digits)
    is_own = is_all_different(came.tolist()) and _is_given_out(numbers, came, length)
    return _Shape(0, digits) if is_own else None


def _is_round(digits: Sequence[str]) -> bool:
    last = Counter(text[-1] for text in digits)
    return last["0"] > _ROUND[0][1] * len(digits) or last["0"] + last["5"] > _ROUND[1][1] * len(digits)


def _is_given_out(numbers: NDArray[np.float64], came: NDArray[np.int64], length: int) -> bool:
    """Return whether numbers, sorted, of about one record each, were given out: one after the other, or each once.

    Examples
    --------
    >>> once = np.ones(30, np.int64)
    >>> _is_given_out(np.arange(1.0, 31), once, 0), _is_given_out(np.arange(20.0, 50), once, 2)
    (True, False)
    """
    low, span = numbers[0], numbers[-1] - numbers[0] + 1
    if low >= 1800 and numbers[-1] <= 2100:
        return False  # years
    is_run = low % 100 in {0, 1} and len(numbers) >= _REGULAR * span
    by_chance = len(numbers) ** 2 / (2 * span)  # pairs of equal values among as many even ones, and more among others
    is_apart = numbers[-1] >= 100 and len(numbers) > _MIN_NUMBERS and by_chance >= _SURE + 3 * _n_pairs(came)
    return bool(is_run or is_apart or (length >= _MIDDLE and is_spread(numbers)))


def _is_repeated(numbers: NDArray[np.float64], came: NDArray[np.int64], length: int) -> bool:
    """Return whether numbers come again more often than quantities of this range and shape would by chance."""
    span = numbers[-1] - numbers[0] + 1
    is_wide = len(numbers) <= _SPARSE * span and numbers[-1] >= 10**_MIDDLE
    is_wide = is_wide and is_spread(numbers, 0.5 / math.sqrt(len(numbers)))
    if length < _MIDDLE and not is_wide:
        return False
    width = max(1.0, span / _BINS)
    by_chance = float((np.histogram(numbers, bins=_BINS, weights=came)[0] ** 2).sum() / (2 * width))
    is_dense = came.max() > 1 and len(numbers) >= _DENSE * span
    return is_dense or _n_pairs(came) > 2 * by_chance + 3 * math.sqrt(by_chance)


def _n_pairs(came: NDArray[np.int64]) -> float:
    """Return how many pairs of records have the same value."""
    return float((came * (came - 1)).sum() / 2)


def is_spread(numbers: Sequence[float] | NDArray[np.float64], slack: float = 0) -> bool:
    """Return whether numbers are spread as evenly as those that are given out, and not as quantities mostly are."""
    low, first, third, high = np.quantile(numbers, [0.05, 0.25, 0.75, 0.95])
    return bool(third - first >= (_EVEN - slack) * (high - low))
