"""Work spread over threads: every part once, errors heard, nobody left waiting."""

from __future__ import annotations

import contextlib
import gc
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

from isinglass import threads
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


@pytest.fixture
def helpers(monkeypatch):
    """Helpers of which no thread was started yet."""
    monkeypatch.setattr(threads, "_helpers", threads._Helpers())


@pytest.mark.parametrize("started", [0, 1])
def test_where_no_thread_can_be_started_fewer_do_the_work(monkeypatch, helpers, started):
    begin, calls = threads._begin, []

    def few(call):
        calls.append(call)
        if len(calls) > started:
            raise RuntimeError("can't start new thread")
        begin(call)

    monkeypatch.setattr(threads, "_begin", few)
    done = []
    spread(lambda a, b: done.append(a), 20, n_jobs=4, step=1)
    assert sorted(done) == list(range(20))
    assert len(calls) == started + 1


@pytest.mark.parametrize("place", ["before", "after"])
def test_interrupted_while_starting_nobody_goes_on(monkeypatch, helpers, place):
    begin, calls, done = threads._begin, [], []

    def interrupted(call):
        calls.append(call)
        if len(calls) == 2 and place == "before":
            raise KeyboardInterrupt
        begin(call)
        if len(calls) == 2:
            raise KeyboardInterrupt

    def work(start, stop):
        time.sleep(0.3)
        done.append(start)

    monkeypatch.setattr(threads, "_begin", interrupted)
    with pytest.raises(KeyboardInterrupt):
        spread(work, 4, n_jobs=4, step=1)
    seen = len(done)
    assert seen <= 1
    time.sleep(0.4)
    assert len(done) == seen


INTERRUPTED = """
import random, signal, sys, time
from isinglass import threads

dice, begun = random.Random(int(sys.argv[1])), []
class Stop(BaseException): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)

def work(start, stop):
    begun.append(start)
    sum(range(200))

for turn in range(100):
    threads._helpers = threads._Helpers()  # so that starts are interrupted, too
    try:
        signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-5, 2e-3))
        while True:
            threads.spread(work, 40, n_jobs=4, step=1)
    except Stop:
        seen = len(begun)
    time.sleep(0.001)
    assert len(begun) == seen, "somebody goes on"
"""


def test_interrupted_anywhere_nobody_goes_on():
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, "0"], capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")


STOPPED = """
import signal, sys
from isinglass import threads

class Stop(BaseException): pass
def stop(*_):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Stop
signal.signal(signal.SIGTERM, stop)
print("ready", flush=True)
try:
    while True:
        threads._helpers = threads._Helpers()
        threads.spread(lambda a, b: sum(range(200)), 40, n_jobs=4, step=1)
except Stop:
    sys.exit(143)
"""


def test_a_program_stopped_at_any_moment_ends():
    """The interpreter waits for some threads when it ends; nobody may leave it one for ever."""
    dice = np.random.default_rng()
    for _ in range(20):
        running = subprocess.Popen(
            [sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            running.stdout.readline()
            time.sleep(dice.uniform(0, 0.02))
            running.terminate()
            _, said = running.communicate(timeout=20)
        finally:
            running.kill()
        assert (running.returncode, said) == (143, b"")


def test_a_canceled_errand_never_begins_and_one_begun_is_waited_for():
    done = []
    errand = threads.Errand(lambda: done.append(1))
    assert errand.cancel()
    assert errand.cancel()
    errand.run()
    assert not done
    errand = threads.Errand(lambda: time.sleep(0.2) or 7)
    errand.begin()
    time.sleep(0.05)
    assert not errand.cancel()
    errand.wait()
    errand.wait()
    assert errand.outcome() == 7
    errand = threads.Errand(lambda: 1 // 0)
    errand.begin()
    with pytest.raises(ZeroDivisionError):
        errand.outcome()


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
