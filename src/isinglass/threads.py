"""Thread counts for products and kernels."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


@functools.cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep matrix products in one thread: with more, a wide product is cut up and rounds otherwise.

    A release must have the same bytes whoever computes it, on however many cores.
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextlib.contextmanager
def all_in_one_thread() -> Iterator[None]:
    """Keep products and the loops of libraries loaded so far in one thread: for small pieces."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):
        yield


def as_scikit_learn(n_jobs: int | None) -> int:
    """`n_jobs` of an estimator: None is 1, unless a `joblib.parallel_config` says otherwise."""
    if n_jobs is None:
        from joblib import effective_n_jobs

        return int(effective_n_jobs(None))
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return n_jobs


def available(n_jobs: int | None = None) -> int:
    """How many threads to use inside the package: as in scikit-learn, but None is every core."""
    cores = os.cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # the cores this process may use
        cores = len(os.sched_getaffinity(0))
    if n_jobs is None:
        return cores
    if n_jobs == 0:
        raise ValueError("n_jobs must not be 0")
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def spread(work: Callable[[int, int], object], n: int, *, n_jobs: int | None, step: int) -> None:
    """Call `work(start, stop)` on all of range(n), `step` at a time, in several threads.

    For kernels that release the interpreter's lock and write only to their own rows. The calling
    thread works too, and every thread takes the next part when it is done with one: handing out
    parts from a queue would cost as much as a small one takes.
    """
    starts = range(0, n, step)
    workers = min(available(n_jobs), len(starts))
    left = iter(starts)

    def take_parts() -> None:
        try:
            for start in left:
                work(start, min(start + step, n))
        finally:
            for _ in left:  # after an error nobody begins another part
                pass

    others: list[Future[None]] = []
    try:
        with contextlib.suppress(RuntimeError):  # no thread can be started: fewer will do
            while len(others) < workers - 1:
                others.append(_pool(workers - 1).submit(take_parts))
        take_parts()
    finally:
        for _ in left:  # none, unless the above was interrupted
            pass
        # One that has not begun has nothing left to do.
        failures = [other.exception() for other in others if not other.cancel()]
        others.clear()
    failure = next(filter(None, failures), None)
    failures.clear()
    if failure is not None:
        try:
            raise failure
        finally:
            del failure  # its traceback holds this frame, and the frame the caller's arrays


@functools.cache
def _pool(workers: int) -> ThreadPoolExecutor:
    """Threads that stay: starting them anew takes longer than much of what they do."""
    return ThreadPoolExecutor(workers, thread_name_prefix="isinglass")


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # a fork takes no threads along
