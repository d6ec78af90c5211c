"""Findings of checks, and the names of the defects they can report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from pypgm.reporting.audited import Finding

__all__ = ["DEFECTS", "Check", "Finding", "finding", "skipped", "timed"]

DEFECTS = {
    "wrong relation": "noise calibrated for another neighbour relation than the declared one",
    "lost user bound": "a sensitivity without the factor of records per person",
    "sensitivity": "an answer changes by more than its charge says",
    "operator": "a query's products or properties are not those of the matrix of its definition",
    "score sensitivity": "selection scores change by more than their charge says",
    "wrong score": "a selection's scores are not those of their definition on this run's table",
    "uncharged draw": "noise or a selection without a line in the ledger",
    "scale differs from the charge": "the ledger names another noise scale than was drawn with",
    "wrong charge": "the cost on a line does not follow from its parameters",
    "wrong budget": "a budget allows another amount than epsilon and delta give by the formula",
    "wrong claim": "a release or its ledger states another relation, budget or charge than the run had",
    "not refused": "a call that must raise returns",
    "charged for nothing": "a call that raises before its answer leaves a charge",
    "overspent": "the charges of a run sum to more than the budget asked for",
    "read before the charge": "records were read while no charge was open",
    "noise from elsewhere": "a charge was entered and nothing was drawn from the exact samplers",
    "records counted exactly": "the exact number of records was read although it is private",
    "path depends on the data": "what is asked (how often, of what law or scale) depends on the records themselves",
    "domain from the data": "sizes of what is asked or released depend on the records",
    "unnoised answer": "a released measurement holds the exact counts, and no sampler drew it",
    "cached answer": "a released measurement holds values that no sampler drew in this run",
    "wrong counts": "a source of records counts other cells than its values have in memory",
    "answer of another table": "a released measurement was drawn from other counts than those of the table entered",
    "noise added outside the sampler": "released values depend on the records beyond what the samplers gave",
    "floats released": "a released measurement is not int64",
    "private state kept": "the release or its model holds something that depends on the records beyond the noise",
    "records kept": "the table itself can be reached from the release",
    "text tells": "output, logs or warnings depend on the records beyond the release",
    "exception tells": "an exception, or whether there is one, depends on the records beyond the release",
    "records read after the release": "using a finished release reads the records again",
    "ledger charged after the release": "using a finished release changes the ledger",
    "seeded by default": "two runs give the same noise, or a generator or seed is taken without a word",
    "seed not declared": "a seeded run whose ledger or model file does not say that it is not private",
    "shared stream": "two threads or processes hand out the same random words",
    "wrong law": "a sampler's probabilities are not those of its law",
    "precision": "released values show on which grid the true one lies",
    "too little noise": "an attack tells neighbours apart better than the claim allows",
    "threshold": "a key of one person alone is released more often than was charged",
    "open after the end": "a step is charged or answered, or records are kept, after what it belongs to was closed",
    "rounding": "a number is rounded to less noise, a larger cost or a smaller charge than it stands for",
    "accounting": "a conversion gives a smaller loss than the exact one, or needlessly more than another bound",
    "unsafe source": "a float or seeded random generator where releases are made",
    "check ended": "a check ended in an exception: what it is for was not looked at",
    "no release": "the subject ends in an exception where it should release something",
    "open table": "the private table gives away what it must not",
    "overdrawn ledger": "a ledger takes a charge or an allocation that does not fit",
    "ledger sums": "what a ledger says is spent, left or entered is not what was charged to it",
    "second budget": "a copy, a file, a closed part or another process can be charged",
    "mark lost": "a ledger forgets its relation, or that it is not private",
    "ledger race": "several threads are let through where there is enough for one",
    "trusted object": "an object of the caller's is believed, or looked at again after it was charged for",
    "interrupt": "an interrupt leaves a ledger that lost a charge, counts one twice or cannot be used",
    "unchecked import": "a stored ledger is read though its costs do not follow from its lines",
}


Check = Callable[[], Finding]


def finding(
    check: str, subject: str, defects: Iterable[tuple[str, str]], figures: str, *, exercised: bool | int = True
) -> Finding:
    """Return the finding of a check from its defects, pairs of a name and a sentence; without any it is a pass.

    A check is a pass only if it was exercised: if there was something that could have been wrong.
    """
    pairs = list(defects)
    names = tuple(dict.fromkeys(name for name, _ in pairs))
    unknown = [name for name in names if name not in DEFECTS]
    if unknown:
        raise ValueError(f"defects need names from DEFECTS, got {unknown}")
    if not pairs:
        return Finding(check, subject, "ok" if exercised else "not exercised", figures)
    first = dict(reversed(pairs))
    return Finding(check, subject, "failed", "; ".join(f"{name}: {first[name]}" for name in names), names)


def skipped(check: str, subject: str, reason: str) -> Finding:
    """Return the finding of a check that could not run here, with the reason."""
    return Finding(check, subject, "skipped", reason)


def timed(check: Callable[..., Finding], *arguments: Any, **named: Any) -> Finding:
    """Run a check and return its finding with the seconds it took."""
    begun = time.perf_counter()
    return replace(check(*arguments, **named), seconds=time.perf_counter() - begun)
