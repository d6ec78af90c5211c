"""All checks of runs together, and the claims of their releases."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from pypgm.audit.answers import check_answers
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference
from pypgm.audit.trace import Trace
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy


def followed(check: str, subject: str, runs: Sequence[Runs]) -> Finding:
    """Run every check of runs, and return one finding with the defects of all."""
    checks = (check_calibration, check_charges, check_answers, check_noninterference, check_claims)
    findings = [each(one) for one in runs for each in checks]
    failed = [(defect, f"{f.subject}: {f.detail}") for f in findings for defect in f.defects]
    looked_at = {f.check for f in findings if f.result != "not exercised"}
    figures = f"{sum(len(one.traces) for one in runs)} pairs, {len(looked_at)} checks of each"
    idle = sorted({f.check for f in findings} - looked_at)
    if idle:
        figures += f"; nothing to look at for {', '.join(idle)}"
    # A mechanism may release no measurement and no ledger; but it draws, and charges for it.
    return finding(check, subject, failed, figures, exercised={"calibration", "charges"} <= looked_at)


def check_of(check: Callable[[Runs], Finding], runs: Callable[[], Runs], subject: str) -> Finding:
    """Run one check of runs that several share; the subject is for the finding if the runs raise."""
    del subject
    return check(runs())


def check_claims(runs: Runs) -> Finding:
    """Compare the relation, budget, lines and total that a release states with those of its run."""
    defects: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            if getattr(trace.release, "ledger", None) is not None:
                compared += 1
                defects.extend(_claims(trace, runs.budget, pair.privacy))
    return finding("claims", runs.subject, defects, f"{compared} releases say what they are", exercised=compared)


def _claims(trace: Trace, budget: Budget, privacy: Privacy) -> Iterator[tuple[str, str]]:
    ledger = trace.release.ledger
    if ledger.budget.arguments() != budget.arguments():
        yield "wrong claim", f"{ledger.budget!r} is claimed, {budget!r} was asked for"
    for name, claimed in (("ledger", ledger.privacy), ("release", getattr(trace.release, "privacy", ledger.privacy))):
        if claimed != privacy:
            yield "wrong claim", f"the {name} names {claimed}, {privacy} was asked for"
    lines = [(line.noise, dict(line.parameters), line.cost) for line in ledger.lines]
    entered = [(line.noise, dict(line.parameters), line.cost) for line in trace.charges]
    if not trace.sampled and lines != entered:
        yield "wrong claim", f"the ledger has {len(lines)} lines, {len(entered)} were charged"
    if not trace.sampled and ledger.spent() != sum((line.cost for line in trace.charges), Fraction(0)):
        yield "wrong claim", f"{ledger.spent()} is said to be spent, which is not the sum of what was charged"
    if hasattr(trace.release, "summary"):
        summary = " ".join(trace.release.summary().split())
        relation = f"{privacy.neighbours} neighbours, {privacy.records_per_person} record(s) a person"
        if relation not in summary or not _states(trace.release.guarantee, budget):
            yield "wrong claim", "the summary states another relation or guarantee than was asked for"


def _states(line: str, budget: Budget) -> bool:
    """Return True if a line states the guarantee, as the shortest decimal of a float that is not below it."""
    word, amount = ("rho", budget.limit) if budget.epsilon is None else ("epsilon", budget.epsilon)
    stated = re.search(rf"{word} (\S+?)(?:,|$)", line)
    if stated is None:
        return False
    near = float(stated[1])
    return amount <= Fraction(stated[1]) and not (near > 0 and amount <= Fraction(repr(math.nextafter(near, 0))))
