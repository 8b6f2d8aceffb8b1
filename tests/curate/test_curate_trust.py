"""What a guarantee rests on: beside the one bit, nothing that leaves depends on the table."""

import contextlib
import itertools
import json
import math
import random
import sqlite3
from dataclasses import fields, replace
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isinglass.curate.curator import Answer, Curator
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.mechanisms.mechanism import Mechanism, bounded_mechanism
from isinglass.curate.padding import Deadline
from isinglass.curate.questions.base import Question
from isinglass.errors import CuratorError, IsinglassError, LedgerError

MODES = ("sparse", "dp", "sensitive")
NAMES = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("ledgers")


def curator(table, folder, *, beta=2, r=1.0, budget=1, seed=0, **more):
    """A curator on a ledger of its own, with chance that can be repeated and no waiting."""
    made = Curator(
        table, beta, r, budget, folder / f"{next(NAMES)}.db", **({"pad": False, "n_jobs": 1} | more)
    )
    made._random = random.Random(seed).randbytes
    return made


def outcome(work, *given, **settings):
    """What an end user sees: answers without their one bit, or an error, word for word."""
    try:
        found = work(*given, **settings)
    except (IsinglassError, ValueError, TypeError) as error:
        facts = {name: getattr(error, name, None) for name in ("asked", "spent", "left", "row")}
        return type(error), str(error), facts
    return [replace(a, anomalous=None) for a in (found if isinstance(found, list) else [found])]


# An answer says nothing but the answer.


def test_an_answer_has_one_field_that_the_table_has_a_part_in():
    names = [field.name for field in fields(Answer)]
    assert names == ["anomalous", "epsilon", "spent", "left", "queries_left", "guarantee"]


TABLES = [
    np.zeros((40, 2)),
    np.zeros((41, 2)),
    np.random.default_rng(1).normal(size=(300, 2)) * 9,
    np.empty((0, 2)),
    np.array([[3.0, 4.0]]),
]


@pytest.mark.parametrize(
    ("mode", "pad"), [*((mode, False) for mode in MODES), ("sparse", Deadline(1e-6, 1e-9))]
)
def test_all_other_fields_follow_from_queries_and_settings(folder, mode, pad):
    asks = [
        ([0.0, 0.0], 0.1, {}),
        ([0.0, 0.0], 0.1, {}),
        ([0.0, 0.0], 0.1, {"fresh": True}),
        ([[3.0, 4.0], [0.5, 0.0], [3.0, 4.0]], "0.25", {"key": "a"}),
        ([[3.0, 4.0], [0.5, 0.0], [3.0, 4.0]], "0.25", {"key": "a"}),
        ([1.5, 0.0], 0.3, {"user": "ada"}),
        ([0.0, 0.0], 0.9, {}),  # refused
        ([math.nan, 0.0], 0.1, {}),
        ([1.0], 0.1, {}),
        ([0.0, 0.0], 0, {}),
    ]
    seen = []
    for table in TABLES:
        with curator(table, folder, mode=mode, pad=pad) as asked:
            seen.append([outcome(asked.ask, x, epsilon=e, **m) for x, e, m in asks])
            seen[-1] += [asked.left([0.1, 0.0], epsilon=0.01), repr(asked), asked.created]
            seen[-1] += asked.price([[9.0, 9.0], [0.0, 0.0]], epsilon=0.1)
    assert seen[0][0][0].epsilon == 0.1  # answers, not errors all the way
    assert seen[0][6][0].__name__ == "BudgetError"
    for other in seen[1:]:
        assert other == seen[0]


def test_the_bit_itself_does_depend_on_the_table(folder):
    with (
        curator(TABLES[0], folder, budget=100) as full,
        curator(TABLES[3], folder, budget=100) as empty,
    ):
        assert full.ask([0.0, 0.0], epsilon=20).anomalous is False
        assert empty.ask([0.0, 0.0], epsilon=20).anomalous is True


# Refusals look at queries, never at rows.

coordinate = st.integers(-2, 2).map(float)
record = st.tuples(coordinate, coordinate)
strange = st.sampled_from([(math.nan, 0.0), (math.inf, 0.0), (0.0,), (0.0, 1.0, 2.0)])


