"""Worker processes of a search."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from numpy.typing import NDArray

from isinglass.auditing.tuning.effort import Effort
from isinglass.auditing.tuning.evaluation import Measurement
from isinglass.auditing.tuning.search_space import Candidate
from isinglass.errors import AuditError

Array = NDArray[Any]
Measure = Callable[..., Measurement]


@dataclass(frozen=True, slots=True)
class Task:
    """One measurement to make: a setting, on so many rows, under the draw's own seed."""

    candidate: Candidate
    n_rows: int
    draw: int
    effort: Effort

    @property
    def name(self) -> str:
        """What tells it from all others of a search."""
        return f"{self.of} {self.effort.name}"

    @property
    def of(self) -> str:
        """What its seed depends on: the same for every effort."""
        return f"{self.candidate.method} {self.candidate.setting} {self.n_rows} {self.draw}"


@dataclass(slots=True)
class Workers:
    """Measures tasks in `n_jobs` processes; in this one where `n_jobs` is 1.

    Processes are spawned, never forked: a fork takes no threads along, and kernels have some.
    A measurement depends on its task and seed alone, so the results are the same either way.
    """

    measure: Measure
    parts: dict[int, tuple[Array, Array | None]] = field(repr=False)  # rows and labels, by size
    settings: dict[str, Any]
    n_jobs: int = 1
    _pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> Workers:
        if self.n_jobs > 1:
            import multiprocessing

            self._pool = ProcessPoolExecutor(
                self.n_jobs,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(self.measure, self.parts, self.settings),
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._pool is not None:  # after an error nobody waits for what is under way
            self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def done(self, tasks: list[tuple[Task, int]]) -> Iterator[tuple[Task, Measurement]]:
        """Each task with its measurement, as soon as it is made; tasks come with their seeds."""
        if self._pool is None:
            for task, seed in tasks:
                yield task, _measured(self.measure, self.parts, self.settings, task, seed)
            return
        futures: dict[Future[Measurement], Task] = {
            self._pool.submit(_work, task, seed): task for task, seed in tasks
        }
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BrokenProcessPool:
            raise AuditError(
                "a process of the search ended before its time, perhaps for want of memory; "
                "search again with fewer jobs"
            ) from None


_given: list[Any] = []  # in a process of its own: what every task needs


def _begin(*given: Any) -> None:
    import warnings

    from isinglass.errors import PrivacyWarning

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started it decides when it ends
    warnings.simplefilter("ignore", PrivacyWarning)  # keys of a search go nowhere
    _given[:] = given


def _work(task: Task, seed: int) -> Measurement:
    measure, parts, settings = _given
    return _measured(measure, parts, settings, task, seed)


def _measured(
    measure: Measure,
    parts: dict[int, tuple[Array, Array | None]],
    settings: dict[str, Any],
    task: Task,
    seed: int,
) -> Measurement:
    rows, labels = parts[task.n_rows]
    return measure(task.candidate, rows, seed, labels=labels, effort=task.effort, **settings)
