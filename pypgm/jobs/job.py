"""Jobs: runs that may be repeated, with a key by which the release of an earlier run is recognised."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

from pypgm.data import OpenSchema, Schema
from pypgm.data.sources.files import has_contents
from pypgm.errors import BudgetError
from pypgm.jobs.claim import TakenError
from pypgm.jobs.stopping import STOPPING
from pypgm.privacy.account import Account, AccountRun
from pypgm.privacy.account_run import Reservation
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.release import Release, load


class Job:
    """One run with a key: the place of its release, its account, if it has one, and what its release has to be of.

    Parameters
    ----------
    key : str
    file : str
        The place of the release.
    schema : Schema or OpenSchema
        The schema of the table.
    mechanism : str
    budget : Budget
    privacy : Privacy
    account : Account, optional
        The account, for runs on the table: see `Account.on`.
    name : str
        The account as a command to settle a run of it names it; by default its own name.
    request : str
        What its mechanism has to answer: see `pypgm.mechanisms.tables.request_of`.
    is_test : bool
        Whether the noise has a seed, so that a release that protects nobody will do.
    """

    def __init__(
        self,
        key: str,
        file: str,
        schema: Schema | OpenSchema,
        *,
        mechanism: str,
        budget: Budget,
        privacy: Privacy,
        account: Account | None = None,
        name: str = "",
        request: str = "",
        is_test: bool = False,
    ) -> None:
        self.key, self.file, self.request, self._is_test = key, file, request, is_test
        self._schema, self._mechanism, self._budget, self._privacy = schema, mechanism, budget, privacy
        self._account = account
        self._name = name or ("" if account is None else account.name)
        if account is not None:
            try:
                os.path.abspath(file).encode()
            except UnicodeEncodeError:
                raise ValueError("an account keeps the path of the release, which has to be UTF-8") from None

    @property
    def budget(self) -> Budget:
        """The budget of the call."""
        return self._budget

    @property
    def has_account(self) -> bool:
        """Whether the budget is taken from an account."""
        return self._account is not None

    def earlier(self) -> tuple[Release, Path] | None:
        """Return the release that an earlier run of the job has paid for, and its file; None if there is none.

        A run that was killed after its release was whole is settled in the account.

        Raises
        ------
        TakenError
            If a run of the job is open in the account.
        BudgetError
            If the process of that run has ended, which a person has to settle.
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
            self._account.check_table()
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
        budget, schema = release.ledger.budget, self._schema
        has = (release.mechanism, budget, release.privacy)
        is_same = release.schema is not None and (
            release.schema == schema
            if isinstance(schema, Schema)
            else set(release.schema.declared) == set(schema.declared)
        )
        is_alike = has == (self._mechanism, self._budget, self._privacy)
        if release.not_private and not self._is_test:
            why = f"not private, by {release.not_private}"
            raise ValueError(f"{path}, the release with the key {self.key}, is {why}: pass another key=")
        kind = ""
        if not is_alike:
            kind = f"of {release.mechanism} with {budget!r}, {release.privacy.neighbours}"
        elif not is_same:
            kind = "of another schema"
        elif release.request and release.request != self.request:
            kind = "of another workload or of other targets"
        if kind:
            named = f"{path}, the release with the key {self.key}, is {kind}"
            raise ValueError(f"{named}, and the call is not: pass another key=")

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
        if self._account is None:
            yield None
            return
        try:
            with STOPPING.held():
                reservation = self._account.reserve(self._budget, what=self._mechanism, key=self.key)
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
            raise ValueError(f"{gone}: put {run.path} back, or pass another key= to pay again")
        release = load(run.path)
        if not isinstance(release, Release) or release.digest != run.digest:
            raise ValueError(f"{run.path} is not the release that run {run.run} of {self._name} kept there")
        return release

    def _open(self, run: AccountRun) -> TakenError | BudgetError:
        """Return the error of a call whose earlier run is open: another try helps unless its process has ended."""
        of_call, command = f"run {run.run} of {self._name}", f"pypgm account settle {shlex.quote(self._name)} {run.run}"
        settle = f"settle it: {command} --by NAME --why TEXT"
        if (has_ended := run.has_ended) is None:
            return TakenError(
                f"{of_call} has this call in work, or its process was killed: wait for its end, or {settle}"
            )
        if has_ended:
            return BudgetError(f"{of_call} holds the budget of this call, and its process has ended: {settle}")
        return TakenError(f"{of_call} has this call in work: wait for its end")

    def _finish(self, account: Account, run: AccountRun, release: Release, path: Path) -> None:
        """Complete the account of a run that was killed after its release was whole."""
        if not run.digest:
            self.keep(release, path)
        if not run.is_settled:
            account.settle(run.run, by="pypgm synth", why=f"the release is whole: {release.digest}")
