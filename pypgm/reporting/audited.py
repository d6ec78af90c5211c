"""Published findings of an audit: a file for programs, a page for people, a digest to compare."""

from __future__ import annotations

import json
import os
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from pypgm._base.fields import Record, check_fields
from pypgm._core import __version__
from pypgm.data.columns.codebook import read_json
from pypgm.data.sources.files import write_text
from pypgm.reporting.template import rendered

Result = Literal["failed", "not exercised", "skipped", "ok"]

RESULTS: tuple[Result, ...] = get_args(Result)
"""Results of a check, the worst first."""

_VARYING = frozenset({"chi-square", "two samples", "gaussian audit", "precision attack"})
"""Checks that draw from the operating system's randomness: their figures differ from run to run."""

_BESIDE = frozenset({"two samples", "accounting library", "engine", "sources", "doors", "types"})
"""Checks of and against other libraries, made as far as these are installed."""

_FORMAT = "pypgm audit 1"
_MOST_BYTES = 1 << 24
_FINDING = Record(
    "A finding",
    {
        "check": (str, "name of the check"),
        "subject": (str, "what it looked at"),
        "result": (set(RESULTS), "how it ended"),
        "detail": (str, "figures if it holds, else what is wrong"),
        "defects": ([str], "names of the defects found"),
        "seconds": (float, "wall time"),
    },
)
_AUDIT = Record(
    "An audit",
    {
        "format": ({_FORMAT}, "what this file is"),
        "pypgm": (str, "version that audited itself"),
        "python": (str, "version"),
        "numpy": (str, "version"),
        "system": (str, "system and processor"),
        "mechanisms": ([str], "those looked at; empty for all"),
        "tier": (int, "0, 1 or 2"),
        "digest": (str, "of what was found"),
        "findings": ([_FINDING], "one for each check of each subject"),
    },
)


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check of one subject.

    Attributes
    ----------
    check : str
        Name of the check.
    subject : str
        Object of the check.
    result : {"ok", "failed", "skipped", "not exercised"}
        Result; a check that met nothing it could have failed on is not exercised.
    detail : str
        Figures if it holds, otherwise the fault.
    defects : tuple of str
        Names of the defects found, keys of `pypgm.audit.DEFECTS`.
    seconds : float
        Wall time.
    """

    check: str
    subject: str
    result: Result
    detail: str
    defects: tuple[str, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class AuditReport:
    """The findings of an audit.

    Attributes
    ----------
    findings : tuple of Finding
        Findings in the order they were made.
    mechanisms : tuple of str
        Mechanisms that were checked; empty for all, together with the parts they rest on.
    tier : int
    pypgm, python, numpy, system : str
        Versions, and the machine's kind.
    """

    findings: tuple[Finding, ...]
    mechanisms: tuple[str, ...] = ()
    tier: int = 0
    pypgm: str = __version__
    python: str = platform.python_version()
    numpy: str = np.__version__
    system: str = f"{platform.system()} {platform.machine()}"

    @property
    def digest(self) -> str:
        """SHA-256 of the findings: the same on each machine for the same version, mechanisms and tier.

        It leaves out seconds, checks that need another library and the figures of random checks.
        """
        import hashlib

        entries = sorted(
            [f.check, f.subject, f.result, "" if f.check in _VARYING else f.detail, list(f.defects)]
            for f in self.findings
            if f.check not in _BESIDE
        )
        said = json.dumps([self.pypgm, sorted(self.mechanisms), self.tier, entries])
        return hashlib.sha256(said.encode()).hexdigest()

    @property
    def results(self) -> dict[str, int]:
        """Number of checks with each result."""
        counts = Counter(f.result for f in self.findings)
        return {result: counts[result] for result in RESULTS}

    @property
    def command(self) -> str:
        """The command that makes this audit again."""
        tier = [f"--tier {self.tier}"] if self.tier else []
        return " ".join(["python -m pypgm.audit", *self.mechanisms, *tier])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of its file."""
        fields = {name: getattr(self, name) for name in ("pypgm", "python", "numpy", "system", "mechanisms", "tier")}
        return {"format": _FORMAT, **fields, "digest": self.digest, "findings": [asdict(f) for f in self.findings]}

    def doubts(self, mechanisms: Sequence[str] = (), version: str = "") -> list[str]:
        """Return the reasons why this audit does not cover a release: another mechanism or version, failed checks."""
        names = {name.rpartition(".")[2] for name in mechanisms if name}
        missing = sorted(names - set(self.mechanisms)) if self.mechanisms else []
        doubts = [f"{name}, which made this release, was not exercised by this audit" for name in missing]
        if version and version != self.pypgm:
            doubts.append(f"the audit is of pypgm {self.pypgm}, the release was made by {version}")
        results = self.results
        doubts += [f"checks that failed: {results['failed']}"] if results["failed"] else []
        idle = results[RESULTS[1]]
        doubts += [f"checks that met nothing they could have failed on: {idle}"] if idle else []
        return doubts

    def groups(self) -> list[dict[str, Any]]:
        """Return the checks in groups: the faults each can see, its number of runs, its results, and its defects."""
        groups, planted = _known()
        by_check: dict[str, list[Finding]] = {}
        for finding in self.findings:
            by_check.setdefault(finding.check, []).append(finding)
        entries = []
        for group in [*groups, {"title": "Others", "blind": "", "checks": dict.fromkeys(by_check, "")}]:
            names = [name for name in group["checks"] if name in by_check]
            rows = [_row(name, group["checks"][name], by_check.pop(name), planted.get(name, [])) for name in names]
            idle = [name for name in group["checks"] if name not in names and group["blind"]]
            entries.append({**group, "rows": rows, "idle": idle, "planted": []})
        # Defects planted in a mechanism are looked for by the first group.
        entries[0]["planted"] = planted.get("mutant", []) if entries[0]["rows"] else []
        return [group for group in entries if group["rows"] or group["idle"]]


