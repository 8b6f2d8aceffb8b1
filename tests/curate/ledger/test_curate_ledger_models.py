"""Models in the ledger: charged everywhere, stored in the same transaction, drawn once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import sqlite3
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cli.commands import inside
from tests.curate.ledgers import (
    LINE,
    OTHER,
    TABLE,
    TERMS,
    by_hand,
    never,
    no,
    opened,
    query,
    rows,
    yes,
)
from tests.curate.models import (
    COUNTS,
    DELTA,
    MILLION,
    RHO,
    TINY,
    begun,
    charged,
    pure,
    undrawn,
)

from isinglass.curate.curator import Curator
from isinglass.curate.ledger.entries import unsealed
from isinglass.curate.ledger.ledger import Ledger
from isinglass.curate.ledger.model_spend import ModelSpend, ModelTotals, zcdp_epsilon
from isinglass.detect.private.noise import price_rounds
from isinglass.errors import BudgetError, CuratorError, LedgerError

ASKED = dataclasses.replace(TERMS, cap=3 * MILLION)
LAW = dataclasses.replace(TERMS, cap=12)


# -- once, and before it leaves --------------------------------------------------------------------


def test_the_same_request_returns_the_stored_bytes_for_nothing(where):
    with begun(where) as ledger:
        assert charged(ledger) == COUNTS
        paid = ledger.head()
    with Ledger(where) as ledger:
        again = {"micro": MILLION, "femto": DELTA, "rho": RHO, "records_per_person": 1}
        digest = hashlib.sha256(b"january").digest()
        assert ledger.charge_model(undrawn, request_id="january", digest=digest, **again) == COUNTS
        assert ledger.head() == paid
        assert ledger.summary()["spent"] == 1
        assert ledger.verify().whole


@pytest.mark.parametrize(
    "other",
    [{"micro": 2 * MILLION}, {"femto": 2 * DELTA}, {"rho": RHO / 2}, {"digest": b"another"},
     {"records_per_person": 2}, {"femto": 0, "rho": None}],
)  # fmt: skip
def test_another_request_under_a_request_id_is_refused(tmp_path, other):
    with begun(str(tmp_path / "l.db")) as ledger:
        charged(ledger)
        with pytest.raises(LedgerError, match="another request"):
            charged(ledger, **other)
        assert len(ledger.models.spends) == 1


def test_a_stored_model_is_returned_under_other_terms_too(where):
    with begun(where) as ledger:
        charged(ledger)
        ledger.amend(records_per_person=2, reason="twins")
        assert charged(ledger, counts=b"new") == COUNTS
        with pytest.raises(LedgerError, match="2 records per person, got 1"):
            charged(ledger, "february")


def test_answers_and_models_do_not_share_a_name(where):
    with opened(where, ASKED) as ledger:
        ledger.answer([query(0.0)], yes, key="k")
        with pytest.raises(LedgerError, match="another request"):
            pure(ledger, 1, "k")
        pure(ledger, 1, "m")
        with pytest.raises(LedgerError, match="another request"):
            ledger.answer([query(0.0)], never, key="m")


def test_a_model_is_committed_before_it_leaves(where):
    with begun(where) as ledger:
        commit = ledger._keeper.db.commit

        def failing():
            raise LedgerError("the disk is full")

        ledger._keeper.db.commit = failing
        with pytest.raises(LedgerError, match="the disk is full"):
            charged(ledger)
        ledger._keeper.db.commit = commit
        assert ledger.summary()["spent"] == 0
        assert ledger._keeper.db.counted() == []
        assert charged(ledger, counts=b"new") == b"new"
        assert ledger.verify().whole


@pytest.mark.parametrize("drawn", ["fails", b"", "text", None, bytearray(b"x")])
def test_a_model_that_could_not_be_computed_is_paid_for(where, drawn):
    def draw():
        if drawn == "fails":
            raise RuntimeError("record 3.14 is odd")
        return drawn

    price = {"micro": MILLION, "femto": DELTA, "rho": RHO, "records_per_person": 1}
    with begun(where) as ledger:
        with pytest.raises(CuratorError, match="what it costs is spent") as told:
            ledger.charge_model(draw, request_id="j", digest=b"d", **price)
        assert "3.14" not in str(told.value)
        assert told.value.__cause__ is None
        assert told.value.__suppress_context__
        with pytest.raises(CuratorError, match="paid for but could not be computed"):
            ledger.charge_model(undrawn, request_id="j", digest=b"d", **price)
        assert ledger.everywhere_budget().left == 2 * MILLION
        assert ledger.models.femto == DELTA
        assert [m["stored"] for m in ledger.summary()["models"]] == [False]
        assert ledger.verify().whole


def test_an_interrupted_model_is_paid_for_too(where):
    def interrupted():
        raise KeyboardInterrupt

    with begun(where) as ledger:
        with pytest.raises(KeyboardInterrupt):
            ledger.charge_model(
                interrupted, request_id="j", digest=b"d", micro=1, femto=0, rho=None,
                records_per_person=1,
            )  # fmt: skip
        assert ledger.everywhere_budget().everywhere == 1


def test_a_refused_model_draws_nothing_and_leaves_no_table(where):
    with begun(where) as ledger:
        for how in ({"micro": 4 * MILLION}, {"femto": 4 * DELTA}, {"records_per_person": 2}):
            with pytest.raises((BudgetError, LedgerError)):
                charged(ledger, **how)
        assert ledger.summary()["entries"] == {"contract": 1}
        assert not ledger._keeper.db.has_counts()


@pytest.mark.parametrize(
    ("how", "told"),
    [
        ({"micro": 0}, "micro must be a whole number of millionths"),
        ({"micro": 1.0}, "micro must be"),
        ({"micro": 10**12 + 1}, "micro must be"),
        ({"femto": -1}, "femto must be a whole number of parts"),
        ({"femto": 10**15}, "femto must be"),
        ({"femto": 0}, "rho must be given where delta is above 0, and only there"),
        ({"rho": None}, "rho must be given where"),
        ({"rho": 0.02}, "rho must be a fraction > 0"),
        ({"rho": Fraction(0)}, "rho must be a fraction > 0"),
        ({"rho": Fraction(3, 100)}, "rho must cost no more than epsilon"),
        ({"femto": DELTA // 2}, "rho must cost no more than epsilon"),
        ({"records_per_person": 0}, "records_per_person must be"),
        ({"request_id": ""}, "request_id must be 1 to 1000 printable"),
        ({"digest": b""}, "digest must be bytes"),
        ({"digest": "abc"}, "digest must be bytes"),
    ],
)
def test_a_price_that_no_noise_has_is_refused(tmp_path, how, told):
    with begun(str(tmp_path / "l.db")) as ledger:
        with pytest.raises(ValueError, match=told):
            charged(ledger, **how)
        assert ledger.summary()["entries"] == {"contract": 1}


def test_half_a_megabyte_comes_back_whole_from_a_copy_too(where, tmp_path):
    large = np.random.default_rng(1).bytes(515_000)
    with begun(where) as ledger:
        assert charged(ledger, counts=large) == large
        charged(ledger, "february")
        ledger.backup(tmp_path / "copy.db")
        assert ledger.verify().whole
    home = Path(os.environ["ISINGLASS_HOME"], "ledgers")
    (secret,), (note,) = home.glob("*.secret"), home.glob("*.head")
    with Ledger(tmp_path / "copy.db", secret=secret, note=note) as copy:
        assert copy.verify().whole
        assert charged(copy, counts=b"new") == large
        assert charged(copy, "february", counts=b"new") == COUNTS


# -- the everywhere rule ---------------------------------------------------------------------------


def test_a_model_counts_at_every_place_and_beside_the_largest_local_sum(where):
    with opened(where, LAW) as ledger:
        for x in (0.0, 100.0, 200.0):  # 4 at each, 12 in all: no place is touched by more than 4
            ledger.answer([query(x, 4)], yes)
        room = ledger.everywhere_budget()
        assert (room.everywhere, room.local, room.left) == (0, 4, 8)
        with pytest.raises(BudgetError, match=r"asked for epsilon 0.000009 at every") as refused:
            pure(ledger, 9)
        error = refused.value
        assert (error.asked, error.spent, error.left) == (9, 4, 8)
        pure(ledger, 7)
        assert ledger.answer([query(50.0, 5)], yes)[0].left == 0
        for x in (0.0, 50.0, -1e6):  # 11, 12 and 7 are spent
            with pytest.raises(BudgetError):
                ledger.answer([query(x, 6)], never)
        with pytest.raises(BudgetError):
            ledger.charge_everywhere(1, "the largest local sum is 5 now")
        assert ledger.verify().whole
    with opened(where, LAW) as again:
        assert again.price([query(0.0, 1)])[0].left == 0
        assert again.everywhere_budget().left == 0


def test_a_small_local_spend_after_a_model_does_not_hide_a_larger_one_before(where):
    with opened(where, LAW) as ledger:
        ledger.answer([query(0.0, 5)], yes)
        pure(ledger, 1)
        ledger.answer([query(100.0, 2)], yes)
        room = ledger.everywhere_budget()
        assert (room.everywhere, room.local, room.left) == (1, 5, 6)
        with pytest.raises(BudgetError):
            pure(ledger, 7, "february")


class Twin:
    """The rule on whole numbers: places 2 apart or less share a record."""

    def __init__(self, cap, delta_cap, user_cap):
        self.cap, self.delta_cap, self.user_cap, self.share = cap, delta_cap, user_cap, 3
        self.spends, self.everywhere, self.models, self.delta = [], 0, 0, 0
        self.largest = {"all": 0, "curator": 0, "bob": 0}

    def ask(self, user, x, r, micro):
        def around(whom):
            return sum(m for u, y, s, m in self.spends if u in whom and abs(x - y) <= r + s)

        sums = {"all": around(["curator"]) + micro, user: around([user]) + micro}
        if user == "bob":
            sums.pop("all")
        limits = {"all": self.cap - self.share - self.everywhere, "bob": self.share}
        if self.user_cap is not None:
            limits["curator"] = self.user_cap - self.everywhere
            limits["bob"] = min(self.share, self.user_cap - self.models)
        if any(sums[one] > limits.get(one, 10**9) for one in sums):
            return False
        self.spends.append((user, x, r, micro))
        for one, found in sums.items():
            self.largest[one] = max(self.largest[one], found)
        return True

    def pay(self, micro, delta, model):
        fits = micro + self.everywhere + self.largest["all"] <= self.cap - self.share
        if self.user_cap is not None:
            fits &= micro + self.everywhere + self.largest["curator"] <= self.user_cap
            if model and self.largest["bob"]:
                fits &= micro + self.models + self.largest["bob"] <= self.user_cap
        if not fits or self.delta + delta > self.delta_cap:
            return False
        self.everywhere += micro
        self.models += micro if model else 0
        self.delta += delta
        return True

    def no_place_is_above_any_cap(self):
        ends = {y + e for _, x, r, _ in self.spends for y in (x - r, x, x + r) for e in (-0.25, 0)}
        for place in ends:
            own = {
                user: sum(m for u, y, r, m in self.spends if u == user and abs(y - place) <= r)
                for user in ("curator", "bob")
            }
            assert sum(own.values()) + self.everywhere <= self.cap
            if self.user_cap is not None:
                assert own["curator"] + self.everywhere <= self.user_cap
                assert own["bob"] == 0 or own["bob"] + self.models <= self.user_cap


LOCAL = st.tuples(
    st.just("ask"), st.sampled_from(["curator", "curator", "bob"]), st.integers(0, 8),
    st.sampled_from([0.0, 0.5, 1.0]), st.integers(1, 4),
)  # fmt: skip
PAID = st.tuples(st.sampled_from(["pay", "model"]), st.integers(1, 5), st.integers(0, 3))
STEPS = st.lists(st.one_of(LOCAL, LOCAL, PAID, st.just(("reopen",))), min_size=1, max_size=25)


@settings(max_examples=120)
@given(steps=STEPS, cap=st.integers(6, 30), user_cap=st.one_of(st.none(), st.integers(3, 12)))
def test_what_fits_is_what_a_naive_twin_says(tmp_path_factory, steps, cap, user_cap):
    where = str(tmp_path_factory.mktemp("twin") / f"{uuid.uuid4()}.db")
    _runs_like_the_twin(where, steps, cap, user_cap)


@pytest.mark.parametrize("user_cap", [None, 8])
@pytest.mark.parametrize("seed", range(8))
def test_long_runs_fit_as_a_naive_twin_says(tmp_path, seed, user_cap):
    rng = np.random.default_rng(seed)
    steps = []
    for kind in rng.choice(["ask", "ask", "ask", "pay", "model", "reopen"], size=60).tolist():
        user, r = rng.choice(["curator", "bob"]), float(rng.choice([0.0, 0.5, 1.0]))
        steps.append({
            "ask": (kind, str(user), int(rng.integers(30)), r, int(rng.integers(1, 6))),
            "reopen": (kind,),
        }.get(kind, (kind, int(rng.integers(1, 4)), int(rng.integers(2)))))  # fmt: skip
    fitted = _runs_like_the_twin(str(tmp_path / "l.db"), steps, 24, user_cap)
    assert {fits for kind, fits in fitted if kind != "reopen"} == {True, False}


def _runs_like_the_twin(where, steps, cap, user_cap):
    fitted = []
    terms = dataclasses.replace(TERMS, cap=cap, user_cap=user_cap)
    twin, delta_cap = Twin(cap, 5, user_cap), 5
    ledger = opened(where, terms)
    ledger.amend(delta_cap=delta_cap, reason="agreed")
    ledger.admit("bob", share=3, reason="agreed")
    try:
        for i, step in enumerate(steps):
            if step[0] == "reopen":
                ledger.close()
                ledger = opened(where, terms)
                continue
            if step[0] == "ask":
                _, user, x, r, micro = step
                expected = twin.ask(user, x, r, micro)
                asked = [query(float(x), micro, r=r)]
                found = _fits(ledger.answer, asked, yes, user=user, fresh=True)
            elif step[0] == "pay":
                expected = twin.pay(step[1], 0, model=False)
                found = _fits(ledger.charge_everywhere, step[1], "a choice")
            else:
                _, micro, femto = step
                rho = TINY if femto else None
                expected = twin.pay(micro, femto, model=True)
                found = _fits(charged, ledger, f"m{i}", micro=micro, femto=femto, rho=rho)
            assert found is expected, step
            fitted.append((step[0], found))
        twin.no_place_is_above_any_cap()
        room = ledger.everywhere_budget()
        assert (room.everywhere, room.delta) == (twin.everywhere, twin.delta)
        if user_cap is None:
            assert room.local == twin.largest["all"]
        assert ledger.verify().problems == []
        return fitted
    finally:
        ledger.close()


def _fits(work, *given, **how):
    try:
        work(*given, **how)
    except BudgetError:
        return False
    return True


def test_a_model_counts_against_every_user_s_cap_and_against_no_share(where):
    terms = dataclasses.replace(TERMS, cap=30, user_cap=10)
    with opened(where, terms) as ledger:
        for user, share in (("ann", 8), ("bob", 3)):
            ledger.admit(user, share=share, reason="asked")
        ledger.answer([query(0.0, 4)], yes, user="ann")
        with pytest.raises(
            BudgetError, match=r"a user's own budget of 0.00001 a place, 0 is spent"
        ):
            pure(ledger, 7)  # ann knows 4 of some place, and would know 11
        pure(ledger, 6)
        # What was set apart is there still, as far as the cap of what one may know allows.
        assert ledger.price([query(0.0, 3)], user="bob")[0].left == 0
        with pytest.raises(BudgetError) as refused:
            ledger.price([query(0.0, 1)], user="ann")
        assert "the user's own budget of 0.000004 is" in str(refused.value)
        assert ledger.price([query(9.0, 4)], user="ann")[0].left == 0
        with pytest.raises(BudgetError):
            ledger.price([query(9.0, 5)], user="ann")
        with pytest.raises(BudgetError):
            ledger.price([query(9.0, 5)])
        assert ledger.price([query(9.0, 4)])[0].left == 0
        assert ledger.verify().whole
    with opened(where, terms) as again:
        assert again.price([query(9.0, 4)], user="ann")[0].left == 0


def test_an_end_user_pays_everywhere_from_the_share_and_is_told_of_nothing_else(where):
    with opened(where, LAW) as ledger:
        ledger.admit("bob", share=6, reason="asked")
        ledger.answer([query(0.0, 6)], yes)
        for x in (0.0, 100.0):
            ledger.answer([query(x, 2)], yes, user="bob")
        with pytest.raises(BudgetError, match=r"of the user's own budget of 0.000006 ") as refused:
            ledger.charge_everywhere(5, "a choice", user="bob")
        assert (refused.value.spent, refused.value.left) == (2, 4)
        ledger.charge_everywhere(4, "a choice", user="bob")
        with pytest.raises(BudgetError):
            ledger.price([query(50.0, 3)], user="bob")
        assert ledger.price([query(50.0, 2)], user="bob")[0].left == 0
        assert ledger.everywhere_budget().everywhere == 0
        assert ledger.verify().whole


def test_a_share_that_no_longer_fits_beside_the_models_is_refused(where):
    with opened(where, LAW) as ledger:
        pure(ledger, 7)
        ledger.answer([query(0.0, 2)], yes)
        with pytest.raises(LedgerError, match=r"0.000009 is spent"):
            ledger.admit("bob", share=4, reason="asked")
        ledger.admit("bob", share=3, reason="asked")
        assert ledger.everywhere_budget().left == 0


# -- delta -----------------------------------------------------------------------------------------


def test_delta_adds_up_to_its_cap_in_whole_parts(where):
    with begun(where, cap=10, delta_cap=5) as ledger:
        for i, femto in enumerate([2, 2]):
            charged(ledger, f"{i}", micro=1, femto=femto, rho=TINY)
        with pytest.raises(BudgetError, match=r"delta 2e-15, but of the cap of 5e-15, 4e-15 is"):
            charged(ledger, "2", micro=1, femto=2, rho=TINY)
        charged(ledger, "3", micro=1, femto=1, rho=TINY)
        assert ledger.everywhere_budget().delta_left == 0
        pure(ledger, 1, "pure")
        with pytest.raises(ValueError, match=r"delta_cap must be a whole number .* above 5"):
            ledger.amend(delta_cap=5, reason="why not")
        ledger.amend(delta_cap=6, reason="agreed")
        charged(ledger, "4", micro=1, femto=1, rho=TINY)
        assert ledger.verify().whole
        assert ledger.summary()["contract"]["delta_cap"] == 6e-15
        (change,) = ledger.summary()["amendments"]
        assert change["delta_cap"] == 6e-15


def test_a_ledger_of_answers_has_no_delta_until_amended(where):
    with opened(where, ASKED) as ledger:
        assert "delta_cap" not in ledger.contract.to_json()
        with pytest.raises(BudgetError, match=r"of the cap of 0.*`Ledger.amend\(delta_cap=…, rea"):
            charged(ledger)
        ledger.amend(delta_cap=DELTA, reason="a model a year")
        assert charged(ledger) == COUNTS
    with opened(where, ASKED) as ledger:  # asking says nothing of delta
        assert ledger.contract.delta_cap == DELTA


def test_delta_that_another_copy_may_have_spent_is_spent(where):
    with begun(where, delta_cap=DELTA):
        pass
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    note.unlink()
    with Ledger(where, check=False) as ledger:
        ledger.accept(reason="lost")
        ledger.amend(cap=6 * MILLION, delta_cap=2 * DELTA, reason="agreed")
        charged(ledger)
        with pytest.raises(BudgetError, match=r"delta 0.000001, but of the cap of 0.000002"):
            charged(ledger, "february")
        assert ledger.verify().whole


# -- the contract ----------------------------------------------------------------------------------


def test_a_ledger_begins_with_a_model_and_the_first_question_completes_it(where):
    with begun(where) as ledger:
        assert (ledger.created, ledger.contract.complete) == (True, False)
        charged(ledger)
        ledger.admit("bob", share=MILLION, reason="asked")
        with pytest.raises(LedgerError, match="agree to the ledger's contract"):
            ledger.answer([query(0.0)], never)
    with Ledger(where) as ledger:
        assert ledger.sign(ASKED, LINE, TABLE).first is False
        assert ledger.contract.complete
        assert (ledger.contract.delta_cap, ledger.contract.shares) == (3 * DELTA, {"bob": MILLION})
        assert ledger.answer([query(0.0, MILLION)], yes)[0].left == 0
        assert ledger.answer([query(0.0, MILLION)], yes, user="bob")[0].left == 0
        with pytest.raises(LedgerError, match="another distance"):
            ledger.sign(dataclasses.replace(ASKED, metric={"name": "other"}), LINE, TABLE)
        with pytest.raises(LedgerError, match="not the one this ledger answered"):
            ledger.sign(ASKED, LINE, OTHER)
        assert ledger.summary()["entries"] == {
            "amend": 1, "answer": 2, "completion": 1, "contract": 1, "model": 1
        }  # fmt: skip
        assert ledger.verify().whole
    with opened(where, ASKED) as again:
        assert charged(again, counts=b"new") == COUNTS
        with pytest.raises(BudgetError):
            again.price([query(5.0, MILLION + 1)])


@pytest.mark.parametrize(
    ("change", "told"),
    [({"cap": 4 * MILLION}, "budget of 3 a place, got 4"), ({"unit": "person"}, "unit of privacy"),
     ({"records_per_person": 2}, "1 record per person, got 2"),
     ({"also_released": True}, "has not left as a release")],
)  # fmt: skip
def test_a_first_question_that_differs_from_a_model_s_terms_is_refused(tmp_path, change, told):
    with begun(str(tmp_path / "l.db")) as ledger:
        with pytest.raises(LedgerError, match=told):
            ledger.sign(dataclasses.replace(ASKED, **change), LINE, TABLE)
        assert not ledger.contract.complete
        ledger.sign(dataclasses.replace(ASKED, user_cap=MILLION), LINE, TABLE)
        assert ledger.contract.user_cap == MILLION


def test_the_user_cap_stays_where_somebody_has_a_share(tmp_path):
    with begun(str(tmp_path / "l.db")) as ledger:
        ledger.admit("bob", share=MILLION, reason="asked")
        with pytest.raises(LedgerError, match="another budget for a user: none"):
            ledger.sign(dataclasses.replace(ASKED, user_cap=5), LINE, TABLE)


def test_a_model_s_terms_are_the_contract_s(where):
    with pytest.raises(ValueError, match="cap must be given when a ledger is first used"):
        Ledger(where).sign_models()
    for odd in ({"cap": 0}, {"cap": 5, "delta_cap": 10**15}, {"cap": 5, "records_per_person": 0}):
        with pytest.raises(ValueError, match="must be a whole number"):
            Ledger(where).sign_models(**odd)
    assert not Ledger.begun(where)
    with begun(where, records_per_person=2, also_released=True) as ledger:
        assert ledger.sign_models() == ledger.contract
        assert ledger.contract.also_released
        for other, told in (
            ({"cap": 5}, "a budget of 3 a place"),
            ({"delta_cap": 4 * DELTA}, r"cap of delta of 0.000003, got 0.000004; `Ledger.amend\("),
            ({"records_per_person": 1}, "2 records per person"),
            ({"also_released": False}, "has left as a release"),
        ):
            with pytest.raises(LedgerError, match=told):
                ledger.sign_models(**other)
        assert charged(ledger, records_per_person=2) == COUNTS


def test_a_curator_completes_a_model_s_ledger(tmp_path):
    with begun(str(tmp_path / "l.db"), records_per_person=2) as ledger:
        charged(ledger, records_per_person=2)
        table = np.random.default_rng(0).normal(size=(50, 2))
        with Curator(table, 3, 0.25, None, ledger, pad=False) as curator:
            answer = curator.ask([0.0, 0.0], epsilon="0.5")
            assert answer.left == 1.5
            assert answer.guarantee.records_per_person == 2
            # 2 (3 - 1) of answers, and the model's own epsilon, by its rho: it is for two records.
            assert (
                "all answers and models together stay within 3 and delta 0.000003 for a record, "
                "4.999869 at that delta for a person with 2 records"
            ) in answer.guarantee.sentence()
            assert answer.guarantee.to_json()["models"] == {
                "epsilon": 1.0, "delta": 1e-6, "delta_cap": 3e-6, "person_epsilon": 4.999869
            }  # fmt: skip
            charged(ledger, "february", records_per_person=2)
            later = curator.ask([0.0, 0.0], epsilon="0.25").guarantee
            together = ModelTotals((ModelSpend(MILLION, DELTA, RHO, 2),) * 2).epsilon_for(2)
            assert together < 1.5  # two models at twice rho, not at twice epsilon
            assert later.person_epsilon == pytest.approx(2 + together, abs=2e-6)
            json.dumps(later.to_json(), allow_nan=False)


# -- what it costs a person ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rho", "epsilon"), [("0.18506", 3), ("0.02435", 1), ("0.002539", 0.3), ("0.000321", 0.1)]
)
def test_rho_is_converted_as_the_mathematics_says(rho, epsilon):
    found = zcdp_epsilon(Fraction(rho), DELTA)
    assert epsilon * (1 - 1e-3) < found <= epsilon
    # The least over orders of a plain formula, on a fine grid.
    a = 1 + np.geomspace(1e-3, 1e6, 400_000)
    plain = a * float(Fraction(rho)) + (np.log(1e6 / a) + (a - 1) * np.log1p(-1 / a)) / (a - 1)
    assert found == pytest.approx(plain.min(), rel=1e-9)
    # And back: delta at this epsilon, by the formula of MATH.md F.5.3.
    e, p = found, float(Fraction(rho))
    logs = (a - 1) * (a * p - e) - np.log(a - 1) + a * np.log1p(-1 / a)
    assert math.exp(logs.min()) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize("rho", ["1e-9", "0.001", "0.5", "40"])
@pytest.mark.parametrize("femto", [1, 10**6, 10**9, 10**12, 10**14])
def test_rho_is_converted_as_opendp_does(rho, femto):
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="f64")
    scale = math.sqrt(1 / (2 * float(Fraction(rho))))
    curve = dp.c.make_zCDP_to_approxDP(dp.m.make_gaussian(*space, scale=scale)).map(1.0)
    theirs = curve.epsilon(femto / 10**15)
    ours = zcdp_epsilon(Fraction(rho), femto)
    assert ours <= theirs * (1 + 1e-6)
    assert ours == pytest.approx(theirs, rel=1e-3)


@pytest.mark.parametrize("micro", [1, 1000, 10**5, MILLION, 3 * MILLION, 20 * MILLION])
@pytest.mark.parametrize("femto", [0, 1, DELTA, 10**12])
def test_a_private_model_s_own_price_is_taken(tmp_path, micro, femto):
    price = price_rounds(micro, femto, (87, 64), last=2, records=3)
    with begun(str(tmp_path / "l.db"), cap=10**9, delta_cap=10**13, records_per_person=3) as ledger:
        charged(ledger, micro=price.micro, femto=price.femto, rho=price.rho, records_per_person=3)
        for m in (3, 9):
            own = price.epsilon_for(m)
            assert ledger.models.epsilon_for(m) <= max(own, micro / MILLION) * (1 + 1e-6)
            assert ledger.models.epsilon_for(m) == pytest.approx(own, rel=0.01)


def test_several_records_cost_more_than_as_many_times_epsilon():
    """MATH.md F.5.7: epsilon 1 becomes 3.29 for three records, 3 becomes 10.48."""
    for rho, micro, found in ((RHO, 1, 3.29), (Fraction("0.18506"), 3, 10.48)):
        spend = ModelSpend(micro * MILLION, DELTA, rho, 1)
        assert spend.epsilon_for(3) == pytest.approx(found, abs=0.005)
        assert spend.epsilon_for(1) == micro
        assert ModelTotals((spend,)).epsilon_for(3) == pytest.approx(found, abs=0.005)
        assert dataclasses.replace(spend, records_per_person=3).epsilon_for(3) == micro
    assert ModelSpend(MILLION, 0, None, 2).epsilon_for(3) == 1.5


def test_models_add_up_in_rho_and_in_pure_epsilon():
    small = ModelSpend(MILLION // 4, DELTA // 4, Fraction("0.0015"), 1)
    small.refuse_unsound()
    year = ModelTotals((small,) * 12)
    assert (year.micro, year.femto) == (3 * MILLION, 3 * DELTA)
    assert year.epsilon_for(1) == pytest.approx(
        zcdp_epsilon(12 * Fraction("0.0015"), 3 * DELTA), rel=1e-12
    )
    assert year.epsilon_for(1) < 1
    mixed = ModelTotals((small, ModelSpend(MILLION, 0, None, 1)))
    assert mixed.epsilon_for(1) == pytest.approx(1 + zcdp_epsilon(small.rho, small.femto))
    assert mixed.epsilon_for(2) > 2
    assert ModelTotals().epsilon_for(5) == 0


def test_a_person_is_told_nothing_where_models_may_be_elsewhere(where):
    table = np.random.default_rng(0).normal(size=(50, 1))
    with begun(where, delta_cap=DELTA, records_per_person=2) as ledger:
        charged(ledger, records_per_person=2)
    (note,) = Path(os.environ["ISINGLASS_HOME"], "ledgers").glob("*.head")
    note.unlink()
    with Ledger(where, check=False) as ledger:
        ledger.accept(reason="lost")
        ledger.amend(cap=6 * MILLION, reason="agreed")
        with Curator(table, 3, 0.25, None, ledger, pad=False) as curator:
            told = curator.guarantee("0.1")
    assert told.person_epsilon is None
    assert "for a person with 2 records no bound is known" in told.sentence()


# -- what is found, and what is shown --------------------------------------------------------------


def _changed(where, statement):
    """Change noised counts as somebody with the database, but without the secret, would."""
    if where.startswith("postgresql"):
        by_hand(where, "ALTER TABLE noised_counts DISABLE TRIGGER USER", statement)
        return
    triggers = ("update", "delete", "no_update", "no_delete", "once")
    by_hand(where, *(f"DROP TRIGGER IF EXISTS noised_counts_{t}" for t in triggers), statement)


HEX = {"sqlite": "X'{}'", "postgresql": "'\\x{}'"}


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ("UPDATE noised_counts SET data = {other} WHERE seq = 3",
         ["the noised counts of entry 3 were changed"]),
        ("DELETE FROM noised_counts WHERE seq = 2", ["the noised counts of entry 2 are missing"]),
        ("DROP TABLE noised_counts", ["the noised counts of entry 2 are missing",
                                      "the noised counts of entry 3 are missing"]),
        ("UPDATE noised_counts SET seq = 1 WHERE seq = 3",
         ["the noised counts of entry 3 are missing",
          "there are noised counts of entry 1, which has none"]),
        ("UPDATE noised_counts SET data = (SELECT data FROM noised_counts WHERE seq = 2) "
         "WHERE seq = 3", ["the noised counts of entry 3 were changed"]),
    ],
)  # fmt: skip
def test_a_change_of_noised_counts_is_found_and_never_returned(where, change, problems):
    kind = "postgresql" if where.startswith("postgresql") else "sqlite"
    with begun(where) as ledger:
        charged(ledger, counts=b"one")
        charged(ledger, "february", counts=b"two")
    _changed(where, change.format(other=HEX[kind].format("74776e")))
    with Ledger(where) as ledger:
        assert ledger.verify().problems == problems
        names = {"2": "january", "3": "february"}
        for number in {word for p in problems for word in p.split() if word in names}:
            with pytest.raises(LedgerError, match=f"noised counts of entry {number} "):
                charged(ledger, names[number], counts=b"new")


def test_noised_counts_are_only_ever_added(where):
    with begun(where) as ledger:
        charged(ledger)
        database = ledger._keeper.db
        for statement in (
            "UPDATE noised_counts SET seq = 9", "DELETE FROM noised_counts",
            *(["INSERT OR REPLACE INTO noised_counts SELECT * FROM noised_counts"]
              if not where.startswith("postgresql") else ["TRUNCATE noised_counts"]),
        ):  # fmt: skip
            refused = pytest.raises(LedgerError, match="cannot be used")
            with refused, database.locked(), database._told:
                database._db.execute(statement)
        assert ledger.verify().whole


def test_a_price_that_was_edited_is_found(where):
    with begun(where) as ledger:
        charged(ledger)
    by_hand(where, "UPDATE entries SET facts = replace(facts, '\"delta\"', '\"delta \"')")
    with Ledger(where, check=False) as ledger:
        assert ledger.verify().problems == ["entry 2 was edited"]


def _model(micro=1, **facts):
    facts = {"rho": None, "delta": 0, "records_per_person": 1} | facts
    how = {"influence": math.inf, "micro": micro, "facts": json.dumps(facts)}
    return unsealed("model", **how)


def _answer(x, micro, **how):
    place = query(x).place.tobytes()
    return unsealed("answer", place=place, influence=0.5, micro=micro, anomalous=1, **how)


COMPLETION = json.dumps({"contract": TERMS.to_json(), "distance": {}, "table": ""})


@pytest.mark.parametrize(
    ("forged", "problem"),
    [
        (_model(7), "entry 3 spends more than the cap"),
        (_answer(9.0, 11), "entry 3 spends more than the cap"),
        (_model(delta=6, rho="1/10000000000000000000000000000"),
         "entry 3 spends more than the cap of delta"),
        (_model(records_per_person=2), "entry 3 is for another number of records per person"),
        (_model(delta=3), "entry 3 is not what a model costs"),
        (_model(rho="1/0", delta=1), "entry 3 is not what a model costs"),
        (_model(rho="9", delta=1), "entry 3 is not what a model costs"),
        (_model()._replace(user="ann"), "entry 3 is not what a model costs"),
        (_model()._replace(influence=1.0), "entry 3 is not what a model costs"),
        (_model()._replace(facts="{}"), "entry 3 is not what a model costs"),
        (unsealed("completion", facts=COMPLETION), "completed once, by the first question"),
    ],
)  # fmt: skip
def test_models_that_break_a_rule_are_found_though_their_seals_are_right(tmp_path, forged, problem):
    where = str(tmp_path / "l.db")
    with opened(where) as ledger:
        ledger.answer([query(0.0, 4)], yes)
        ledger.amend(delta_cap=5, reason="agreed") if "of delta" in problem else None
    if "of delta" in problem:
        problem = problem.replace("entry 3", "entry 4")
    with Ledger(where, check=False) as ledger:
        try:
            with ledger._keeper.writing():
                ledger._keeper.add([forged])
        except LedgerError:
            pass  # by the next reader, once it is written
    with Ledger(where, check=False) as ledger:
        (found,) = ledger.verify().problems
        assert problem in found


def test_spends_beside_a_model_that_break_a_cap_are_found(tmp_path):
    terms = dataclasses.replace(TERMS, cap=20, user_cap=6)
    for i, forged in enumerate([
        [_model(5), _answer(0.0, 2)],  # the curator's own, with the model
        [_model(3), _answer(0.0, 4, user="bob")],  # bob knows the model, too
        [_answer(0.0, 4, user="bob"), _model(3)],
    ]):  # fmt: skip
        where = str(tmp_path / f"{i}.db")
        with opened(where, terms) as ledger:
            ledger.admit("bob", share=6, reason="asked")
            for entry in forged:
                with ledger._keeper.writing():
                    ledger._keeper.add([entry])
            assert ledger.verify().problems == ["entry 4 spends more than the cap"]
    where = str(tmp_path / "l.db")
    with opened(where) as ledger:
        for entry in (_model(5), _answer(0.0, 6)):
            with ledger._keeper.writing():
                ledger._keeper.add([entry])
        assert ledger.verify().problems == ["entry 3 spends more than the cap"]


def test_a_local_spend_before_there_is_a_distance_is_found(tmp_path):
    where = str(tmp_path / "l.db")
    place = query(0.0).place.tobytes()
    with begun(where) as ledger, ledger._keeper.writing():
        ledger._keeper.add([unsealed("answer", place=place, influence=1.0, micro=1, anomalous=1)])
    with Ledger(where, check=False) as ledger:
        assert ledger.verify().problems == ["entry 2 has no business where it is"]


def test_a_summary_shows_what_models_cost_and_no_counts(tmp_path):
    where = str(tmp_path / "l.db")
    with begun(where) as ledger:
        charged(ledger, counts=b"secret-counts")
        pure(ledger, MILLION // 2, "february")
        told = ledger.summary()
    assert [set(m) for m in told["models"]] == [
        {"entry", "at", "epsilon", "delta", "rho", "records_per_person", "stored"}
    ] * 2
    one, two = told["models"]
    assert (one["epsilon"], one["delta"], one["rho"]) == (1.0, 1e-6, 0.02435)
    assert (two["epsilon"], two["delta"], two["rho"], two["stored"]) == (0.5, 0.0, None, True)
    assert (told["spent"], told["contract"]["delta_cap"]) == (1.5, 3e-6)
    for form in ([], ["--json"]):
        shown = inside("ledger", "show", where, *form)
        assert shown.returncode == 0
        assert "0.02435" in shown.stdout
        for hidden in ("secret-counts", b"secret-counts".hex(), "january"):
            assert hidden not in shown.stdout
    assert inside("ledger", "verify", where).returncode == 0


def test_a_summary_of_a_ledger_without_models_has_no_new_names(where):
    with opened(where) as ledger:
        told = ledger.summary()
    assert "models" not in told
    assert not {"delta_cap", "delta_elsewhere"} & told["contract"].keys()


def test_delta_is_amended_from_the_command_line(tmp_path):
    where = str(tmp_path / "l.db")
    opened(where).close()
    done = inside("ledger", "amend", where, "--delta-cap", "1e-6", "--reason", "models", "--json")
    assert json.loads(done.stdout)["contract"]["delta_cap"] == 1e-6
    for odd in ("0", "1", "1e-16", "x", "1e-7"):
        refused = inside("ledger", "amend", where, "--delta-cap", odd, "--reason", "models")
        assert refused.returncode == 2
        assert "--delta-cap" in refused.stderr
    with Ledger(where) as ledger:
        assert ledger.contract.delta_cap == DELTA


# -- ledgers of before -----------------------------------------------------------------------------


def test_the_table_of_counts_comes_with_the_first_model(where):
    with opened(where) as ledger:
        ledger.answer([query(0.0)], no)
        assert not ledger._keeper.db.has_counts()
        assert ledger._keeper.db.counted() == []
        pure(ledger, 1)
        assert ledger._keeper.db.has_counts()
        assert ledger._keeper.db.counted() == [3]
    assert rows(where, "count(*)", "WHERE kind = 'model'") == [(1,)]


def test_a_table_of_another_program_is_left_alone(server):
    where = server.schema()
    with opened(where) as ledger:
        by_hand(where, "CREATE TABLE noised_counts (a int)")
        with pytest.raises(LedgerError, match=r"`noised_counts` .* is another program's"):
            pure(ledger, 1)
        assert ledger.summary()["spent"] == 0


def test_an_old_copy_of_a_file_without_its_counts_is_found(tmp_path):
    where = str(tmp_path / "l.db")
    with begun(where) as ledger:
        charged(ledger)
    connection = sqlite3.connect(where)
    connection.execute("DROP TABLE noised_counts")
    connection.commit()
    connection.close()
    with Ledger(where) as ledger:
        assert ledger.verify().problems == ["the noised counts of entry 2 are missing"]
        charged(ledger, "february")  # what is left is unharmed
