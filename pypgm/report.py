"""What a person reads at the end: a release and a model in a few lines."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm.clock import Clock
from pypgm.data.codebook import label_texts
from pypgm.domain import Clique, Domain, listed
from pypgm.memory import short
from pypgm.models.expected_error import expected_total_variation
from pypgm.models.model import Model
from pypgm.privacy.measured_lines import measured_lines
from pypgm.terminal import escaped, label_text

if TYPE_CHECKING:
    from pypgm.data import Schema
    from pypgm.estimation import LinearMeasurement
    from pypgm.factor import Factor
    from pypgm.models.stored_model import ReleasedModel
    from pypgm.privacy.promise import Promise
    from pypgm.released import Released

_CHARGES = 40  # lines of a ledger that a summary shows


_CHUNK = 65536
_ATTRIBUTES = 300  # at most, evenly spaced among all, that such pairs are of
_PAIRS = 30  # of attributes whose error the report tells
_CELLS = 10**6  # of such a pair at most
_SECONDS = 20.0  # of an estimate that the report is ready to do again


def warned_lines(release: Released) -> list[str]:
    """Return what a reader is to be warned of beside the promise, whatever the answers are."""
    return [*stopped_lines(release.model), *uncounted_lines(release.model)]


def caveat_lines(promise: Promise) -> list[str]:
    """Return the line that says first what is not protected, if there is such a thing."""
    return [f"{promise.reservation}."] if promise.caveats else []


def stopped_lines(model: ReleasedModel) -> list[str]:
    """Return a warning where there was no time to estimate a model to the end."""
    if model.fit is None or model.fit.status != "time":
        return []
    done = _many(model.fit.iterations, "iteration")
    return [f"warning: the estimate was ended by its time limit after {done}: errors may be larger than is said"]


def uncounted_lines(model: ReleasedModel) -> list[str]:
    """Return a warning of attributes that nothing was measured of: what a model says of them is nothing."""
    if not isinstance(model, Model) or model.recipe is None:
        return []
    names = [a for a in model.domain if model.basis((a,)) == "unknown"]
    return [f"warning: never counted: {escaped(', '.join(names))}: even shares, nothing is known"] if names else []


def summary_lines(release: Released) -> list[str]:
    """Return what a release spent, line by line, under its guarantee, and how much was measured."""
    relation = f"{release.privacy.neighbours} neighbours, {release.privacy.records_per_person} record(s) a person"
    total = "records" if release.privacy.total_is_public else "records (noisy)"
    return [
        f"{release.mechanism}: {release.ledger.budget!r}, {relation}",
        release.ledger.report(_CHARGES),
        f"{len(release.measurements)} measurements, {release.model.total:.0f} {total}",
        *unpaired_lines(release),
    ]


def unpaired_lines(release: Released) -> list[str]:
    """Return what measurements the ledger does not charge one by one, and what it charged that is not released."""
    found, many = measured_lines(release.measurements, release.ledger), len(release.measurements)
    given, apart = found.of.count(None), len(found.apart)
    beside = f"not charged in this ledger: {given:,} of {_many(many, 'measurement')}, given or of a sample"
    hidden = f"not in the release: what {_many(apart, 'line')} of the ledger measured"
    return [beside] * bool(given) + [hidden] * bool(apart)


def missing_lines(release: Released) -> list[str]:
    """Return in which columns values may be missing, and of how many records they are, by the release."""
    shares = {} if release.schema is None else missing_shares(release.model, release.schema)
    return [missing_text(shares)] if shares else []


def missing_shares(model: ReleasedModel, schema: Schema) -> dict[str, float]:
    """Return of each column that may have missing values the share of the records in which it has, 0 .. 1."""
    codes = {name: column.null_code for name, column in schema.columns.items() if column.null_code is not None}
    total = max(model.total, 1e-300)
    return {name: float(model.project(name).values[code]) / total for name, code in codes.items()}


def missing_text(shares: Mapping[str, float]) -> str:
    """Return shares of missing values in words.

    Examples
    --------
    >>> missing_text({"job": 0.0213, "sex": 0.0})
    'missing, as the schema lets them and some by noise: job 2.1 %, sex 0.0 % of records'
    """
    told = ", ".join(f"{escaped(name)} {percent(share)}" for name, share in shares.items())
    return f"missing, as the schema lets them and some by noise: {told} of records"


def percent(share: float) -> str:
    """Return a share in per cent, in two digits or so."""
    return f"{100 * share:.{0 if share >= 0.0995 else 1}f} %"


def model_lines(model: ReleasedModel) -> list[str]:
    r"""Return the lines that sum a model up: its size, its largest clique, how its estimate ended.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork

    Examples
    --------
    >>> import pypgm
    >>> potentials = pypgm.CliqueVector(pypgm.Domain({"a": 2, "b": 3}), [("a", "b")])
    >>> print("\n".join(model_lines(pypgm.models.GraphicalModel(potentials, 10.0))))
    model: 2 attributes, 1 clique, 6 parameters; largest clique: a, b (6 cells)
    """
    domain = model.domain
    largest = max(model.cliques, key=domain.size, default=())
    size = f"{_many(len(domain), 'attribute')}, {_many(len(model.cliques), 'clique')}, "
    size += f"{_many(model.potentials.values.size, 'parameter')}; "
    lines = [f"model: {size}largest clique: {escaped(', '.join(largest)) or 'none'} ({domain.size(largest):,} cells)"]
    if model.fit is not None:
        gap = "" if model.fit.gap is None else f" (at most {model.fit.gap:.3g} above the optimum)"
        ended = f"{model.fit.status} after {_many(model.fit.iterations, 'iteration')}"
        loss = "" if math.isnan(model.fit.loss) else f", loss {model.fit.loss:.6g}{gap}"
        lines.append(f"fit: {ended}{loss}, {model.fit.seconds:.1f} s")
    return lines


def error_lines(model: ReleasedModel) -> list[str]:
    """Return what error of pairs of attributes is to be expected, and a warning where it is about all.

    Parameters
    ----------
    model : GraphicalModel, RegionGraphModel or CountedNetwork
        Of a release; nothing is said where it does not know its errors, or to tell them would take long.
    """
    names = model.domain.attributes
    some = names[:: -(-len(names) // _ATTRIBUTES)] if names else ()
    small = [p for p in itertools.combinations(some, 2) if model.domain.size(p) <= _CELLS]
    slow = model.fit is not None and model.fit.seconds > _SECONDS
    if not isinstance(model, Model) or model.recipe is None or slow:
        return []
    counted = {a for a in some if model.basis((a,)) != "unknown"}
    small = [p for p in small if counted.issuperset(p)]
    if not small:
        return []
    asked = small[:: -(-len(small) // _PAIRS)]
    with Clock() as clock:
        errors = expected_total_variation(model, asked, 1, clock)
    error = errors.mean()
    lines = [f"expected error: {100 * error:.2g} percentage points of a pair of attributes (mean total variation)"]
    unmeasured = sum(model.basis(p) == "unmeasured" for p in asked)
    if unmeasured:
        lines.append(f"  {unmeasured} of {len(asked)} pairs looked at were not measured: how they depend may add to it")
    tables = [model.project(pair) for pair in asked]
    return [*lines, *noise_warnings(list(zip(tables, errors.tolist(), strict=True)))]


def noise_warnings(pairs: Sequence[tuple[Factor, float]]) -> list[str]:
    """Return a warning where noise is about all that a release says.

    Parameters
    ----------
    pairs : sequence of (Factor, float)
        The counts of each pair that was looked at, and the total variation distance to expect of them.
    """
    if not pairs:
        return []
    uniform, independent = np.transpose([_distances(table) for table, _ in pairs])
    error = float(np.mean([e for _, e in pairs]))
    seen = zip(pairs, independent, strict=True)
    told = [escaped(" and ".join(table.domain)) for (table, e), far in seen if 2 * e < far]
    if error >= uniform.mean():
        return ["warning: about all of this release is noise; its answers say hardly more than nothing"]
    if error >= independent.mean() and told:
        out = f"of {len(pairs)} looked at, these clearly do, though not in detail: {listed(told)}"
        return [f"warning: noise hides how most pairs depend; {out}"]
    if error >= independent.mean():
        return ["warning: what it says of attributes together is about all noise; they could be independent"]
    return []


def domain_lines(domain: Domain) -> list[str]:
    """Return a line for each attribute: its size, and its first labels.

    Parameters
    ----------
    domain : Domain

    Examples
    --------
    >>> domain_lines(Domain({"age": 85, "sex": ["F", "M"]}))
    ['  age  85', '  sex   2  F, M']
    """
    names = [*map(escaped, domain)]
    wide = max(map(len, names), default=0)
    digits = max((len(short(size)) for size in domain.shape), default=0)
    lines = []
    for attribute, name, size in zip(domain.attributes, names, domain.shape, strict=True):
        texts = label_texts(domain, attribute) or []
        shown = escaped(", ".join(map(label_text, texts[:6]))) + (", …" if len(texts) > 6 else "")
        lines.append(f"  {name:<{wide}}  {size:>{digits}}  {shown}".rstrip())
    return lines


def measurement_lines(measurements: Sequence[LinearMeasurement], limit: int = 20) -> list[str]:
    """Return a line for each measured clique and number of answers: the noise in each, all measurements together.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
    limit : int
        Most lines; of more those with the most noise are shown, and how many others there are.

    Examples
    --------
    >>> from pypgm import LinearMeasurement
    >>> measurement_lines([LinearMeasurement([3, 4], "sex", stddev=2.0), LinearMeasurement([2, 5], "sex", stddev=2.0)])
    ['  sex  2 numbers  noise 1.41 records']
    """
    rows = together((m.clique, m.values.size, noise_of(m)) for m in measurements)
    shown = sorted(sorted(range(len(rows)), key=lambda i: -rows[i][2])[:limit])
    names = [escaped(", ".join(rows[i][0])) or "(all records)" for i in shown]
    counts = [_many(rows[i][1], "number") for i in shown]
    wide, long = max(map(len, names), default=0), max(map(len, counts), default=0)
    told = zip(names, counts, shown, strict=True)
    lines = [f"  {name:<{wide}}  {count:>{long}}  noise {rows[i][2]:.3g} records" for name, count, i in told]
    left = len(rows) - len(shown)
    return [*lines, f"  and {left:,} with less noise"] if left else lines


def together(rows: Iterable[tuple[Clique, int, float]]) -> list[tuple[Clique, int, float]]:
    """Return one row for what is measured more than once, with the noise of the best mean of its measurements.

    Examples
    --------
    >>> together([(("a",), 2, 5.0), (("b",), 3, 1.0), (("a",), 2, 5.0)])[0] == (("a",), 2, 12.5**0.5)
    True
    """
    known: dict[tuple[Clique, int], float] = {}
    for clique, numbers, stddev in rows:
        known[clique, numbers] = known.get((clique, numbers), 0.0) + (stddev**-2 if stddev else math.inf)
    return [(clique, numbers, weight**-0.5) for (clique, numbers), weight in known.items()]


def noise_of(measurement: LinearMeasurement) -> float:
    """Return the noise of a measurement as that of one count: its standard deviation over what a record adds at most.

    Parameters
    ----------
    measurement : LinearMeasurement

    Examples
    --------
    >>> from pypgm import LinearMeasurement, queries
    >>> noise_of(LinearMeasurement([3, 4, 5], "age", stddev=2.0, query=queries.Matrix([[2, 0], [0, 2], [0, 0]])))
    1.0
    """
    largest = float(np.max(measurement.linear_map.column_norms(2), initial=0.0))
    return float(np.max(measurement.stddev)) / (largest or 1.0)


def cells(factor: Factor) -> Iterator[tuple[str, ...]]:
    """Yield each cell of a table as text: the label or code of each attribute, then the number.

    Parameters
    ----------
    factor : Factor
        Counts or probabilities.

    Examples
    --------
    >>> from pypgm import Factor
    >>> list(cells(Factor(Domain({"sex": ["F", "M"]}), [3, 4.5])))
    [('F', '3'), ('M', '4.5')]
    """
    domain, numbers = factor.domain, factor.datavector()
    texts = [label_texts(domain, name) for name in domain]
    for start in range(0, len(numbers), _CHUNK):
        stop = min(start + _CHUNK, len(numbers))
        codes = _codes(domain.shape, start, stop)
        columns = [c if t is None else [t[i] for i in c] for c, t in zip(codes, texts, strict=True)]
        for row, number in enumerate(numbers[start:stop].tolist()):
            yield (*(str(column[row]) for column in columns), f"{number:.10g}")


def compare(synthetic: Factor, *, unsafe_data: Factor) -> list[tuple[str, float, float]]:
    """Return for each cell its name, the real count and the synthetic one. The real counts are not private.

    Parameters
    ----------
    synthetic : Factor
        Counts of synthetic records, or of a model.
    unsafe_data : Factor
        Counts of the real records over the same attributes.

    Examples
    --------
    >>> from pypgm import Factor
    >>> sex = Domain({"sex": ["F", "M"]})
    >>> compare(Factor(sex, [3, 4]), unsafe_data=Factor(sex, [2, 5]))
    [('F', 2.0, 3.0), ('M', 5.0, 4.0)]
    """
    names = [escaped(" · ".join(cell[:-1])) for cell in cells(synthetic)]
    return list(zip(names, unsafe_data.datavector().tolist(), synthetic.datavector().tolist(), strict=True))


def _codes(shape: Sequence[int], start: int, stop: int) -> list[list[int]]:
    """Return the code of each attribute in cells start .. stop - 1, for any number of attributes."""
    rest: NDArray[np.int64] = np.arange(start, stop)
    codes = []
    for size in reversed(shape):
        rest, code = np.divmod(rest, size)
        codes.append(code.tolist())
    return codes[::-1]


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _distances(pair: Factor) -> tuple[float, float]:
    """Return the total variation distances of a table from the uniform one and from the product of its sums."""
    shares = pair.values / max(float(pair.values.sum()), 1e-300)
    product = shares.sum(axis=1, keepdims=True) * shares.sum(axis=0, keepdims=True)
    return 0.5 * float(np.abs(shares - 1 / shares.size).sum()), 0.5 * float(np.abs(shares - product).sum())
