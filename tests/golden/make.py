"""Write the golden files of the version that is installed, and what is read from them: ``make.py FOLDER``.

A folder is made once, by the version whose number in files it has, and is never made again: what it holds is what
later versions have to read. Where the format changes, a folder is added.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm import bayes, mrf, queries
from pypgm.data import Boolean, Column, Integer

RUN: dict[str, Any] = {"epsilon": 1, "delta": 1e-9, "unsafe_seed": 1}


def people() -> pypgm.Dataset:
    domain = pypgm.Domain({"a": 2, "b": ["x", "y", "z"], "c": 4, "e": ["no", "yes"]})
    rng = np.random.default_rng(0)
    return pypgm.Dataset({a: rng.integers(0, domain.size((a,)), 300) for a in domain}, domain)


def of_queries(records: pypgm.Dataset) -> pypgm.Release:
    """Return a release of queries of many classes, of either law, some of it measured on a sample."""
    ledger = pypgm.Ledger(pypgm.Budget(rho=1000))
    table = pypgm.PrivateTable(records, pypgm.Privacy(), ledger, unsafe_seed=1)
    asked = [queries.Matrix([[1, -2, 0], [0, 1, 1]]), queries.Prefix(3), queries.AllRange(3), queries.Contrasts([3])]
    asked += [queries.Union([queries.Prefix(3), queries.Partition([0, 1, 1])]), queries.Subset([0, 2], 3)]
    measured = [table.measure("b", query, variance=3) for query in asked]
    pair = queries.Kronecker([queries.Identity(2), queries.Prefix(3)])
    measured += [table.measure(("a", "b"), pair, scale=2), table.subsample("1/2", epsilon=1).measure("c", scale=1)]
    return pypgm.Release(pypgm.estimate(records.domain, measured, iterations=5), tuple(measured), ledger, "queries")


def with_functions(records: pypgm.Dataset) -> Any:
    """Return a model with structural zeros and an attribute that is a function of another."""
    mapping = pypgm.Constraint(("c", "a"), mapping=[0, 1, 0, 1])
    zero = pypgm.Constraint(("b", "c"), forbidden=[("x", 1)])
    counts = pypgm.LinearMeasurement([100, 120, 80], "b", [3.0, 4.0, 5.0])
    return pypgm.estimate(records.domain, [counts], constraints=[mapping, zero], iterations=5)


def of_a_schema() -> pypgm.Release:
    columns: dict[str, Column] = {"age": Integer(0, 99, width=25), "sick": Boolean()}
    values = {"age": [10, 30, 30, 80] * 60, "sick": ["true", "false", "false", "true"] * 60}
    return pypgm.mechanisms.mst(pypgm.Schema(columns).encode(values), **RUN)


def unseeded(records: pypgm.Dataset) -> pypgm.Release:
    """Return a release that protects people, for another relation than the others."""
    relation = pypgm.Privacy(records_per_person=2, neighbours="replace")
    return pypgm.mechanisms.mst(records, epsilon=1, delta=1e-9, privacy=relation)


def made() -> dict[str, Any]:
    """Return a small release or model of each kind."""
    records = people()
    tree = pypgm.mechanisms.mst(records, **RUN)
    return {
        "mst": tree,
        "wide": pypgm.mechanisms.wide(records, **RUN),
        "aim": pypgm.mechanisms.aim(records, **RUN, measurements=tree.measurements[:1]),
        "mwem": pypgm.mechanisms.mwem(records, epsilon=1, unsafe_seed=1, rounds=2),
        "region_graph": pypgm.mechanisms.mst(records, **RUN, oracle="region_graph", iterations=20),
        "records": pypgm.mechanisms.fem(records, 1, rounds=2, samples=2, estimator="records", unsafe_seed=1),
        "network": bayes.learn_private(records, [("a", "b"), ("b", "c")], 1.0, 1e-9, unsafe_seed=1),
        "field": mrf.learn_pairwise(records, radius=1.0, epsilon=1, delta=1e-9, steps=5, unsafe_seed=1),
        "queries": of_queries(records),
        "schema": of_a_schema(),
        "unseeded": unseeded(records),
        "model": tree.model,
        "functions": with_functions(records),
    }


def answers(found: Any) -> dict[str, Any]:
    """Return what a file says, in JSON."""
    model = getattr(found, "model", found)
    domain = model.domain
    first, second = domain.attributes[:2]
    known = {second: domain.labels.get(second, (0,))[0]}
    told: dict[str, Any] = {
        "attributes": list(domain.attributes),
        "labels": {a: list(labels) for a, labels in domain.labels.items()},
        "total": model.total,
        "not_private": model.not_private,
        "marginals": {a: model.project(a).values.ravel().tolist() for a in domain},
        "pair": model.project((first, second)).values.ravel().tolist(),
        "given": model.query(first, known).values.ravel().tolist(),
    }
    if getattr(model, "recipe", None) is not None:
        told["expected_error"] = model.expected_error(domain.attributes[0], draws=3).values.ravel().tolist()
    if hasattr(found, "ledger"):
        lines = [[one.what, one.on, one.noise, str(one.cost)] for one in found.ledger.lines]
        told |= {"mechanism": found.mechanism, "ledger": lines, "log": len(found.log), "not_private": found.not_private}
        told["measured"] = [[list(m.clique), m.values.tolist(), m.noise, np.mean(m.stddev)] for m in found.measurements]
        told["unmeasured"] = found.unmeasured
        told["relation"] = [found.privacy.neighbours, found.privacy.records_per_person]
        told["schema"] = None if found.schema is None else list(found.schema.columns)
    return told


def main(folder: Path) -> None:
    folder.mkdir(parents=True)
    told = {}
    for name, found in made().items():
        found.save(path := folder / f"{name}.pgm")
        told[name] = answers(pypgm.load(path))
    (folder / "answers.json").write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
