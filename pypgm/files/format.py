"""Fields of release and model files: each with its kind and its meaning.

docs/format.md is made of these records.
"""

from __future__ import annotations

from typing import get_args

import numpy as np

from pypgm._base.fields import ANY_NUMBER, Record
from pypgm.data.sources.dialect import MARKS, STORED_MARKS
from pypgm.estimation.fit import Status
from pypgm.estimation.limits import Stop
from pypgm.estimation.measurement import Noise, Unmeasured
from pypgm.estimation.methods import METHODS
from pypgm.graphs.counting_numbers import CountingNumbers

FORMAT = "pypgm model"
VERSION = 4
"""Version of the format, raised by each change of it, with a step in `pypgm.files.archive`."""

_NUMBER = (str, float)
_NUMBERS = ([int], "numbers of its measurements in the list of the file, each once")

QUERY = Record(
    "A query",
    {
        "class": (str, "of `pypgm.queries`"),
        "arguments": ([object], "what makes it: queries, matrices, arrays, integers, null, and lists of these"),
    },
)
MATRIX = Record(
    "A matrix",
    {
        "shape": ([int], "rows and columns"),
        "entries": (np.ndarray, "those that are not 0, row by row"),
        "columns": (np.ndarray, "the column of each entry"),
        "rows": (np.ndarray, "where each row begins among the entries, and where the last one ends"),
    },
)
MEASUREMENT = Record(
    "A measurement",
    {
        "clique": ([str], "its attributes, in the order of its cells"),
        "values": (np.ndarray, "the noisy answers, in counts"),
        "stddev": ((float, np.ndarray), "standard deviation of the noise, in counts: of all answers, or of each"),
        "noise": ({*get_args(Noise)}, "its law"),
        "query": ((QUERY, None), "null for every cell"),
        "not_private?": (str, "why the answers protect nobody"),
    },
)
_OPTIONS = Record(
    "The options of an estimate",
    {
        "loss": ({"l2", "l1", "huber"}, "what is least"),
        "method": ({*METHODS}, "the solver"),
        "stop": ({*get_args(Stop)}, "what ends it"),
        "stepsize": ((float, None), "null where the method finds it"),
        "iterations": (int, "at most"),
        "tolerance": (float, "of the gap, as a part of the loss"),
        "further?": (float, "also the point so many times as far as was validated best: the answer is the mean"),
        "counting_numbers?": (({*get_args(CountingNumbers)}, [float]), "of the regions, if given"),
        "inner?": (int, "sweeps of messages after each step, if given"),
        "damping?": (float, "of messages that are all sent at once, if they are"),
    },
)
_PRIOR = Record(
    "A prior",
    {"cliques": ([[str]], "what it has tables of"), "values": (np.ndarray, "natural logs of these, concatenated")},
)
_RECIPE = Record(
    "What a model was estimated from",
    {
        "measurements": _NUMBERS,
        "total_is_known": (bool, "whether the number of records was given, not estimated"),
        "options": (_OPTIONS, "how it was estimated"),
        "prior": ((_PRIOR, None), "where the estimate started, if from a model"),
        "prior_recipe": (None, "the recipe of that model, if it saw some of these measurements alone; else null"),
    },
)
_RECIPE["prior_recipe"] = (_RECIPE, None)
_FIT = Record(
    "How an estimate ended",
    {
        "status": ({*get_args(Status)}, "why"),
        "loss": (ANY_NUMBER, "at the end"),
        "gap": ((ANY_NUMBER, None), "how far above the least one at most; null where that is not known"),
        "iterations": (int, "how many"),
        "seconds": (float, "of the clock; alone not in the digest"),
        "history": ([ANY_NUMBER], "losses on the way"),
    },
)
_HEADER: dict[str, tuple[object, str]] = {
    "format": ({FORMAT}, "what the file is"),
    "version": (int, "of the format"),
    "kind": (str, "of the model"),
    "attributes": ([str], "names, in their order"),
    "shape": ([int], "the number of values of each attribute"),
    "labels": ({str: [(str, int, float, bool)]}, "the values of an attribute in the order of their codes, if named"),
    "not_private?": (str, "why the model protects nobody"),
}
_TOTAL = (float, "number of records")
_ENDED = ((_FIT, None), "null where nothing was optimised")
_MASK = Record(
    "Structural zeros of a table",
    {"clique": ([str], "its attributes"), "allowed": (np.ndarray, "whether each cell may have records")},
)
_ESTIMATED: dict[str, tuple[object, str]] = {
    "cliques": ([[str]], "what the model was asked to have tables of"),
    "total": _TOTAL,
    "fit": _ENDED,
    "functions": ({str: [(str, [int])]}, "attributes that are functions of others: of which, and the code for each"),
    "masks": ([_MASK], "which cells have no record, whatever is measured"),
    "potentials": (np.ndarray, "natural logs of the tables, concatenated; -inf at structural zeros"),
    "recipe?": (_RECIPE, "left out where a user's own query was too large to be written"),
}
_REGIONS: dict[str, tuple[object, str]] = {
    "regions": ([[str]], "of the region graph"),
    "edges": ([[int]], "from parent to child, by the numbers of the regions"),
    "tree_cells": (float, "how many cells the junction tree that answers and draws records may have"),
    "marginals": (np.ndarray, "of the regions, in counts, concatenated"),
}
_NETWORK: dict[str, tuple[object, str]] = {
    "name": (str, "of the network"),
    "parents": ({str: [str]}, "of each attribute"),
    "total": _TOTAL,
    "fit": _ENDED,
    "tables": ([np.ndarray], "conditional probabilities of each attribute, its parents' values first"),
}
_FIELD: dict[str, tuple[object, str]] = {
    "cliques": ([[str]], "what the field has tables of"),
    "total": _TOTAL,
    "potentials": (np.ndarray, "natural logs of the tables, concatenated"),
}
_RECORDS: dict[str, tuple[object, str]] = {
    "columns": ([np.ndarray], "codes of each attribute"),
    "weights": (np.ndarray, "of the records"),
}
_KINDS = {
    "junction tree": ("A model with a junction tree", _ESTIMATED),
    "region graph": ("A model on a region graph", _ESTIMATED | _REGIONS),
    "bayesian network": ("A Bayesian network", _NETWORK),
    "markov random field": ("A Markov random field", _FIELD),
    "weighted records": ("Weighted records", _RECORDS),
}

