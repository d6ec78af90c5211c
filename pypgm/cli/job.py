"""Jobs: calls that may be repeated, with a key by which the release of an earlier run is recognised."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from pypgm.cli.arguments import dialect, has_contents, workload_named
from pypgm.cli.claim import TakenError
from pypgm.cli.stopping import STOPPING
from pypgm.data import OpenSchema, Schema
from pypgm.errors import BudgetError
from pypgm.privacy.account import Account, AccountRun
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.tables import budget_for
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
    if arguments.target is not None:
        call["targets"] = arguments.target
    return hashlib.sha256(json.dumps(call, sort_keys=True, default=str).encode()).hexdigest()


class Job:
    """One call of ``pypgm synth``: its key, the place of its release, and its account, if it has one.

    Parameters
    ----------
    arguments : argparse.Namespace
        The arguments of the call.
    schema : Schema or OpenSchema
        The schema of the table.
    file : str
        The place of the release.
    """

    def __init__(self, arguments: argparse.Namespace, schema: Schema | OpenSchema, file: str) -> None:
        self.key, self.file = job_key(arguments, schema), file
        self._arguments, self._schema = arguments, schema
        self._account = None if arguments.account is None else Account(arguments.account)
        self._name = str(arguments.account)
        if self._account is not None and "://" in self._name:  # it may have a password
            self._name = self._account.name
        if self._account is not None:
            try:
                os.path.abspath(file).encode()
            except UnicodeEncodeError:
                raise ValueError("an account keeps the path of the release, which has to be UTF-8") from None

    def earlier(self) -> tuple[Release, Path] | None:
        """Return the release that an earlier run of the job has paid for, and its file; None if there is none.

        A run that was killed after its release was whole is settled in the account.

        Raises
        ------
        TakenError
            If a run of the job is open in the account.
        ValueError
            If the file of the release has other contents, the release is of another call, or the account knows it and
            its file is gone.
        """
        run = None if self._account is None else self._account.run_of(self.key)
        if has_contents(self.file):
            release, path = self._in_file(), Path(self.file)
        elif run is None or (run.is_settled and not run.digest):
            return None
        elif not run.digest:
            raise self._open(run)
        else:
            release, path = self._in_account(run), Path(run.path)
        if self._account is not None:
            self._account.check_release(release)
            self._account.check_table(self._table)
            if run is not None and release.account is not None and release.account.run == run.run:
                self._finish(self._account, run, release, path)
        self._check_same(release, path)
        if not has_contents(self.file):
            part = f"{self.file}.part"
            shutil.copyfile(path, part)
            os.replace(part, self.file)
            path = Path(self.file)
        return release, path

    def _check_same(self, release: Release, path: Path) -> None:
        """Raise ``ValueError`` for the release of another call under the same key."""
        budget, arguments, schema = release.ledger.budget, self._arguments, self._schema
        has = (release.mechanism, budget.epsilon, budget.delta, release.privacy.neighbours)
        wanted = (arguments.mechanism, arguments.epsilon, arguments.delta, arguments.neighbours)
        is_same = release.schema is not None and (
            release.schema == schema
            if isinstance(schema, Schema)
            else set(release.schema.declared) == set(schema.declared)
        )
        if has != wanted or not is_same:
            kind = f"of {release.mechanism} with {budget!r}, {release.privacy.neighbours}" if has != wanted else ""
            named = f"{path}, the release with the key {self.key}, is {kind or 'of another schema'}"
            raise ValueError(f"{named}, and the call is not: pass another --key")

    @property
    def _table(self) -> str:
        return str(self._arguments.duckdb_table or self._arguments.table)

    @contextlib.contextmanager
    def reserved(self) -> Iterator[Reservation | None]:
        """Context that reserves the budget of the call in its account, if it has one, and settles the run at its end.

        Raises
        ------
        BudgetError
            If the account has less left, or is closed.
        TakenError
            If another run of the job reserved meanwhile.
        """
        arguments = self._arguments
        if self._account is None:
            yield None
            return
        budget = budget_for(self._schema, arguments.epsilon, arguments.delta)
        try:
            with STOPPING.held():
                reservation = self._account.reserve(budget, what=arguments.mechanism, key=self.key, table=self._table)
        except ValueError as error:
            run = self._account.run_of(self.key)
            if isinstance(error, BudgetError) or run is None or (run.is_settled and not run.digest):
                raise
            raise TakenError(str(error)) from None
        with reservation:
            STOPPING.check()
            yield reservation

    def keep(self, release: Release, path: Path) -> None:
        """Enter the file of a release in the account, if there is one."""
        if self._account is not None and release.account is not None:
            self._account.keep(release.account.run, os.path.abspath(path), release.digest)

    def _in_file(self) -> Release:
        release: object = None
        with contextlib.suppress(ValueError):
            release = load(self.file)
        if isinstance(release, Release) and release.key == self.key:
            return release
        why = "it is not the release of this call" if isinstance(release, Release) else "it is no release"
        advice = "name another file, or move it away"
        raise ValueError(f"{self.file} already exists and is not overwritten: {why}; {advice}")

    def _in_account(self, run: AccountRun) -> Release:
        if not has_contents(run.path):
            gone = f"run {run.run} of {self._name} has paid for this call, and its release is gone"
            raise ValueError(f"{gone}: put {run.path} back, or pass another --key to pay again")
        release = load(run.path)
        if not isinstance(release, Release) or release.digest != run.digest:
            raise ValueError(f"{run.path} is not the release that run {run.run} of {self._name} kept there")
        return release

    def _open(self, run: AccountRun) -> TakenError:
        state = f"run {run.run} of {self._name} has this call in work, or its process was killed"
        command = f"pypgm account settle {shlex.quote(self._name)} {run.run} --by NAME --why TEXT"
        return TakenError(f"{state}: wait for its end, or settle it: {command}")

    def _finish(self, account: Account, run: AccountRun, release: Release, path: Path) -> None:
        """Complete the account of a run that was killed after its release was whole."""
        if not run.digest:
            self.keep(release, path)
        if not run.is_settled:
            account.settle(run.run, by="pypgm synth", why=f"the release is whole: {release.digest}")
