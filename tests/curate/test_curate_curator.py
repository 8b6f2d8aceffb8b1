"""The curator as its owner and an end user meet it."""

import copy
import math
import pickle
import random
import re
import threading

import numpy as np
import pytest

from isinglass.curate.curator import Curator
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.query import Answer
from isinglass.curate.questions.base import Question
from isinglass.curate.space import Space
from isinglass.errors import BudgetError, CuratorError, LedgerError, PrivacyWarning, TableError

TABLE = np.random.default_rng(2).normal(size=(500, 3))
RECORD = [0.25, -1.0, 0.5]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def curator(table, path, *, beta=5, r=0.5, budget=1, seed=1, **more):
    made = Curator(table, beta, r, budget, path, **({"pad": False, "n_jobs": 1} | more))
    made._random = random.Random(seed).randbytes
    return made


# Asking.


def test_one_record_has_one_answer_and_several_have_a_list(path):
    with curator(TABLE, path) as one:
        assert one.created is True
        answer = one.ask(RECORD, epsilon=0.1)
        assert isinstance(answer, Answer)
        assert (answer.epsilon, answer.spent, answer.left) == (0.1, 0.1, 0.9)
        assert answer.queries_left == 9
        listed = one.ask([RECORD, [9.0, 9.0, 9.0]], epsilon=0.1)
        assert [a.spent for a in listed] == [0.0, 0.1]
        assert listed[0].anomalous is answer.anomalous
        assert one.ask([RECORD], epsilon=0.1) == listed[:1]
        assert one.ask(np.array(RECORD), epsilon=0.1) == listed[0]
    with curator(TABLE, path) as again:
        assert again.created is False
        assert again.ask(RECORD, epsilon="0.100").anomalous is answer.anomalous


def test_an_answer_can_be_told_and_written(path):
    with curator(TABLE, path, records_per_person=3, also_released=True) as one:
        answer = one.ask(RECORD, epsilon=0.1)
    facts = answer.to_json()
    assert facts["guarantee"]["records_per_person"] == 3
    assert (facts["spent"], facts["queries_left"]) == (0.1, 9)
    said = answer.guarantee.sentence()
    for part in ("epsilon 0.1 ", "within 1 for a record, 3 for a person with 3", "answers only"):
        assert part in said


def test_an_identical_query_is_free_and_a_fresh_one_pays(path):
    with curator(TABLE, path, budget=5) as one:
        first = one.ask(RECORD, epsilon=0.1)
        free = one.ask([-0.0 + x for x in RECORD], epsilon=0.1)
        assert (free.spent, free.left, free.anomalous) == (0, first.left, first.anomalous)
        drawn = [one.ask(RECORD, epsilon=0.1, fresh=True) for _ in range(30)]
        assert {a.spent for a in drawn} == {0.1}
        assert {a.anomalous for a in drawn} == {True, False}
        assert drawn[-1].left == pytest.approx(5 - 3.1)
        # Another price, another question.
        assert one.ask(RECORD, epsilon=0.2).spent == 0.2


def test_a_batch_is_priced_in_order_duplicates_are_drawn_once_and_it_is_all_or_nothing(path):
    near = [RECORD[0] + 0.125, *RECORD[1:]]
    far = [50.0, 50.0, 50.0]
    with curator(TABLE, path) as one:
        words = []

        def draw(size):
            words.append(size)
            return random.Random(len(words)).randbytes(size)

        one._random = draw
        answers = one.ask([RECORD, near, far, RECORD, near], epsilon=0.3)
        assert len(words) == 3
        assert [a.spent for a in answers] == [0.3, 0.3, 0.3, 0, 0]
        assert [a.anomalous for a in answers[3:]] == [a.anomalous for a in answers[:2]]
        assert one.left(near, epsilon=0.1) == 4
        with pytest.raises(BudgetError) as caught:
            one.ask([[90.0] * 3, RECORD, near], epsilon=0.5)
        assert (caught.value.row, caught.value.asked) == (1, 500_000)
        assert (caught.value.spent, caught.value.left) == (600_000, 400_000)
        assert len(words) == 3
        assert one.left([90.0] * 3, epsilon=0.5) == 2  # nothing was spent there


