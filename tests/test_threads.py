"""Work spread over threads: every part once, errors heard, nobody left waiting."""

from __future__ import annotations

import contextlib
import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from isinglass.threads import spread


@pytest.mark.parametrize("n_jobs", [1, 2, 3, 8])
@pytest.mark.parametrize(("n", "step"), [(0, 1), (1, 1), (7, 3), (64, 64), (64, 65), (1000, 1)])
def test_every_part_is_done_once(n, step, n_jobs):
    times = np.zeros(n, dtype=int)

    def work(start, stop):
        assert 0 < stop - start <= step
        times[start:stop] += 1

    spread(work, n, n_jobs=n_jobs, step=step)
    assert (times == 1).all()


def test_one_job_runs_in_the_calling_thread():
    seen = set()
    spread(lambda a, b: seen.add(threading.get_ident()), 50, n_jobs=1, step=1)
    assert seen == {threading.get_ident()}


def test_several_threads_take_part():
    meet = threading.Barrier(3, timeout=30)
    seen = set()

    def work(start, stop):
        meet.wait()  # nobody gets on alone
        seen.add(threading.get_ident())

    spread(work, 6, n_jobs=3, step=1)
    assert len(seen) == 3
    assert threading.get_ident() in seen


@pytest.mark.parametrize("here", [True, False])
def test_an_error_in_any_thread_is_raised_and_no_other_part_begins(here):
    caller, begun = threading.get_ident(), []
    failed = threading.Event()

    def work(start, stop):
        begun.append(start)
        if (threading.get_ident() == caller) is here:
            failed.set()
            raise ValueError("no good")
        assert failed.wait(30)
        time.sleep(1.0)  # by then the one that failed has taken the rest away

    with pytest.raises(ValueError, match="no good"):
        spread(work, 100, n_jobs=2, step=1)
    assert len(begun) <= 2


def test_work_may_spread_its_own_work():
    """Also while all threads of the pool are busy with the outer work."""
    done = []

    def outer(start, stop):
        spread(lambda a, b: done.append((start, a)), 5, n_jobs=4, step=1)
        time.sleep(0.01)

    whole = threading.Thread(
        target=lambda: [spread(outer, 8, n_jobs=4, step=1) for _ in range(5)], daemon=True
    )
    whole.start()
    whole.join(30)
    assert not whole.is_alive()
    assert sorted(done) == sorted(5 * [(i, j) for i in range(8) for j in range(5)])


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_thread_can_be_started_fewer_do_the_work(monkeypatch, started):
    submit, calls = ThreadPoolExecutor.submit, []

    def few(self, *args):
        calls.append(args)
        if len(calls) > started:
            raise RuntimeError("can't start new thread")
        return submit(self, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", few)
    done = []
    spread(lambda a, b: done.append(a), 20, n_jobs=4, step=1)
    assert sorted(done) == list(range(20))


def test_interrupted_while_starting_nobody_goes_on(monkeypatch):
    submit, calls, done = ThreadPoolExecutor.submit, [], []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return submit(self, *args)

    def work(start, stop):
        time.sleep(0.5)
        done.append(start)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spread(work, 4, n_jobs=4, step=1)
    seen = len(done)
    assert seen <= 1
    time.sleep(0.7)
    assert len(done) == seen


@pytest.mark.parametrize("here", [True, False])
def test_an_error_keeps_nothing_alive(here):
    class Big:
        pass

    big = Big()
    gone = weakref.ref(big)
    meet, caller = threading.Barrier(2, timeout=30), threading.get_ident()

    def work(start, stop, big=big):
        meet.wait()
        if (threading.get_ident() == caller) is here:
            raise ValueError

    def call(work):
        with contextlib.suppress(ValueError):
            spread(work, 2, n_jobs=2, step=1)

    gc.collect()
    gc.disable()
    try:
        call(work)
        del work, big
        until = time.monotonic() + 5  # a thread of the pool may yet have to let go
        while gone() is not None and time.monotonic() < until:
            time.sleep(0.01)
        assert gone() is None
    finally:
        gc.enable()
