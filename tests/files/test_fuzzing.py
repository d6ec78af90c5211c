"""The fuzzer notices what it is for, and finds nothing."""

from __future__ import annotations

import copy
import sys
from collections import Counter

import pytest

if sys.platform != "linux":
    pytest.skip("limits of memory and of the processor as Linux has them", allow_module_level=True)

import fuzz_schema
import fuzzing

import pypgm


def test_each_kind_of_fault_is_noticed_and_the_next_input_is_read(tmp_path):
    kinds = {"read": "read", "refused": "refused", "wrong": "wrong", "warned": "wrong"}
    kinds |= {"foreign": "foreign", "pythons": "foreign", "memory": "foreign", "crash": "crash", "hang": "hang"}
    with fuzzing.Worker("toy", seconds=0.2) as worker:
        for text, kind in kinds.items():
            for told, expected in ((text, kind), ("read", "read")):
                (tmp_path / "one.toy").write_text(told)
                assert worker.ask(tmp_path / "one.toy").kind == expected, told
        paths = [tmp_path / f"{text}.toy" for text in kinds]
        for path in paths:
            path.write_text(path.stem)
        assert [answer.kind for answer in worker.ask_all(paths)] == [*kinds.values()]


def test_the_same_seed_gives_the_same_inputs():
    found = [fuzzing.fuzz("toy", 5, most=20) for _ in range(2)]
    assert found[0] == found[1]
    assert sum(found[0].counts.values()) == 20
    assert set(found[0].counts) == {"read", "refused", "wrong"}
    assert Counter(answer.kind for _, answer, _ in found[0].faults) == {"wrong": found[0].counts["wrong"]}
    assert "another value" in str(found[0])


WRONG = [None, True, 3, -1, 0.5, float("nan"), "x", "", [], {}, [[]], [{}], {"a": 1}, ["a", {"b": 1}], [["a", [1]]]]
WRONG += [[None], 10**400, [1, "1"], [True, 1], [[], []], "1e999", [["F", {}]]]


def places(value, start=()):
    """Yield where each value stands in a parsed file."""
    for step, inner in value.items() if isinstance(value, dict) else enumerate(value) if type(value) is list else ():
        yield (*start, step)
        yield from places(inner, (*start, step))


@pytest.mark.parametrize("whole", [fuzz_schema.SCHEMA, fuzz_schema.OPEN], ids=["closed", "open"])
def test_a_schema_with_any_value_anywhere_is_read_or_refused_in_own_words(whole):
    for place in places(whole):
        for wrong in WRONG:
            told = copy.deepcopy(whole)
            entry = told
            for step in place[:-1]:
                entry = entry[step]
            entry[place[-1]] = wrong
            said = ""
            try:
                pypgm.Schema.from_dict(told)
            except ValueError as error:
                said = str(error)
            assert not fuzzing.PYTHONS.search(said), (place, wrong)


@pytest.mark.slow
def test_mutants_of_release_files():
    """Of other seeds by hand: python tests/fuzzing.py pgm --minutes 60 --seed 1."""
    found = fuzzing.fuzz("pgm", 0, most=2000)
    assert not found.faults, str(found)
    assert found.counts["read"] > 100


# Inputs of the slow tests: some ten seconds each.
FORMATS = {"bif": 400, "uai": 300, "evidence": 1500, "schema": 1500, "yaml": 500, "workload": 1000, "csv": 400}
FORMATS |= {"gzip": 1000, "parquet": 500, "net": 300, "dsc": 300, "xdsl": 300}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "most"), FORMATS.items())
def test_mutants_of_files_that_are_read(name, most):
    for module in {"yaml": ["yaml"], "parquet": ["pyarrow.parquet"]}.get(name, []):
        pytest.importorskip(module)
    found = fuzzing.fuzz(name, 0, most=most)
    assert not found.faults, str(found)
    assert found.counts["read"] >= most / 40
