"""A place is a function of one record and of what was declared, to the last bit."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isinglass.curate.space import Space
from isinglass.errors import CuratorError, TableError

RNG = np.random.default_rng(5)
ROWS = RNG.normal(size=(257, 7)) * [1, 10, 1e-3, 1e6, 1, 3, 7]
AFFINE = Space.declare(7, bounds=(-3.0, [4, 50, 0.1, 5e6, 3, 1, 9]))
PROJECTED = Space.declare(
    7,
    bounds=(-3.0, 11.0),
    projection=RNG.normal(size=(7, 3)),
    metric="manhattan",
    weights=[1, 2, 3],
)


@pytest.mark.parametrize("space", [Space.declare(7), AFFINE, PROJECTED], ids=repr)
def test_the_place_of_a_row_does_not_depend_on_its_companions(space):
    together = space.places(ROWS)
    assert together.shape == (257, space.width)
    alone = np.concatenate([space.places(row) for row in ROWS])
    assert together.tobytes() == alone.tobytes()
    for size in (2, 3, 8, 64, 100):  # shapes at which a matrix product would round otherwise
        parts = [space.places(ROWS[i : i + size]) for i in range(0, len(ROWS), size)]
        assert np.concatenate(parts).tobytes() == together.tobytes()
    backwards = space.places(np.asfortranarray(ROWS[::-1]))[::-1]
    assert np.ascontiguousarray(backwards).tobytes() == together.tobytes()


def test_a_place_is_the_declared_formula_in_plain_python():
    low, high = PROJECTED.low.tolist(), PROJECTED.high.tolist()
    for record in ROWS[:20].tolist():
        scaled = [(x - a) / (b - a) for x, a, b in zip(record, low, high, strict=True)]
        expected = [0.0] * 3
        for x, weights in zip(scaled, PROJECTED.projection.tolist(), strict=True):
            expected = [e + x * w for e, w in zip(expected, weights, strict=True)]
        assert PROJECTED.places(record)[0].tolist() == expected


def test_values_outside_the_bounds_keep_their_distance():
    space = Space.declare(["a", "b"], bounds={"b": (10, 20), "a": (0, 2), "c": (0, 1)})
    assert space.places([[-2, 10], [4, 30], [1, 15]]).tolist() == [[-1, 0], [2, 2], [0.5, 0.5]]


def test_minus_zero_is_zero():
    plain = Space.declare(2).places([-0.0, 1.0])
    assert plain.tobytes() == np.array([[0.0, 1.0]]).tobytes()


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(
    st.lists(st.tuples(finite, finite), min_size=1, max_size=4),
    st.lists(st.floats(-1e150, 1e150), min_size=8, max_size=8),
    st.sampled_from(["euclidean", "hamming", "minkowski"]),
)
def test_json_brings_a_space_back_bit_for_bit(pairs, entries, metric):
    pairs = [(min(p), max(p)) for p in pairs]
    pairs = [(a, b) if 1e-150 <= b - a <= 1e150 else (0.1, 0.3) for a, b in pairs]
    low, high = zip(*pairs, strict=True)
    n = len(pairs)
    space = Space.declare(
        [f"spalte-{i} ü" for i in range(n)],
        bounds=(low, high),
        projection=np.array(entries)[: 2 * n].reshape(n, 2),
        metric=metric,
        p=2.5000000000000004 if metric == "minkowski" else None,
        weights=[0.1, 1 / 3],
        source="public",
    )
    back = Space.from_json(json.loads(json.dumps(space.to_json())))
    assert back == space
    for name in ("low", "high", "projection"):
        assert getattr(back, name).tobytes() == getattr(space, name).tobytes()
    assert back.metric.weights.tobytes() == space.metric.weights.tobytes()
    assert (back.metric.name, back.metric.power) == (space.metric.name, space.metric.power)
    assert (back.columns, back.source) == (space.columns, "public")


def test_a_saved_space_is_read_back_and_a_damaged_one_refused(tmp_path):
    path = tmp_path / "space.json"
    for space in (AFFINE, PROJECTED, Space.declare(["a"], metric="hamming")):
        space.save(path)
        assert Space.load(path) == space
    text = path.read_text()
    for damaged in (text[:-9], "[]", "{}", text.replace("hamming", "hammering"), '{"a": 1}'):
        path.write_text(damaged)
        with pytest.raises(CuratorError, match="damaged, or no space"):
            Space.load(path)
    with pytest.raises(CuratorError, match="cannot be read: No such file"):
        Space.load(tmp_path / "none.json")


def test_spaces_differ_where_a_declared_number_does():
    assert Space.declare(2) != Space.declare(2, weights=[1, 1.0000000000000002])
    assert Space.declare(2, bounds=(0, 1)) != Space.declare(2)
    assert Space.declare(["a", "b"]) != Space.declare(["b", "a"])
    assert Space.declare(2, bounds=(0, 1)) == Space.declare(2, bounds=([0, 0], [1, 1]))


def test_declared_numbers_cannot_be_changed_afterwards():
    bounds = np.zeros(2), np.ones(2)
    space = Space.declare(2, bounds=bounds, projection=np.eye(2), weights=[1.0, 2.0])
    bounds[1][:] = 5  # the caller's own array
    assert space.high.tolist() == [1, 1]
    for array in (space.low, space.high, space.projection, space.metric.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 3


# Fitting.


def test_fitting_needs_the_word_that_the_data_are_public():
    for settings in ({}, {"public": False}, {"public": False, "scale": None}):
        with pytest.raises(CuratorError, match="voids the guarantee"):
            Space.fitted(ROWS, **settings)
    assert Space.fitted(ROWS, public=True).source == "public"


def test_fitted_bounds_are_percentiles_range_or_deviation():
    column = np.arange(1001.0).reshape(-1, 1)
    expected = {
        "percentiles": (1.0, 999.0),
        "range": (0.0, 1000.0),
        "deviation": (500.0, 500.0 + column.std()),
    }
    for scale, (low, high) in expected.items():
        space = Space.fitted(column, public=True, scale=scale)
        assert space.low.tolist() == [pytest.approx(low, abs=1e-9)]
        assert space.high.tolist() == [pytest.approx(high, abs=1e-9)]
    assert Space.fitted(column, public=True, scale=None).low is None
    with pytest.raises(ValueError, match="scale must be None or one of"):
        Space.fitted(column, public=True, scale="max")


def test_columns_that_hardly_vary_still_get_a_unit():
    table = np.zeros((5000, 3))
    table[:, 1] = 40.0
    table[7, 2] = 9.0  # one value in five thousand: percentiles see a constant
    space = Space.fitted(table, public=True)
    assert space.low.tolist() == [0, 40, 0]
    assert space.high.tolist() == [1, 80, 9]


def test_components_are_orthonormal_and_take_the_widest_directions():
    turn = np.linalg.qr(RNG.normal(size=(4, 4)))[0]
    table = RNG.normal(size=(3000, 4)) * [9, 5, 0.1, 0.1] @ turn.T
    space = Space.fitted(table, public=True, scale=None, n_components=2)
    assert space.width == 2
    np.testing.assert_allclose(space.projection.T @ space.projection, np.eye(2), atol=1e-12)
    overlap = np.abs(space.projection.T @ turn[:, :2])
    np.testing.assert_allclose(overlap, np.eye(2), atol=0.05)
    assert Space.fitted(table, public=True, n_components=2) == Space.fitted(
        table, public=True, n_components=2
    )
    for wrong in (0, 5, 1.5, True):
        with pytest.raises(ValueError, match="n_components must be a whole number from 1 to 4"):
            Space.fitted(table, public=True, n_components=wrong)


# What is refused, and in which words.


def test_records_that_are_not_finite_are_named_by_row_and_column():
    space = Space.declare(["age", "dose"], bounds=(0, 100))
    rows = np.full((4, 2), 31.25)
    for value in (np.nan, np.inf, -np.inf):
        rows[2, 1] = value
        with pytest.raises(ValueError, match=r"row 2 \(from 0\), column dose") as caught:
            space.places(rows)
        assert "31.25" not in str(caught.value)
        with pytest.raises(ValueError, match=r"row 0 \(from 0\), column dose"):
            space.places(rows[2])
    with pytest.raises(TableError, match=r"row 2 \(from 0\), column x1"):
        Space.fitted(rows, public=True)


def test_a_record_so_far_out_that_it_has_no_place_is_refused():
    space = Space.declare(1, bounds=(0, 1e-100))
    with pytest.raises(ValueError, match="row 1 is too far out"):
        space.places([[0.0], [1e300]])


def test_columns_of_a_query_are_checked_by_count_name_and_order():
    pd = pytest.importorskip("pandas")
    space = Space.declare(["age", "dose"])
    good = pd.DataFrame({"age": [1, 2], "dose": [0.5, 0.25]})
    expected = [[1, 0.5], [2, 0.25]]
    assert space.places(good).tolist() == expected
    assert space.places(good.to_numpy()).tolist() == expected
    assert space.places(expected).tolist() == expected
    assert space.places(good.iloc[0]).tolist() == expected[:1]
    assert space.places({"age": 1, "dose": 0.5}).tolist() == expected[:1]
    swapped = good[["dose", "age"]]
    for wrong in (swapped, swapped.iloc[0], {"dose": 1, "age": 2}):
        with pytest.raises(ValueError, match=r"in this order: age, dose$"):
            space.places(wrong)
    with pytest.raises(ValueError, match=r"the declared columns; lacking: dose$"):
        space.places(good[["age"]])
    with pytest.raises(ValueError, match=r"the declared columns; besides: weight$"):
        space.places(good.assign(weight=3))
    with pytest.raises(ValueError, match=r"columns; lacking: dose; besides: drug$"):
        space.places(good.rename(columns={"dose": "drug"}))
    for wrong in ([1.0], [[1.0, 2.0, 3.0]], np.ones((4, 1))):
        with pytest.raises(ValueError, match=r"must have 2 columns \(age, dose\), got \d$"):
            space.places(wrong)


def test_files_are_read_by_name(tmp_path):
    path = tmp_path / "new.csv"
    path.write_text("age,dose\n1,0.5\n2,\n")
    space = Space.declare(["age", "dose"])
    with pytest.raises(ValueError, match=r"row 1 \(from 0\), column dose"):
        space.places(path)
    path.write_text("age,dose\n1,0.5\n")
    assert space.places(str(path)).tolist() == [[1, 0.5]]
    path.write_text("age,dose\n1,much\n")
    with pytest.raises(TableError, match="not numbers: dose") as caught:
        space.places(path)
    assert "much" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong", [["six", 1], [[1, 2], [3]], [1j, 2], ["2", "3"], np.zeros((1, 1, 2))]
)
def test_what_are_no_records_is_not_quoted(wrong):
    with pytest.raises(ValueError, match="records must h") as caught:
        Space.declare(2).places(wrong)
    assert "six" not in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "rule"),
    [
        ({"columns": ["a", "a"]}, "columns must be different names"),
        ({"columns": []}, "columns must be different names"),
        ({"columns": "ab"}, "columns must be different names"),
        ({"bounds": (1, 1)}, "low < high, at most 1e\\+150 apart, got others for column a"),
        ({"bounds": (-1e308, 1e308)}, "low < high, at most"),
        ({"bounds": (2, 1)}, "low <= high"),
        ({"bounds": 3}, "bounds must be"),
        ({"bounds": (np.nan, 1)}, "bounds must be finite"),
        ({"projection": np.ones((3, 2))}, "a row for each of the 2 columns"),
        ({"projection": [1, 2]}, "a row for each of the 2 columns"),
        ({"projection": [[np.nan], [1]]}, "projection must hold numbers"),
        ({"projection": np.ones((2, 1)), "weights": [1, 2]}, "one for each of the 1 columns"),
        ({"metric": "cosine"}, "metric must be one of"),
        ({"metric": "minkowski", "p": 0.5}, "p must be >= 1"),
    ],
)
def test_what_cannot_be_declared(settings, rule):
    with pytest.raises(ValueError, match=rule):
        Space.declare(**({"columns": ["a", "b"]} | settings))
    with pytest.raises(TableError, match="do not name b"):
        Space.declare(["a", "b"], bounds={"a": (0, 1)})
