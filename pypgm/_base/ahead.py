"""Jobs that threads do ahead of whoever needs their results, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

T = TypeVar("T")


def ahead(
    job: Callable[[int], T], n: int, n_threads: int, may_overlap: Callable[[], bool] = lambda: True
) -> Generator[T, None, None]:
    """Yield ``job(0)``, …, ``job(n - 1)``; threads do some of the next ones meanwhile.

    At most one result more than threads is held. Whoever closes the iterator before its end does not wait for jobs that
    have begun: it tells them to end. Where no thread can start, as while the interpreter ends, jobs are done when their
    results are needed.

    Parameters
    ----------
    job : callable
        Called by several threads at once.
    n, n_threads : int
        Numbers of jobs and of threads; without threads each job is done when its result is needed.
    may_overlap : callable
        Whether the next job may begin before the one before has ended, asked before each.

    Examples
    --------
    >>> list(ahead(lambda i: i * i, 5, n_threads=2))
    [0, 1, 4, 9, 16]
    """
    pool = _pool(n_threads) if n_threads else None
    if pool is None:
        yield from map(job, range(n))
        return
    n_held, begun = n_threads + 1, 0
    waiting: deque[Future[T]] = deque()
    try:
        for i in range(n):
            try:
                while begun < n and len(waiting) < (n_held if may_overlap() else min(n_held, 1)):
                    waiting.append(pool.submit(job, begun))
                    begun += 1
            except RuntimeError:  # no thread can start
                n_held = 0
            if waiting:
                yield waiting.popleft().result()
            else:
                begun += 1
                yield job(i)
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _pool(n_threads: int) -> ThreadPoolExecutor | None:
    """Return threads; None if the interpreter ends, when the module cannot be imported."""
    try:
        from concurrent.futures import ThreadPoolExecutor
    except RuntimeError:
        return None
    return ThreadPoolExecutor(n_threads)
