"""An answer that missed its deadline does not promise that its time is covered."""

from __future__ import annotations

import numpy as np
import pytest

from isinglass.curate.curator import Curator
from isinglass.curate.padding import Deadline

TABLE = np.zeros((5, 2))


@pytest.fixture
def asked(tmp_path):
    """A curator whose clock moves by `work` seconds whenever it draws, and that clock."""
    now, work = [0.0], [0.0]

    def sleep(seconds):
        now[0] += seconds

    kept = Deadline(0.5, 0.0, clock=lambda: now[0], sleep=sleep)
    with Curator(TABLE, 2, 1.0, 1, tmp_path / "ledger.db", pad=kept, n_jobs=1) as one:
        real = one._random

        def slow(n):
            now[0] += work[0]
            return real(n)

        one._random = slow
        yield one, work


def test_a_late_answer_says_that_its_time_is_not_covered(asked):
    one, work = asked
    punctual = one.ask([0.0, 0.0], epsilon="0.1")
    work[0] = 0.6
    late = one.ask([50.0, 0.0], epsilon="0.1")
    work[0] = 0.0
    again = one.ask([90.0, 0.0], epsilon="0.1")
    assert [a.guarantee.timing_covered for a in (punctual, late, again)] == [True, False, True]
    assert "timing not covered" in late.guarantee.sentence()
    assert late.to_json()["guarantee"]["timing_covered"] is False
    assert one.overruns == 1


def test_every_answer_of_a_late_batch_says_so(asked):
    one, work = asked
    work[0] = 0.3  # twice: the batch is late although no single draw is
    found = one.ask([[50.0, 0.0], [90.0, 0.0]], epsilon="0.1")
    assert [a.guarantee.timing_covered for a in found] == [False, False]


def test_what_is_told_before_asking_is_about_punctual_answers(asked):
    one, work = asked
    work[0] = 0.6
    one.ask([50.0, 0.0], epsilon="0.1")
    assert one.guarantee("0.1").timing_covered