def _row(name: str, sees: str, findings: Sequence[Finding], planted: Sequence[str]) -> dict[str, Any]:
    counts = Counter(f.result for f in findings)
    ended = [f"{counts[r]} {r}" for r in RESULTS if counts[r]]
    worst = next(r for r in RESULTS if counts[r])
    return {
        "name": name,
        "sees": sees,
        "ended": ", ".join(ended),
        "worst": worst,
        "found": findings,
        "planted": planted,
    }


@cache
def _known() -> tuple[list[dict[str, Any]], dict[str, list[str]]]:
    """Return the checks of this version in groups, with the faults each can see, and the defects planted for it."""
    home = resources.files("pypgm.reporting")
    groups, planted = (json.loads(home.joinpath(f"{name}.json").read_bytes()) for name in ("checks", "planted"))
    return groups, planted


def n_planted() -> int:
    """Return the number of defects planted on trial, for any check."""
    return sum(map(len, _known()[1].values()))


def read_audit(path: str | os.PathLike[str]) -> AuditReport:
    """Read an audit from a file that `write_audit` wrote.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is not an audit, or its digest does not match its content.
    """
    if Path(path).stat().st_size > _MOST_BYTES:
        raise ValueError(f"{path} has more than {_MOST_BYTES >> 20} MiB: it is not an audit")
    held = read_json(path, "an audit in JSON, as python -m pypgm.audit --out audit.json writes it")
    try:
        check_fields(held, _AUDIT)
    except ValueError as error:
        raise ValueError(f"{path} is not an audit written by python -m pypgm.audit --out audit.json: {error}") from None
    fields: Mapping[str, Any] = held  # type: ignore[assignment] # checked above
    findings = tuple(Finding(**{**f, "defects": tuple(f["defects"])}) for f in fields["findings"])
    header = {name: fields[name] for name in ("tier", "pypgm", "python", "numpy", "system")}
    audit = AuditReport(findings, tuple(fields["mechanisms"]), **header)
    if audit.digest != fields["digest"]:
        raise ValueError(f"{path} was changed: its digest is not that of its content")
    return audit


def write_audit(path: str | os.PathLike[str], audit: AuditReport) -> None:
    """Write an audit, whole or not at all, as `audit_text` gives it.

    Raises
    ------
    ImportError, ValueError
        As in `audit_text`.
    OSError
        If the file cannot be written.
    """
    write_text(path, audit_text(path, audit))


def audit_text(path: str | os.PathLike[str], audit: AuditReport) -> str:
    """Return an audit as JSON, as a page of HTML or as Markdown, by the end of a file's name.

    Raises
    ------
    ImportError
        If the report is a page and jinja2, the extra ``report``, is not installed.
    ValueError
        If the name ends otherwise.
    """
    suffix = Path(path).suffix.lower()
    if suffix in {".html", ".htm"}:
        title = f"Audit of pypgm {audit.pypgm}"
        return rendered("audit_page.html", title=title, audit=audit_facts(audit), is_unsafe=False)
    if suffix == ".md":
        return _markdown(audit)
    if suffix == ".json":
        return json.dumps(audit.to_dict(), indent=1) + "\n"
    raise ValueError(f"an audit is written to a file that ends in .json, .html or .md, got {path}")


def audit_facts(audit: AuditReport, mechanisms: Sequence[str] = (), version: str = "") -> dict[str, Any]:
    """Return the arguments of the template of an audit."""
    groups = audit.groups()
    for_trial = [d for group in groups for d in group["planted"]]
    for_trial += [d for group in groups for row in group["rows"] for d in row["planted"]]
    return {
        "audit": audit,
        "groups": groups,
        "left_out": [group["title"] for group in groups if not group["rows"]],
        "doubts": audit.doubts(mechanisms, version),
        "n_for_trial": len(for_trial),
        "n_planted": n_planted(),
        "is_same_version": audit.pypgm == __version__,
    }


def _markdown(audit: AuditReport) -> str:
    about: dict[str, object] = {name: getattr(audit, name) for name in ("pypgm", "python", "system", "command")}
    about |= {"checks": len(audit.findings), **audit.results, "digest": audit.digest}
    about["seconds"] = round(sum(f.seconds for f in audit.findings), 1)
    lines = ["# Audit report", "", *(f"- {name}: {value}" for name, value in about.items()), ""]
    lines += ["| check | looked at | result | seconds | figures |", "|---|---|---|---:|---|"]
    for f in audit.findings:
        cells = [f.check, f.subject, f.result, f"{f.seconds:.2f}", f.detail]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join([*lines, ""])
