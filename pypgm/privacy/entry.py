"""How a learner gets its private table: by options that all of them spell the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict

from pypgm.estimation.limits import LIMIT_DEFAULTS, LimitOptions
from pypgm.privacy.arguments import as_budget, one_relation
from pypgm.privacy.budget import Budget
from pypgm.privacy.private_table import Counts, PrivateTable
from pypgm.privacy.rational import Number
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import NoiseBackend
from pypgm.privacy.shown_charges import shown_ledger
from pypgm.progress import Bar
from pypgm.queries import Neighbours


class PrivateOptions(TypedDict, total=False):
    """What is protected and how, as keywords of whatever spends a budget on records.

    Parameters
    ----------
    budget : Budget
        Instead of epsilon and delta. With an open `PrivateTable` there is neither: all that its ledger has left is
        spent.
    neighbours : {"add-remove", "replace"}, optional
        Whose presence is protected: "add-remove" (the default) keeps the number of records private. How many records a
        person may have is what the schema of the records says, else 1.
    privacy : Privacy, optional
        Instead of `neighbours`; also says how many records a person may have, and may not contradict the schema.
    backend : {"pypgm", "opendp"}
        Whose samplers draw the noise of the measurements; OpenDP's need the extra ``[opendp]``.
    unsafe_seed : int, optional
        For tests and demonstrations: draw all noise from this number. The release is then the same every time and
        private for nobody, and its ledger and its model say so.
    """

    budget: Budget | None
    neighbours: Neighbours | None
    privacy: Privacy | None
    backend: NoiseBackend
    unsafe_seed: int | None


class LearnerOptions(PrivateOptions, LimitOptions, total=False):
    """What every learner from private records takes by keyword."""


LEARNER_DEFAULTS: Mapping[str, object] = {**LIMIT_DEFAULTS, "backend": "pypgm"}
"""Of `LearnerOptions`, where it is not None."""


def entered(
    data: Counts | PrivateTable,
    epsilon: Number | None,
    delta: Number | None,
    options: PrivateOptions,
    *,
    bar: Bar | None,
    n_threads: int,
    budget_of: Callable[[Number | None, Number | None, Budget | None], Budget] = as_budget,
) -> PrivateTable:
    """Return the table of some records, whose charges move a bar, if there is one; an open table as it is.

    Parameters
    ----------
    budget_of : callable
        Returns the budget that is named one way or the other; raises if it is not one for the learner.

    Raises
    ------
    TypeError
        If an open table is given a budget, a relation or noise: it has them already.
    """
    backend, seed = options.get("backend", "pypgm"), options.get("unsafe_seed")
    budget, neighbours, privacy = options.get("budget"), options.get("neighbours"), options.get("privacy")
    if isinstance(data, PrivateTable):
        asked = (epsilon, delta, budget, neighbours, privacy, seed)
        if any(a is not None for a in asked) or not (isinstance(backend, str) and backend == "pypgm"):
            raise TypeError("an open table has its budget, relation, backend and seed already")
        budget_of(None, None, data.ledger.budget)
        return data
    ledger, relation = shown_ledger(budget_of(epsilon, delta, budget), bar), one_relation(neighbours, privacy)
    return PrivateTable(data, relation, ledger, n_threads=n_threads, backend=backend, unsafe_seed=seed)
