"""Pictures of a budget: its shares by purpose, and its guarantee."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.canvas import BLUE, GREY, INK, PALE, axes_of, plain_text
from pypgm._base.terminal import escaped
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.promise import Promise, budget_text
from pypgm.reporting.shares import NOT_SPENT, Share, budget_shares
from pypgm.reporting.words import percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pypgm.release import Release

_SHADES = ("#2563a8", "#e0a030", "#3f9b72", "#b5485d", "#7d62b5", "#4ba3b7", "#8a6d4b", "#9aa3ad")
_MAX_SHARES = len(_SHADES)
_DELTAS = (1e-12, 1e-2)
_TITLE_WIDTH = 70  # characters of a line above a picture


def budget(spent: Release | LedgerReport, ax: Axes | None = None) -> Axes:
    """Draw a budget as one bar, with a part for the share of each purpose.

    Parameters
    ----------
    spent : Release, Ledger or LedgerReport
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument has no ledger.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> import pypgm
    >>> data = pypgm.Dataset({"a": [0, 1, 1], "b": [0, 1, 0]}, pypgm.Domain({"a": 2, "b": 2}))
    >>> budget(pypgm.mechanisms.mst(data, epsilon=1, delta=1e-9))  # doctest: +SKIP
    <Axes: >
    """
    ledger = _ledger(spent)
    shares = _shares(spent, ledger)
    ax = axes_of(ax, 7.0, 1.3 + 0.22 * len(shares))
    at = 0.0
    with plain_text():
        for part, colour in zip(shares, _colours(shares), strict=True):
            length, share = float(part.share), percent(part.share)
            label = f"{share}  {escaped(part.purpose)}"
            ax.barh(0.0, length, 0.8, left=at, color=colour, edgecolor="white", label=label)
            if length >= 0.06:
                ink = INK if colour == PALE else "white"
                ax.text(at + length / 2, 0.0, share, ha="center", va="center", color=ink, fontsize=10)
            at += length
        ax.set_xlim(0, 1)
        ax.set_ylim(-0.5, 0.5)
        ax.set_axis_off()
        _title(ax, spent, f"Budget: {budget_text(ledger.budget)}")
        ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.02), frameon=False, fontsize=9, borderaxespad=0.2)
    return ax


def _shares(spent: object, ledger: LedgerReport) -> list[Share]:
    """Return the shares of a budget; if there are many, the smallest are one."""
    shares = budget_shares(ledger, getattr(spent, "measurements", ()))
    if len(shares) <= _MAX_SHARES:
        return shares
    unspent = shares[-1:] if shares[-1].purpose == NOT_SPENT else []
    largest = shares[: _MAX_SHARES - 1 - len(unspent)]
    rest = shares[len(largest) : len(shares) - len(unspent)]
    return [*largest, Share(f"{len(rest):,} more", sum((s.share for s in rest), Fraction(0)), ()), *unspent]


def privacy(spent: Release | LedgerReport | Budget, ax: Axes | None = None) -> Axes:
    r"""Draw the privacy curve: for each delta the guaranteed epsilon, and that of the amount spent.

    Parameters
    ----------
    spent : Release, Ledger, LedgerReport or Budget
        Ledger or budget in rho: a pure budget has one epsilon for all deltas.
    ax : matplotlib Axes, optional
        New axes by default.

    Raises
    ------
    TypeError
        If the argument has no budget.
    ImportError
        If matplotlib, the extra ``plot``, is not installed.

    Examples
    --------
    >>> import pypgm
    >>> privacy(pypgm.Budget(epsilon=1, delta=1e-9))  # doctest: +SKIP
    <Axes: >
    """
    ledger = LedgerReport(spent) if isinstance(spent, Budget) else _ledger(spent)
    fails = float(max(ledger.budget.reserved_delta, ledger.spent_delta()))
    deltas = np.geomspace(max(_DELTAS[0], 1.01 * fails), _DELTAS[1], 60)
    ax = axes_of(ax, 5.6, 3.6)
    with plain_text():
        ax.plot(deltas, [ledger.epsilon(_exact(d)) for d in deltas], color=BLUE, lw=2, label="guaranteed")
        if ledger.lines:
            used = [ledger.realised_epsilon(_exact(d)) for d in deltas]
            ax.plot(deltas, used, color=GREY, lw=1.5, ls="--", label="of what was spent")
        delta = ledger.budget.delta
        if delta and ledger.budget.epsilon is not None:
            ax.plot(
                [float(delta)], [float(ledger.budget.epsilon)], "o", color=INK, ms=5, label=budget_text(ledger.budget)
            )
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("δ: probability that the guarantee fails")
        ax.set_ylabel("ε")
        ax.grid(color=PALE)
        ax.spines[["top", "right"]].set_visible(False)
        _title(ax, spent, "Privacy curve")
        ax.legend(frameon=False, fontsize=9)
    return ax


def _exact(delta: float) -> float:
    return float(f"{delta:.3e}")


def _ledger(spent: Release | LedgerReport) -> LedgerReport:
    ledger = getattr(spent, "ledger", spent)
    if not isinstance(ledger, LedgerReport):
        raise TypeError(f"needs a release or a ledger, got {type(spent).__name__}")
    return ledger


def _colours(shares: Sequence[Share]) -> list[str]:
    return [PALE if part.purpose == NOT_SPENT else _SHADES[i % _MAX_SHARES] for i, part in enumerate(shares)]


def _title(ax: Axes, spent: Release | LedgerReport | Budget, text: str) -> None:
    """Write a title below the line on the missing protection; a ledger or budget by itself knows no schema."""
    ledger = LedgerReport(spent) if isinstance(spent, Budget) else _ledger(spent)
    promise = getattr(spent, "promise", None) or Promise.of(ledger, "")
    lines = [*textwrap.wrap(promise.reservation, _TITLE_WIDTH), text]
    ax.set_title("\n".join(lines), loc="left", fontsize=11, color=INK)