@settings(max_examples=25)
@given(
    rows=st.lists(record, max_size=8),
    extra=record,
    mode=st.sampled_from(MODES),
    asks=st.lists(
        st.tuples(
            st.one_of(record, st.integers(0, 8), strange, st.lists(record, min_size=1, max_size=4)),
            st.sampled_from([0.1, 0.3, 0.7, 2, 0, "x"]),
            st.booleans(),
            st.sampled_from([None, "k1", "k2"]),
        ),
        min_size=1,
        max_size=6,
    ),
)
def test_refusals_and_errors_are_the_same_on_neighboring_tables(folder, rows, extra, mode, asks):
    table = np.array(rows, dtype=float).reshape(-1, 2)
    more = np.concatenate([table, [extra]])
    # Whole numbers stand for rows of the table, the last for the one record that differs.
    asked = [more[min(a, len(rows))] if isinstance(a, int) else a for a, *_ in asks]
    seen = []
    for rows_of in (table, more):
        with curator(rows_of, folder, mode=mode) as one:
            seen.append([
                outcome(one.ask, x, epsilon=e, fresh=f, key=key)
                for x, (_, e, f, key) in zip(asked, asks, strict=True)
            ])  # fmt: skip
    assert seen[0] == seen[1]


class Failing(Question):
    """Counts well, and then trips over what it counted."""

    name = "failing"
    beta, r, influence = 2, 1.0, 1.0

    def look(self, table, places, cap):
        return table.within(places, self.r).reshape(-1, 1)

    def anomalous(self, *counts):
        if counts[0] > 2:
            raise RuntimeError(f"there are {counts[0]} of them")
        return False

    def distance(self, *counts):
        return 1


def test_an_error_while_computing_costs_its_price_and_says_nothing(folder):
    table = np.zeros((41, 2))
    with curator(table, folder, beta=None, r=None, mode=Failing()) as one:
        with pytest.raises(CuratorError) as caught:
            one.ask([0.0, 0.0], epsilon=0.25)
        assert "41" not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__suppress_context__
        assert one.left([0.0, 0.0], epsilon=0.25) == 3  # paid for, though there was no answer
        assert one.ask([5.0, 0.0], epsilon=0.25).left == 0.75


# Charged is used.


@given(parts=st.integers(1, 3_000_000), mode=st.sampled_from(MODES))
@settings(max_examples=12)
def test_the_mechanism_runs_at_the_very_epsilon_that_is_charged(folder, parts, mode):
    written = f"{parts // 10**6}.{parts % 10**6:06d}"
    used, original = [], Mechanism.answer

    def spy(self, *counts, draw):
        used.append((self.coin.unit, self.coin.base))
        return original(self, *counts, draw=draw)

    with (
        curator(TABLES[0], folder, mode=mode, budget=3) as one,
        mock.patch.object(Mechanism, "answer", spy),
    ):
        answer = one.ask([0.0, 0.0], epsilon=written)
        charged = one.ledger.summary()["spent"]
    assert used == [(Fraction(parts, 10**6),) * 2]
    assert charged == parts / 10**6
    assert answer.guarantee.micro == parts
    assert round(answer.spent * 10**6) == parts
    assert round(answer.left * 10**6) == 3_000_000 - parts
    assert answer.queries_left == (3_000_000 - parts) // parts


class Twice(Question):
    """Two records within r of each place count as four."""

    name, beta, r, influence, lipschitz = "twice", 4, 1.0, 1.0, 2

    def look(self, table, places, cap):
        return 2 * table.within(places, self.r, cap + 4).reshape(-1, 1)

    def anomalous(self, *counts):
        return counts[0] <= self.beta

    def distance(self, *counts):
        return abs(2 * counts[0] - 2 * self.beta - 1) // 2 + 1


def test_a_question_that_moves_twice_as_far_costs_twice(folder):
    with curator(TABLES[0], folder, beta=None, r=None, mode=Twice()) as one:
        answer = one.ask([0.0, 0.0], epsilon=0.2)
    assert (answer.epsilon, answer.spent, answer.left) == (0.4, 0.4, 0.6)
    assert answer.guarantee.micro == 400_000
    assert bounded_mechanism(Twice(), 0.2).coin.unit == Fraction(1, 5)


# Time: the work scheduled.


class Spy:
    """A table that notes what it is asked."""

    def __init__(self, table, log):
        self._table, self._log = table, log

    def within(self, places, r, cap=None):
        self._log.append(("within", places.tobytes(), r, cap))
        return self._table.within(places, r, cap)

    def copies(self, places):
        self._log.append(("copies", places.tobytes()))
        return self._table.copies(places)