def test_what_is_left_is_what_can_still_be_asked(path):
    with curator(TABLE, path) as one:
        assert one.left(RECORD, epsilon=0.3) == 3
        for left in (2, 1, 0):
            answer = one.ask(RECORD, epsilon=0.3, fresh=True)
            assert answer.queries_left == one.left(RECORD, epsilon=0.3) == left
        assert one.left(RECORD, epsilon=0.1) == 1
        with pytest.raises(BudgetError):
            one.ask(RECORD, epsilon=0.3, fresh=True)
        assert one.left([9.0, 9.0, 9.0], epsilon=0.3) == 3
        with pytest.raises(ValueError, match="record must be one, got 2"):
            one.left([RECORD, RECORD], epsilon=0.1)


def test_a_dry_run_prices_and_spends_nothing(path):
    batch = [RECORD, RECORD, [9.0] * 3]
    with curator(TABLE, path) as one:
        expected = [0.4, 0, 0.4]
        for _ in range(3):
            assert [p.spent for p in one.price(batch, epsilon=0.4)] == expected
        answers = one.ask(batch, epsilon=0.4)
        assert [a.spent for a in answers] == expected
        priced = one.price([RECORD, [9.0, 9.0, 9.1]], epsilon=0.4)
        assert [(p.spent, p.left, p.queries_left) for p in priced] == [
            (0.0, answers[0].left, 1),
            (0.4, pytest.approx(0.2), 0),
        ]
        for way in (one.price, one.ask):
            with pytest.raises(BudgetError) as caught:
                way([[20.0] * 3, [9.0, 9.0, 9.1], [30.0] * 3], epsilon=0.7)
            assert (caught.value.row, caught.value.left) == (1, 600_000)


def test_a_key_returns_the_answers_of_its_first_use(path):
    with curator(TABLE, path, budget=5) as one:
        first = one.ask(RECORD, epsilon=0.1, key="monday", fresh=True)
        for _ in range(10):
            again = one.ask(RECORD, epsilon=0.1, key="monday", fresh=True)
            assert again.anomalous is first.anomalous
        assert one.left(RECORD, epsilon=0.1) == 49
        with pytest.raises(LedgerError):
            one.ask([9.0] * 3, epsilon=0.1, key="monday")


def test_users_have_parts_of_the_tables_budget(path):
    with curator(TABLE, path, user_budget=0.5) as one:
        one.ledger.admit("ada", reason="asked")
        one.ask(RECORD, epsilon=0.4, user="ada")
        with pytest.raises(BudgetError) as caught:
            one.ask(RECORD, epsilon=0.2, user="ada")
        assert caught.value.left == 100_000
        one.ask(RECORD, epsilon=0.4, fresh=True)
        with pytest.raises(LedgerError, match="has no share"):
            one.ask(RECORD, epsilon=0.1, user="cy")


def test_a_record_in_raw_units_is_asked_at_its_place(tmp_path):
    low, high = np.array([-4.0, 0.0, 10.0]), np.array([4.0, 32.0, 12.0])
    raw = TABLE * (high - low) + low  # powers of two: the way back is exact
    ask = [RECORD, TABLE[3].tolist(), [7.0, 7.0, 7.0]]
    with (
        curator(TABLE, tmp_path / "places.db", budget=9) as plain,
        curator(raw, tmp_path / "raw.db", budget=9, bounds=(low, high)) as scaled,
    ):
        np.testing.assert_allclose(scaled.space.places(raw), TABLE, atol=1e-12)
        for epsilon in (0.1, 0.5, 1):
            asked = np.array(ask) * (high - low) + low
            assert scaled.ask(asked, epsilon=epsilon) == plain.ask(ask, epsilon=epsilon)


