"""What stands of a release in its file, beside the fields of its model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pypgm.data import Schema
from pypgm.data.layout import Layout
from pypgm.data.schema import as_schema
from pypgm.models.stored_measurements import packed_measurements, unpacked_measurements
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.measured_lines import check_links, links_of

if TYPE_CHECKING:
    from pypgm.domain import Domain
    from pypgm.released import Released


def release_fields(release: Released) -> dict[str, Any]:
    """Return the fields of a release."""
    own: dict[str, Any] = {"mechanism": release.mechanism, "ledger": release.ledger.to_dict()}
    own |= {"measurements": packed_measurements(release.measurements)}
    own |= links_of(release.measurements, release.ledger)
    own |= {"options": dict(release.options), "pypgm": release.version, "log": list(release.log)}
    own |= {"unmeasured": release.unmeasured}
    own |= {} if release.schema is None else {"schema": release.schema.to_dict()}
    return own if release.layout is None else own | {"layout": release.layout.to_dict()}


def release_arguments(stored: Mapping[str, Any], domain: Domain) -> dict[str, Any]:
    """Return what makes the release of these fields, but for its model, which is over a domain.

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


def check_release(release: Released, stored: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` if a release that was made of its fields contradicts itself."""
    check_links(release.measurements, release.ledger, stored if "charged_by" in stored else None)
