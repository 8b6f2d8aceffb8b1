"""Answers leave at multiples of a time that only the batch's size decides."""

import threading

import pytest

from isinglass.curate.padding import EACH, SLOT, Deadline


class Clock:
    """A clock that moves when somebody works or sleeps, and sleeps badly on purpose."""

    def __init__(self, share=1.0):
        self.now, self.share, self.naps = 1000.0, share, 0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds

    def sleep(self, seconds):
        assert seconds > 0
        self.naps += 1
        # A sleeper may wake too early, but not forever.
        self.now += seconds * self.share if self.naps < 50 else seconds


def deadline(clock, **settings):
    return Deadline(**({"slot": 0.5, "each": 0.25} | settings), clock=clock, sleep=clock.sleep)


@pytest.mark.parametrize(
    ("n", "work", "leaves", "overruns"),
    [
        (0, 0.0, 0.5, 0),
        (1, 0.0, 0.75, 0),
        (1, 0.74, 0.75, 0),
        (1, 0.75, 0.75, 0),
        (1, 0.76, 1.5, 1),
        (1, 1.51, 2.25, 1),
        (10, 2.9, 3.0, 0),
        (10, 3.1, 6.0, 1),
    ],
)
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_early_work_waits_and_late_work_leaves_at_the_next_multiple(
    n, work, leaves, overruns, share
):
    clock = Clock(share)
    kept = deadline(clock)
    with kept.kept(n):
        clock.work(work)
    assert clock.now - 1000.0 == pytest.approx(leaves, abs=1e-9)
    assert clock.now - 1000.0 >= leaves - 1e-12
    assert kept.overruns == overruns


@pytest.mark.parametrize("work", [0.0, 0.1, 0.74])
def test_errors_leave_when_answers_do(work):
    clock = Clock()

    def fail():
        with deadline(clock).kept(1):
            clock.work(work)
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert clock.now - 1000.0 == pytest.approx(0.75)


def test_overruns_are_counted_and_do_not_print():
    clock = Clock()
    kept = deadline(clock)
    for _ in range(7):
        with kept.kept(0):
            clock.work(0.6)
    assert kept.overruns == 7
    assert repr(kept) == "Deadline(slot=0.5, each=0.25)"


def test_a_batch_takes_its_size_and_nothing_else():
    assert Deadline().seconds(1) == SLOT + EACH
    assert Deadline().seconds(1000) == SLOT + 1000 * EACH
    assert Deadline(1, 0).seconds(50) == 1


def test_real_clocks_wait_at_least_as_long():
    import time

    kept = Deadline(0.05, 0.0)
    start = time.monotonic()
    threads = [threading.Thread(target=wait_in, args=(kept,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert time.monotonic() - start >= 0.05


def wait_in(kept):
    with kept.kept(1):
        pass


@pytest.mark.parametrize("slot", [0, -1, float("inf"), float("nan")])
def test_a_deadline_is_a_time(slot):
    with pytest.raises(ValueError, match="slot must be > 0 seconds and finite"):
        Deadline(slot)
    if slot != 0:
        with pytest.raises(ValueError, match="each must be >= 0 seconds and finite"):
            Deadline(1, slot)
