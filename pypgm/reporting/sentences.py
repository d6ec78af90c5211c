"""Sentences of a page and of a card: the promise of a release, its uses, and what not to use it for."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pypgm.privacy.promise import budget_text, chances, odds_text, rare_chance, weakness
from pypgm.reporting.reliance import more, reliance_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pypgm.privacy.promise import Promise
    from pypgm.reporting.facts import Facts
    from pypgm.reporting.quality import Quality
    from pypgm.reporting.reliance import Reliance

_USABLE = 10.0  # points off on average, below which single columns are of use
_GOOD = 0.9  # share of counts that are twice their error, from the least such count on
_MOST_GOOD = 0.5


def promised(promise: Promise, source: str, *, is_public: bool = True) -> tuple[str, ...]:
    """Return a promise in words: what is protected, on what assumption, how firmly, for whom, and what is not promised.

    Caveats come before these sentences, and of a release that protects nobody there are none but the last two.

    Parameters
    ----------
    promise : Promise
    source : str
        What a reader has before them, such as "this page".
    is_public : bool
        Whether it follows from the release alone.

    Examples
    --------
    >>> from pypgm import Budget, Privacy
    >>> from pypgm.privacy.promise import Promise
    >>> promise = Promise(Budget(epsilon=1), Privacy().sentence)
    >>> what, firm, *_ = promised(promise, "this page")
    >>> print(firm)
    How firm that is: this fact changes the odds of any conclusion at most 2.8-fold \
