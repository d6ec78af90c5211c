"""File names that one run holds from its start: no other run writes there, and files are left whole or not at all."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from types import TracebackType

from pypgm.data.sources.files import as_path, open_stream

try:
    import fcntl
except ImportError:  # not on Windows, where the name alone marks it as taken
    _HAS_LOCKS = False
else:
    _HAS_LOCKS = True


class TakenError(ValueError):
    """Another run writes a file, or has just written it: the same call may be tried again."""


class Claim:
    """The name of a future file: an empty file of this name is made at once, and locked while the context lasts.

    The finished file replaces the empty one. A file that is still empty at the end is removed, if it was not there
    before. A run that was killed leaves an empty file without a lock, which the next run takes over. Pipes and open
    streams, which are no regular files, are never claimed.

    Parameters
    ----------
    path : str
        A path in an existing folder.

    Raises
    ------
    TakenError
        If there is a file with contents, or another run holds the name.
    OSError
        If no file can be made there.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(os.path.realpath(as_path(path)))
        self._shown = path
        self._file: int | None = None
        self._made: os.stat_result | None = None
        if open_stream(path) is None and (self.path.is_file() or not self.path.exists()):
            self._take()

    @property
    def is_held(self) -> bool:
        """Whether this run holds the name; False for pipes and streams."""
        return self._file is not None

    def _take(self) -> None:
        # Between two looks another run may have finished and replaced the file, or given it up.
        while self._file is None:
            try:
                file, is_new = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666), True
            except FileExistsError:
                opened = self._opened()
                if opened is None:
                    continue
                file, is_new = opened, False
            except OSError as error:
                raise OSError(error.errno, error.strerror, self._shown) from None
            if self._locked(file, is_new):
                self._file, self._made = file, os.fstat(file) if is_new else None
            else:
                os.close(file)
        if not _HAS_LOCKS:  # nor can an open file be replaced there
            os.close(self._file)

    def _opened(self) -> int | None:
        """Return an existing file, None if it is gone again; refuse a file with contents."""
        with contextlib.suppress(FileNotFoundError):
            size = self.path.stat().st_size
            if size > 0 or not _HAS_LOCKS:
                why = "" if size > 0 else ", empty, from a run that was killed or is at work,"
                way_out = "and is not overwritten: name another file, or move it away"
                raise TakenError(f"{self._shown} already exists{why} {way_out}")
            return os.open(self.path, os.O_RDWR)
        return None

    def _locked(self, file: int, is_new: bool) -> bool:
        """Lock an open file; return whether it is empty and still has the name. ``TakenError`` if another holds it."""
        if _HAS_LOCKS:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                raise TakenError(f"another run writes {self._shown}: name another file, or wait for its end") from None
            except OSError:  # a file system without locks, where the name alone marks it as taken
                if not is_new:
                    os.close(file)
                    raise TakenError(f"{self._shown} already exists, empty: move it away") from None
        opened = os.fstat(file)
        return opened.st_size == 0 and self._is_named(opened)

    def _is_named(self, opened: os.stat_result) -> bool:
        with contextlib.suppress(FileNotFoundError):
            named = self.path.stat()
            return (opened.st_dev, opened.st_ino, opened.st_size) == (named.st_dev, named.st_ino, named.st_size)
        return False

    def close(self) -> None:
        """Give up the name, and remove the file if this run made it and it is still empty."""
        file, made, self._file, self._made = self._file, self._made, None, None
        with contextlib.suppress(OSError):
            if made is not None and self._is_named(made):
                self.path.unlink()
        if file is not None and _HAS_LOCKS:
            os.close(file)

    def __enter__(self) -> Claim:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
