"""Faults: processes killed, raced, cut off and out of room; what left the ledger was paid for."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import multiprocessing
import os
import subprocess
import sys
from collections import Counter

import psycopg
import pytest
from tests.curate.askers import ASKED, CAP, RADIUS, ROOT, Askers, race
from tests.curate.ledgers import files, never, opened, query, rows, yes
from tests.curate.modelers import Modelers
from tests.curate.models import COUNTS, MILLION, begun, charged, pure, undrawn

from isinglass import curate
from isinglass import files as whole_files
from isinglass.curate.ledger.backends import base as store
from isinglass.curate.ledger.backends.connect import connect
from isinglass.curate.ledger.ledger import Ledger
from isinglass.errors import BudgetError, CuratorError, LedgerError

MORE = pytest.mark.matrix


def test_kills_leave_every_answer_paid_for(tmp_path):
    _kill(str(tmp_path / "ledger.db"), tmp_path, n=5, kills=8)


@MORE
def test_twenty_kills_leave_every_answer_paid_for(where, tmp_path):
    # On each database; `make soak` kills more often.
    _kill(where, tmp_path, n=8, kills=20)


def _kill(where, tmp_path, n, kills):
    (tmp_path / "logs").mkdir()
    askers = Askers(where, tmp_path / "logs", seed=1, n=n)
    try:
        askers.wait(50)
        for kill in range(kills):
            askers.kill_one(replace=kill < kills - n, wait=0.1)
            askers.check()
    finally:
        askers.stop()
    askers.retry(20)
    counts = askers.check()
    assert counts["received"] >= 50


@pytest.mark.parametrize(("n", "places"), [(4, 300), pytest.param(8, 1000, marks=MORE)])
def test_processes_race_for_what_is_left_and_one_wins(where, tmp_path, n, places):
    with opened(where, ASKED) as ledger:
        ledger.answer([query(3.0 * i, CAP - 3, r=RADIUS) for i in range(places)], yes)
    context = multiprocessing.get_context("spawn")
    barrier, outs = context.Barrier(n), [tmp_path / f"{number}.json" for number in range(n)]
    processes = [
        context.Process(target=race, args=(where, barrier, places, number, out), daemon=True)
        for number, out in enumerate(outs)
    ]
    for process in processes:
        process.start()
    try:
        for process in processes:
            process.join(timeout=300)
        assert [process.exitcode for process in processes] == [0] * n
    finally:
        for process in processes:
            process.kill()
    won = Counter(i for out in outs for i in json.loads(out.read_text()))
    assert won == Counter(range(places))
    with opened(where, ASKED) as ledger:
        assert ledger.summary()["spent"] == places * CAP / 1e6
        assert ledger.verify().whole


FULL_DISK = """
import os, resource, sys
from isinglass.errors import LedgerError
from tests.curate.ledgers import never, opened, query, yes
where, room = sys.argv[1:]
with opened(where) as ledger:
    ledger.answer([query(-9.0), query(-19.0)], yes)  # kernels are compiled now, not later
    # No file may grow past this: to the database it is a full disk.
    limit = os.stat(where + "-wal").st_size + int(room)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    told = ""
    for i in range(1000):
        try:
            found = ledger.answer([query(3.0 * i)] * 2, yes)
        except LedgerError as error:
            told = str(error)
            break
        print(i, flush=True)
    assert "cannot be used" in told and "disk" in told, told
    # Still full: nothing comes out, nor is anything half spent.
    for _ in range(3):
        try:
            ledger.answer([query(3.0 * i)], yes)
            raise AssertionError("answered on a full disk")
        except LedgerError:
            pass
    assert ledger.answer([query(-9.0)], never)[0].spent == 0
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    assert ledger.answer([query(3.0 * i)], yes)[0].spent == 1
    print(i, flush=True)
