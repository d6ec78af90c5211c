"""Jobs: calls that may be repeated, with a key by which the release of an earlier run is recognised."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
from pathlib import Path

from pypgm.cli.arguments import dialect, has_contents, workload_named
from pypgm.data import OpenSchema, Schema
from pypgm.release import Release, load


def job_key(arguments: argparse.Namespace, schema: Schema | OpenSchema) -> str:
    """Return the key of a call: the given one, else the SHA-256 of all that decides what is released, and of what.

    The table is known by its name alone, and places of results do not matter: a second call for the same table is the
    same job, whatever the table holds by now.
    """
    if arguments.key:
        return str(arguments.key)
    workload = arguments.workload
    if workload is not None and workload.endswith(".json"):
        workload = [[*clique] for clique in workload_named(schema.provisional.domain, workload)]
    call = {
        "schema": schema.to_dict(),
        "mechanism": arguments.mechanism,
        "workload": workload,
        "time_limit": arguments.time_limit,
        "epsilon": str(arguments.epsilon),
        "delta": str(arguments.delta),
        "neighbours": arguments.neighbours,
        "table": [arguments.table, arguments.duckdb_table, arguments.ignore_extra, *dialect(arguments)],
    }
    return hashlib.sha256(json.dumps(call, sort_keys=True, default=str).encode()).hexdigest()


def earlier_release(path: str, key: str, arguments: argparse.Namespace) -> Release | None:
    """Return the release that an earlier run of the same job left in a file; None if the file is not there, or empty.

    Raises
    ------
    ValueError
        If the file has other contents, or the release of another budget.
    """
    if not has_contents(path):
        return None
    release: object = None
    with contextlib.suppress(ValueError):
        release = load(path)
    if not isinstance(release, Release) or release.key != key:
        other = "it is not the release of this call" if isinstance(release, Release) else "it is no release"
        raise ValueError(f"{path} already exists and is not overwritten: {other}; name another file, or move it away")
    check_same(release, arguments, path)
    return release


def check_same(release: Release, arguments: argparse.Namespace, path: str | Path) -> None:
    """Raise ``ValueError`` if a release with the key of a call has another mechanism or budget than the call."""
    budget = release.ledger.budget
    wanted = (arguments.mechanism, arguments.epsilon, arguments.delta)
    if (release.mechanism, budget.epsilon, budget.delta) != wanted:
        has = f"{path}, the release with the key {release.key}, is of {release.mechanism} with {budget!r}"
        raise ValueError(f"{has}, and the call is not: pass another --key")
