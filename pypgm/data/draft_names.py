"""Names of columns that indicate persons or quantities, in some languages."""

from __future__ import annotations

import re


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
    """Return the words of a name in small letters, a number taken off its end.

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
    """Return whether a name is one of numbers of persons.

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
    """Return whether a name is one of quantities, of times or of postcodes.

    Examples
    --------
    >>> [is_of_quantities(name) for name in ("annual_income", "Umsatz (€)", "zip", "NHS Number")]
    [True, True, True, False]
    """
    return not _QUANTITIES.isdisjoint(_words(name))
