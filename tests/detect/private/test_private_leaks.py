"""Errors, tracebacks and core dumps of a private detector: nothing of a record or a raw count."""

import gc
import resource
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import isinglass
import isinglass as ig
from isinglass import core_dumps
from isinglass.core_dumps import no_core_dumps
from isinglass.detect.private import counts, rounds
from isinglass.detect.private.records import CodedRecords

ROWS = 31_337  # a raw count, as all records are alike


def ambient():
    """The context of any error raised here: tests of interrupts may have left one behind."""
    try:
        raise ValueError
    except ValueError as error:
        return error.__context__


def reached(error):
    """Every object that can be reached from the frames of an error and of those that led to it."""
    waiting, seen = [], set()
    while error is not None:
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_globals["__name__"] != __name__:  # ours has the table
                waiting += list(trace.tb_frame.f_locals.values())
            trace = trace.tb_next
        behind = error.__cause__ or error.__context__
        error = None if behind is ambient() else behind
    shared = (types.ModuleType, type, str, bytes)
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, shared):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, types.FunctionType):
            waiting += [c.cell_contents for c in found.__closure__ or ()]
        elif not isinstance(found, np.ndarray):
            waiting += [o for o in gc.get_referents(found) if not isinstance(o, shared)]


def secrets(error):
    return [
        found
        for found in reached(error)
        if isinstance(found, CodedRecords)
        or (isinstance(found, np.ndarray) and found.size >= ROWS)
        or (isinstance(found, np.ndarray) and found.dtype == np.int64 and (found == ROWS).any())
    ]


class BrokenError(Exception):
    pass


def broken(*given, **more):
    raise BrokenError


def interrupted(*given, **more):
    raise KeyboardInterrupt


PLACES = {
    "noise": (counts, "add_noise", broken),
    "before the noise": (counts.RawCounts, "noised", interrupted),
    "counting": (counts, "count_leaves", interrupted),
    "second round": (counts, "count_bins", broken),
    "reading the counts": (rounds, "read_columns", broken),
}


@pytest.mark.parametrize("place", PLACES)
def test_no_raw_count_and_no_record_hangs_on_an_error(place, monkeypatch):
    monkeypatch.setattr(*PLACES[place])
    with pytest.raises((BrokenError, KeyboardInterrupt)) as caught:
        ig.PrivateDetector(epsilon=1, bounds=(-10, 10)).fit(np.full((ROWS, 1), 3.21))
    assert secrets(caught.value) == []


def test_a_reader_that_fails_late_leaves_no_count_and_no_record():
    def read(columns):
        rows = np.full((ROWS, 1), 3.21)
        yield CodedRecords(rows, np.empty((ROWS, 0), dtype=np.int64))
        try:
            float("no number")
        except ValueError as error:
            raise BrokenError from error

    with pytest.raises(BrokenError) as caught:
        ig.PrivateDetector(epsilon=1, bounds=(-10, 10)).fit_parts(["x"], read)
    assert secrets(caught.value) == []
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is ambient()


def test_what_is_looked_for_would_be_found(monkeypatch):
    monkeypatch.setattr(counts, "add_noise", broken)
    function = ig.PrivateDetector.fit.__wrapped__  # without what takes frames away
    with pytest.raises(BrokenError) as caught:
        function(ig.PrivateDetector(epsilon=1, bounds=(-10, 10)), np.full((ROWS, 1), 3.21))
    assert secrets(caught.value) != []


def number(value):
    return pd.DataFrame({"x": [55.746, 41.743, value]})


class Odd:
    def __float__(self):
        raise RuntimeError("this is 55.746")


