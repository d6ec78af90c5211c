"""Every mechanism with each value of each of its options, on domains, relations and budgets of several kinds."""

from __future__ import annotations

from pypgm.audit.finding import Finding, finding
from pypgm.audit.stated import Effort
from selfcheck.cases import case_of, run_case
from selfcheck.settings import SETTINGS, Choose

_EFFORT = Effort(candidates=4, climbs=6, moves=16)
_NEAR = 0.75  # part of a stated sensitivity that some record must attain


def check_options(name: str, settings: int = 12, most: int = 48) -> Finding:
    """Run a mechanism with every value of its options, and check each run beside those of two neighbours.

    It goes on until all values ran, under either relation, each kind of draw was made, and stated scores changed by
    almost as much as is stated. What never ran is not exercised, which is no pass.

    Parameters
    ----------
    name : str
        Of `selfcheck.settings.SETTINGS`.
    settings, most : int
        How many there are at least, and at most.
    """
    choose, defects = Choose(sum(map(ord, name)), evenly=True), []
    attained: dict[str, float] = {}
    moved = ran = tried = 0
    missing = _missing(name, choose, attained)
    while tried < settings or (missing and tried < most):
        tried += 1
        case = case_of(name, choose, neighbours=2)
        outcome = run_case(case, _EFFORT)
        choose.tried(ran=not outcome.refused)
        ran += not outcome.refused
        moved += outcome.moved
        defects += [(defect, f"{case}: {outcome.finding.detail}") for defect in outcome.finding.defects]
        for kind, part in outcome.attained:
            attained[kind] = max(part, attained.get(kind, 0.0))
        missing = _missing(name, choose, attained)
    worst = ", ".join(f"{kind} {part:.2f}" for kind, part in sorted(attained.items()))
    figures = f"{ran} settings, {len(choose.ran)} values of options, {moved} stated scores; attained: {worst}"
    detail = f"not exercised: {', '.join(missing)}" if missing else figures
    return finding("options", name, defects, detail, exercised=not missing)


def _missing(name: str, choose: Choose, attained: dict[str, float]) -> list[str]:
    """Return the values that did not run, and the kinds of draws that were not made or far from the stated change."""
    values = [value for value in choose.offered if value not in choose.ran]
    least = {kind: _NEAR if kind.startswith("stated") else 0.0 for kind in SETTINGS[name].draws}
    return values + [kind for kind, part in least.items() if kind not in attained or attained[kind] < part]
