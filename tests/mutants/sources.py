"""Randomness from elsewhere: named in the text of a module where releases are made, whatever it does."""

from __future__ import annotations

from checks.private_tables import check_open_table
from mutate import at
from operators import put, skipped
from source_text import check_source

from pypgm.audit.randomness import check_seeds
from pypgm.audit.subjects import MECHANISMS


def seeds():
    """Return the check of seeds for the one mechanism there is."""
    return check_seeds("mst", MECHANISMS["mst"])


def named(line):
    """Return a defect that names a source in the body of a function."""
    return at("privacy.sampler:_unsafe_words", check_source, "unsafe source")(put(line, before="seed is None"))


MUTANTS = {
    "secrets are drawn": named("import secrets"),
    "the operating system's bytes are drawn by Python": named("import os\nos.urandom(8)"),
    "the operating system's bytes are drawn under another name": named("from os import getrandom as words"),
    "SciPy draws": named("from scipy import stats"),
    "a law of SciPy draws": named("from scipy.stats import dlaplace"),
    "Python's generator draws": named("import random as words"),
    "NumPy's old generator draws": named("import numpy.random as words"),
    "a module is imported by its name": named("__import__('ran' + 'dom')"),
    "a module is imported by a function": named("from importlib import import_module"),
    "text is run as a program": named("eval('1')"),
    "an identifier is a random number": named("import uuid"),
    "the clock is a random number": named("import time"),
    "addresses are random numbers": named("id(seed)"),
    "hashes are random numbers": named("hash('words')"),
    "a generator is made of one that was passed": named("np.__dict__['random'].default_rng(seed)"),
    "a release draws": at("release:load", check_source, "unsafe source")(
        put("from numpy.random import default_rng", before="_of_archive(...)")
    ),
    "a mechanism draws": at("mechanisms._mst:mst", check_source, "unsafe source")(
        put("import secrets", before="run.close()")
    ),
    "a mechanism reaches behind the table": at("mechanisms._mst:mst", check_source, "unsafe source")(
        put("table.trusted_access", before="run.close()")
    ),
    "a mechanism draws with the core": at("mechanisms._mst:mst", check_source, "unsafe source")(
        put("_core = None\nNone and _core.flip_coins(1, 1, 2)", before="run.close()")
    ),
    "noise is drawn from a fixed seed": at("privacy.sampler:Sampler.__init__", seeds, "seeded by default")(
        "words = _unsafe_words(unsafe_seed)", "words = _unsafe_words(1)\nunsafe_seed = None"
    ),
    "a seeded run is not marked": at("privacy.private_column:Guarded.__init__", seeds, "seed not declared")(skipped(2)),
    "measurements of a seeded run lose the mark": at(
        "privacy.private_table:PrivateTable.measure", seeds, "seed not declared"
    )("self._ledger.not_private", "''"),
    "a generator is taken for a seed": at("privacy.sampler:_unsafe_words", seeds, "seeded by default")(
        "isinstance(seed, bool | np.timedelta64) or X",
        "isinstance((seed := seed.integers(9) if isinstance(seed, np.random.Generator) else seed), bool)",
    ),
    "a private table tells its length": at("privacy.private_column:Guarded.__len__", check_open_table, "open table")(
        "raise TypeError(X)", "return 3"
    ),
    "an empty private table is false": at(
        "privacy.private_column:Guarded.__bool__", check_open_table, "records counted exactly"
    )("True", "bool(getattr(self, '_PrivateTable__data').columns['a'].size)"),
    "the text of a private table tells its length": at(
        "privacy.private_column:Guarded.__repr__", check_open_table, "records counted exactly"
    )(
        "f'{type(self).__name__}(records behind a ledger)'",
        "f\"{len(getattr(self, '_PrivateTable__data').columns['a'])} records\"",
    ),
    "the number of records is public under add-remove": at(
        "privacy.relation:Privacy.total_is_public", check_open_table, "records counted exactly"
    )("self.neighbours == 'replace'", "self.records_per_person == 1"),
    "a private table is pickled": at("privacy.private_column:Guarded.__reduce_ex__", check_open_table, "open table")(
        put("return str, ('',)", before="raise TypeError(X)")
    ),
}
