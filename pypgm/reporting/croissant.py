"""The card of a data set as Croissant, a vocabulary of JSON-LD by which catalogues find and load data sets.

References
----------
MLCommons Croissant Format Specification, version 1.0, and its extension for responsible AI (RAI), version 1.0.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from pypgm.reporting.card import CardFacts, today
from pypgm.reporting.record_file import RecordFile

_CROISSANT = "http://mlcommons.org/croissant/"
_WORDS = (  # of Croissant that mean what they are called
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": _CROISSANT,
    "rai": f"{_CROISSANT}RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    **{word: f"cr:{word}" for word in _WORDS},
}
_UNKNOWN = "https://spdx.org/licenses/NOASSERTION"


def croissant_of(card: CardFacts, records: RecordFile) -> str:
    """Return a card as Croissant.

    Parameters
    ----------
    card : CardFacts
    records : RecordFile
        The file that it describes.
    """
    facts, licence, advice = card.facts, card.licence, card.advice
    described: dict[str, Any] = {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "name": card.title,
        "description": card.summary,
        "conformsTo": [f"{_CROISSANT}1.0", f"{_CROISSANT}RAI/1.0"],
        "license": licence.url or licence.name or _UNKNOWN,
        "version": f"1.0.0+{facts.release.digest[:16]}",
        "datePublished": today(),
        "citeAs": card.citation,
        "keywords": ["synthetic data", "differential privacy"],
        "rai:dataCollection": f"Drawn from a model of differentially private counts. Made by {facts.made_by}.",
        "rai:personalSensitiveInformation": " ".join(card.promised),
        "rai:dataUseCases": list(advice.uses),
        "rai:dataLimitations": [*advice.limits, *facts.losses.sentences()],
        "distribution": [
            {
                "@type": "cr:FileObject",
                "@id": "records-file",
                "name": records.name,
                "contentUrl": quote(records.name),
                "contentSize": f"{records.n_bytes} B",
                "encodingFormat": "application/x-parquet" if records.is_parquet else "text/csv",
                "sha256": records.sha256,
            }
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet",
                "@id": "records",
                "name": "records",
                "field": [_field(card, records, name) for name in records.types],
            }
        ],
    }
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def _field(card: CardFacts, records: RecordFile, name: str) -> dict[str, Any]:
    """Return the description of a column."""
    quality = card.facts.quality
    known = quality is not None and (name,) in quality.cliques
    off = f"{quality.shown((name,))} points off" if quality is not None and known else "made anew"
    return {
        "@type": "cr:Field",
        "@id": f"records/{quote(name, safe='')}",
        "name": name,
        "description": off,
        "dataType": f"sc:{records.types[name]}",
        "source": {"fileObject": {"@id": "records-file"}, "extract": {"column": name}},
    }
