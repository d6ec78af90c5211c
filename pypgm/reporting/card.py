"""The card of a data set: one page of Markdown beside the file of records, with a header that catalogues read."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pypgm._base.student import LEVEL_TEXT
from pypgm._base.terminal import escaped
from pypgm.data.columns.column import Column
from pypgm.data.columns.made import Made
from pypgm.privacy.promise import budget_text
from pypgm.reporting.facts import Facts
from pypgm.reporting.quality import rounded
from pypgm.reporting.record_file import RecordFile
from pypgm.reporting.sentences import Advice, advice_of, promised
from pypgm.reporting.words import labels_of, many, percent, reach_text

_LABELS = 6  # values of a column that are named, at most
_SIZES = ("n<1K", *(f"{a}<n<{b}" for a, b in (("1K", "10K"), ("10K", "100K"), ("100K", "1M"), ("1M", "10M"))))
_SIZES = (*_SIZES, "10M<n<100M", "100M<n<1B", "1B<n<10B")
_TAGS = ["tabular", "synthetic", "differential-privacy", "croissant"]
_MARKS = re.compile(
    r"[\\`*\[\]<>|~$&#]|(?<![^\W_])_|_(?![^\W_])"
)  # of Markdown; those that join two letters mean nothing
_ADDRESS = re.compile(r"https?://[\w.~:/?#@!$&'*+,;=%-]+", re.ASCII)  # with no mark that ends a link
SPDX = {
    name.lower(): name
    for name in (
        *(f"CC-BY{part}-4.0" for part in ("", "-SA", "-NC", "-ND", "-NC-SA", "-NC-ND")),
        *("CC0-1.0", "ODC-By-1.0", "ODbL-1.0", "PDDL-1.0", "CDLA-Permissive-2.0", "CDLA-Sharing-1.0"),
        *("etalab-2.0", "MIT", "Apache-2.0", "BSD-3-Clause"),
    )
}
"""Names of licences by their names in lower case, as SPDX lists them."""
_OF_HUB = {"odc-by-1.0": "odc-by", "odbl-1.0": "odbl", "pddl-1.0": "pddl"}  # where a hub has another name


class Licence(NamedTuple):
    """A licence as its publisher named it, and the address of its text, if it is known."""

    name: str
    url: str

    @classmethod
    def of(cls, text: str) -> Licence:
        """Return the licence of a name of SPDX, in upper or lower case, of an address, or of a name of one's own."""
        name = SPDX.get(text.lower(), text)
        if name in SPDX.values():
            return cls(name, f"https://spdx.org/licenses/{name}")
        return cls(text, text if _ADDRESS.fullmatch(text) else "")


@dataclass(frozen=True)
class CardFacts:
    """Facts of a card that come on top of those of the release.

    Attributes
    ----------
    facts : Facts
    title : str
    licence : Licence
        With an empty name if none was stated.
    records : RecordFile or None
        File of synthetic records that the card lies beside.
    """

    facts: Facts
    title: str
    licence: Licence
    records: RecordFile | None

    @property
    def advice(self) -> Advice:
        """Uses of the records, and what not to use them for."""
        return advice_of(self.facts)

    @property
    def promised(self) -> list[str]:
        """The promise, with all that is missing from it first."""
        promise = self.facts.release.promise
        caveats = [f"{promise.reservation}."] if promise.caveats else []
        return [*caveats, *promised(promise, "this card")]

    @property
    def summary(self) -> str:
        """Description of the data set, in two sentences."""
        facts = self.facts
        n_columns = len(self.columns)
        rows = "Synthetic records" if self.records is None else many(self.records.n_rows, "synthetic record")
        where = "" if self.records is None else f" in {self.records.name}"
        return (
            f"{rows} of {many(n_columns, 'column')}{where}, drawn from a model of {facts.records_text}. Made by "
            f"{facts.made_by}."
        )

    @property
    def columns(self) -> list[str]:
        """Columns of the records, in their order."""
        return written_columns(self.facts)

    @property
    def citation(self) -> str:
        """Citation of the release."""
        release = self.facts.release
        kind = "Release" if release.promise.not_private else "Differentially private release"
        missing = f" ({release.promise.reservation})" if release.promise.caveats else ""
        budget = budget_text(release.ledger.budget)
        return f"{kind} by {self.facts.made_by}, {budget}{missing}, digest {release.digest[:16]}."


def written_columns(facts: Facts) -> list[str]:
    """Return the columns of the records that a release draws, in their order."""
    release = facts.release
    names = list(release.model.domain if release.schema is None else release.schema.declared)
    return names if release.layout is None else release.layout.order(names)


def today() -> str:
    """Return the day of today, in UTC."""
    return datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()


def card_of(card: CardFacts) -> str:
    """Return a card as Markdown, with its header of YAML."""
    return "\n".join(["---", *_header(card), "---", "", *_body(card)]) + "\n"


def _header(card: CardFacts) -> Iterator[str]:
    """Yield the lines of the header; each value is JSON, which is YAML too."""
    licence, records = card.licence, card.records
    yield f"pretty_name: {_quoted(card.title)}"
    if licence.name.lower() in SPDX:
        yield f"license: {_OF_HUB.get(licence.name.lower(), licence.name.lower())}"
    elif licence.name:
        yield "license: other"
        yield f"license_name: {_quoted(re.sub(r'[^a-z0-9.]+', '-', licence.name.lower()).strip('-') or 'other')}"
        if licence.url:
            yield f"license_link: {_quoted(licence.url)}"
    else:
        yield "license: unknown"
    rows = round(card.facts.release.model.total) if records is None else records.n_rows
    size = next((i for i in range(len(_SIZES)) if rows < 10 ** (i + 3)), len(_SIZES) - 1)
    yield f"size_categories: {_quoted([_SIZES[size]])}"
    yield f"tags: {_quoted(_TAGS)}"
    if records is not None:
        yield "configs:"
        yield "- config_name: default"
        yield f"  data_files: {_quoted([{'split': 'train', 'path': records.name}])}"
        if records.delimiter not in {"", ","}:
            yield f"  sep: {_quoted(records.delimiter)}"


