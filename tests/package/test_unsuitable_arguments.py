"""Wrong arguments: the core says what it takes and never what it got, Python what was needed and what came."""

import contextlib
import dataclasses
import importlib
import inspect
import math
import pkgutil
import re

import numpy as np
import pytest

import pypgm
from pypgm import _core
from pypgm._base.constraints import AtLeast, Constraint, constraints_of
from pypgm._base.numeric import shown
from pypgm.estimation.limits import LimitOptions, Limits, SolverOptions
from pypgm.estimation.region_descent import SweepOptions, Sweeps
from pypgm.intervals.interval import Request
from pypgm.mechanisms.tables import mechanism_named, mechanism_names
from pypgm.models.estimated_again import Simulation
from pypgm.privacy.entry import PrivateOptions
from pypgm.privacy.ledger import Ledger

NUMBER = 48_115_623  # of records, say


class Secret:
    def __repr__(self):
        return str(NUMBER)

    __str__ = __repr__


def entry_points():
    """Yield every function of the core, and every constructor, method and property of its classes, unbound."""
    for name, entry in vars(_core).items():
        if not isinstance(entry, type):
            yield from [(name, entry)] if callable(entry) else []
            continue
        yield name, entry
        for part, member in vars(entry).items():
            function = member.fget if isinstance(member, property) else member
            function = function.__func__ if isinstance(function, staticmethod) else function
            if callable(function) and (not part.startswith("__") or part == "__init__"):
                yield f"{name}.{part}", function


POINTS = dict(entry_points())


def test_the_entry_points_are_those_of_the_core():
    assert len(POINTS) > 80
    assert {"add_discrete_laplace", "select_top", "LogisticSums", "LogisticSums.step", "flip_coins"} <= set(POINTS)


def arguments(count):
    """Yield lists of so many arguments that no function takes, all of which hold the number."""
    held = [np.array([NUMBER, 1.5]).astype(kind) for kind in ("complex128", "object", "U20")]
    for unsuitable in (Secret(), str(NUMBER), (str(NUMBER),), {str(NUMBER): 1}, *held):
        yield [unsuitable] * count
        yield [NUMBER] * (count - 1) + [unsuitable]
        yield [unsuitable, *[NUMBER] * (count - 1)]


def refusals(call):
    """Yield what a call raises for all these arguments."""
    for count in (1, 2, 3, 4, 5, 7, 9):
        for given in arguments(count):
            for named in ({}, {"counts": given[-1]}):
                try:
                    call(*given, **named)
                except TypeError as error:
                    yield error


@pytest.mark.parametrize("name", POINTS)
def test_no_error_shows_an_argument(name):
    refused = list(refusals(POINTS[name]))
    assert refused
    assert not any(str(NUMBER) in str(error) or "Invoked with" in str(error) for error in refused)
    assert not any(error.__cause__ or error.__context__ for error in refused)


def test_an_error_says_what_is_taken_and_documentation_is_as_it_was():
    with pytest.raises(TypeError, match=r"add_discrete_laplace\(\): incompatible .*supported") as error:
        _core.add_discrete_laplace(np.zeros(3), 1, 1)
    assert "counts: numpy.typing.NDArray[numpy.int64]" in str(error.value)
    assert inspect.getdoc(_core.flip_coins).startswith("flip_coins(size:")


def test_errors_of_callbacks_stay_as_they_are():
    def broken(steps):
        raise TypeError("a text of the callback's own")

    with pytest.raises(TypeError, match="of the callback's own"):
        _core.choose_pairs([2, 2], [[0, 1]], 0, 100.0, 1, broken)


def refused_values(constraint):
    """Yield values that a constraint refuses, each with the error and what it says is needed."""
    bound = constraint.bound
    if not constraint.optional:
        needed = (
            f"one of {bound}" if isinstance(bound, tuple) else "an integer" if constraint.kind is int else "a number"
        )
        yield None, (TypeError, ValueError), needed
    if isinstance(bound, tuple):
        yield from ((value, ValueError, f"one of {bound}") for value in ("another", [bound[0]], np.array([bound[0]])))
        return
    kind = "an integer" if constraint.kind is int else "a number"
    yield from ((value, TypeError, kind) for value in (True, "1", [1], 1j, np.array([1.0]), None) if value is not None)
    if constraint.kind is int:
        yield 1.5, TypeError, "an integer"
        yield bound.least - 1, ValueError, f"at least {bound.least}"
        return
    low = isinstance(bound, AtLeast)
    outside = [-1.0, math.nan, *([] if low else [0.0])]
    needed = "finite and at least 0" if low else "positive" if bound.infinite else "positive and finite"
    if low or not bound.infinite:
        outside.append(math.inf)
    yield from ((value, ValueError, needed) for value in outside)
    if bound.below < math.inf:
        yield bound.below, ValueError, f"in {'[' if low else '('}0, {bound.below:g})"


def accepted_values(constraint):
    """Yield values that a constraint lets through: those at its ends, and of other types."""
    bound = constraint.bound
    if constraint.optional:
        yield None
    if isinstance(bound, tuple):
        yield from bound
    elif constraint.kind is int:
        yield from (bound.least, np.int64(bound.least + 1))
    else:
        low = isinstance(bound, AtLeast)
        yield from (0 if low else 5e-324, np.float32(0.5), *([] if low or not bound.infinite else [math.inf]))


def first_accepted(constraint):
    return next(value for value in accepted_values(constraint) if value is not None)


def public_modules():
    """Yield the modules of the package, but for those whose extras are not there."""
    for found in pkgutil.walk_packages(pypgm.__path__, "pypgm."):
        if not found.name.endswith("__main__"):
            with contextlib.suppress(ImportError):
                yield importlib.import_module(found.name)


