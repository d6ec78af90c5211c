"""Randomness from elsewhere: named in the text of a module where releases are made, whatever it does."""

from __future__ import annotations

from checks.private_tables import check_open_table
from mutate import Mutant
from operators import instead, skipped
from source_text import check_source

from pypgm.audit.randomness import check_seeds
from pypgm.audit.subjects import MECHANISMS

TABLE, NOISE, MST = "pypgm.privacy.private_table", "pypgm.privacy.sampler", "pypgm.mechanisms._mst"
GUARDED, SELECTION, RELEASE = "pypgm.privacy.guarded", "pypgm.privacy.selection", "pypgm.release"


def seeds():
    """Return the check of seeds for the one mechanism there is."""
    return check_seeds("mst", MECHANISMS["mst"])


def source(name, line, module=NOISE, old="    if seed is None:\n        return None\n"):
    """Return a mutant that names a source in a function's body."""
    return Mutant(name, module, old, f"    {line}\n{old}", check_source, "unsafe source")


MUTANTS = [
    source("secrets are drawn", "import secrets"),
    source("the operating system's bytes are drawn by Python", "import os; os.urandom(8)"),
    source("the operating system's bytes are drawn under another name", "from os import getrandom as words"),
    source("SciPy draws", "from scipy import stats"),
    source("a law of SciPy draws", "from scipy.stats import dlaplace"),
    source("Python's generator draws", "import random as words"),
    source("NumPy's old generator draws", "import numpy.random as words"),
    source("a module is imported by its name", "__import__('ran' + 'dom')"),
    source("a module is imported by a function", "from importlib import import_module"),
    source("text is run as a program", "eval('1')"),
    source("an identifier is a random number", "import uuid"),
    source("the clock is a random number", "import time"),
    source("addresses are random numbers", "id(seed)"),
    source("hashes are random numbers", "hash('words')"),
    source("a generator is made of one that was passed", "np.__dict__['random'].default_rng(seed)"),
    source("a release draws", "from numpy.random import default_rng", RELEASE, "    return _of_archive(read_file("),
    source("a mechanism draws", "import secrets", MST, "    run.close()\n"),
    source("a mechanism reaches behind the table", "table.trusted_access", MST, "    run.close()\n"),
    source("a mechanism draws with the core", "None and _core.flip_coins(1, 1, 2)", MST, "    run.close()\n"),
    Mutant(
        "noise is drawn from a fixed seed",
        "pypgm.privacy.sampler",
        "        words = _unsafe_words(unsafe_seed)\n",
        "        words = _unsafe_words(1)\n        unsafe_seed = None\n",
        seeds,
        "seeded by default",
    ),
    Mutant(
        "a seeded run is not marked",
        GUARDED,
        "Guarded.__init__",
        skipped(2),
        seeds,
        "seed not declared",
    ),
    Mutant(
        "measurements of a seeded run lose the mark",
        TABLE,
        "PrivateTable.measure",
        instead("self._ledger.not_private", "''"),
        seeds,
        "seed not declared",
    ),
    Mutant(
        "a generator is taken for a seed",
        "pypgm.privacy.sampler",
        "    if isinstance(seed, bool | np.timedelta64) or not isinstance(seed, int | np.integer):\n",
        "    seed = seed.integers(9) if isinstance(seed, np.random.Generator) else seed\n"
        "    if isinstance(seed, bool):\n",
        seeds,
        "seeded by default",
    ),
    Mutant(
        "a private table tells its length",
        GUARDED,
        '        raise TypeError("the number of private records is not told; measure it")',
        "        return 3",
        check_open_table,
        "open table",
    ),
    Mutant(
        "an empty private table is false",
        GUARDED,
        "Guarded.__bool__",
        instead("True", "bool(getattr(self, '_PrivateTable__data').columns['a'].size)"),
        check_open_table,
        "records counted exactly",
    ),
    Mutant(
        "the text of a private table tells its length",
        GUARDED,
        "Guarded.__repr__",
        instead(
            "f'{type(self).__name__}(records behind a ledger)'",
            "f\"{len(getattr(self, '_PrivateTable__data').columns['a'])} records\"",
        ),
        check_open_table,
        "records counted exactly",
    ),
    Mutant(
        "the number of records is public under add-remove",
        "pypgm.privacy.relation",
        "Privacy.total_is_public",
        instead("self.neighbours == 'replace'", "self.records_per_person == 1"),
        check_open_table,
        "records counted exactly",
    ),
    Mutant(
        "a private table is pickled",
        GUARDED,
        "    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:\n        raise TypeError",
        "    def __reduce_ex__(self, protocol: SupportsIndex) -> NoReturn:\n"
        '        return str, ("",)\n        raise TypeError',
        check_open_table,
        "open table",
    ),
]
