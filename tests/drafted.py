"""Drafts of generated tables: columns of every kind, names and values that codes, JSON and pages could trip over."""

from __future__ import annotations

import copy
import datetime
import random
from functools import cache

from pypgm.data.draft import draft_schema

__all__ = ["TABLES", "drafted", "hostile", "names", "without_warnings"]

TABLES = 120
N = 120
DAY = datetime.date(2021, 1, 1)
WORDS = ["", "a", "; ", ", ", '"', "\\", "'", "<b>", "</script>", "{}", "{0}", "?", "bounds", "é", "\u202e", "\t", "&"]


def hostile(draw):
    """Return a text of words that mean something to somebody."""
    return "".join(draw.choice(WORDS) for _ in range(draw.randrange(1, 6)))


def names(draw, n):
    """Return different names of columns, half of them hostile; none ends or begins with a space."""
    made = [f"{hostile(draw).strip()}{i}" if draw.random() < 0.5 else f"c{i}" for i in range(n)]
    return [name.strip() for name in made]


def _numbers(draw):
    codes = draw.choice([[], [98, 99], [-9]])
    return [str(draw.choice([draw.randrange(1, 90)] * 20 + codes)) for _ in range(N)]


def _amounts(draw):
    return [f"{draw.choice([0, 1, 1]) * draw.lognormvariate(5, 1):.2f}" for _ in range(N)]


def _words(draw):
    values = [f"{word}{i}" for i, word in enumerate(draw.sample(WORDS, draw.randrange(2, 6)))]
    return [draw.choice([*values, ""]) for _ in range(N)]


def _many(draw):
    return [f"word {draw.randrange(80)}" for _ in range(N)]


def _dates(draw):
    form = draw.choice(["%Y-%m-%d", "%d/%m/%Y", "%d.%m.%y"])
    return [(DAY + datetime.timedelta(draw.randrange(28))).strftime(form) for _ in range(N)]


def _flags(draw):
    return [draw.choice(["no", "yes"]) for _ in range(N)]


def _keys(draw):
    persons = [str(10**9 + 7919 * draw.randrange(10**5)) for _ in range(N // 3)]
    return [draw.choice(persons) for _ in range(N)]


MAKERS = [_numbers, _amounts, _words, _many, _dates, _flags, _keys]


def _table(draw):
    """Return a table; some of its columns follow from others, are never before them, or are blank without them."""
    columns = [make(draw) for make in draw.sample(MAKERS, draw.randrange(2, 6))]
    if draw.random() < 0.6:
        base = [draw.choice("abc") for _ in range(N)]
        columns += [base, [{"a": "x", "b": "y", "c": "y"}[text] for text in base]]
    if draw.random() < 0.6:
        days = [draw.randrange(300) for _ in range(N)]
        later = [day + draw.randrange(9) for day in days]
        columns += [[(DAY + datetime.timedelta(day)).isoformat() for day in which] for which in (days, later)]
    if draw.random() < 0.4:
        is_member = [draw.choice(["no", "yes"]) for _ in range(N)]
        columns += [is_member, [draw.choice(["gold", "tin"]) if yes == "yes" else "" for yes in is_member]]
    return dict(zip(names(draw, len(columns)), columns, strict=True))


@cache
def _drafts():
    tables = [_table(random.Random(seed)) for seed in range(TABLES)]
    return [(table, draft_schema(table)) for table in tables]


def drafted(n=TABLES):
    """Return tables and copies of their drafts."""
    return [(table, copy.deepcopy(draft)) for table, draft in _drafts()[:n]]


def without_warnings(draft):
    """Return a draft without warnings and proposals."""
    columns = {name: _plain(entry) for name, entry in draft["columns"].items()}
    plain = {name: value for name, value in draft.items() if name not in {"warning", "proposals"}}
    plain |= {"columns": columns} | ({"person": _plain(draft["person"])} if "person" in draft else {})
    return plain


def _plain(entry):
    return {name: value for name, value in entry.items() if name != "warning"}
