"""Histograms of unknown keys, and samples: their release and cost, recomputed from the inputs of the samplers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import LAWS, NOISES, SAMPLERS, Noise
from pypgm.audit.pairs import table
from pypgm.audit.trace import core_with
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import law_of
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn, sparse_histogram
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.relation import Privacy

Found = Iterator[tuple[str, str]]
Drawn = tuple[Noise, NDArray[np.int64], Fraction]

_PRIVACIES = (
    Privacy(),
    Privacy(records_per_person=2),
    Privacy(records_per_person=5),
    Privacy("replace"),
    Privacy("replace", records_per_person=4),
)
_DELTA = Fraction(1, 10**5)


@contextmanager
def scripted(outcome: Callable[[NDArray[np.int64]], Any]) -> Iterator[list[Drawn]]:
    """Replace the noise of the core by scripted outcomes, and note the calls."""
    drawn: list[Drawn] = []

    def sampler(name: str) -> Callable[..., Any]:
        def draw(counts: NDArray[np.int64], numerator: int, denominator: int, *_: Any, **__: Any) -> Any:
            drawn.append((SAMPLERS[name], counts.copy(), Fraction(numerator, denominator)))
            return outcome(counts)

        return draw

    with core_with(**{name: sampler(name) for law in NOISES for name in law.samplers}):
        yield drawn


def check_unknown_keys(privacies: Sequence[Privacy] = _PRIVACIES) -> Finding:
    """Find the threshold of histograms of unknown keys from scripted outcomes, and the probability of passing it.

    However the k records of one person are spread over keys that nobody else has, the exact probability that one of
    these keys is released must not exceed the delta charged, nor that the delta requested. On keys that others have
    too, counts may change by no more than was charged for.
    """
    defects: list[tuple[str, str]] = []
    hows: tuple[dict[str, Any], ...] = (
        {"scale": Fraction(7, 3)},
        {"variance": Fraction(31, 7)},
        {"rho": Fraction(1, 5)},
    )
    for privacy, how in itertools.product(privacies, hows):
        where = f"{privacy}, {next(iter(how))}"
        line, drawn, least = _threshold(privacy, how, defects, where)
        law, _, parameter = drawn
        name = law.parameter
        if line.noise != law.name or line.parameters.get(name) != parameter:
            defects.append(("scale differs from the charge", f"{where}: drawn is {law} of {name} {parameter}"))
        passes = lone_key_passes(law, parameter, least, privacy.records_per_person)
        if passes > float(line.delta) * (1 + 1e-9):
            defects.append(
                ("threshold", f"{where}: a lone key passes with {passes:.3e}, {float(line.delta):.3e} charged")
            )
        if line.delta > _DELTA or ("rho" in how and line.cost > how["rho"]):
            defects.append(("overspent", f"{where}: {line.cost} and delta {line.delta} are charged"))
        defects.extend(_shared(privacy, how, where))
        defects.extend(_lower(line, where))
    figures = f"{len(privacies) * len(hows)} thresholds, exact tails at most the delta charged"
    return finding("unknown keys", "sparse_histogram", defects, figures)


def _threshold(
    privacy: Privacy, how: dict[str, Any], defects: list[tuple[str, str]], where: str
) -> tuple[Charge, Drawn, int]:
    """Give 600 lone keys the outcomes -100, -99, ...; return the charge, the draw and the least outcome released."""
    outcomes = np.arange(-100, 500)
    outcomes[[0, -1]] = -(10**12), 10**12  # far beyond the number of records
    ledger = Ledger(Budget(rho=100, reserved_delta=Fraction(1, 10)))
    values: list[object] = [None, 2.5, *range(600), object()]
    with scripted(lambda _: outcomes) as drawn:
        released = sparse_histogram(PrivateColumn(values, privacy, ledger), delta=_DELTA, **how)
    least = min(released.values(), default=501)
    if released != {key: out for key, out in enumerate(outcomes.tolist()) if out >= least} or len(drawn) != 1:
        defects.append(("noise added outside the sampler", f"{where}: the release is not what was drawn"))
    if ledger.spent_delta() != sum(line.delta for line in ledger.lines) or len(ledger.lines) != 1:
        defects.append(("wrong charge", f"{where}: the ledger's delta is not that of its lines"))
    return ledger.lines[0], drawn[0], least


def _lower(line: Charge, where: str) -> Found:
    """Lower the threshold of a line as long as the line is accepted: its delta must cover the keys that pass."""
    given = dict(line.parameters)
    law, k = LAWS[line.noise], int(given.get("records_per_person", 1))
    for threshold in range(int(given.get("threshold", 0)) - 1, 0, -1):
        try:
            law_of(line.noise, given | {"threshold": Fraction(threshold)}, line.delta)
        except ValueError:
            return
        if lone_key_passes(law, given[law.parameter], threshold, k) > float(line.delta) * (1 + 1e-9):
            yield "unchecked import", f"{where}: a line with the threshold {threshold} is accepted"
            return


def lone_key_passes(law: Noise, parameter: Fraction, least: int, k: int) -> float:
    """Return the probability that one of a person's keys reaches `least`, with k records spread in the worst way."""
    each = [law.tail(parameter, least - count) for count in range(1, k + 1)]
    best = [0.0]
    for records in range(1, k + 1):
        best.append(max(best[records - count] + each[count - 1] for count in range(1, records + 1)))
    return best[k]