@pytest.mark.parametrize("mode", MODES)
def test_look_ups_and_random_bytes_do_not_depend_on_the_table_or_the_outcome(folder, mode):
    logs, outcomes = [], set()
    for seed, table in enumerate(TABLES * 2):
        log = []
        with curator(table, folder, mode=mode, budget=100) as one:
            one._neighbors = Spy(one._neighbors, log)
            source = random.Random(seed)

            def draw(size, source=source, log=log):
                log.append(("draw", size))
                return source.randbytes(size)

            one._random = draw
            answers = [one.ask([0.0, 0.0], epsilon=0.1)]
            answers += one.ask([[0.0, 0.0], [3.0, 4.0], [0.0, 0.5], [3.0, 4.0]], epsilon=0.2)
            answers += one.ask([[3.0, 4.0]] * 3, epsilon=0.2, fresh=True)
        logs.append(log)
        outcomes.add(tuple(a.anomalous for a in answers))
    assert len(outcomes) >= 4
    assert all(log == logs[0] for log in logs)
    # One look-up a batch of what is not known yet, and one word for each of them.
    assert [entry for entry in logs[0] if entry[0] == "draw"] == [("draw", 32)] * (1 + 3 + 1)
    assert len([entry for entry in logs[0] if entry[0] == "within"]) == 3


def test_answers_refusals_and_errors_leave_at_the_deadline(folder):
    now, work = [0.0], [0.3]

    def sleep(seconds):
        now[0] += seconds

    kept = Deadline(0.5, 0.25, clock=lambda: now[0], sleep=sleep)
    with curator(TABLES[0], folder, mode=Failing(), beta=None, r=None, pad=kept) as one:
        look = one._neighbors.within

        def slow(*given):
            now[0] += work[0]
            return look(*given)

        one._neighbors = Spy(one._neighbors, [])
        one._neighbors._table = type("Slow", (), {"within": staticmethod(slow)})

        def took(**more):
            start = now[0]
            outcome(one.ask, **more)
            return now[0] - start

        far = [[50.0, 50.0], [90.0, 90.0]]
        assert took(records=far[0], epsilon=0.1) == pytest.approx(0.75)
        assert took(records=far, epsilon=0.2) == pytest.approx(1.0)
        assert took(records=[0.0, 0.0], epsilon=0.1) == pytest.approx(0.75)  # an error
        assert took(records=far[0], epsilon=0.9) == pytest.approx(0.75)  # a refusal
        assert took(records=far[0], epsilon=0.1) == pytest.approx(0.75)  # a stored answer
        assert one.overruns == 0
        work[0] = 0.8
        assert took(records=[7.0, 7.0], epsilon=0.1) == pytest.approx(1.5)
        assert one.overruns == 1
        assert "timing covered" in one.guarantee(0.1).sentence()
    with curator(TABLES[0], folder) as one:
        assert "timing not covered" in one.ask([0.0, 0.0], epsilon=0.1).guarantee.sentence()
        assert one.overruns == 0


# The chances are those of the formulas.

CLUSTERS = 300
CENTERS = np.arange(CLUSTERS) * 100.0


def clusters(own, near):
    """The same cluster at many places: `own` records there, `near` within the radius."""
    offsets = [0.0] * own + [1.0] * (near - own) + [2.0]  # the last is out of reach
    return (CENTERS[:, np.newaxis] + offsets).reshape(-1, 1)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("own", "near"), [(0, 0), (0, 3), (1, 1), (1, 3), (2, 3), (1, 5), (0, 6)])
def test_wrong_answers_are_as_frequent_as_the_exact_chance(folder, mode, own, near):
    beta, epsilon, times = 3, 0.4, 12
    one = curator(
        clusters(own, near), folder, mode=mode, beta=beta, budget=50, seed=own + 10 * near
    )
    with one:
        asked = CENTERS.reshape(-1, 1)
        answers = [a for _ in range(times) for a in one.ask(asked, epsilon=epsilon, fresh=True)]
        mechanism = bounded_mechanism(one.question, epsilon)
    sparse = near + 1 <= beta if mode == "sparse" else own > 0 and near <= beta
    wrong = sum(a.anomalous != sparse for a in answers)
    n = CLUSTERS * times
    # The formulas, written out once more.
    if mode == "sparse":
        m = beta + 1 - (near + 1) if sparse else near + 1 - beta
    elif mode == "sensitive" and near < beta:
        m = beta + 1 - near + min(0, own - 1)
    elif own == 0:
        m = 1 if near < beta else 2 + near - beta
    else:
        m = min(own, beta + 1 - near) if near <= beta else near - beta
    chance = math.exp(-epsilon * (m - 1)) / (1 + math.exp(epsilon))
    assert mechanism.error_probability(own, near) == pytest.approx(chance, rel=1e-12)
    deviation = math.sqrt(n * chance * (1 - chance))
    assert abs(wrong - n * chance) < 4 * deviation
    assert abs(wrong - n * chance * 1.3) > 4 * deviation or chance < 0.1


