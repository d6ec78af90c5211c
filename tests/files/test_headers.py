"""Headers of files with one field changed: what they say is loaded, or refused in one sentence with file and field."""

from __future__ import annotations

import copy
import math
from fractions import Fraction

import numpy as np
import pytest
from fuzz_pgm import ARRAY, pack, unpack

import pypgm
from pypgm import Budget, Dataset, Domain, mechanisms
from pypgm.privacy.ledger import LedgerReport

DOMAIN = Domain({"a": 2, "b": ["x", "y", "z"], "c": 4})
ROWS = np.random.default_rng(0).integers(0, 12, 500)
DATA = Dataset({"a": ROWS % 2, "b": ROWS % 3, "c": ROWS % 4}, DOMAIN)
WRONG = [None, True, -1, 3, 10**30, float("nan"), "b", "1/0", [], [None], {"b": 1}]


def region_model():
    measured = [pypgm.LinearMeasurement(DATA.project(c).values, c, 3.0) for c in (("a", "b"), ("b", "c"), ("a", "c"))]
    return pypgm.estimate(DOMAIN, measured, oracle="region_graph", iterations=5)


def functions():
    mapping = pypgm.Constraint(("c", "a"), mapping=[0, 1, 0, 1])
    zero = pypgm.Constraint(("b", "c"), forbidden=[("x", 1)])
    return pypgm.estimate(DOMAIN, [pypgm.LinearMeasurement([1.0, 2, 3], "b", 3.0)], constraints=[mapping, zero])


THINGS = {
    "rounds": lambda: mechanisms.aim(DATA, epsilon=1, delta=1e-9, rounds=2),
    "prior": lambda: mechanisms.wide(DATA, epsilon=1, delta=1e-9),
    "records": lambda: mechanisms.fem(DATA, 1, rounds=3, samples=2, estimator="records"),
    "network": lambda: pypgm.bayes.learn_private(DATA, [("a", "b")], 1.0),
    "field": lambda: pypgm.mrf.learn_pairwise(DATA, radius=2.0, epsilon=1, delta=1e-9, steps=2),
    "tree": lambda: mechanisms.hdmm(DATA, epsilon=1, delta=1e-9).model,
    "regions": region_model,
    "functions": functions,
}


DEFAULTS = "", None, {}, [], "add-remove", 1, "1/10000000000", "not asked", "zcdp"


def places(value, path=()):
    """Yield the path of every field of a header; of lists those of the first entry."""
    for key in value if isinstance(value, dict) else range(min(1, len(value))):
        yield (*path, key)
        if isinstance(value[key], dict | list):
            yield from places(value[key], (*path, key))


def changed(header, path, new):
    other = copy.deepcopy(header)
    at = other
    for key in path[:-1]:
        at = at[key]
    if new is places:
        del at[path[-1]]
    else:
        at[path[-1]] = new
    return other


def said(header, arrays):
    """Return what a file says, its arrays as lists in their places, and its measurements."""
    pool = header.get("measurements", [])

    def filled(value):
        if isinstance(value, dict) and ARRAY in value:
            return arrays[value[ARRAY]].tolist()
        if isinstance(value, dict):
            return {k: filled([pool[i] for i in part] if k == "measurements" else part) for k, part in value.items()}
        return list(map(filled, value)) if isinstance(value, list) else value

    own = {"format", "version", "digest", "measurements"}
    return {key: filled(part) for key, part in header.items() if key not in own}


def same(one, other):
    """Return whether headers say the same: numbers by their value, what is left out by its default, marks add up.

    A release whose kind is left out, as in files before there were kinds, is of the kind that its mechanism makes.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        left_out = {"not_private"} if "kind" in other or "mechanism" not in other else {"not_private", "kind"}
        names = [k for k in one | other if k not in left_out]
        return all(same(one.get(k), other[k]) if k in other else one[k] in DEFAULTS for k in names)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one) is type(other):
        return one == other or (isinstance(one, float) and math.isnan(one))
    return not isinstance(one, bool) and not isinstance(other, bool) and number(one) == number(other) is not None


def number(value):
    """Return the number that a field is, or that its text writes as a rational."""
    try:
        return float(Fraction(value))
    except (TypeError, ValueError, OverflowError, ZeroDivisionError):
        return None


@pytest.mark.slow
@pytest.mark.parametrize("name", THINGS)
def test_a_changed_header_is_loaded_as_it_says_or_refused_by_file_and_field(name, tmp_path):
    path = tmp_path / "thing.pgm"
    THINGS[name]().save(path)
    header, arrays = unpack(path.read_bytes())
    odd = []
    for place in places(header):
        if place[0] in {"format", "version", "digest"} or ARRAY in place:
            continue
        for new in (*WRONG, places):
            other = changed(header, place, new)
            path.write_bytes(pack(other, arrays))
            try:
                found = pypgm.load(path)
            except ValueError as error:
                if not str(error).startswith(f"{path}: not a whole pypgm "):
                    odd.append((place, new, repr(error)))
            except Exception as error:
                odd.append((place, new, repr(error)))
            else:
                found.save(path)
                if not same(said(*unpack(path.read_bytes())), said(other, arrays)):
                    odd.append((place, new, "loaded as something else"))
    assert not odd, "\n".join(map(str, odd))


def test_a_changed_ledger_is_read_as_it_says_or_refused():
    whole = mechanisms.mst(DATA, budget=Budget(epsilon=1, delta=1e-9, reserved_delta=1e-10)).ledger.to_dict()
    assert LedgerReport.from_dict(whole).lines
    odd = []
    for place in places(whole):
        for new in (*WRONG, places):
            try:
                LedgerReport.from_dict(changed(whole, place, new)).report()
            except ValueError:
                continue
            except Exception as error:
                odd.append((place, new, repr(error)))
    assert not odd, "\n".join(map(str, odd))
