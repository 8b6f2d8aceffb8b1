"""Work spread over threads: every part once, errors heard, nobody left waiting."""

from __future__ import annotations

import threading
import time

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
        time.sleep(0.2)  # by then the one that failed has taken the rest away

    with pytest.raises(ValueError, match="no good"):
        spread(work, 100, n_jobs=2, step=1)
    assert len(begun) <= 2


def test_work_may_spread_its_own_work():
    done = []

    def outer(start, stop):
        spread(lambda a, b: done.append((start, a)), 5, n_jobs=4, step=1)

    spread(outer, 8, n_jobs=4, step=1)
    assert sorted(done) == [(i, j) for i in range(8) for j in range(5)]
