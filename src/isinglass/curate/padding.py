"""Response padding: answers leave at a deadline fixed by their size."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

#: seconds an answer takes, and how much more for each record of a batch
SLOT = 0.05
EACH = 0.0005


@dataclass(slots=True)
class Leaving:
    """How a batch left: `late` once it has missed its first deadline."""

    late: bool = False


class Deadline:
    """Answers leave `slot + each * n` seconds after a batch of `n` was asked.

    How long counting takes depends on the table. So an answer, a refusal or an error that is
    ready early waits for the deadline, and one that is late for the next multiple of it.
    `overruns` counts the late ones, for the owner alone: it is a fact about the table, and each
    of them told a little. What a late batch promises must not say that its time is covered.
    """

    def __init__(
        self,
        slot: float = SLOT,
        each: float = EACH,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not 0 < slot < math.inf:
            raise ValueError(f"slot must be > 0 seconds and finite, got {slot}")
        if not 0 <= each < math.inf:
            raise ValueError(f"each must be >= 0 seconds and finite, got {each}")
        self.slot, self.each = slot, each
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._overruns = 0

    def __repr__(self) -> str:
        return f"Deadline(slot={self.slot}, each={self.each})"

    @property
    def overruns(self) -> int:
        """How many batches were not ready by their first deadline; never shown to who asks."""
        return self._overruns

    def seconds(self, n: int) -> float:
        """How long a batch of `n` records takes."""
        return self.slot + self.each * n

    @contextmanager
    def kept(self, n: int) -> Iterator[Leaving]:
        """Do the work of a batch of `n` inside; whatever comes of it leaves at the deadline."""
        start, step = self._clock(), self.seconds(n)
        leaving = Leaving()
        try:
            yield leaving
        finally:
            slots = max(1, math.ceil((self._clock() - start) / step))
            if slots > 1:
                leaving.late = True
                with self._lock:
                    self._overruns += 1
            while (left := start + slots * step - self._clock()) > 0:
                self._sleep(left)
