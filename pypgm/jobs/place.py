"""Place of a release: its name and its disk space, reserved before anything is spent."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from pypgm.files.file import file_bytes
from pypgm.jobs.claim import Claim
from pypgm.privacy.promise import budget_text
from pypgm.release import Release

if TYPE_CHECKING:
    from types import TracebackType

_MIN_BYTES = 1 << 20  # bytes reserved for any release: ledger, measurements and options of a small table
_MAX_BYTES = 1 << 26  # bytes reserved at most: a file of all pairs of 100 attributes is smaller


def default_place(table: str, out: str) -> str:
    """Return the default path of a release: beside the records, or by the name of the table.

    Examples
    --------
    >>> default_place("people.csv", "made/out.csv.gz"), default_place("people.csv", "/dev/stdout")
    ('made/out.pgm', 'people.pgm')
    """
    path = Path(out)
    if path.parts[:2] in {("/", "dev"), ("/", "proc")} or (path.exists() and not path.is_file()):
        return f"{re.sub(r'[*?[]', '', Path(table).name.split('.')[0]) or 'release'}.pgm"
    return str(path.with_name(f"{path.name.split('.')[0] or 'release'}.pgm"))


class Place:
    """The file of a release: its name and its space on the disk are reserved at once, and nothing there is replaced.

    Leaving the context without a release leaves nothing behind.

    Parameters
    ----------
    path : str
        The file, in an existing folder.
    expected : int
        Bytes that the release may take; between 1 and 64 MiB are reserved.
    go_on : callable, optional
        Gives the advice on how to go on with a release in a file.

    Raises
    ------
    ValueError
        If the file exists already, another run makes it, or it is not a regular file.
    OSError
        If the file cannot be made, or the disk has no space for it.
    """

    def __init__(self, path: str, expected: int = 0, go_on: Callable[[Path], str] = lambda _: "") -> None:
        if not path:
            raise ValueError("the release needs the path of a file, got an empty text")
        self._claim = Claim(path)
        if not self._claim.is_held:  # replacing a device or a pipe would remove it from the system
            kind = "a directory" if Path(path).is_dir() else "a device, a pipe or a stream"
            raise ValueError(f"{path} must be a regular file, to keep the release, but is {kind}")
        self.path, self._go_on = Path(path), go_on
        self._draft = self._claim.path.with_name(f".{self._claim.path.name}.part")
        try:
            self._draft.unlink(missing_ok=True)  # of a killed run: no other uses it while this one holds the name
            with self._draft.open("xb") as file:
                left = min(max(expected, _MIN_BYTES), _MAX_BYTES)
                for _ in range(0, left, _MIN_BYTES):
                    file.write(bytes(_MIN_BYTES))
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            self._clear()
            raise OSError(error.errno, f"{error.strerror}; nothing was spent", path) from None
        except BaseException:
            self._clear()
            raise

    def __enter__(self) -> Place:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()

    def keep(self, release: Release, entered: Callable[[Path], None] = lambda _: None) -> Path:
        """Write a release, whole and flushed to the disk, and return its path.

        If its own place is full or gone, the release goes to the working directory, the directory for temporary files
        or home, and the error names the path.

        Parameters
        ----------
        release : Release
        entered : callable
            Receives the path as soon as the release is there.

        Raises
        ------
        OSError
            If the release is in another place, or in none.
        """
        packed = file_bytes(release.archive())
        try:
            _fill(self._draft, packed)
            self._draft.replace(self._claim.path)
        except OSError as error:
            self._clear()
            raise OSError(f"{self.path}: {error.strerror}; {self._elsewhere(packed, release, entered)}") from None
        entered(self.path)
        return self.path

    def _elsewhere(self, packed: bytes, release: Release, entered: Callable[[Path], None]) -> str:
        """Keep a release in another place, and return the message."""
        import tempfile

        price = budget_text(release.ledger.budget)
        for folder in (Path.cwd(), Path(tempfile.gettempdir()), Path.home()):
            path = folder / f"{self.path.stem}-{os.urandom(4).hex()}.pgm"
            try:
                _fill(path, packed)
            except OSError:
                with contextlib.suppress(OSError):
                    path.unlink(missing_ok=True)
            else:
                entered(path)
                return f"the release, paid for with {price}, is whole in {path}{self._go_on(path)}"
        return f"no other disk takes the release either, for which {price} is spent"

    def _clear(self) -> None:
        with contextlib.suppress(OSError):
            self._draft.unlink(missing_ok=True)
        self._claim.close()


def _fill(path: Path, packed: bytes) -> None:
    """Write bytes over the contents of a file, in its own space, and flush them to the disk."""
    with path.open("r+b" if path.exists() else "xb") as file:
        file.write(packed)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
