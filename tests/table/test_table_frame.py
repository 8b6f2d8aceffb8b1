"""Frames whose columns cannot be taken are refused by the columns' names."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import isinglass as ig

A = np.random.default_rng(0).random(20)
DAY = datetime.date(2020, 1, 1)
TAKERS = [ig.Rotation(optimize=None, bounds="scaled"), ig.DistanceOutliers(3), ig.RadiusOutliers()]


@pytest.mark.parametrize("taker", TAKERS, ids=lambda t: type(t).__name__)
@pytest.mark.parametrize(
    "other",
    [
        ["x"] * 20, ["1", "2"] * 10, pd.Categorical(["x", "y"] * 10), pd.Categorical([1, 2] * 10),
        pd.date_range("2020", periods=20), pd.to_timedelta(range(20), unit="s"),
    ],
    ids=["text", "digits", "category", "numbered category", "date", "duration"],
)  # fmt: skip
def test_a_column_that_is_not_a_number_is_named_and_its_values_are_not(taker, other):
    with pytest.raises(ValueError, match="these columns hold something else: tail; leave") as error:
        taker.fit(pd.DataFrame({"a": A, "tail": other}))
    assert "2020" not in str(error.value)
    alone = pd.DataFrame({"tail": other})
    with pytest.raises(ValueError, match="something else: tail"):
        taker.fit(alone)


def test_frames_of_other_libraries_are_refused_alike():
    for other in (["x"] * 20, [DAY] * 20):
        with pytest.raises(ValueError, match="something else: tail"):
            TAKERS[0].fit(pl.DataFrame({"a": A, "tail": other}))


def test_columns_of_one_name_are_named():
    twice = pd.DataFrame(np.c_[A, A, A], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="several columns of one name: a; rename"):
        TAKERS[0].fit(twice)


def test_numbers_flags_and_unnamed_columns_are_taken():
    for frame in (
        pd.DataFrame({"a": A, "flag": [True, False] * 10, "n": range(20)}),
        pd.DataFrame({"a": A, "n": np.array([1, 2] * 10, dtype=object)}),
        pd.DataFrame(np.c_[A, A]),
        pl.DataFrame({"a": A, "n": range(20)}),
    ):
        ig.DistanceOutliers(3).fit(frame)


def test_an_audit_names_the_column():
    frame = pd.DataFrame({"a": A, "tail": ["x"] * 20})
    with pytest.raises(ig.errors.AuditError, match=r"table must hold numbers only; these.*: tail"):
        ig.audit(frame, np.c_[A, A])