def test_the_stored_answer_is_the_drawn_one(folder):
    with curator(clusters(1, 3), folder, budget=50) as one:
        asked = CENTERS.reshape(-1, 1)
        first = [a.anomalous for a in one.ask(asked, epsilon=0.4)]
        assert 0 < sum(first) < CLUSTERS
        again = one.ask(asked, epsilon=0.4)
        assert [a.anomalous for a in again] == first
        assert {a.spent for a in again} == {0.0}
        drawn = one.ask(asked, epsilon=0.4, fresh=True)
        assert [a.anomalous for a in drawn] != first
        assert {a.spent for a in drawn} == {0.4}


COLUMNS = "seq, kind, user, key, request, query, place, influence, micro, version"


def written(path):
    """Every column of a ledger, but those that are chance, time, or keyed by the secret."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        found = connection.execute(f"SELECT {COLUMNS} FROM entries ORDER BY seq").fetchall()
        facts = [text for (text,) in connection.execute("SELECT facts FROM entries ORDER BY seq")]
        names = [row[1] for row in connection.execute("PRAGMA table_info(entries)")]
        tables = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        assert [name for (name,) in tables] == ["entries"]
    others = ["at", "anomalous", "facts", "prev", "hash"]
    assert sorted(names) == sorted(COLUMNS.split(", ") + others)
    read = [None if text is None else json.loads(text) for text in facts]
    for terms in read:
        for keyed in ("table", "ledger"):  # an HMAC, and the ledger's random name
            assert len((terms or {}).pop(keyed, "0" * 64)) in (32, 64)
    return found, read


@pytest.mark.parametrize("mode", MODES)
def test_nothing_written_or_shown_holds_a_count(folder, mode):
    """What a ledger keeps and shows of two tables with other counts everywhere is the same."""
    asks = [([0.0, 0.0], 0.1, {}), ([[0.5, 0.0], [50.0, 50.0]], "0.2", {"key": "k"}),
            ([0.0, 0.0], 0.1, {"fresh": True})]  # fmt: skip
    kept, shown = [], []
    for near, far in ((1234, 3087), (3, 40)):
        table = np.concatenate([np.zeros((near, 2)), np.full((far, 2), 50.0)])
        path = folder / f"{next(NAMES)}.db"
        with Curator(table, 777, 1.0, 1, path, mode=mode, pad=False, n_jobs=1) as one:
            answers = []
            for record, epsilon, more in asks:
                found = one.ask(record, epsilon=epsilon, **more)
                answers += found if isinstance(found, list) else [found]
            one.ledger.amend(cap=2_000_000, reason="agreed")
            summary = one.ledger.summary()
            for name in ("head", "last", "ledger"):
                summary.pop(name)
            for change in summary["amendments"]:
                change.pop("at")
            facts = [answer.to_json() | {"anomalous": None} for answer in answers]
            shown.append(json.dumps([facts, summary, repr(one)]))
        kept.append(written(path))
        for number in (near, far, near + far, near + 1, near - 777, 777 - near):
            if number > 999:  # smaller ones may be settings
                assert str(number) not in json.dumps(kept[-1][1]) + shown[-1]
                assert f"{number:,}" not in shown[-1]
    assert kept[0] == kept[1]
    assert shown[0] == shown[1]
    # Numbers are the prices and radii asked for, and nothing else is written with an answer.
    prices = [row[8] for row in kept[0][0]]
    assert prices == [0, 100_000, 200_000, 200_000, 100_000, 0]
    assert kept[0][1][1:5] == [None] * 4


def test_curators_that_share_a_ledger_object_answer_from_their_own_tables_only(folder):
    with Ledger(folder / f"{next(NAMES)}.db") as ledger:
        old = Curator(np.zeros((100, 1)), 5, 1.0, 100, ledger, pad=False)
        new = Curator(np.full((100, 1), 50.0), 5, 1.0, 100, ledger, pad=False, new_version="moved")
        for way in (old.ask, old.price):
            with pytest.raises(LedgerError, match="another version of the table"):
                way([0.0], epsilon=20)
        assert new.ask([0.0], epsilon=20).anomalous is True
        assert (old.created, new.created) == (True, False)


def test_two_curators_on_one_ledger_share_its_budget(folder):
    path = folder / "shared.db"
    table = TABLES[0]
    with Curator(table, 2, 1.0, 1, path, pad=False) as one, Ledger(path) as ledger:
        other = Curator(table, 2, 1.0, 1, ledger, pad=False)
        assert (one.created, other.created) == (True, False)
        one.ask([0.0, 0.0], epsilon=0.6)
        assert outcome(other.ask, [0.5, 0.0], epsilon=0.6)[2]["left"] == 400_000
        assert other.ask([0.0, 0.0], epsilon=0.6).spent == 0
