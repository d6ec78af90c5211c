"""Jobs of ``pypgm synth``: the key of a call, and the account from which it takes."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping
from typing import Any

from pypgm.cli.arguments import dialect, workload_named
from pypgm.data import OpenSchema, Schema
from pypgm.jobs.job import Job
from pypgm.mechanisms.tables import request_of
from pypgm.privacy.account import Account
from pypgm.privacy.arguments import relation_of
from pypgm.privacy.tables import budget_for


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
    if arguments.target is not None:
        call["targets"] = arguments.target
    return hashlib.sha256(json.dumps(call, sort_keys=True, default=str).encode()).hexdigest()


def job_of(arguments: argparse.Namespace, schema: Schema | OpenSchema, file: str, options: Mapping[str, Any]) -> Job:
    """Return the job of a call with these options of its mechanism, whose release goes to a file."""
    account, name = None, str(arguments.account)
    if arguments.account is not None:
        account = Account(arguments.account).on(arguments.duckdb_table or arguments.table)
    return Job(
        job_key(arguments, schema),
        file,
        schema,
        mechanism=arguments.mechanism,
        budget=budget_for(schema, arguments.epsilon, arguments.delta),
        privacy=relation_of(arguments.neighbours, schema.provisional),
        account=account,
        request=request_of(schema.provisional, arguments.mechanism, options),
        name="" if "://" in name else name,  # it may have a password
    )
