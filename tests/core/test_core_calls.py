"""The compiled core in any order, on two threads, with anything as an argument: answers or errors, never a crash."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import subprocess
import sys
import threading
from pathlib import Path

import core_calls
import numpy as np
import pytest

from pypgm import _core

REFUSED = (ValueError, TypeError, RuntimeError, MemoryError, OverflowError, IndexError)
SEEDS = range(40)


def in_a_child(code):
    """Run code in a process of its own, which may crash, and which imports this file."""
    command = [sys.executable, "-X", "faulthandler", "-c", f"from core import test_core_calls as own\n{code}"]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, check=False, cwd=here, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]


def test_all_there_is_is_called():
    classes = {n for n, c in inspect.getmembers(_core, inspect.isclass) if not issubclass(c, BaseException)}
    assert classes == set(core_calls.makers())
    for name, (_, methods) in core_calls.makers().items():
        assert {n for n in vars(getattr(_core, name)) if not n.startswith("_")} == set(methods)
    functions = {n for n, f in inspect.getmembers(_core, callable) if not inspect.isclass(f) and not n.startswith("_")}
    assert functions == set(core_calls.FUNCTIONS)


@pytest.mark.parametrize("call", list(core_calls.every_call()), ids=lambda call: call[0])
def test_a_valid_call_works(call):
    _, function, given = call
    function(*given)


def tried(made, method, given):
    """Call a method, or read a property; an error is as good as an answer."""
    try:
        return getattr(made, method) if given is None else getattr(made, method)(*given)
    except REFUSED:
        return None


def in_every_order():
    """Call the methods of each class in all orders of three, twice over, and many at random."""
    for make, methods in core_calls.makers().values():
        for three in itertools.permutations(methods, 3):
            made = make()
            for method in three * 2:
                tried(made, method, methods[method])
        for seed in SEEDS if methods else ():
            rng = np.random.default_rng(seed)
            made = make()
            for method in rng.choice(list(methods), 30):
                tried(made, method, methods[method])


def on_two_threads():
    """Call the methods of one object from two threads at once."""
    for make, methods in core_calls.makers().values():
        for seed in range(6) if methods else ():
            made = make()

            def work(start, made=made, methods=methods):
                for method in np.random.default_rng(start).choice(list(methods), 100):
                    tried(made, method, methods[method])

            threads = [threading.Thread(target=work, args=(2 * seed + i,)) for i in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()


@pytest.mark.parametrize("walk", ["in_every_order", "on_two_threads"])
def test_calls_in_any_order(walk):
    in_a_child(f"own.{walk}()")


def places(given, path=()):
    """Yield where arrays and integers stand in arguments."""
    for i, own in enumerate(given):
        if isinstance(own, np.ndarray) or (isinstance(own, int) and not isinstance(own, bool)):
            yield (*path, i)
        elif isinstance(own, list | tuple):
            yield from places(own, (*path, i))


def at(given, path):
    return at(given[path[0]], path[1:]) if path else given


def put(given, path, value):
    """Return arguments with a value in one place."""
    if not path:
        return value
    return type(given)(put(own, path[1:], value) if i == path[0] else own for i, own in enumerate(given))


def wrong(value):
    """Yield what may stand in the place of an array or an integer and should not."""
    if isinstance(value, int):
        yield from (-1, 2**61, 2**63, 2**64 - 1, 2**64, None, "1", 1.5)
        return
    flat = value.reshape(-1)
    for size in {0, 1, max(0, flat.size - 1), flat.size + 1, 7 * flat.size + 3}:
        yield np.resize(flat, size) if flat.size else np.zeros(size, value.dtype)
    yield from (
        value.tolist(),
        None,
        value.astype(np.complex64),
        np.repeat(flat, 2)[::2],
        value.astype(value.dtype.newbyteorder()),
    )
    extreme = np.iinfo(value.dtype) if value.dtype.kind in "iu" else np.finfo(value.dtype)
    for x in (extreme.min, extreme.max, *((np.nan, np.inf, -np.inf) if value.dtype.kind == "f" else ())):
        yield np.full_like(value, x)


def with_wrong_arguments():
    for name, call, given in core_calls.every_call():
        for path in () if name.startswith("enumerate") else places(given):  # those take as long as they are asked to
            for value in wrong(at(given, path)):
                with contextlib.suppress(REFUSED):
                    call(*put(given, path, value))


def test_wrong_arguments():
    in_a_child("own.with_wrong_arguments()")


def other_arrays(array):
    yield array.tolist()
    yield array.astype({"f": np.float32, "i": np.float64, "u": np.float64}[array.dtype.kind])
    if array.size > 1:
        yield np.repeat(array, 2).reshape(*array.shape, 2)[..., 0]
    unaligned = np.frombuffer(b"0" + array.tobytes(), np.uint8)[1:].view(array.dtype).reshape(array.shape)
    if not unaligned.flags.aligned and array.size:
        yield unaligned


@pytest.mark.parametrize("call", list(core_calls.every_call()), ids=lambda call: call[0])
def test_no_array_is_converted_unseen(call):
    _, function, given = call
    for path in places(given):
        if isinstance(own := at(given, path), np.ndarray):
            for other in other_arrays(own):
                with pytest.raises(TypeError):
                    function(*put(given, path, other))


WRAPPED = {
    "records": lambda: _core.GibbsPlan(1 << 61, 0, 1, 8, 1),
    "sweeps": lambda: _core.GibbsPlan(1, 1 << 63, 1 << 33, 1 << 31, 1),
    "sums of cells": lambda: _core.gibbs_potentials(
        [256] * 8, [list(range(8))] * 64, np.zeros(0), _core.GibbsPlan(1, 0, 1, 1, 1), 1
    ),
    "cells of attributes": lambda: _core.JunctionTree([2**50] * 2**14, []).attribute_marginals(np.zeros(0), [], 1.0),
    "cells of cliques": lambda: _core.JunctionTree([2**50], [[0]] * 2**14).marginals(np.zeros(0), [], 1.0),
    "words": lambda: _core.secure_words(2**61),
    "coins": lambda: _core.flip_coins(2**63, 1, 2),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_sizes_do_not_wrap(name):
    in_a_child(f"own.refused({name!r})")


def refused(name):
    with pytest.raises((ValueError, MemoryError)):
        WRAPPED[name]()


def test_an_object_serves_one_call_at_a_time():
    cells = np.random.default_rng(0).random(2_000_000)
    step = cells, [0, 1], [2000, 1000], [0, 0], [1, 1]
    sampler = _core.RecordSampler(1_000_000, 2, 0)
    thread = threading.Thread(target=sampler.draw, args=step)
    thread.start()
    errors = set()
    while thread.is_alive():
        try:
            sampler.take_column(1)
        except RuntimeError as error:
            errors.add(str(error))
    thread.join()
    assert errors == {"another call of this object is running: each thread needs its own"}


def test_threads_take_turns_with_seeded_words():
    def drawn(words):
        return _core.flip_coins(300_000, 1, 2, words).tobytes()

    shared, alone, found = _core.SeededWords(7), _core.SeededWords(7), []
    threads = [threading.Thread(target=lambda: found.append(drawn(shared))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {drawn(alone) for _ in threads}
    assert drawn(shared) == drawn(alone)


def test_what_was_never_made_is_refused():
    with pytest.raises(TypeError):
        _core.flip_coins(3, 1, 2, _core.SeededWords.__new__(_core.SeededWords))


def test_calls_that_need_an_earlier_one():
    tree, graph = core_calls.TREE, core_calls.GRAPH
    run = _core.Acceleration(tree, [core_calls.MEASURED], 6.0, np.zeros(6), 1)
    assert run.lower_bound() == -np.inf
    run.open_window()
    assert run.lower_bound() == -np.inf
    run.advance(0.1, 0.5)
    assert run.lower_bound() <= run.loss()
    descent = _core.Descent(tree, [core_calls.MEASURED], 6.0, np.zeros(6), 1)
    for call in (descent.accept, descent.change):
        with pytest.raises(RuntimeError, match="a step has to be tried first"):
            call()
    regions = _core.RegionAcceleration(graph, np.ones(3), 6.0, 1)
    with pytest.raises(RuntimeError, match=r"begin\(\) has to come first"):
        regions.advance(0.1, 0.1, 1.0, 1.0)
    regions.begin(1e-3, 10)
    with pytest.raises(RuntimeError, match="nothing can be entered any more"):
        regions.enter(0, np.zeros(6))
    regions.take_potentials()
    assert regions.take_beliefs().size == 11
    with pytest.raises(RuntimeError, match="were taken out"):
        regions.take_beliefs()
