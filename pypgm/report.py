"""Lines of text about releases, models and answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from pypgm._base.terminal import escaped
from pypgm.data.columns.codebook import label_texts
from pypgm.domain import Clique
from pypgm.models.model import Model
from pypgm.privacy.measured_lines import measured_lines
from pypgm.reporting.words import first_of, many

if TYPE_CHECKING:
    from pypgm.estimation import LinearMeasurement
    from pypgm.factor import Factor
    from pypgm.files.stored_model import ReleasedModel
    from pypgm.privacy.promise import Promise
    from pypgm.released import Released

_CHUNK = 65536
_NAMED = 4  # columns in a sentence, at most


def warned_lines(release: Released) -> list[str]:
    """Return the warnings that come from neither the promise nor the errors."""
    return [*stopped_lines(release.model), *uncounted_lines(release.model)]


def caveat_lines(promise: Promise) -> list[str]:
    """Return the line that states any missing protection."""
    return [f"{promise.reservation}."] if promise.caveats else []


def stopped_lines(model: ReleasedModel) -> list[str]:
    """Return a warning if a time limit ended the estimate of a model."""
    if model.fit is None or model.fit.status != "time":
        return []
    done = many(model.fit.iterations, "iteration")
    return [f"the estimate was ended by its time limit after {done}: errors may be larger than stated"]


def uncounted_lines(model: ReleasedModel) -> list[str]:
    """Return a warning of attributes without a measurement, about which a model knows nothing."""
    if not isinstance(model, Model) or model.recipe is None:
        return []
    names = [a for a in model.domain if model.basis((a,)) == "unknown"]
    return [uncounted_text(names)] if names else []


def uncounted_text(names: Sequence[str], *, whole: bool = False) -> str:
    """Return a warning of attributes without a measurement, all by name or the first of them."""
    return f"never counted: {escaped(first_of(names, None if whole else _NAMED))}: even shares, nothing is known"


def unpaired_lines(release: Released) -> list[str]:
    """Return lines on measurements without a charge in the ledger, and on charges without a released measurement."""
    paired, n_measured = measured_lines(release.measurements, release.ledger), len(release.measurements)
    given, apart = paired.of.count(None), len(paired.apart)
    beside = f"not charged in this ledger: {given:,} of {many(n_measured, 'measurement')}, given or of a sample"
    hidden = f"not in the release: what {many(apart, 'line')} of the ledger measured"
    return [beside] * bool(given) + [hidden] * bool(apart)


def model_lines(model: ReleasedModel) -> list[str]:
    r"""Return lines on a model: its size, its largest clique, the end of its estimate.

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
    size = f"{many(len(domain), 'attribute')}, {many(len(model.cliques), 'clique')}, "
    size += f"{many(model.potentials.values.size, 'parameter')}; "
    lines = [f"model: {size}largest clique: {escaped(', '.join(largest)) or 'none'} ({domain.size(largest):,} cells)"]
    if model.fit is not None:
        gap = "" if model.fit.gap is None else f" (at most {model.fit.gap:.3g} above the optimum)"
        ended = f"{model.fit.status} after {many(model.fit.iterations, 'iteration')}"
        loss = "" if math.isnan(model.fit.loss) else f", loss {model.fit.loss:.6g}{gap}"
        lines.append(f"fit: {ended}{loss}, {model.fit.seconds:.1f} s")
    return lines


def measurement_lines(measurements: Sequence[LinearMeasurement], limit: int = 20) -> list[str]:
    """Return a line for each measured clique and number of answers, with the noise of all its measurements together.

    Parameters
    ----------
    measurements : sequence of LinearMeasurement
    limit : int
        Largest number of lines; if there are more, those with the most noise are shown, and the others are counted.

    Examples
    --------
    >>> from pypgm import LinearMeasurement
    >>> measurement_lines([LinearMeasurement([3, 4], "sex", stddev=2.0), LinearMeasurement([2, 5], "sex", stddev=2.0)])
    ['  sex  2 numbers  noise 1.41 records']
    """
    rows = measured_rows(measurements)
    shown = sorted(sorted(range(len(rows)), key=lambda i: -rows[i][2])[:limit])
    names = [escaped(", ".join(rows[i][0])) or "(all records)" for i in shown]
    counts = [many(rows[i][1], "number") for i in shown]
    wide, long = max(map(len, names), default=0), max(map(len, counts), default=0)
    columns = zip(names, counts, shown, strict=True)
    lines = [f"  {name:<{wide}}  {count:>{long}}  noise {rows[i][2]:.3g} records" for name, count, i in columns]
    left = len(rows) - len(shown)
    return [*lines, f"  and {left:,} with less noise"] if left else lines


def measured_rows(measurements: Iterable[LinearMeasurement]) -> list[tuple[Clique, int, float]]:
    """Return a row for each measured clique and number of answers, with the noise of all its measurements together."""
    return together((m.clique, m.values.size, noise_of(m)) for m in measurements)


def together(rows: Iterable[tuple[Clique, int, float]]) -> list[tuple[Clique, int, float]]:
    """Return one row for repeated measurements, with the noise of their best weighted mean.

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
    """Return the noise of a measurement per count: its standard deviation over the largest change by one record.

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
    """Yield each cell of a table as texts: the label or code of each attribute, then the number.

    Parameters
    ----------
    factor : Factor
        Counts or probabilities.

    Examples
    --------
    >>> from pypgm import Domain, Factor
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
    """Return the name of each cell with the real and the synthetic count. The real counts are not private.

    Parameters
    ----------
    synthetic : Factor
        Counts of synthetic records, or of a model.
    unsafe_data : Factor
        Counts of the real records over the same attributes.

    Examples
    --------
    >>> from pypgm import Domain, Factor
    >>> sex = Domain({"sex": ["F", "M"]})
    >>> compare(Factor(sex, [3, 4]), unsafe_data=Factor(sex, [2, 5]))
    [('F', 2.0, 3.0), ('M', 5.0, 4.0)]
    """
    names = [escaped(" · ".join(cell[:-1])) for cell in cells(synthetic)]
    return list(zip(names, unsafe_data.datavector().tolist(), synthetic.datavector().tolist(), strict=True))


def _codes(shape: Sequence[int], start: int, stop: int) -> list[list[int]]:
    """Return the codes of each attribute in cells start .. stop - 1, for any number of attributes."""
    rest: NDArray[np.int64] = np.arange(start, stop)
    codes = []
    for size in reversed(shape):
        rest, code = np.divmod(rest, size)
        codes.append(code.tolist())
    return codes[::-1]
