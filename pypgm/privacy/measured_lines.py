"""Lines of a ledger that charged measurements: those of the same clique, law and noise, exactly."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.laws import Noise
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.relation import Privacy

_MEASURE = "measure"  # the step in lines of measurements; lines of quantiles, screens and histograms name other steps
_ROUNDED = 1e-12  # relative: an exponential may differ in its last digit between machines


class MeasuredLines(NamedTuple):
    """The lines of measurements, and the lines without a measurement.

    Attributes
    ----------
    of : tuple of int or None
        The number of each measurement's line; None if it has none: it was given by the caller, or is of a sample.
    apart : tuple of int
        The numbers of lines that charged a measurement which is not among these.
    """

    of: tuple[int | None, ...]
    apart: tuple[int, ...]


def measured_lines(measurements: Sequence[LinearMeasurement], ledger: LedgerReport) -> MeasuredLines:
    """Return the line of each measurement: of lines that agree, the last one for the last of equal measurements.

    Mechanisms list measurements that they were given first. A line agrees with a measurement if it has its clique, its
    law, a variance (or scale) with its standard deviation, and the sensitivity of its query for the ledger's relation.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
    ledger : LedgerReport
        A ledger that is bound to a relation.

    Examples
    --------
    >>> from pypgm import Budget, Dataset, Domain, Ledger, LinearMeasurement, Privacy, PrivateTable
    >>> table = PrivateTable(Dataset({"a": [0, 1]}, Domain({"a": 2})), Privacy(), Ledger(Budget(rho=1)))
    >>> measured_lines([LinearMeasurement([3, 4], "a"), table.measure("a", rho=0.25)], table.ledger)
    MeasuredLines(of=(None, 0), apart=())
    """
    lines, privacy = ledger.lines, ledger.privacy
    left: dict[tuple[str, str], list[tuple[int, Noise]]] = defaultdict(list)
    for i, line in enumerate(lines):
        if line.what == _MEASURE and isinstance(line.law, Noise):
            left[line.on, line.law.measured].append((i, line.law))
    numbers: list[int | None] = []
    for measurement in reversed(measurements):
        candidates = left[_named(measurement.clique), measurement.noise]
        place = next((p for p in reversed(candidates) if privacy and _agree(measurement, p[1], privacy)), None)
        if place is not None:
            candidates.remove(place)
        numbers.append(None if place is None else place[0])
    return MeasuredLines(tuple(numbers[::-1]), tuple(sorted(n for candidates in left.values() for n, _ in candidates)))


def links_of(measurements: Sequence[LinearMeasurement], ledger: LedgerReport) -> dict[str, Any]:
    """Return, as fields of a file, the line that charged each measurement, and lines that charged absent ones."""
    links = measured_lines(measurements, ledger)
    return {"charged_by": list(links.of), "not_held": list(links.apart)}


def check_links(
    measurements: Sequence[LinearMeasurement], ledger: LedgerReport, stored: Mapping[str, Any] | None
) -> None:
    """Raise ``ValueError`` if measurements and ledger of a file contradict the links that `links_of` stored.

    For a file without links (None), raise if both a measurement and a line of its clique have no counterpart.
    """
    if stored is not None:
        if any(stored[name] != lines for name, lines in links_of(measurements, ledger).items()):
            raise ValueError("its measurements are not those that the lines of its ledger charged")
        return
    links = measured_lines(measurements, ledger)
    given = {_named(m.clique) for m, line in zip(measurements, links.of, strict=True) if line is None}
    for on in (ledger.lines[number].on for number in links.apart):
        if on in given:
            raise ValueError(f"the noise of its measurement of {on} is not what its ledger charged")


def _named(clique: Sequence[str]) -> str:
    """Return the name of a clique in a line."""
    return f"({', '.join(clique)})"


def _agree(measurement: LinearMeasurement, law: Noise, privacy: Privacy) -> bool:
    """Return whether a line of a measurement's clique and kind of noise has its noise, for its query."""
    if not isinstance(measurement.stddev, float) or measurement.values.dtype.kind != "i":
        return False  # draws for a charge have one variance, and are integers
    if not math.isclose(law.stddev, measurement.stddev, rel_tol=_ROUNDED):
        return False
    try:
        return law.is_for(measurement.linear_map, privacy)
    except (TypeError, ValueError):  # a query that was never measured: it does not have integer entries
        return False
