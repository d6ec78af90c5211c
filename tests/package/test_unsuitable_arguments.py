"""A call of the core with arguments of the wrong types says what it takes, never what it got."""

import inspect

import numpy as np
import pytest

from pypgm import _core

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