def declaring():
    """Yield functions, methods and constructors that declare constraints, by name."""
    for module in public_modules():
        for owner in vars(module).values():
            parts = vars(owner).values() if inspect.isclass(owner) else [owner]
            for part in parts:
                function = getattr(part, "__func__", part)
                if inspect.isfunction(function) and "__constraints__" in vars(function):
                    yield f"{function.__module__}.{function.__qualname__}", function


DECLARING = dict(declaring())
CASES = [(name, parameter) for name, function in DECLARING.items() for parameter in function.__constraints__]
RECORDS = pypgm.Dataset({"a": [0, 1] * 20, "b": [0, 1, 1, 0] * 10}, pypgm.Domain({"a": 2, "b": 2}))
REQUIRED = {"radius": 1.0, "eta": 1.0, "order": 2, "public": RECORDS, "structure": [("a", "b")], "schema": None}
LEARNERS = {
    "synthesize": pypgm.synthesize,
    "learn_private": pypgm.bayes.learn_private,
    **{name: getattr(pypgm.mrf, name) for name in ("learn_ising", "learn_pairwise", "learn_t_wise", "learn_structure")},
    **{name: mechanism_named(name) for name in mechanism_names()},
}
OPTIONS = constraints_of(LimitOptions) | constraints_of(PrivateOptions)
DATACLASSES = {kind: constraints_of(kind) for kind in (Simulation, Request)}
DATACLASSES |= {Limits: constraints_of(LimitOptions), Sweeps: constraints_of(SweepOptions)}
DATACLASSES[SolverOptions] = constraints_of(LimitOptions) | constraints_of(SolverOptions)


def call_of(function, constraints, name, value):
    """Return the keywords of a call with one value, others that are let through, and the rest of no use."""
    given = {name: value}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in constraints and parameter.name != name:
            given[parameter.name] = first_accepted(constraints[parameter.name])
        elif parameter.default is parameter.empty and parameter.name != name:
            given[parameter.name] = object()
    return given


def check_refusals(call, name, constraint):
    """Check that each value that a constraint refuses is refused, in words that name it."""
    for value, error, needed in refused_values(constraint):
        came = "None" if value is None else repr(value) if isinstance(constraint.bound, tuple) else shown(value)
        with pytest.raises(error, match=rf"^{name} must be .*{re.escape(needed)}, got {re.escape(came)}"):
            call(value)


def test_constraints_are_declared_where_they_are_looked_for():
    assert len(DECLARING) > 20
    assert len(CASES) > 50
    assert ("pypgm.inference._convex_gbp.convex_gbp", "schedule") in CASES
    assert ("pypgm.models.model.Model.expected_error", "draws") in CASES
    assert ("pypgm.queries.partition.Identity.__init__", "size") in CASES
    assert {
        "iterations",
        "tolerance",
        "time_limit",
        "max_bytes",
        "n_threads",
        "neighbours",
    } == OPTIONS.keys()


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_is_declared_is_refused_before_anything_else(name, parameter):
    function = DECLARING[name]
    constraints = function.__constraints__
    check_refusals(
        lambda value: function(**call_of(function, constraints, parameter, value)), parameter, constraints[parameter]
    )


@pytest.mark.parametrize(("name", "parameter"), CASES)
def test_what_is_in_range_is_let_through(name, parameter):
    function = DECLARING[name]
    for value in accepted_values(function.__constraints__[parameter]):
        texts = []
        try:
            function(**call_of(function, function.__constraints__, parameter, value))
        except Exception as error:  # of an argument of no use
            texts.append(str(error))
        assert not any(text.startswith(f"{parameter} must be") for text in texts), texts


@pytest.mark.parametrize("kind", DATACLASSES)
def test_attributes_are_checked(kind):
    constraints = DATACLASSES[kind]
    assert constraints
    for name, constraint in constraints.items():
        check_refusals(lambda value, name=name: kind(**call_of(kind, constraints, name, value)), name, constraint)
        for value in accepted_values(constraint):
            made = kind(**call_of(kind, constraints, name, value))
            assert getattr(made, name) == value
            assert type(getattr(made, name)) in {type(None), constraint.kind}


@pytest.mark.parametrize("learner", LEARNERS)
def test_an_option_out_of_range_is_refused_before_anything_is_charged(learner, monkeypatch):
    function, charges = LEARNERS[learner], []
    monkeypatch.setattr(Ledger, "charge", lambda *line, **_: charges.append(line))
    taken = inspect.signature(function).parameters
    required = {n: REQUIRED[n] for n, p in taken.items() if p.default is p.empty and n in REQUIRED}
    for name in OPTIONS.keys() & taken.keys():
        check_refusals(
            lambda value, name=name: function(RECORDS, epsilon=1, delta=1e-9, **required, **{name: value}),
            name,
            OPTIONS[name],
        )
    assert not charges


@pytest.mark.parametrize("name", [*constraints_of(LimitOptions), *constraints_of(SweepOptions)])
def test_an_estimate_refuses_what_its_limits_refuse(name):
    one = pypgm.LinearMeasurement([20, 20], "a")
    for oracle in ("exact", "region_graph"):
        check_refusals(
            lambda value, oracle=oracle: pypgm.estimate(RECORDS.domain, [one], oracle=oracle, **{name: value}),
            name,
            (constraints_of(LimitOptions) | constraints_of(SweepOptions))[name],
        )


def test_a_constraint_is_that_of_its_annotation():
    assert dataclasses.asdict(constraints_of(SweepOptions)["damping"]) == {
        "kind": float,
        "bound": {"least": 0, "below": 1, "most": None},
        "optional": True,
    }
    assert constraints_of(SolverOptions)["stop"] == Constraint(str, ("validated", "optimum"))