UNFIT = {
    "complex": number(1j),
    "complex array": np.array([[55.746], [1j]]),
    "complex objects": np.array([[55.746], [1j]], dtype=object),
    "text": number("41.743a"),
    "text array": np.array([["55.746x"]]),
    "bytes": np.array([[b"55.746x"]]),
    "list": number([55.746]),
    "dictionary": number({"x": 55.746}),
    "huge": number(55746 * 10**400),
    "own error": number(Odd()),
    "one dimension": np.array([55.746, 41.743]),
    "one dimension of objects": np.array([55.746, "41.743"], dtype=object),
    "three dimensions": np.full((2, 2, 2), 55.746),
    "ragged": [[55.746], [41.743, 2.0]],
    "a number": 55.746,
    "records": np.array([(55.746,)], dtype=[("x", float)]),
    "dates": number(pd.Timestamp("2026-01-01")),
    "period": pd.DataFrame({"x": pd.period_range("2026-01-01", periods=2)}),
    "interval": pd.DataFrame({"x": pd.interval_range(41.743, 43.743)}),
}


@pytest.fixture(scope="module")
def fitted():
    table = np.random.default_rng(0).normal(size=(3000, 1))
    return ig.PrivateDetector(epsilon=1, bounds=(-10, 100)).fit(table)


@pytest.mark.parametrize("kind", UNFIT)
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_no_message_holds_a_value(kind, fitted):
    X = UNFIT[kind]
    plain = ig.PrivateDetector(epsilon=1, bounds=(-10, 100))
    listed = ig.PrivateDetector(epsilon=1, bounds={"x": (-10, 100)}, categories={"c": ["a"]})
    calls = [lambda: plain.fit(X), lambda: fitted.anomaly_score(X), lambda: fitted.explain(X)]
    if isinstance(X, pd.DataFrame):
        calls.append(lambda: listed.fit(X.assign(c="55.746")))
    for call in calls:
        error = error_of(call)
        if error is None:
            assert kind in ("list", "records")  # which NumPy may take for numbers
            continue
        assert isinstance(error, TypeError | ValueError)
        assert "\n" not in str(error)
        assert not [v for v in ("55", "746", "41", "743", "2026") if v in str(error)]
        assert error.__context__ is ambient()


def error_of(call):
    try:
        call()
    except Exception as error:
        return error
    return None


def test_there_is_no_core_dump_while_raw_counts_are_held(monkeypatch):
    before, inside = resource.getrlimit(resource.RLIMIT_CORE), []
    resource.setrlimit(resource.RLIMIT_CORE, (before[1], before[1]))
    true = counts.add_noise

    def spied(*given, **more):
        inside.append(resource.getrlimit(resource.RLIMIT_CORE))
        return true(*given, **more)

    monkeypatch.setattr(counts, "add_noise", spied)
    try:
        ig.PrivateDetector(epsilon=1, bounds=(-10, 10)).fit(np.zeros((500, 2)))
        assert inside == [(0, before[1])] * 2
        assert resource.getrlimit(resource.RLIMIT_CORE) == (before[1], before[1])
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, before)


DUMPABLE = """
import ctypes, os, sys
from isinglass.core_dumps import no_core_dumps
prctl = ctypes.CDLL(None).prctl
said = [prctl(3, 0, 0, 0, 0)]
with no_core_dumps():
    with no_core_dumps():
        said.append(prctl(3, 0, 0, 0, 0))
    said.append(prctl(3, 0, 0, 0, 0))
said.append(prctl(3, 0, 0, 0, 0))
print(said)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has it")
def test_linux_is_told_that_nobody_may_dump():
    done = subprocess.run(
        [sys.executable, "-c", DUMPABLE], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[1, 0, 0, 1]\n"


def test_where_there_are_no_limits_nothing_is_done(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    with no_core_dumps():
        assert core_dumps._undo == []


def test_only_the_verification_reads_counts_without_noise():
    """It makes the tables that it counts; no other file may name the way."""
    package = Path(isinglass.__file__).parent
    names = {
        str(path.relative_to(package))
        for path in package.rglob("*.py")
        if "exact_of_made_up_table" in path.read_text("utf-8")
    }
    assert names == {"detect/private/counts.py", "detect/private/verification/trial.py"}
