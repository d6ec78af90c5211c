"""All steps on a small real table: real records beside private synthetic ones.

The table: the 2,201 people aboard the Titanic by class, age, sex and survival, as the British Board of Trade's inquiry
counted them in 1912 and R. J. M. Dawson published them in "The 'unusual episode' data revisited", Journal of Statistics
Education 3(3), 1995.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from pypgm._base.student import LEVEL_TEXT, REACH
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.factor import Factor
from pypgm.models.model import Model
from pypgm.plot import bars
from pypgm.release import Release
from pypgm.report import compare

DOMAIN = Domain(
    {
        "class": ["1st", "2nd", "3rd", "crew"],
        "age": ["child", "adult"],
        "sex": ["female", "male"],
        "survived": ["no", "yes"],
    }
)
CLIQUES: tuple[Clique, ...] = (("class", "survived"), ("class", "sex"), ("sex", "survived"), ("age", "survived"))
PICTURE = "pypgm-demo.png"
_GUESSED = "  (not counted together: how they depend is a guess)"

# For each class: children and adults, of these female and male, of these lost and saved.
_COUNTS = (
    (((0, 1), (0, 5)), ((4, 140), (118, 57))),
    (((0, 13), (0, 11)), ((13, 80), (154, 14))),
    (((17, 14), (35, 13)), ((89, 76), (387, 75))),
    (((0, 0), (0, 0)), ((3, 20), (670, 192))),
)


def titanic() -> Dataset:
    """Return the 2,201 people of the Titanic as records.

    Examples
    --------
    >>> titanic().project("survived").values
    array([1490.,  711.])
    """
    counts = np.array(_COUNTS).reshape(-1)
    codes = np.unravel_index(np.repeat(np.arange(counts.size), counts), DOMAIN.shape)
    return Dataset(dict(zip(DOMAIN.attributes, codes, strict=True)), DOMAIN)


def titles(release: Release) -> list[str]:
    """Return the title of each pair, which says if it was not counted together."""
    assert isinstance(release.model, Model)
    guessed = [release.model.basis(clique) in {"unmeasured", "unknown"} for clique in CLIQUES]
    return [" × ".join(c) + (_GUESSED if is_guess else "") for c, is_guess in zip(CLIQUES, guessed, strict=True)]


def errors(release: Release, synthetic: Dataset) -> list[Factor]:
    """Return the expected error of each count of the synthetic records, pair by pair."""
    return [release.expected_error(clique, synthetic=synthetic) for clique in CLIQUES]


def table_lines(
    synthetic: Dataset, expected: Sequence[Factor], names: Sequence[str], *, unsafe_data: Dataset
) -> list[str]:
    """Return a table of two-way counts, real beside synthetic with the expected error. The real are not private.

    Parameters
    ----------
    synthetic : Dataset
    expected : sequence of Factor
        Their `errors`.
    names : sequence of str
        The `titles` of the pairs.
    unsafe_data : Dataset
        The real records.
    """
    lines = [f"{'':<24}{'real*':>8}{'synthetic':>12}{f'± {LEVEL_TEXT}':>9}"]
    for clique, title, errors in zip(CLIQUES, names, expected, strict=True):
        lines += ["", title]
        rows = compare(synthetic.project(clique), unsafe_data=unsafe_data.project(clique))
        lines += [
            f"  {name:<22}{real:>8,.0f}{drawn:>12,.0f}{f'± {REACH * error:,.0f}':>9}"
            for (name, real, drawn), error in zip(rows, errors.datavector(), strict=True)
        ]
    return [*lines, "", "* not private: the demo shows it because these 2,201 people are public facts"]


def draw(
    synthetic: Dataset, title: str, expected: Sequence[Factor], names: Sequence[str], *, unsafe_data: Dataset
) -> Path:
    """Draw the same counts into ``pypgm-demo.png`` in the current directory, and return its path.

    Parameters
    ----------
    synthetic : Dataset
    title : str
    expected, names
        See `table_lines`.
    unsafe_data : Dataset
        The real records.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    OSError
        If the picture cannot be written.
    """
    tables = [synthetic.project(clique) for clique in CLIQUES]
    real = [unsafe_data.project(clique) for clique in CLIQUES]
    bars(PICTURE, tables, title, unsafe_data=real, errors=expected, titles=names)
    return Path(PICTURE).resolve()