def test_modes_answer_their_own_questions(tmp_path):
    # A lone record, a crowd, and a place where nobody is; a large epsilon leaves no doubt.
    table = np.concatenate([np.zeros((20, 1)), [[50.0]]])
    expected = {"sparse": [False, True, True], "dp": [False, True, False]}
    expected["sensitive"] = expected["dp"]
    for mode, truth in expected.items():
        path = tmp_path / f"{mode}.db"
        with curator(table, path, beta=5, r=1.0, budget=1000, mode=mode, k=2) as one:
            answers = one.ask([[0.0], [50.0], [90.0]], epsilon=60)
            assert [a.anomalous for a in answers] == truth
            assert answers[0].guarantee.mode == mode
            assert answers[0].guarantee.k == (2 if mode == "sensitive" else None)


def test_counting_the_record_asked_about_is_the_askers_choice(tmp_path):
    table = np.zeros((5, 1))
    for counted, truth in ((True, False), (False, True)):
        path = tmp_path / f"{counted}.db"
        with curator(table, path, beta=5, budget=100, count_query=counted) as one:
            assert one.ask([0.0], epsilon=60).anomalous is truth


def test_threads_share_a_curator_and_its_budget(path):
    with curator(TABLE, path) as one:
        told, refused = [], []

        def ask_five_times():
            for _ in range(5):
                try:
                    told.append(one.ask(RECORD, epsilon=0.1, fresh=True).left)
                except BudgetError:
                    refused.append(1)

        threads = [threading.Thread(target=ask_five_times) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert sorted(told) == pytest.approx([i / 10 for i in range(10)])
    assert len(refused) == 10


# The table.


def test_tables_are_read_from_frames_and_files(tmp_path):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(TABLE, columns=["a", "b", "c"]).assign(name="x", age=1)
    file = tmp_path / "table.csv"
    frame.to_csv(file, index=False)
    digests = set()
    for i, source in enumerate((frame, file, str(file))):
        with curator(source, tmp_path / f"{i}.db", columns=["a", "b", "c"]) as one:
            assert one.space.columns == ("a", "b", "c")
            digests.add(one._neighbors.digest())
            new = pd.DataFrame([RECORD], columns=["a", "b", "c"])
            assert len(one.ask(new, epsilon=0.1)) == 1
            with pytest.raises(ValueError, match="in this order: a, b, c"):
                one.ask(new[["c", "a", "b"]], epsilon=0.1)
    assert len(digests) == 1
    with pytest.raises(TableError, match="not numbers: name"):
        curator(frame, tmp_path / "x.db")
    with pytest.raises(TableError, match="no column named d"):
        curator(frame, tmp_path / "x.db", columns=["a", "d"])
    assert not (tmp_path / "x.db").exists()


def test_rows_that_are_not_finite_are_named_and_not_shown(path):
    table = TABLE.copy()
    table[7, 2] = np.nan
    with pytest.raises(TableError, match=r"row 7 \(from 0\), column x2"):
        curator(table, path)
    assert not path.exists()
    with pytest.raises(TableError, match="row 0 is too far out"):
        curator([[1e300]], path, bounds=(0, 1e-100))
    with pytest.raises(TableError, match="two dimensions"):
        curator([1.0, 2.0], path)


def test_a_changed_table_needs_a_word_keeps_spends_and_forgets_answers(path):
    changed = np.concatenate([TABLE, [[1.0, 1.0, 1.0]]])
    with curator(TABLE, path) as one:
        one.ask(RECORD, epsilon=0.3)
    with curator(np.random.default_rng(0).permutation(TABLE), path) as one:  # the same multiset
        assert one.ask(RECORD, epsilon=0.3).spent == 0
    with pytest.raises(LedgerError):
        curator(changed, path)
    with curator(changed, path, new_version="a patient joined") as one:
        assert one.left(RECORD, epsilon=0.1) == 7
        assert one.ask(RECORD, epsilon=0.3).spent == 0.3
        assert one.ask(RECORD, epsilon=0.3).spent == 0
    with curator(changed, path) as one:
        assert one.ledger.version == 2
        assert one.left(RECORD, epsilon=0.1) == 4


def test_a_curator_neither_prints_nor_travels(path):
    with curator(TABLE, path, mode="sensitive", k=2) as one:
        assert repr(one) == (
            "Curator(mode='sensitive', beta=5, r=0.5, k=2, budget=1, metric='euclidean')"
        )
        assert not any(isinstance(v, np.ndarray) for v in vars(one).values())
        for travel in (pickle.dumps, copy.copy, copy.deepcopy):
            with pytest.raises(TypeError, match="holds the private table"):
                travel(one)
    assert repr(one).startswith("Curator(mode='sensitive'")  # also when it is closed


# The contract.


def test_terms_that_differ_are_refused_and_a_ledger_brings_its_budget(path):
    with pytest.raises(CuratorError, match="budget must be given when a ledger is first used"):
        curator(TABLE, path, budget=None)
    with curator(TABLE, path, budget="2.5", modes=["sparse", "dp"]) as one:
        assert one.guarantee(0.1).cap == 2_500_000
        assert one.ledger.contract.modes == ("sparse", "dp")
    with curator(TABLE, path, budget=None, mode="dp") as one:
        assert one.guarantee(0.1).cap == 2_500_000
    for wrong in (
        {"budget": 3},
        {"mode": "sensitive", "modes": ["sensitive", "dp"]},
        {"mode": "sensitive"},
        {"metric": "manhattan"},
        {"bounds": (0, 1)},
        {"columns": ["a", "b", "c"]},
        {"records_per_person": 2},
        {"user_budget": 1},
        {"also_released": True},
        {"weights": [1, 1, 2]},
    ):
        with pytest.raises(LedgerError):
            curator(TABLE, path, **({"budget": 2.5} | wrong))


def test_sensitive_terms_may_get_stricter_only(path):
    with curator(TABLE, path, mode="sensitive", k=2) as one:
        terms = one.ledger.contract
        assert (terms.k_min, terms.beta_max, terms.r_min) == (2, 5, 0.5)
    for wrong in ({"k": 1}, {"beta": 6}, {"r": 0.25}):
        with pytest.raises(LedgerError, match="protects fewer records"):
            curator(TABLE, path, **({"mode": "sensitive", "k": 2} | wrong))
    for fine in ({"k": 3}, {"beta": 4}, {"r": 1.0}):
        curator(TABLE, path, **({"mode": "sensitive", "k": 2} | fine)).close()


def test_a_declared_space_is_used_as_it_is(path):
    space = Space.declare(
        ["a", "b", "c"], bounds=(-1, 1), projection=np.ones((3, 1)), metric="manhattan"
    )
    with curator(TABLE, path, space=space) as one:
        assert one.space is space
        assert one.ledger.contract.scaling == space.scaling_json()
        assert one.ledger.contract.metric == {"name": "manhattan", "p": None, "weights": None}
        one.ask(RECORD, epsilon=0.1)
    with curator(TABLE, path, space=Space.from_json(space.to_json()), columns=space.columns):
        pass
    with pytest.raises(CuratorError, match="space brings its scaling"):
        curator(TABLE, path, space=space, bounds=(0, 1))
    with pytest.raises(CuratorError, match="columns must be those of the space"):
        curator(TABLE, path, space=space, columns=["c", "b", "a"])
    with pytest.raises(ValueError, match=r"table must have 3 columns \(a, b, c\), got 2"):
        curator(TABLE[:, :2], path, space=space)


@pytest.mark.parametrize(
    ("settings", "kind", "rule"),
    [
        ({"beta": None}, CuratorError, "beta must be given"),
        ({"beta": None, "r": None}, CuratorError, "beta and r must be given"),
        ({"beta": 0.5}, ValueError, "beta must be >= 1"),
        ({"r": -1}, ValueError, "r must be 0, or between"),
        ({"r": math.inf}, ValueError, "r must be 0, or between"),
        ({"budget": 0}, ValueError, "budget must be a number > 0 in whole millionths"),
        ({"user_budget": 1e-7}, ValueError, "user_budget must be a number > 0"),
        ({"mode": "private"}, ValueError, "mode must be one of sparse, sensitive, dp"),
        ({"mode": "sensitive", "k": 6}, ValueError, "k must be at most beta, which is 5, got 6"),
        ({"modes": ["dp"]}, ValueError, "modes must be a list with sparse in it"),
        ({"modes": "sparse"}, ValueError, "modes must be a list with sparse in it"),
        ({"modes": ["sparse", "sensitive"]}, ValueError, "modes may allow sensitive only"),
        ({"modes": ["sparse", "compiled dp"]}, ValueError, "modes may allow compiled dp only"),
        ({"records_per_person": 0}, ValueError, "records_per_person must be a whole number >= 1"),
        ({"metric": "cosine"}, ValueError, "metric must be one of"),
    ],
)
def test_what_a_curator_cannot_be_set_up_with(path, settings, kind, rule):
    with pytest.raises(kind, match=rule):
        curator(TABLE, path, **settings)
    assert not path.exists()


def test_a_first_use_that_is_refused_leaves_no_file(path, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    with monkeypatch.context() as patch:
        patch.setenv("ISINGLASS_HOME", str(tmp_path / "file"))
        with pytest.raises(LedgerError, match="Not a directory"):
            curator(TABLE, path)
    space = Space.declare(["a", "b"])
    for wrong in ({"budget": None}, {"columns": ["a", "b"]}, {"space": space}, {"r": math.nan}):
        with pytest.raises((CuratorError, ValueError)):
            curator(TABLE, path, **wrong)
    with pytest.raises(TableError, match="row 0 is too far out"):
        curator([[1e300]], path, bounds=(0, 1e-100))
    assert [file.name for file in tmp_path.iterdir()] == ["file"]
    with curator(TABLE, path) as one:
        assert one.created


class OwnRule(Question):
    """Sensitive by a rule that the ledger cannot compare with others."""

    name, influence, privacy = "own", 0.5, "sensitive"

    def __init__(self, beta=5, r=0.5):
        self.beta, self.r = beta, r

    def look(self, table, places, cap):
        return table.within(places, self.r, self.beta + cap).reshape(-1, 1)

    def anomalous(self, *counts):
        return counts[0] <= self.beta

    def distance(self, *counts):
        return max(1, abs(self.beta - counts[0]))


def test_a_sensitive_question_needs_a_contract_with_terms(tmp_path):
    own = {"beta": None, "r": None, "mode": OwnRule()}
    # Whoever signs first fixes whom all answers cover; a later one cannot cover fewer.
    with curator(TABLE, tmp_path / "dp.db", mode="dp", modes=["dp", "own"]) as one:
        assert one.ledger.contract.beta_max is None
    with pytest.raises(LedgerError, match="allows no sensitive question"):
        curator(TABLE, tmp_path / "dp.db", **own)
    with pytest.raises(ValueError, match="modes may allow sensitive only"):
        curator(TABLE, tmp_path / "own.db", **own, modes=["own", "sensitive"])
    with curator(TABLE, tmp_path / "own.db", **own, modes=["own", "sparse"]) as one:
        said = one.ask(RECORD, epsilon=0.1).guarantee.sentence()
        assert "within 1 for a record that the rule of own calls sensitive, " in said
    with curator(TABLE, tmp_path / "own.db") as one:  # sparse
        said = one.ask(RECORD, epsilon=0.1).guarantee.sentence()
        assert "within 1 for a record that the rule of own calls sensitive, " in said
    for other in (OwnRule(beta=6), OwnRule(r=0.75)):
        with pytest.raises(LedgerError, match="another rule"):
            curator(TABLE, tmp_path / "own.db", **(own | {"mode": other}))


def test_what_all_answers_promise_is_said_by_the_contract_not_by_the_question(tmp_path):
    # Nine sensitive answers with k = 1 about a lone record cost it 9 * 2.35; a sparse one after
    # them must not say that all together stay within 1 for every record.
    lone = np.array([[0.0], [50.0]])
    sensitive = {"mode": "sensitive", "beta": 18, "r": 1.0}
    with curator(lone, tmp_path / "a.db", **sensitive, modes=["sensitive", "sparse"]) as one:
        one.ask([0.0], epsilon=0.1)
    covered = "within 1 for a record that has at least 18 records within 1, itself included, "
    for asked in ({"beta": 18, "r": 1.0}, sensitive | {"k": 4}, sensitive | {"r": 2.0}):
        with curator(lone, tmp_path / "a.db", **asked) as one:
            said = one.ask([9.0], epsilon=0.01, fresh=True).guarantee.sentence()
            assert covered in said, asked
    with curator(lone, tmp_path / "b.db", records_per_person=2) as one:  # sparse alone
        said = one.ask([0.0], epsilon=0.1).guarantee.sentence()
        assert "within 1 for a record, 2 for a person with 2 records;" in said


def test_weaker_terms_are_asked_for_with_the_call_that_makes_them(path):
    curator(TABLE, path).close()
    for wrong, words in (
        ({"budget": 2}, "Ledger.amend(cap=2000000, reason=…)"),
        ({"records_per_person": 2}, "Ledger.amend(records_per_person=2, reason=…)"),
        ({"also_released": True}, "Ledger.amend(also_released=True, reason=…)"),
    ):
        with pytest.raises(LedgerError, match=re.escape(words)):
            curator(TABLE, path, **wrong)
    with Ledger(path) as ledger:
        ledger.amend(
            cap=2_000_000, records_per_person=2, also_released=True, reason="the board agreed"
        )
    with curator(TABLE, path, budget=2, records_per_person=2, also_released=True) as one:
        said = one.ask(RECORD, epsilon=0.1).guarantee.sentence()
    assert "within 2 for a record, 4 for a person with 2 records;" in said
    assert "the answers only" in said


def test_whoever_spends_is_handed_a_ledger():
    with pytest.raises(CuratorError, match="ledger must be given"):
        Curator(TABLE, 5, 0.5, 1)


def test_a_ledger_that_was_handed_over_stays_open(path):
    with Ledger(path) as ledger:
        with curator(TABLE, ledger) as one:
            one.ask(RECORD, epsilon=0.1)
        assert ledger.verify().problems == []


def test_k_as_large_as_beta_is_warned_of(path):
    with pytest.warns(PrivacyWarning, match="no gain over dp"):
        curator(TABLE, path, mode="sensitive", k=5).close()


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, 1e-7, "much", None, True])
def test_an_epsilon_that_cannot_be_charged_is_refused(path, epsilon):
    with curator(TABLE, path) as one:
        for ask in (one.ask, one.price, one.left):
            with pytest.raises(ValueError, match="epsilon must be a number > 0"):
                ask(RECORD, epsilon=epsilon)
        with pytest.raises(ValueError, match="records must be at least one"):
            one.ask(np.empty((0, 3)), epsilon=0.1)


def test_a_guarantee_follows_terms_that_somebody_else_amends(path):
    with curator(TABLE, path) as one:
        before = one.ask(RECORD, epsilon=0.1)
        assert (before.guarantee.cap, before.guarantee.also_released) == (1_000_000, False)
        with Ledger(path) as other:
            other.amend(reason="published", cap=2_000_000, also_released=True)
        after = one.ask([5.0, 5.0, 5.0], epsilon=0.1)
        assert (after.guarantee.cap, after.guarantee.also_released) == (2_000_000, True)
        assert after.left == 1.9
        with Ledger(path) as other:
            other.amend(reason="twins", records_per_person=2)
        assert one.guarantee(0.1).records_per_person == 2
        assert one.guarantee(0.2).epsilon == 0.2


def test_prices_that_read_alike_are_charged_as_they_are_written(path):
    with curator(TABLE, path) as one:
        assert one.ask([1.0, 0, 0], epsilon=0.1).spent == 0.1
        with pytest.raises(ValueError, match="epsilon must be"):
            one.ask([2.0, 0, 0], epsilon=np.float64(0.1) + 1e-9)
        assert one.ask([9.0, 0, 0], epsilon="0.100").spent == 0.1