def _quoted(value: object) -> str:
    text = json.dumps(escaped(value) if isinstance(value, str) else value, ensure_ascii=False)
    return text if text.isprintable() else json.dumps(value)


def _body(card: CardFacts) -> Iterator[str]:
    """Yield the lines of the page."""
    facts, release = card.facts, card.facts.release
    yield from (f"# {plain(card.title)}", "", plain(card.summary), "")
    yield from ("## What is promised", "")
    caveat = bool(release.promise.caveats)
    for i, sentence in enumerate(card.promised):
        yield from (f"**{plain(sentence)}**" if caveat and not i else plain(sentence), "")
    if release.account is not None:
        account = "the account bounds what all releases from the real table together may reveal"
        yield from (f"It comes from the account {plain(release.account.text)}: {account}.", "")
    advice = card.advice
    for heading, sentences in (("What to use it for", advice.uses), ("What not to use it for", advice.limits)):
        if sentences:
            yield from (f"## {heading}", "", *(f"- {plain(sentence)}" for sentence in sentences), "")
    for note in advice.for_maker:
        yield from (plain(note), "")
    yield from ("## Expected errors", "", *_errors(facts), "")
    yield from ("## Columns", "", *_columns(card), "")
    yield from ("## What was lost", "")
    lost = facts.losses.sentences()
    yield from (f"- {plain(text)}" for text in lost or ["nothing, by the description of the columns"])
    yield ""
    yield from ("## What the budget was spent on", "", "| purpose | share |", "|---|--:|")
    yield from (f"| {plain(share.purpose)} | {percent(share.share)} |" for share in facts.shares)
    yield from ("", "## Licence", "", f"{_licence(card.licence)}", "")
    yield from ("## Files", "", *_files(card), "")
    yield from ("## How to cite", "", plain(card.citation))


def _errors(facts: Facts) -> Iterator[str]:
    """Yield what is expected of the errors, and what a point is."""
    quality = facts.quality
    for warning in facts.remarks:
        yield f"- **Warning:** {plain(warning)}."
    if quality is None:
        yield "The errors of this kind of release are not known."
        return
    columns, values, pairs = quality.mean("columns"), facts.as_values, quality.mean("pairs")
    if columns is not None:
        yield f"- A column: {rounded(columns)} points off on average."
    if columns is not None and values is not None and rounded(values.mean) != rounded(columns):
        yield f"- Its values, with what “other” and bins lose: {rounded(values.mean)} points off on average."
    if pairs is not None:
        parts = quality.means_by_basis()
        yield f"- A pair of columns: {rounded(pairs)} points off on average{f' ({parts})' if parts else ''}."
    if quality.largest_error:
        (name,), records = quality.largest_error
        reach = f"± {reach_text(records)} records ({LEVEL_TEXT})"
        yield f"- A count of one column: at most about {reach}, in {plain(name)}."
    yield from (f"- Not counted here: {plain(text)}." for text in quality.unknown_texts())
    yield ""
    yield (
        "Points are percentage points: the share of the records that would have to change for the column, or for the "
        "two columns together, to agree with the real table. They are expectations that follow from the release alone."
    )


def _columns(card: CardFacts) -> Iterator[str]:
    """Yield the table of the columns."""
    facts = card.facts
    release, quality, lost = facts.release, facts.quality, facts.losses
    schema, domain = release.schema, release.model.domain
    declared: dict[str, Column | Made] = {} if schema is None else {**schema.made, **schema.columns}
    heads = ["column", "kind", *(["type in the file"] if card.records else []), "values", "points off"]
    yield f"| {' | '.join(heads)} |"
    yield f"|{'---|' * (len(heads) - 1)}--:|"
    for name in card.columns:
        kind = declared[name].kind if name in declared else "codes" if name not in domain.labels else "categorical"
        if name in domain:
            labels = labels_of(domain, name, schema) if name in domain.labels else []
            shown = ", ".join([*labels[:_LABELS], *(["…"] if len(labels) > _LABELS else [])])
            values = many(domain.size((name,)), "value") + (f": {shown}" if shown else "")
            off = "" if quality is None else quality.shown((name,))
        else:
            values, off = f"made anew: {lost.made[name]}" if name in lost.made else "follows from others", ""
        types = [card.records.types[name].lower()] if card.records else []
        yield f"| {' | '.join(map(plain, [name, kind, *types, values, off]))} |"


def _licence(licence: Licence) -> str:
    if not licence.name:
        return "None is stated: ask whoever published the records."
    if not licence.url:
        return plain(licence.name)
    return f"<{licence.url}>" if licence.url == licence.name else f"[{plain(licence.name)}]({licence.url})"


def _files(card: CardFacts) -> Iterator[str]:
    """Yield the table of the file with its digest, and the digest of the release."""
    if (records := card.records) is not None:
        yield from ("| file | records | bytes | SHA-256 |", "|---|--:|--:|---|")
        yield f"| {plain(records.name)} | {records.n_rows:,} | {records.n_bytes:,} | {records.sha256} |"
        yield ""
    yield f"The release that they were drawn from has the digest {card.facts.release.digest}."


def plain(text: str) -> str:
    r"""Return a text for Markdown, in which none of its characters is a mark.

    Examples
    --------
    >>> print(plain("job_title *new* <b>"))
    job_title \*new\* \<b\>
    """
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", escaped(text))
