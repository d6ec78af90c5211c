"""Fields of a release in its file, besides those of its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pypgm.data import Schema
from pypgm.data.schema.schema import as_schema
from pypgm.data.sources.layout import Layout
from pypgm.files.stored_measurements import packed_measurements, unpacked_measurements
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.measured_lines import check_links, links_of

if TYPE_CHECKING:
    from pypgm.domain import Domain
    from pypgm.released import Released

_LEARNERS = ("mrf.learn_ising", "mrf.learn_pairwise", "mrf.learn_t_wise", "mrf.learn_structure")
_KINDS = {"bayes.learn_private": "network", **dict.fromkeys(_LEARNERS, "field")}  # of files without a kind


def release_fields(release: Released) -> dict[str, Any]:
    """Return the fields of a release."""
    fields: dict[str, Any] = {"mechanism": release.mechanism, "ledger": release.ledger.to_dict()}
    fields |= {"measurements": packed_measurements(release.measurements)}
    fields |= links_of(release.measurements, release.ledger)
    fields |= {"options": dict(release.options), "pypgm": release.version, "log": list(release.log)}
    fields |= {"unmeasured": release.unmeasured} | ({"kind": release._kind} if release._kind else {})
    fields |= {} if release.schema is None else {"schema": release.schema.to_dict()}
    return fields if release.layout is None else fields | {"layout": release.layout.to_dict()}


def release_arguments(stored: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return the arguments of a release, without its model over a domain, from the fields of its file.

    ``ValueError``, ``KeyError`` or ``TypeError`` where something is missing or does not fit.
    """
    log = ({k: tuple(v) if isinstance(v, list) else v for k, v in r.items()} for r in stored["log"])
    return {
        "measurements": unpacked_measurements(domain, stored["measurements"]),
        "ledger": LedgerReport.from_dict(stored["ledger"]),
        "mechanism": stored["mechanism"],
        "options": stored["options"],
        "version": stored["pypgm"],
        "log": tuple(log),
        "schema": as_schema(Schema.from_dict(stored["schema"])) if "schema" in stored else None,
        "layout": Layout.from_dict(stored["layout"]) if "layout" in stored else None,
        "unmeasured": stored.get("unmeasured", "not asked"),
    }


def release_kind(stored: Mapping[str, Any]) -> str:
    """Return the kind of a release by the fields of its file; earlier files have its mechanism alone."""
    return str(stored.get("kind", _KINDS.get(stored["mechanism"], "")))


def check_release(release: Released, stored: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a release contradicts the fields that it was made from."""
    check_links(release.measurements, release.ledger, stored if "charged_by" in stored else None)