"""


@pytest.mark.parametrize("room", [0, 30_000, 31_000, 33_333])
def test_a_full_disk_answers_nothing_and_spends_nothing_half(tmp_path, room):
    where = str(tmp_path / "l.db")
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, where, str(room)],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    answered = [int(line) for line in done.stdout.split()]
    assert answered == list(range(len(answered)))
    with opened(where) as ledger:
        assert ledger.verify().whole
        assert ledger.summary()["entries"] == {"answer": 2 + len(answered), "contract": 1}
        for i in answered:
            assert ledger.answer([query(3.0 * i)], never)[0].anomalous is True


def test_a_connection_lost_while_drawing_gives_nothing_away(server):
    where = server.schema()

    def cut(queries):
        with psycopg.connect(server.url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        return yes(queries)

    with opened(where) as ledger:
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.answer([query(0.0, 3)], cut)
        assert rows(where, "count(*)") == [(1,)]
        # The next one connects anew, whether it writes or not.
        assert ledger.price([query(0.0, 3)])[0].left == 7
        cut([])
        assert ledger.summary()["spent"] == 0
        assert ledger.answer([query(0.0, 3)], yes)[0].left == 7
        assert ledger.verify().whole


def test_who_waits_too_long_for_the_lock_is_told_and_may_ask_again(where, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.3)
    with opened(where) as one, opened(where) as two:

        def meanwhile(queries):
            with pytest.raises(LedgerError, match="another process has held it"):
                two.answer([query(9.0)], never)
            return yes(queries)

        one.answer([query(0.0)], meanwhile)
        assert two.answer([query(9.0)], yes)[0].spent == 1
        assert two.verify().entries == 3


def test_postgresql_is_whole_again_by_itself_after_a_lock_that_did_not_come(server, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.3)
    where = server.schema()
    opened(where).close()
    one, two = connect(where), connect(where)
    with one.locked():
        with pytest.raises(LedgerError, match="another process has held it"):
            two.begin()
        # Not inside an aborted transaction, in which every statement fails.
        assert two.last().seq == 1
    with one.locked():  # nor inside one that got the lock after all
        pass
    with two.locked():
        assert two.last().seq == 1
    one.close()
    two.close()


def test_a_commit_that_the_server_turned_into_a_rollback_is_no_commit(server):
    where = server.schema()
    with opened(where) as ledger:
        database = ledger._keeper.db
        unkept = pytest.raises(LedgerError, match="did not keep what was written")
        with unkept, database.locked(), contextlib.suppress(psycopg.Error):
            database._db.execute("SELECT 1 / 0")
        assert ledger.answer([query(0.0)], yes)[0].spent == 1


def test_an_interrupt_right_after_the_lock_was_taken_lets_go_of_it(where, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.3)
    with opened(where) as one, opened(where) as two:
        database = one._keeper.db
        begin = database.begin

        def interrupted():
            begin()
            raise KeyboardInterrupt

        database.begin = interrupted
        with pytest.raises(KeyboardInterrupt):
            one.answer([query(0.0)], never)
        assert two.answer([query(0.0)], yes)[0].spent == 1
        with pytest.raises(KeyboardInterrupt), database.locked():
            raise AssertionError("not begun")
        assert two.answer([query(9.0)], yes)[0].spent == 1
        database.begin = begin
        assert one.answer([query(0.0)], never)[0].spent == 0


def test_an_interrupt_at_any_line_loses_nothing_and_blocks_nobody(tmp_path, monkeypatch):
    """One interrupt before every line of the curator's code that an ask runs through."""
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.5)
    where = str(tmp_path / "l.db")
    terms = dataclasses.replace(ASKED, user_cap=20)
    heard, at, interrupts, fired = 0, 0, 0, ["first"]
    with opened(where, terms) as one, opened(where, terms) as two:
        while fired:
            at += 1
            asked = [query(3.0 * at, 2, r=RADIUS), query(3.0 * at, 1, r=RADIUS)]
            try:
                with _interrupting(at) as fired:
                    found = one.answer(asked, yes, key=str(at))
                heard += sum(answer.spent for answer in found)
            except KeyboardInterrupt:
                interrupts += 1
            except CuratorError:  # interrupted in its own words about an interrupted draw
                interrupts += 1
            assert not one._keeper.db._db.in_transaction, f"the lock is held: {fired}"
            # Whether it was paid for or not, the key tells one story from now on.
            try:
                told = two.answer(asked, yes, key=str(at))
            except CuratorError:  # the draw was interrupted: paid for, and without an answer
                told = []
            again = one.answer(asked, never, key=str(at)) if told else []
            assert [(a.anomalous, a.spent) for a in again] == [(True, 0)] * len(told)
            heard += sum(answer.spent for answer in told)
            with pytest.raises(BudgetError):  # what was spent is counted
                one.answer([query(3.0 * at, 18, r=RADIUS)], never)
    assert interrupts > 100
    with opened(where, terms) as ledger:
        assert ledger.verify().whole
        assert round(ledger.summary()["spent"] * 10**6) >= heard


def test_an_interrupt_at_any_line_of_a_refusal_blocks_nobody(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.5)
    where = str(tmp_path / "l.db")
    at, fired = 0, ["first"]
    with opened(where, ASKED) as one, opened(where, ASKED) as two:
        two.answer([query(0.0, CAP, r=RADIUS)], yes)
        while fired:
            at += 1
            with contextlib.suppress(KeyboardInterrupt, BudgetError), _interrupting(at) as fired:
                one.answer([query(0.5, 1, r=RADIUS)], never)
            assert not one._keeper.db._db.in_transaction, f"the lock is held: {fired}"
            assert one.answer([query(0.0, CAP, r=RADIUS)], never)[0].spent == 0
        assert at > 50
        assert two.verify().entries == 2


