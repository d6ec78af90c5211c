"""Running checks and writing down what they found."""

from __future__ import annotations

import dataclasses
import json
import platform
from collections.abc import Callable, Sequence
from pathlib import Path

from pypgm._core import __version__
from pypgm.audit.finding import Check, Finding, timed

__all__ = ["failures", "row", "run", "write_report"]


def run(checks: Sequence[Check], tell: Callable[[Finding], object] = lambda found: None) -> list[Finding]:  # noqa: ARG005 (says nothing)
    """Make checks one after the other and return their findings; each is handed to `tell` as it comes.

    Examples
    --------
    >>> from pypgm.audit.accounting import check_line_costs
    >>> [f.result for f in run([check_line_costs])]
    ['ok']
    """
    found = []
    for check in checks:
        found.append(timed(check))
        tell(found[-1])
    return found


def failures(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings that failed."""
    return [f for f in found if f.result == "failed"]


def row(found: Finding) -> str:
    """Return a finding as a line of a table: check, what it looked at, result, seconds, figures."""
    return f"{found.check:24}  {found.subject[:44]:44}  {found.result:13}  {found.seconds:7.2f} s  {found.detail}"


def write_report(path: str | Path, tier: int, found: Sequence[Finding]) -> None:
    """Write findings to a file: JSON if its name ends so, else Markdown.

    Raises
    ------
    OSError
        If the file cannot be written.
    """
    target = Path(path)
    about = {
        "pypgm": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "tier": tier,
        "checks": len(found),
        "failed": len(failures(found)),
        "not exercised": sum(f.result == "not exercised" for f in found),
        "skipped": sum(f.result == "skipped" for f in found),
        "seconds": round(sum(f.seconds for f in found), 1),
    }
    if target.suffix == ".json":
        text = json.dumps({**about, "findings": [dataclasses.asdict(f) for f in found]}, indent=1)
    else:
        text = _markdown(about, found)
    target.write_text(text + "\n", encoding="utf-8")


def _markdown(about: dict[str, object], found: Sequence[Finding]) -> str:
    lines = ["# Audit report", "", *(f"- {name}: {value}" for name, value in about.items()), ""]
    lines += ["| check | looked at | result | seconds | figures |", "|---|---|---|---:|---|"]
    for f in found:
        cells = [f.check, f.subject, f.result, f"{f.seconds:.2f}", f.detail]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
