"""Mutated files against their readers: none crashes or hangs one, fills memory, or is read as something it is not.

``python tests/fuzzing.py FORMAT --minutes 5 [--seed 0] [--keep FOLDER]`` draws inputs for so long and prints what was
found; the inputs at fault go to the folder. A format is a module ``fuzz_FORMAT.py`` beside this one with

- ``SUFFIX``: how the names of its files end;
- ``seeds()``: whole files, bytes by name, the same every time;
- ``mutated(rng, data)``: the bytes of a mutant and what was done in a few words, drawn from a `random.Random`;
- ``use(path)``: reads a file, does with it what one does, and returns what is wrong with what was accepted, "" where
  nothing is.

Readers run in a process of their own, so that a crash and an end by the limit of time or of memory are answers.
A file is refused by ``ValueError`` itself or an error of pypgm, in words of its own; any other exception is a fault,
and so is a warning of floating-point arithmetic.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import itertools
import json
import os
import random
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

SECONDS = 5.0  # of the processor, for one input
WALL = 60.0  # seconds, for an input that sleeps
MEMORY = 1 << 30  # bytes, beyond what a worker has once the package is imported
_FRESH = 2000  # inputs of one worker
_AT_ONCE = 50  # inputs that a worker is asked for together
_SHORT = 300  # bytes: files that are shorter by far are drawn equally often

PYTHONS = re.compile(  # what errors of Python's own calls say: no words for who has a file at hand
    r"__init__\(|positional arg|unexpected keyword|object is not|object cannot|has no attribute|unhashable type"
    r"|NoneType|not supported between|codec can't|could not convert|invalid literal|list index|to unpack"
    r"|not subscriptable|is not iterable|embedded null|argument must be|not all arguments|Traceback"
)


class Answer(NamedTuple):
    """What became of an input: ``read``, ``refused``, or a fault: ``wrong``, ``foreign``, ``crash`` or ``hang``."""

    kind: str
    text: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether no file may do this."""
        return self.kind not in {"read", "refused"}


class Worker:
    """A process that uses files of one format, started anew when one ends it."""

    def __init__(self, format_name: str, seconds: float = SECONDS, wall: float = WALL) -> None:
        self._command = [sys.executable, __file__, format_name, "--serve", str(seconds)]
        self._seconds, self._wall, self._asked = seconds, wall, 0
        self._process: subprocess.Popen[bytes] | None = None
        self._told = b""  # by the process, and not yet heard

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End the process."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def ask(self, path: Path) -> Answer:
        """Return what becomes of a file."""
        (answer,) = self.ask_all([path])
        return answer

    def ask_all(self, paths: Sequence[Path]) -> list[Answer]:
        """Return what becomes of each of some files: they are named at once, so that no process waits for the other."""
        answers: list[Answer] = []
        while left := paths[len(answers) :]:
            if self._process is None or self._asked >= _FRESH:
                self.stop()
                self._start()
            process = self._process
            assert process is not None
            assert process.stdin is not None
            process.stdin.write(json.dumps([*map(str, left)]).encode() + b"\n")
            process.stdin.flush()
            self._asked += len(left)
            while len(answers) < len(paths) and self._process is not None:
                answers.append(self._answer(process))
        return answers

    def _answer(self, process: subprocess.Popen[bytes]) -> Answer:
        """Return the next answer of the process, which is stopped where it gives none."""
        line = self._line(self._wall)
        if line:
            return Answer(*json.loads(line))
        if line is None:
            self.stop()
            return Answer("hang", f"more than {self._wall:g} s")
        status = process.wait()
        self.stop()
        if status == -signal.SIGPROF:
            return Answer("hang", f"more than {self._seconds:g} s of the processor")
        return Answer("crash", f"exit status {status}")

    def _start(self) -> None:
        quiet = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parent)}
        own, self._asked, self._told = dict(os.environ) | quiet, 0, b""
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(self._command, env=own, **pipes)
        if self._line(10 * self._wall) != b"ready\n":
            raise RuntimeError(f"{' '.join(self._command)} does not start")

    def _line(self, seconds: float) -> bytes | None:
        """Return the next line of the process, empty where it has ended; None where none comes."""
        assert self._process is not None
        assert self._process.stdout is not None
        while b"\n" not in self._told:
            if not select.select([self._process.stdout], [], [], seconds)[0]:
                return None
            more = os.read(self._process.stdout.fileno(), 1 << 16)
            if not more:
                return b""
            self._told += more
        line, _, self._told = self._told.partition(b"\n")
        return line + b"\n"


