"""Options of mechanisms and learners, with the values to try of each."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

import pypgm
from pypgm import mechanisms, mrf, queries, workloads
from pypgm.bayes.private_learning import learn_private
from pypgm.bayes.private_structure import PrivateStructure
from pypgm.domain import Clique, Domain
from pypgm.privacy.relation import Privacy
from selfcheck.questions import questions

T = TypeVar("T")


class Choose:
    """Chooser of a value of each option, which records the values offered and run.

    Parameters
    ----------
    seed : int
    evenly : bool
        Whether values that ran less often go first; else all are as likely each time.
    """

    def __init__(self, seed: int, *, evenly: bool = False) -> None:
        self.rng = np.random.default_rng(seed)
        self._evenly = evenly
        self._tried: Counter[str] = Counter()
        self._now: list[str] = []
        self.offered: dict[str, None] = {}
        self.ran: set[str] = set()

    def one_of(self, name: str, values: Sequence[T]) -> T:
        """Return one of some values of an option."""
        labels = [f"{name}={value!r}" for value in values]
        least = min(self._tried[label] for label in labels) if self._evenly else 0
        among = [i for i, label in enumerate(labels) if not self._evenly or self._tried[label] == least]
        chosen = values[among[int(self.rng.integers(len(among)))]]
        self.meets(name, chosen, values)
        return chosen

    def meets(self, name: str, value: object, values: Sequence[object]) -> None:
        """Note a value that follows from others, such as two options together, among all there are."""
        self.offered |= dict.fromkeys(f"{name}={each!r}" for each in values)
        self._now.append(f"{name}={value!r}")

    def tried(self, *, ran: bool) -> None:
        """Note whether the values chosen since the last call ran or were refused."""
        # Refused values come again sooner than those that ran, perhaps with other values.
        self._tried.update(self._now * (2 if ran else 1))
        self.ran.update(self._now if ran else ())
        self._now = []


@dataclass(frozen=True, slots=True)
class Setting:
    """Mechanism and its options, besides budget and relation."""

    call: Callable[..., Any]
    options: dict[str, Any]

    def __call__(self, data: Any, budget: Any, privacy: Any) -> Any:
        """Run the mechanism as the audit calls it."""
        return self.call(data, budget=budget, privacy=privacy, **self.options)

    @property
    def given(self) -> tuple[pypgm.LinearMeasurement, ...]:
        """Measurements given to the mechanism."""
        return tuple(self.options.get("measurements", ()))


@dataclass(frozen=True, slots=True)
class Subject:
    """Mechanism to try with options, the purposes of its draws, and its kinds of budgets and tables.

    It is `is_rich`, one or another, whether there is much to tell: many records and cells, and budget. Tables that are
    `is_wide` have four attributes or more about as often as fewer.
    """

    make: Callable[[Choose, Domain, Privacy], Setting]
    draws: tuple[str, ...]
    is_pure: bool = False
    is_binary: bool = False
    is_small: bool = False
    is_wide: bool = False
    is_rich: tuple[bool, ...] = (False, True, False)


def _common(choose: Choose, domain: Domain, *, of_models: bool = True) -> dict[str, Any]:
    """Return options that every mechanism takes, with as little estimation as possible."""
    options: dict[str, Any] = {"iterations": 2, "n_threads": choose.one_of("n_threads", (1, 2))}
    if not of_models:
        return options
    first = domain.attributes[:1]
    if choose.one_of("measurements", (False, True, False)):
        options["measurements"] = [pypgm.LinearMeasurement(np.full(domain.size(first), 3), first, stddev=2.0)]
    some = domain.attributes[:2]
    if choose.one_of("constraints", (False, True, False)) and domain.size(some) > 1:
        cells = np.arange(domain.size(some)).reshape(domain.sizes(some))
        options["constraints"] = [pypgm.Constraint(some, forbidden=cells == 1)]
    options["oracle"] = choose.one_of("oracle", ("auto", "exact", "region_graph"))
    return options


def _workload(choose: Choose, domain: Domain, ask: str = "cells") -> dict[str, Any]:
    """Return a workload of random marginals, with weights, and with queries if the mechanism takes them."""
    kind = choose.one_of("workload", ("none", "plain", "weighted", *(() if ask == "cells" else ("queries",))))
    if kind == "none":
        return {}
    every = [c for k in (1, 2, 3) for c in itertools.combinations(domain, k) if domain.size(c) <= 1000]
    count = min(len(every), int(choose.rng.integers(1, 5)))
    cliques = [every[i] for i in choose.rng.permutation(len(every))[:count]]
    weights = None
    if kind == "weighted":
        weights = [Fraction(int(choose.rng.integers(1, 40)), int(choose.rng.integers(1, 9))) for _ in cliques]
    queries = [_query(choose, domain, c, ask) for c in cliques] if kind == "queries" else None
    return {"workload": workloads.Workload(domain, cliques, queries, weights)}


def _query(choose: Choose, domain: Domain, clique: Clique, ask: str) -> queries.LinearQuery | None:
    cells, rng = domain.size(clique), choose.rng
    made: list[Callable[[], queries.LinearQuery | None]] = [
        lambda: None,
        lambda: queries.Partition((rng.permutation(cells) % 2).tolist()) if cells > 1 else None,
    ]
    if ask == "anything":
        made += [lambda: queries.Prefix(cells), lambda: queries.AllRange(cells)]
        made.append(lambda: queries.Matrix(rng.integers(-3, 4, size=(3, cells)) + np.eye(3, cells, dtype=np.int64) * 9))
    return made[int(rng.integers(len(made)))]()


def _mst(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    return Setting(mechanisms.mst, {"compress": choose.one_of("compress", (True, False)), **_common(choose, domain)})


def _aim(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    options = {
        "rounds": choose.one_of("rounds", (1, 3, 7)),
        "score": choose.one_of("score", ("noise", "risk")),
        "tree_bytes": choose.one_of("tree_bytes", (8e6, 200.0, 8e6)),
    }
    return Setting(mechanisms.aim, options | _workload(choose, domain) | _common(choose, domain))


def _adaptive_grid(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    targets = choose.one_of("targets", (0, 1, 2))
    met = targets, len(domain) - targets > 2
    choose.meets("targets, a tree beside them", met, list(itertools.product((0, 1, 2), (False, True))))
    options = {
        "targets": domain.attributes[:targets],
        "split": choose.one_of("split", ((0.1, 0.1, 0.8), ("1/3", "1/3", "1/3"), (0.7, 0.2, 0.1))),
        "threshold": choose.one_of("threshold", (0.0, 3.0, 9.0)),
    }
    return Setting(mechanisms.adaptive_grid, options | _common(choose, domain))


def _hdmm(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    options = {"strategy": choose.one_of("strategy", ("marginals", "contrasts"))}
    return Setting(mechanisms.hdmm, options | _workload(choose, domain, "anything") | _common(choose, domain))


def _jam(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    n = choose.one_of("public records", (1, 7))
    public = pypgm.Dataset({a: choose.rng.integers(0, domain.size(a), n) for a in domain}, domain)
    options = {
        "public": public,
        "rounds": choose.one_of("rounds", (1, 4)),
        "tree_bytes": choose.one_of("tree_bytes", (8e6, 200.0)),
    }
    return Setting(mechanisms.jam, options | _workload(choose, domain) | _common(choose, domain))


def _screen(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    options = {"tree_bytes": choose.one_of("tree_bytes", (8e7, 160.0))}
    return Setting(mechanisms.screen, options | _workload(choose, domain) | _common(choose, domain))


def _wide(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    ordered = choose.one_of("ordinal", (None, 0, 2))
    options = {"ordinal": None if ordered is None else domain.attributes[:ordered]}
    return Setting(mechanisms.wide, options | _workload(choose, domain) | _common(choose, domain))


def _mwem(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    asks = choose.one_of("asks", ("marginals", "cells"))
    estimator = choose.one_of("estimator", ("model", "weights"))
    options = {
        "asks": asks,
        "estimator": estimator,
        "rounds": choose.one_of("rounds", (1, 4)),
        "tree_bytes": choose.one_of("tree_bytes", (8e6, 200.0)),
    }
    work = _workload(choose, domain, "cells" if asks == "cells" else "groups")
    return Setting(mechanisms.mwem, options | work | _common(choose, domain, of_models=estimator == "model"))


def _dualquery(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    options, common = _drawn(choose, domain)
    options |= {"rate": choose.one_of("rate", ("1/10", "2"))}
    return Setting(mechanisms.dualquery, options | _workload(choose, domain) | common)


def _fem(choose: Choose, domain: Domain, _: Privacy) -> Setting:
    options, common = _drawn(choose, domain)
    options |= {
        "perturbation": choose.one_of("perturbation", (0.01, 0.16, 3.0)),
        "law": choose.one_of("law", ("exponential", "laplace")),
    }
    if options["samples"] == 1:
        options["rounds"] = choose.one_of("rounds by default", (options["rounds"], None))
    return Setting(mechanisms.fem, options | _workload(choose, domain) | common)


def _drawn(choose: Choose, domain: Domain) -> tuple[dict[str, Any], dict[str, Any]]:
    estimator = choose.one_of("estimator", ("model", "records"))
    options = {
        "estimator": estimator,
        "rounds": choose.one_of("rounds", (2, 4)),
        "samples": choose.one_of("samples", (1, 3)),
        "optimiser": choose.one_of("optimiser", ("ascent", "exact")),
    }
    return options, _common(choose, domain, of_models=estimator == "model")


def _structure(choose: Choose, domain: Domain, privacy: Privacy) -> PrivateStructure:
    scores = ["R"] + ["F"] * (set(domain.shape) == {2}) + ["MI"] * privacy.total_is_public
    score = choose.one_of("score", scores)
    return PrivateStructure(
        score=score,  # type: ignore[arg-type]  # it is one
        share=choose.one_of("share", ("3/10", "9/10")),
        usefulness=choose.one_of("usefulness", (None, "1/99", 4)),
        max_parents=choose.one_of("max_parents", (1, 2, 3)),
        penalty=choose.one_of("penalty", (0, 1) if score != "F" else (0,)),
    )


def _privbayes(choose: Choose, domain: Domain, privacy: Privacy) -> Setting:
    estimator = choose.one_of("estimator", ("model", "tables"))
    options = {"structure": _structure(choose, domain, privacy), "estimator": estimator, "iterations": 2}
    return Setting(mechanisms.privbayes, options)


def _learn_private(choose: Choose, domain: Domain, privacy: Privacy) -> Setting:
    arcs = {"chain": list(itertools.pairwise(domain)), "none": {}, "all": list(itertools.combinations(domain, 2))}
    kind = choose.one_of("structure", ("chain", "all", "private", "none"))
    options: dict[str, Any] = {
        "structure": _structure(choose, domain, privacy) if kind == "private" else arcs[kind],
        "allocation": choose.one_of("allocation", ("sizes", "data-dependent", "uniform")),
        "noise": choose.one_of("noise", (None, "laplace", "gaussian")),
        "estimator": choose.one_of("estimator", ("model", "tables")),
        "consistency": choose.one_of("consistency", ("variance", "epsilon", None)),
    }
    stages: dict[str, Any] = {
        "sensitivity": choose.one_of("sensitivity", (None, "covary", "paper")),
        "error_model": choose.one_of("error_model", ("delta", "paper")),
        "stage_one": choose.one_of("stage_one", ("1/10", "1/2")),
    }
    if privacy == Privacy():
        stages["sampling"] = choose.one_of("sampling", ("1", "1/3"))
    if options["allocation"] == "data-dependent":
        options |= stages
    return Setting(learn_private, options | {"callback": _stop})


def _stop(state: Any) -> bool:
    """Stop an estimate at its first iteration."""
    return bool(state.iteration >= 0)


def _field(learner: Callable[..., Any]) -> Callable[[Choose, Domain, Privacy], Setting]:
    def make(choose: Choose, _: Domain, __: Privacy) -> Setting:
        more = {"order": choose.one_of("order", (1, 2, 3))} if learner is mrf.learn_t_wise else {}
        radius, steps = choose.one_of("radius", (0.01, 0.5, 3.0)), choose.one_of("steps", (1, 3, None))
        return Setting(learner, {"radius": radius, "steps": steps, **more})

    return make


def _questions(choose: Choose, _: Domain, __: Privacy) -> Setting:
    return Setting(questions, {"acts": choose.rng.integers(0, 100, size=6).tolist()})


_STATED, _REGRESSED = ("stated add-remove", "stated replace"), ("measure", "regress")
_NEVER = (False,)

SETTINGS: dict[str, Subject] = {
    "mst": Subject(_mst, ("measure", "select")),
    "aim": Subject(_aim, ("measure", "select", *_STATED)),
    "adaptive_grid": Subject(_adaptive_grid, ("measure", "select"), is_wide=True),
    "hdmm": Subject(_hdmm, ("measure",)),
    "jam": Subject(_jam, ("measure", "select", *_STATED)),
    "screen": Subject(_screen, ("measure", "screen")),
    "wide": Subject(_wide, ("measure", "screen", "select", *_STATED), is_rich=(True, False, True, True)),
    "mwem": Subject(_mwem, ("measure", "select", *_STATED), is_pure=True),
    "dualquery": Subject(_dualquery, ("measure", "select"), is_pure=True),
    "fem": Subject(_fem, ("measure", "select"), is_pure=True),
    "privbayes": Subject(_privbayes, ("measure", "select", *_STATED), is_pure=True, is_small=True),
    "learn_private": Subject(_learn_private, ("measure", "select", *_STATED), is_pure=True),
    "learn_ising": Subject(_field(mrf.learn_ising), _REGRESSED, is_pure=True, is_binary=True, is_rich=_NEVER),
    "learn_pairwise": Subject(_field(mrf.learn_pairwise), _REGRESSED, is_pure=True, is_small=True, is_rich=_NEVER),
    "learn_t_wise": Subject(_field(mrf.learn_t_wise), _REGRESSED, is_pure=True, is_binary=True, is_rich=_NEVER),
    "questions": Subject(_questions, ("measure", "select", *_STATED), is_pure=True),
}
"""Mechanisms and learners, and sequences of single questions to a private table."""
