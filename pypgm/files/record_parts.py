"""Folders of synthetic records: one file for each part, so that parts are written anywhere, and only once."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

import numpy as np

from pypgm._base.file_kind import TABLES
from pypgm._base.memory import short
from pypgm._base.numeric import as_generator, checked_integer
from pypgm._core import __version__
from pypgm.data.sources.files import as_path, check_local, write_text
from pypgm.data.sources.parquet import check_parquet
from pypgm.files.record_table import RecordTable
from pypgm.models.sampling import MAX_RECORDS

_PLAN = "_plan.json"
DONE = "_SUCCESS"
"""File that a folder has once all its parts are there: the plan, and the records of each part."""
_MOST_PARTS = 100_000  # that five digits number
_OTHER_TABLES = (".xlsx", ".xls", ".ods", ".txt", ".tsv", ".json", ".ndjson", ".duckdb", ".arrow", ".feather", ".zip")
_ABANDONED = 3600.0  # seconds after which nobody writes a draft any more


_Task: TypeAlias = tuple[Path, int, int]
"""File of a part, number of its first record, and of the first one after it."""


@dataclass(frozen=True)
class Plan:
    """Table that the files of a folder are parts of.

    Attributes
    ----------
    release : str
        Digest of the release or model.
    records, parts : int
    seed : int
    evidence : str
    pypgm : str
        Version that draws the records.
    """

    release: str
    records: int
    parts: int
    seed: int
    evidence: str
    pypgm: str


def _suffix(name: str) -> str:
    """Return the ending of the files of a folder; ``ValueError`` if its name has that of another format."""
    suffix = next((ending for ending in TABLES if name.endswith(ending)), "")
    if not suffix and name.lower().endswith((*TABLES, *_OTHER_TABLES)):
        raise ValueError(f"{name} ends as no format that is written here: {', '.join(TABLES)}, or no ending")
    return suffix or ".parquet"


def write_parts(
    content: Any,  # noqa: ANN401 - a release or a model
    folder: str | os.PathLike[str],
    rows: int | None = None,
    rng: np.random.Generator | int | None = None,
    *,
    evidence: Mapping[str, Any] | None = None,
    parts: int,
    part: int | Sequence[int] | None = None,
    processes: int = 1,
) -> int:
    """Write the parts of a table of synthetic records that a folder does not have; return the records of those wanted.

    Parameters
    ----------
    content : Release or ReleasedModel
        What the records are drawn from.
    folder : str or path-like
        Made if it is not there. Its ending decides what the files are, as in ``people.csv``; Parquet without one.
    rows, evidence
        See `Release.synthetic_data`.
    rng : Generator or int, optional
        Source of the records. Some of the parts need a seed; for all of them it is drawn, and kept in the folder.
    parts : int
        Number of files.
    part : int or sequence of int, optional
        The parts to write, counted from 0; all by default.
    processes : int
        Number of processes that write.

    Raises
    ------
    ValueError
        If the folder is one of other records or has other files, or arguments do not fit.
    OSError
        If a file cannot be written.
    """
    count = checked_integer("parts", parts, 1)
    if count > _MOST_PARTS:
        raise ValueError(f"at most {_MOST_PARTS} parts are written, got {count}")
    wanted = _numbers(part, count)
    workers = checked_integer("processes", processes, 1)
    if part is not None and not isinstance(rng, int | np.integer):
        raise ValueError("some of the parts need a seed, the same one for all of them; got none")
    check_local(folder)
    place = as_path(folder)
    suffix = _suffix(place.name)
    check_parquet([f"part{suffix}"])
    names = [f"part-{number:05d}-of-{count:05d}{suffix}" for number in range(count)]
    _check_folder(place, names)
    earlier = _plan_in(place)
    seed = earlier.seed if rng is None and earlier is not None else _seed(rng)
    table = RecordTable.of(content, rows, seed, evidence)
    if table.rows > MAX_RECORDS:
        raise ValueError(f"at most {MAX_RECORDS} records can be drawn, got {short(table.rows)}")
    plan = Plan(content.digest, table.rows, count, seed, _text(table.evidence), __version__)
    if earlier is None:
        earlier = _planned(place, plan)
        if rng is None and earlier.seed != seed:  # of a call at the same time
            seed = earlier.seed
            table, plan = RecordTable.of(content, rows, seed, evidence), replace(plan, seed=seed)
    if earlier != plan:
        _refuse(place, earlier, plan)
    missing = [(place / names[number], *table.part(number, count)) for number in wanted]
    missing = [task for task in missing if not task[0].is_file()]
    if min(workers, len(missing)) > 1:
        _write_apart(partial(RecordTable.of, content, rows, seed, evidence), missing, workers)
    else:
        for task in missing:
            table.write(*task)
    if all((place / name).is_file() for name in names):
        _finish(place, plan, table, names)
    bounds = (table.part(number, count) for number in wanted)
    return sum(stop - start for start, stop in bounds)


def _numbers(part: int | Sequence[int] | None, parts: int) -> list[int]:
    """Return the numbers of the wanted parts."""
    if part is None:
        return [*range(parts)]
    given = part if isinstance(part, Sequence) else [part]
    numbers = sorted({checked_integer("part", number) for number in given})
    if numbers and numbers[-1] >= parts:
        raise ValueError(f"part must be below {parts}, the number of parts, got {numbers[-1]}")
    return numbers


def _seed(rng: np.random.Generator | int | None) -> int:
    if isinstance(rng, int | np.integer):
        return checked_integer("rng", rng)
    return int(as_generator(rng).integers(2**63))


def _text(evidence: Mapping[str, Any] | None) -> str:
    """Return evidence as a text, in an order of its own."""
    of = {name: sorted(map(repr, v)) if isinstance(v, Set) else repr(v) for name, v in (evidence or {}).items()}
    return json.dumps(of, sort_keys=True)


def _check_folder(place: Path, names: Sequence[str]) -> None:
    """Raise ``ValueError`` where something other than these files is."""
    if place.exists() and not place.is_dir():
        raise ValueError(f"{place} is a file: parts are written into a folder")
    if not place.parent.is_dir():
        raise ValueError(f"{place}: there is no directory {place.parent}")
    others = [path.name for path in place.iterdir() if not path.name.startswith((".", "_"))] if place.exists() else []
    if others := sorted({*others} - {*names}):
        raise ValueError(f"{place} has other files, such as {others[0]}: name another folder, or move them away")
    if place.exists() and not (place / _PLAN).exists() and any((place / name).exists() for name in names):
        raise ValueError(f"{place} has parts, and no {_PLAN} that says of what: name another folder, or move them away")


def _planned(place: Path, plan: Plan) -> Plan:
    """Make a folder with a plan, and return it: that of another call if one was faster."""
    place.mkdir(exist_ok=True)
    draft = place / f".{os.urandom(8).hex()}.part"
    write_text(draft, json.dumps(asdict(plan), indent=1) + "\n")
    try:
        os.link(draft, place / _PLAN)
    except FileExistsError:
        return _plan_in(place) or plan
    finally:
        draft.unlink()
    return plan


def _plan_in(place: Path) -> Plan | None:
    """Return the plan of the parts that are in a folder."""
    if not (place / _PLAN).exists():
        return None
    try:
        return Plan(**json.loads((place / _PLAN).read_text(encoding="utf-8")))
    except (TypeError, ValueError):
        raise ValueError(f"{place / _PLAN} is not a plan of parts: name another folder, or move it away") from None


def _refuse(place: Path, earlier: Plan, plan: Plan) -> None:
    """Raise ``ValueError`` for a folder with parts of another plan."""
    others = asdict(earlier)
    name, now = next((name, now) for name, now in asdict(plan).items() if others[name] != now)
    raise ValueError(f"{place} has parts of other records: their {name} is {others[name]}, not {now}")


def _write_apart(make: Callable[[], RecordTable], tasks: Sequence[_Task], processes: int) -> None:
    """Write parts in processes of their own."""
    # Imported here, as they are heavy. Forked processes could hang after threads of the core; fresh ones cannot.
    futures, fresh = map(importlib.import_module, ("concurrent.futures", "multiprocessing"))
    n, context = min(processes, len(tasks)), fresh.get_context("spawn")
    with futures.ProcessPoolExecutor(n, context, _Worker.begin, (make,)) as pool:
        try:
            for done in [pool.submit(_Worker.write, task) for task in tasks]:
                done.result()
        except futures.process.BrokenProcessPool:
            ended = "a process that writes parts was killed, perhaps for want of memory"
            raise OSError(f"{ended}: the same call writes the parts that are missing") from None
        except BaseException:
            pool.shutdown(cancel_futures=True)  # what is being written is written to its end
            raise


class _Worker:
    """A process that writes parts of one table."""

    table: ClassVar[RecordTable]

    @classmethod
    def begin(cls, make: Callable[[], RecordTable]) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the process that began it ends it, after a whole part
        cls.table = make()

    @classmethod
    def write(cls, task: _Task) -> None:
        cls.table.write(*task)


def _finish(place: Path, plan: Plan, table: RecordTable, names: Sequence[str]) -> None:
    """Write the list of all parts, and remove drafts of parts that a killed process left behind."""
    bounds = [table.part(number, plan.parts) for number in range(plan.parts)]
    files = [{"file": n, "records": stop - start} for n, (start, stop) in zip(names, bounds, strict=True)]
    write_text(place / DONE, json.dumps(asdict(plan) | {"files": files}, indent=1) + "\n")
    for draft in place.glob(".*.part"):
        with contextlib.suppress(OSError):
            if draft.stat().st_mtime < time.time() - _ABANDONED:  # another call may be writing others
                draft.unlink()