_LINE = Record(
    "A line of a ledger",
    {
        "what": (str, "was done"),
        "on": (str, "which attributes or candidates"),
        "noise": (str, "the law"),
        "parameters": ({str: _NUMBER}, "those of the law, rationals as text"),
        "unit": (str, "epsilon or rho"),
        "left?": (_NUMBER, "what was left before it, or less, in Gaussian differential privacy"),
        "cost": (_NUMBER, "in that unit"),
        "delta?": (_NUMBER, "spent beside it"),
        "within?": (str, "what it is a part of"),
    },
)
_PRIVACY = Record(
    "A neighbour relation",
    {
        "neighbours?": (str, "add-remove or replace"),
        "records_per_person?": (
            int,
            "how many records of one person there may be; absent where any one record is meant",
        ),
        "person?": ([str], "columns that name a person; `records_per_person` of their records are kept"),
        "weight?": (str, "column of the weight of a record, which counts at most `records_per_person` times"),
    },
)
BUDGET = Record(
    "A budget",
    {
        "epsilon?": (_NUMBER, "or rho"),
        "delta?": (_NUMBER, "beside epsilon"),
        "rho?": (_NUMBER, "of zero-concentrated differential privacy, or mu^2 / 2 of Gaussian"),
        "reserved_delta?": (_NUMBER, "kept for steps that have one of their own"),
        "accounting?": ({"gdp", "zcdp"}, "kind of privacy that amounts in rho are of; zCDP where it is not named"),
    },
)
LEDGER = Record(
    "A ledger",
    {
        "lines": ([_LINE], "what was charged"),
        "budget": (BUDGET, "the most that could be charged"),
        "privacy?": (_PRIVACY, "whom it protects"),
        "not_private?": (str, "why it protects nobody"),
    },
)
_OLD_MARKS = {"delimiter", "encoding", "decimal"}  # in files of all versions
_LAYOUT = Record(
    "How the table of the records looks",
    {
        "library": (str, "pandas, polars or pyarrow"),
        "types": ({str: str}, "of each column"),
        **{name if name in _OLD_MARKS else f"{name}?": (str, MARKS[name]) for name in STORED_MARKS},
        "pandas?": ({str: str}, "types that pandas alone has, of columns of a Parquet file that it wrote"),
        "orders?": (
            {str: [(str, int, float, bool)]},
            "values of the schema, in the order of a type that declares one",
        ),
        "crlf?": (bool, "whether lines of a CSV file end in CR and LF"),
    },
)
_ACCOUNT = Record(
    "An account entry",
    {
        "name": (str, "of the account"),
        "identity": (str, "a number in hexadecimal digits that no other account has"),
        "run": (int, "its number in the account, from 1"),
        "unit": ({"rho", "epsilon"}, "of the account"),
        "amount": (_NUMBER, "what the run reserved"),
    },
)
_SCREEN = Record(
    "A screen of pairs",
    {
        "pairs": (
            np.ndarray,
            "numbers of the first and second attributes of the pairs, among those of the model, in two rows",
        ),
        "scores": (np.ndarray, "L1 distance of the counts of each from those of independent attributes, with noise"),
        "by_chance": (np.ndarray, "what that distance is for independent attributes"),
        "stddev": (float, "standard deviation of the noise, in records; the distances are in sixteenths of it"),
        "total": (float, "number of records of the independent attributes"),
    },
)
_RELEASE = Record(
    "A release",
    {
        "mechanism": (str, "its name"),
        "pypgm": (str, "the version that made it; empty where that is not known"),
        "options": ({str: object}, "what the mechanism was asked with beside the budget and the relation"),
        "measurements": _NUMBERS,
        "ledger": (LEDGER, "what was spent on what"),
        "charged_by?": ([(int, None)], "the line of each measurement; null where it was given"),
        "not_held?": ([int], "lines that charged a measurement which is not held"),
        "log": ([{str: object}], "what each round of an adaptive mechanism chose and learnt"),
        "schema?": (object, "of the table, as a schema file has it"),
        "layout?": (_LAYOUT, "of the table"),
        "kind?": ({"network", "field"}, "of release, where it has a class of its own"),
        "account?": (_ACCOUNT, "whose budget it spent"),
        "screen?": (_SCREEN, "noisy distances of pairs from independence, from which some were chosen"),
        "unmeasured?": ({*get_args(Unmeasured)}, "why pairs were left out; not asked where the file does not say"),
        "key?": (str, "key of the job that made it"),
        "request?": (str, "SHA-256 of the workload and the targets of that job; not compared where the file has none"),
    },
)
_POOL = ([MEASUREMENT], "each once: those of the release, of its model and of the model's prior")

FILES = {
    kind: Record(
        title,
        _HEADER | parts | {"measurements?": _POOL, "release?": (_RELEASE, "where the file is one")},
    )
    for kind, (title, parts) in _KINDS.items()
}
"""The fields of a file of each kind of model."""