@contextlib.contextmanager
def _interrupting(line):
    """Raise an interrupt before the given line, counted over those of the curator's code."""
    left, fired = [line], []
    ours = (os.path.dirname(curate.__file__), whole_files.__file__)

    def trace(frame, event, arg):
        if not frame.f_code.co_filename.startswith(ours):
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                fired.append(f"{frame.f_code.co_name} {frame.f_lineno}")
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield fired
    finally:
        sys.settrace(before)


def test_a_server_that_crashed_still_holds_every_answer(server):
    where = server.schema()
    with opened(where) as ledger:
        for i in range(50):
            ledger.answer([query(3.0 * i)], yes)
        server.stop()
        server.start()
        assert ledger.answer([query(0.0)], never)[0].spent == 0
    with opened(where) as ledger:  # refused, were the noted head not there
        for i in range(50):
            assert ledger.answer([query(3.0 * i)], never)[0].spent == 0
        assert ledger.verify().entries == 51


def test_a_process_that_dies_while_drawing_spent_nothing(where):
    script = (
        "import os, sys\n"
        "from tests.curate.ledgers import opened, query\n"
        "ledger = opened(sys.argv[1])\n"
        "ledger.answer([query(0.0, 3)], lambda queries: os.kill(os.getpid(), 9), key='k')\n"
    )
    opened(where).close()
    done = subprocess.run([sys.executable, "-c", script, where], cwd=ROOT, timeout=300)
    assert done.returncode == -9
    with opened(where) as ledger:
        assert ledger.verify().entries == 1
        (found,) = ledger.answer([query(0.0, 3)], yes, user="curator", key="k")
        assert (found.spent, found.left) == (3, 7)


def test_a_process_that_dies_after_the_commit_finds_its_answer_under_the_key(where):
    script = (
        "import os, sys\n"
        "from isinglass.curate.ledger.head import Note\n"
        "from tests.curate.ledgers import opened, query, yes\n"
        "ledger = opened(sys.argv[1])\n"
        "Note.write = lambda self, head: os.kill(os.getpid(), 9)\n"
        "ledger.answer([query(0.0, 3)], yes, key='k')\n"
    )
    opened(where).close()
    done = subprocess.run([sys.executable, "-c", script, where], cwd=ROOT, timeout=300)
    assert done.returncode == -9
    with opened(where) as ledger:
        (found,) = ledger.answer([query(0.0, 3)], never, key="k")
        assert (found.anomalous, found.spent, found.left) == (True, 0, 7)
        assert ledger.verify().whole
        with pytest.raises(BudgetError):
            ledger.answer([query(0.0, 8)], never)


@pytest.mark.parametrize("n", [4])
def test_first_uses_at_once_agree_on_one_contract(where, n):
    script = (
        "import sys\n"
        "from tests.curate.ledgers import opened, query, yes\n"
        "with opened(sys.argv[1]) as ledger:\n"
        "    ledger.answer([query(float(sys.argv[2]) * 9)], yes)\n"
        "    print(ledger.created)\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, where, str(i)], cwd=ROOT,
                         stdout=subprocess.PIPE, text=True)
        for i in range(n)
    ]  # fmt: skip
    created = [process.communicate(timeout=300)[0].strip() for process in processes]
    assert sorted(created) == ["False"] * (n - 1) + ["True"]
    with Ledger(where) as ledger:
        assert ledger.verify().problems == []
        assert ledger.summary()["entries"] == {"answer": n, "contract": 1}


def test_a_checkpoint_by_the_last_to_leave_keeps_everything(tmp_path):
    where = str(tmp_path / "l.db")
    one, two = opened(where), opened(where)
    one.answer([query(0.0)], yes)
    one.close()
    two.answer([query(9.0)], yes)
    assert len(files(where)) == 3
    two.close()
    assert [file.name for file in files(where)] == [os.path.basename(where)]
    assert rows(where, "count(*)") == [(3,)]


# -- models ----------------------------------------------------------------------------------------

MODEL = """
import os, sys
from isinglass.curate.ledger.head import Note
from isinglass.curate.ledger.ledger import Ledger
from tests.curate.models import COUNTS, charged, undrawn
def die(*_):
    os.kill(os.getpid(), 9)
ledger = Ledger(sys.argv[1])
moment = sys.argv[2]
if moment == "committing":
    ledger._keeper.db.commit = die
if moment == "noting":
    Note.write = die
price = {"micro": 3, "femto": 0, "rho": None, "records_per_person": 1}
draw = die if moment == "drawing" else lambda: COUNTS
ledger.charge_model(draw, **price, request_id="january", digest=b"d")
die()
"""