def _shared(privacy: Privacy, how: dict[str, Any], where: str) -> Found:
    """Compare the counts of neighbours with the same keys with the change they are charged for."""
    k = privacy.records_per_person
    others = ["tea", "milk", 3] * 10
    lines, counts = [], []
    for keys in (["tea"] * k, ["milk"] * k if privacy.neighbours == "replace" else []):
        ledger = Ledger(Budget(rho=100, reserved_delta=Fraction(1, 10)))
        with scripted(lambda given: given) as drawn:
            sparse_histogram(PrivateColumn([*others, *keys], privacy, ledger), delta=_DELTA, **how)
        lines.append(ledger.lines[0])
        counts.append(drawn[0][1])
    law, _, parameter = drawn[0]
    true = law.change((counts[1] - counts[0]).tolist(), parameter)
    owed = law.cost({law.charged: true, law.parameter: parameter}, "rho")
    if lines[0].cost < owed or lines[0].cost != lines[1].cost:
        name = "wrong relation" if privacy.neighbours == "replace" else "sensitivity" if k == 1 else "lost user bound"
        yield (
            name,
            f"{where}: counts change by {true}, which costs {float(owed):.6g}, {float(lines[0].cost):.6g} charged",
        )


def check_samples() -> Finding:
    """Compare the exact loss of noise on a Poisson sample whose whole budget is spent with its charge.

    With one more record, a count is c + 1 with probability r, the rate, and c otherwise: the largest log ratio of
    discrete Laplace noise of scale b is log(1 - r + r exp(1 / b)). Under another relation, samples must be refused.
    """
    defects: list[tuple[str, str]] = []
    rates, epsilons = [Fraction(1, 2), Fraction(1, 1009), Fraction(9, 10)], [Fraction(1, 3), Fraction(2), Fraction(11)]
    for rate, epsilon, unit in itertools.product(rates, epsilons, ("epsilon", "rho")):
        defects.extend(_sampled(rate, epsilon, Budget(rho=1000) if unit == "rho" else Budget(epsilon=1000)))
    for privacy in _PRIVACIES[1:]:
        try:
            _table(privacy, Budget(epsilon=10)).subsample(Fraction(1, 2), epsilon=1)
        except ValueError:
            continue
        name = "wrong relation" if privacy.neighbours == "replace" else "lost user bound"
        defects.append((name, f"a sample is amplified under {privacy}"))
    return finding("samples", "subsample", defects, f"{2 * len(rates) * len(epsilons)} exact losses, 4 refusals")


def _table(privacy: Privacy, budget: Budget) -> PrivateTable:
    return PrivateTable(table(np.array([[0, 0, 0]] * 9 + [[2, 1, 1]])), privacy, Ledger(budget))


def _sampled(rate: Fraction, epsilon: Fraction, budget: Budget) -> Found:
    private = _table(Privacy(), budget)
    coins = np.array([0, 1, 1, 0, 0, 0, 1, 0, 0, 1], dtype=np.uint8)
    calls: list[tuple[Any, ...]] = []

    def flip(*given: Any) -> NDArray[np.uint8]:
        calls.append(given)
        return coins if len(calls) == 1 else 1 - coins

    with core_with(flip_coins=flip):
        sample, second = [private.subsample(rate, epsilon=epsilon) for _ in range(2)]
    where = f"rate {rate}, epsilon {epsilon}, {budget!r}"
    flipped = [(call[0], Fraction(*call[1:3])) for call in calls]
    if any(given is not None for call in calls for given in call[3:]):
        yield "seeded by default", f"{where}: coins are flipped with given words"
    if flipped != [(coins.size, rate)] * 2:
        yield "scale differs from the charge", f"{where}: coins {flipped}"
    limit = sample.ledger.budget.limit
    with scripted(lambda given: given) as drawn:
        sample.measure("a", scale=1 / limit)
        second.measure("a", scale=1 / limit)
    for (_, counts, _), kept in zip(drawn, ([3, 0, 1], [6, 0, 0]), strict=True):
        if counts.tolist() != kept:
            yield "answer of another table", f"{where}: {counts.tolist()} are counted where {kept} were kept"
    charged = sum((line.cost for line in private.ledger.lines), Fraction(0)) / 2
    loss = math.log1p(float(rate) * math.expm1(1 / float(drawn[0][2])))
    owed = loss if budget.unit == "epsilon" else loss**2 / 2
    if float(charged) < owed * (1 - 1e-12):
        yield "wrong charge", f"{where}: its noise loses {owed:.9g}, {float(charged):.9g} is charged"
    try:
        sample.measure("b", scale=Fraction(10**6) / limit)
    except BudgetError:
        return
    yield "overspent", f"{where}: more than its whole budget is spent on the sample"