(epsilon 1.0). Something thought to be 50 % likely could come to look between 26 and 74 % likely, and \
something thought to be 1 % likely at most 2.8 % likely, no further.
    """
    budget = promise.budget
    if promise.not_private:
        return f"What the budget would promise: {budget_text(budget)}.", _NOT_PROMISED
    if weakness(budget):  # which is among the caveats
        what = f"Otherwise it protects {promise.protects}."
    else:
        begin = "Otherwise, from" if promise.caveats else "From"
        what = (
            f"{begin} the synthetic records, {source} and anything computed from them, nobody can become "
            f"sure {promise.protects}, however much they knew before."
        )
    open_to_all = () if promise.caveats or not is_public else (_OPEN_TO_ALL.format(source=source),)
    assumes = (promise.assumes,) if promise.assumes else ()
    return what, *assumes, _firmness(promise), *open_to_all, _NOT_PROMISED


_OPEN_TO_ALL = (
    "It holds whoever reads the synthetic records and {source}, now or later: as far as privacy is concerned, they may "
    "be published if the owner of the real table accepts a promise of this strength. Law, contracts and the approval "
    "of an ethics board are matters of their own, which it does not cover."
)
_NOT_PROMISED = (
    "Not promised: that nothing can be learned about people in general. Facts about groups, such as how common a value "
    "is among them, are what the synthetic records are for, and hold of a person whether or not this person's record "
    "was used. Families and other groups of persons together are not protected as firmly as one person. If there are "
    "several releases from the same real table, what they may reveal adds up."
)


def _firmness(promise: Promise) -> str:
    """Return the strength of a guarantee in odds and chances."""
    budget = promise.budget
    odds, likely = odds_text(budget), chances(budget)
    delta = float(budget.delta or budget.reserved_delta or 0)
    if not odds:
        return f"How firm that is: {budget_text(budget)}, of zero-concentrated differential privacy."
    text = f"How firm that is: this fact changes the odds of any conclusion {odds} ({budget_text(budget)})."
    if likely:
        unless = f" (except with a probability of about {delta:.2g}, δ)" if delta else ""
        low, high = likely
        return (
            f"{text} Something thought to be 50 % likely could come to look between {low} and {high} % likely, and "
            f"something thought to be 1 % likely at most {rare_chance(budget):g} % likely, no further{unless}."
        )
    return f"{text} This fails with a probability of about {delta:.2g} (δ)." if delta else text


class Advice(NamedTuple):
    """Uses of a release, none where its errors are unknown, what not to use it for, and notes for its maker."""

    uses: tuple[str, ...]
    limits: tuple[str, ...]
    for_maker: tuple[str, ...]


def advice_of(facts: Facts) -> Advice:
    """Return what to use a release for, and what not."""
    known = reliance_of(facts)
    return Advice(tuple(_uses(facts, known)), tuple(_limits(facts, known)), _NEXT if known.hardly else ())


_NEXT = (
    "For the maker of the release: rules of the schema keep rare combinations that are impossible out of the next one.",
)


def _uses(facts: Facts, known: Reliance) -> Iterator[str]:
    far = None if facts.quality is None else facts.quality.mean("columns")
    if far is not None and far < _USABLE:
        yield "Each column by itself: shares, and totals of groups that are not small."
    if known.counted:
        named = f"{'; '.join(known.counted)} points off{more(known.n_counted, known.counted)}"
        yield f"Relations of pairs that were counted together: {named}."
    if known.unclear:
        named = f"{'; '.join(known.unclear)}{more(known.n_unclear, known.unclear)}"
        yield f"That these pairs, counted together, have no relation stronger than the noise: {named}."
    if known.implied:
        named = f"{'; '.join(known.implied)}{more(known.n_implied, known.implied)}"
        yield f"With care, pairs whose relation follows from others: {named}."


def _limits(facts: Facts, known: Reliance) -> Iterator[str]:
    quality, at_most = facts.quality, facts.losses.at_most
    yield "Single records: none describes a real person. By chance one may equal a real one; nobody can tell from it."
    if at_most:
        yield (
            f"How many records the real table has, in all or of one person: at most {at_most:,} of each person were "
            "kept, and every count is of these. People with more records weigh less than in the real table."
        )
    if least := _least(quality):
        yield f"Small groups: {_small(least)} is mostly noise."
    guessed = [] if quality is None else [p for p in quality.pairs_on("unmeasured") if not quality.reason(p)]
    if quality is not None and guessed:
        text = (
            f"Pairs of columns that were not counted together, {len(guessed):,} of {len(quality.looked_at('pairs')):,}"
        )
        text += ": how they depend is a guess."
        if known.unrelated:
            named = f"{'; '.join(known.unrelated)}{more(known.n_unrelated, known.unrelated)}"
            text += f" {named} are not related in the synthetic records, whether or not they are in the real table."
        yield text
    yield (
        "Three and more columns at once, unless they follow from pairs: effects of three columns together are mostly "
        "lost."
    )
    if known.changed:
        yield f"Single values where they changed most: {'; '.join(known.changed)}."
    if known.hardly:
        named = "; ".join(known.hardly)
        yield f"Rare combinations: those in the synthetic records may come from noise alone, such as {named}."


def _small(least: list[int | None]) -> str:
    """Return the counts that are mostly noise, of one column and of two, in words."""
    one, *two = least
    text = "any count of one column" if one is None else f"a count below about {one:,} records of one column"
    for pair in two:
        more_of = ", and any of two columns together," if pair is None else f", or {pair:,} of two columns together,"
        text += more_of
    return text


def _least(quality: Quality | None) -> list[int | None]:
    """Return the count above which nine in ten are twice their error, of columns and of pairs, None if none."""
    if quality is None:
        return []
    least = []
    for size in (1, 2):
        known = [c for c in quality.cliques if len(c) == size and not quality.reason(c)]
        if known:
            tables = (quality.answers, quality.errors)
            least.append(_noise_below(*(np.concatenate([of[c].datavector() for c in known]) for of in tables)))
    return least


def _noise_below(counts: NDArray[np.float64], errors: NDArray[np.float64]) -> int | None:
    """Return the least count above which nine in ten are twice their error, if there is one."""
    is_good = counts >= 2 * errors
    # Where most are good, a few small ones among them do not show where noise begins.
    floor = 2 * float(np.quantile(errors, _GOOD)) if is_good.mean() >= _MOST_GOOD else 0.0
    order = np.argsort(counts)
    above = np.append(is_good[order][::-1].cumsum()[::-1], 0)
    limits = np.unique(np.ceil(np.append(counts[counts >= floor], floor)))
    first = np.searchsorted(counts[order], limits)
    many = counts.size - first
    enough = np.flatnonzero((above[first] >= _GOOD * many) & (many > 0))
    return int(limits[enough[0]]) if enough.size else None
