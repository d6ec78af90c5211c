"""Jobs that threads do ahead of whoever needs their results."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from weakref import ref

from pypgm._base.clock import begin_at, seconds_stood

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")


class Job(Generic[T]):
    """A job of a thread, or of the one who needs its result if no thread has begun it by then."""

    def __init__(self, work: Callable[[], T], pool: ThreadPoolExecutor | None) -> None:
        self._work = work
        self._future: Future[T] | None = None  # of a thread
        self._outcome: tuple[T | None, Exception | None] | None = None  # of another, who holds the lock meanwhile
        self._lock = threading.Lock()
        if pool is not None:
            with contextlib.suppress(RuntimeError):  # no thread can start
                self._future = pool.submit(work)

    @property
    def is_done(self) -> bool:
        """Whether the result is there."""
        future = self._future
        return self._outcome is not None or (future is not None and future.done() and not future.cancelled())

    def do(self, *, wait: bool = False) -> None:
        """Do the job in this thread unless another has begun it, or after waiting for one that is not of the pool."""
        if self.is_done or (self._future is not None and not self._future.cancel()):
            return
        if self._lock.locked() and not wait:  # perhaps by this very thread, whose job waits for others
            return
        with self._lock:
            if not self.is_done:
                self._outcome = self._done()

    def _done(self) -> tuple[T | None, Exception | None]:
        try:
            return self._work(), None
        except Exception as error:  # for whoever needs the result
            return None, error

    def result(self) -> T:
        """Return the result, or raise what the job raised."""
        self.do(wait=True)
        if self._outcome is None:
            return cast("Future[T]", self._future).result()
        value, error = self._outcome
        if error is not None:
            raise error
        return cast("T", value)

    def cancel(self) -> None:
        """Drop the job, whose result nobody needs, unless a thread has begun it."""
        if self._future is None or self._future.cancel():
            self._outcome = None, None


class Workers:
    """Threads beside the caller's own; whoever waits for a result does jobs that no thread has begun.

    A job may wait for jobs that wait for none. The end of the context does not wait for jobs that have begun: whoever
    leaves it has to end them. Clocks show the same in all threads. Where no thread can start, as while the interpreter
    ends, the caller does all jobs.

    Parameters
    ----------
    n : int
        Number of threads.

    Examples
    --------
    >>> with Workers(1) as workers:
    ...     list(workers.ahead(lambda i: i * i, 5))
    [0, 1, 4, 9, 16]
    """

    def __init__(self, n: int = 0) -> None:
        self.n, self._pool = n, _pool(n) if n else None
        self._jobs: deque[ref[Job[Any]]] = deque()  # the first of them may have begun

    def begin(self, work: Callable[[], T]) -> Job[T]:
        """Return a job that the next idle thread begins, after those before it."""
        job = Job(work, self._pool)
        if self._pool is not None:
            self._jobs.append(ref(job))
        return job

    def result(self, job: Job[T]) -> T:
        """Return the result of a job, after others if a thread has begun it and takes longer."""
        job.do()
        with contextlib.suppress(IndexError):  # another thread took the last one
            while self._jobs and not job.is_done:
                other = self._jobs.popleft()()
                if other is not None:
                    other.do()
        return job.result()

    def ahead(
        self, job: Callable[[int], T], n: int, may_overlap: Callable[[], bool] = lambda: True
    ) -> Generator[T, None, None]:
        """Yield ``job(0)``, …, ``job(n - 1)``; at most two results more than threads are held.

        Parameters
        ----------
        job : callable
            Called by several threads at once.
        n : int
            Number of jobs.
        may_overlap : callable
            Whether the next job may begin before the one before has ended, asked before each.
        """
        most, begun = self.n + 2 if self._pool else 1, 0
        waiting: deque[Job[T]] = deque()
        try:
            for _ in range(n):
                while begun < n and len(waiting) < (most if may_overlap() else 1):
                    waiting.append(self.begin(partial(job, begun)))
                    begun += 1
                yield self.result(waiting.popleft())
        finally:
            for one in waiting:
                one.cancel()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)


def _pool(n_threads: int) -> ThreadPoolExecutor | None:
    """Return threads; None if the interpreter ends, when the module cannot be imported."""
    try:
        from concurrent.futures import ThreadPoolExecutor
    except RuntimeError:
        return None
    return ThreadPoolExecutor(n_threads, initializer=begin_at, initargs=(seconds_stood(),))