@pytest.mark.parametrize(
    ("moment", "paid"),
    [("drawing", False), ("committing", False), ("noting", True), ("returned", True)],
)
def test_a_process_that_dies_leaves_a_model_paid_and_stored_or_neither(where, moment, paid):
    begun(where, cap=10).close()
    done = subprocess.run([sys.executable, "-c", MODEL, where, moment], cwd=ROOT, timeout=300)
    assert done.returncode == -9
    with Ledger(where) as ledger:
        assert ledger.verify().whole
        assert ledger.models.micro == (3 if paid else 0)
        price = {"micro": 3, "femto": 0, "rho": None, "records_per_person": 1}
        same = {"request_id": "january", "digest": b"d"}
        first = b"drawn now" if not paid else COUNTS
        found = ledger.charge_model(undrawn if paid else lambda: first, **price, **same)
        assert found == first
        assert ledger.charge_model(undrawn, **price, **same) == first
        assert ledger.models.micro == 3
        assert ledger.verify().whole


def test_kills_leave_every_model_paid_for_and_stored(tmp_path):
    _kill_modelers(str(tmp_path / "ledger.db"), tmp_path, kills=3)


@MORE
def test_ten_kills_leave_every_model_paid_for_and_stored(where, tmp_path):
    _kill_modelers(where, tmp_path, kills=10)


def _kill_modelers(where, tmp_path, kills):
    (tmp_path / "logs").mkdir()
    modelers = Modelers(where, tmp_path / "logs", seed=2)
    try:
        modelers.wait(5)
        for _ in range(kills):
            modelers.kill_one()
            modelers.check()
            modelers.retry()
    finally:
        modelers.stop()
    modelers.retry()
    assert modelers.check()["received"] >= 5


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=MORE)])
def test_an_interrupt_at_any_line_of_a_model_leaves_it_paid_and_stored_or_neither(
    tmp_path, monkeypatch, step
):
    monkeypatch.setattr(store, "LOCK_TIMEOUT_S", 0.5)
    at, received, fired = 0, 0, ["first"]
    while fired:
        at += step
        # A new one each time: the price is checked by a replay, which takes lines for each entry.
        where = str(tmp_path / f"{at}.db")
        with begun(where, cap=10 * MILLION) as one, Ledger(where) as two:
            try:
                with _interrupting(at) as fired:
                    received += pure(one, 1) == COUNTS
            except (KeyboardInterrupt, CuratorError):
                pass
            assert not one._keeper.db._db.in_transaction, f"the lock is held: {fired}"
            with contextlib.suppress(CuratorError):  # drawing was interrupted: paid for
                assert pure(two, 1) == COUNTS
                assert pure(one, 1, counts=b"new") == COUNTS
            assert two.models.micro == 1  # paid for once, by the first or the second
            assert two.verify().problems == []
    assert at > 150
    assert received == 1


def test_a_connection_lost_while_a_model_is_drawn_gives_nothing_away(server):
    where = server.schema()

    def cut():
        with psycopg.connect(server.url, autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        return COUNTS

    price = {"micro": 3, "femto": 0, "rho": None, "records_per_person": 1}
    with begun(where) as ledger:
        with pytest.raises(LedgerError, match="cannot be used"):
            ledger.charge_model(cut, **price, request_id="j", digest=b"d")
        assert ledger.models.micro == 0
        assert ledger.charge_model(lambda: b"x", **price, request_id="j", digest=b"d") == b"x"
        assert ledger.verify().whole


def test_a_full_disk_gives_no_model_away(tmp_path):
    script = (
        "import os, resource, sys\n"
        "from isinglass.errors import LedgerError\n"
        "from tests.curate.models import begun, charged\n"
        "with begun(sys.argv[1]) as ledger:\n"
        "    charged(ledger)\n"
        "    limit = os.stat(sys.argv[1] + '-wal').st_size + 50_000\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        charged(ledger, 'february', counts=bytes(500_000))\n"
        "        raise AssertionError('charged on a full disk')\n"
        "    except LedgerError as error:\n"
        "        assert 'disk' in str(error), error\n"
    )
    where = str(tmp_path / "l.db")
    subprocess.run([sys.executable, "-c", script, where], cwd=ROOT, check=True, timeout=300)
    with Ledger(where) as ledger:
        assert ledger.models.micro == MILLION
        assert charged(ledger, "february", counts=b"x") == b"x"
        assert ledger.verify().whole