def serve(use: Callable[[str], str], seconds: float) -> None:
    """Answer for each path that the lines of the standard input list, within the limits."""
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="ascii")
    os.dup2(2, 1)  # what a reader prints is no answer
    had = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (had + MEMORY, had + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("ready", file=answers)
    for path in (path for line in sys.stdin for path in json.loads(line)):
        signal.setitimer(signal.ITIMER_PROF, seconds)  # whose signal ends the process
        answer = _answer(use, path)
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(answer), file=answers)


def _answer(use: Callable[[str], str], path: str) -> Answer:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            wrong = use(path)
        except BaseException as error:
            own = type(error) is ValueError or type(error).__module__.startswith("pypgm")
            place = traceback.extract_tb(error.__traceback__)[-1]
            said = f"{type(error).__name__} at {Path(place.filename).name}:{place.lineno}: {str(error)[:300]}"
            return Answer("refused" if own and not PYTHONS.search(str(error)) else "foreign", said)
    numbers = [str(w.message) for w in told if "encountered in" in str(w.message)]
    found = wrong or next(iter(numbers), "")
    return Answer("wrong" if found else "read", found)


@dataclass
class Found:
    """What a run of the fuzzer saw."""

    counts: Counter[str] = field(default_factory=Counter)
    faults: list[tuple[str, Answer, bytes]] = field(default_factory=list)

    def __str__(self) -> str:
        lines = [f"{sum(self.counts.values()):,} inputs: {dict(self.counts)}"]
        return "\n".join([*lines, *(f"{how}: {answer.kind}, {answer.text}" for how, answer, _ in self.faults)])


def inputs(format_name: str, seed: int) -> Iterator[tuple[str, bytes]]:
    """Yield mutants of a format's seeds without end, none twice, and what each is.

    Short files are drawn more often than long ones, for as many bytes of each, so that most inputs are used quickly
    and a mutant is seldom broken in many places.
    """
    module: Any = importlib.import_module(f"fuzz_{format_name}")
    rng, whole = random.Random(seed), module.seeds()
    names = sorted(whole)
    weights = [1 / (_SHORT + len(whole[name])) for name in names]
    seen = {hash(data) for data in whole.values()}
    while True:
        (name,) = rng.choices(names, weights)
        data, how = module.mutated(rng, whole[name])
        if hash(data) not in seen:
            seen.add(hash(data))
            yield f"{name}: {how}", data


def fuzz(format_name: str, seed: int, *, most: int | None = None, minutes: float = float("inf")) -> Found:
    """Return what became of a number of inputs, or of those of so many minutes; the whole files come first."""
    module: Any = importlib.import_module(f"fuzz_{format_name}")
    found, end = Found(), time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory() as folder, Worker(format_name) as worker:
        paths = [Path(folder) / f"input-{i}{module.SUFFIX}" for i in range(_AT_ONCE)]
        for name, data in module.seeds().items():
            paths[0].write_bytes(data)
            if (answer := worker.ask(paths[0])).kind != "read":
                found.faults.append((f"{name}, whole", answer, data))
        mutants = itertools.islice(inputs(format_name, seed), most)
        while time.monotonic() < end and (drawn := list(itertools.islice(mutants, _AT_ONCE))):
            for path, (_, data) in zip(paths, drawn, strict=False):
                path.write_bytes(data)
            for (how, data), answer in zip(drawn, worker.ask_all(paths[: len(drawn)]), strict=True):
                found.counts[answer.kind] += 1
                if answer.is_fault:
                    found.faults.append((how, answer, data))
    return found


def main() -> int:
    """Run the fuzzer by hand."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("format")
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", metavar="FOLDER", type=Path)
    parser.add_argument("--serve", metavar="SECONDS", type=float, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    module: Any = importlib.import_module(f"fuzz_{arguments.format}")
    if arguments.serve is not None:
        serve(module.use, arguments.serve)
        return 0
    found = fuzz(arguments.format, arguments.seed, minutes=arguments.minutes)
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    print(found)
    if arguments.keep is not None:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        for number, (_, answer, data) in enumerate(found.faults):
            (arguments.keep / f"{answer.kind}-{number}{module.SUFFIX}").write_bytes(data)
    return 1 if found.faults else 0


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        sys.exit(main())
