"""From a table's file to a model's: what is declared, what is counted, and that it adds up."""

import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect.private import counts
from isinglass.detect.private.columns import CategoryColumn, NumberColumn
from isinglass.detect.private.records import records_of
from isinglass.detect.private.table_records import table_records
from isinglass.errors import ModelError, TableError
from isinglass.publish.declared import Declared, read_declared
from isinglass.publish.model import write_model
from isinglass.table import batches
from isinglass.table.read import open_table

RNG = np.random.default_rng(0)
N = 3000
FRAME = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "load": RNG.lognormal(size=N),
        "fleet": RNG.choice(["A", "B", "C"], N),
        "engines": RNG.choice([2, 4, 6], N),
        "who": [f"P{i // 3}" for i in range(N)],
    }
)
DECLARED = Declared(
    {"x": (-10.0, 10.0), "load": (0.01, 100.0)},
    {"fleet": ["A", "B"], "engines": [2, 4]},
    {},
    ("load",),
)
COLUMNS = (
    NumberColumn("x", -10.0, 10.0),
    NumberColumn("load", 0.01, 100.0, None, True),
    CategoryColumn("fleet", ("A", "B")),
    CategoryColumn("engines", (2, 4)),
)


def save(frame, folder, kind):
    path = folder / f"t.{kind}"
    {"csv": lambda: frame.to_csv(path, index=False), "parquet": lambda: frame.to_parquet(path),
     "arrow": lambda: frame.to_feather(path)}[kind]()  # fmt: skip
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
@pytest.mark.parametrize("block", [1 << 16, 97])
def test_records_of_a_file_are_those_of_the_frame(tmp_path, kind, block, monkeypatch):
    monkeypatch.setattr(batches, "MOST_ROWS", block)
    path = save(FRAME, tmp_path, kind)
    parts = list(table_records(open_table(path), COLUMNS))
    frame = FRAME[["x", "load", "fleet", "engines"]]
    wanted = records_of(frame, COLUMNS, ig.PrivateDetector(), reset=True)
    np.testing.assert_array_equal(np.vstack([p.numbers for p in parts]), wanted.numbers)
    np.testing.assert_array_equal(np.vstack([p.codes for p in parts]), wanted.codes)


def test_a_category_is_what_is_written_whatever_stands_around_it(tmp_path):
    """The kind of a CSV column follows from all rows; the cell of a record must not."""
    column = (CategoryColumn("c", ("1", "x", "007")),)
    numbers = (CategoryColumn("c", (1, 2.5)),)
    truths = (CategoryColumn("c", (False, True)),)
    rows = ["1", "007", "1.0", "2.5", "true", "", "9"]
    for more in ([], ["x"], ["1.5"], ["y", "z"]):
        path = tmp_path / "t.csv"
        path.write_text("c,d\n" + "".join(f"{value},0\n" for value in rows + more))
        (part,) = table_records(open_table(path), column)
        assert part.codes[: len(rows), 0].tolist() == [0, 2, 0, 3, 0, 3, 3]
        (part,) = table_records(open_table(path), numbers)
        assert part.codes[: len(rows), 0].tolist() == [0, 2, 0, 1, 0, 2, 2]
        (part,) = table_records(open_table(path), truths)
        assert part.codes[: len(rows), 0].tolist() == [1, 2, 1, 2, 1, 2, 2]


def test_missing_and_infinite_values_are_cells_like_others(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("x,y\n1,\n,2\ninf,-inf\nNaN,1e400\n")
    columns = (NumberColumn("x", 0, 1), NumberColumn("y", 0, 1))
    (part,) = table_records(open_table(path), columns)
    expected = [[1, np.nan], [np.nan, 2], [np.inf, -np.inf], [np.nan, np.inf]]
    np.testing.assert_array_equal(part.numbers, expected)


def test_what_a_file_lacks_is_named(tmp_path):
    path = save(FRAME, tmp_path, "csv")
    with pytest.raises(TableError, match="lacks columns of the model: z"):
        list(table_records(open_table(path), (NumberColumn("z", 0, 1),)))
    with pytest.raises(TableError, match="not numbers where the model expects them: who"):
        list(table_records(open_table(path), (NumberColumn("who", 0, 1),)))


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_file_is_counted_as_the_frame_is(tmp_path, kind, monkeypatch):
    monkeypatch.setattr(counts, "add_noise", lambda raw, noise, *, n_jobs: raw.copy())
    path = save(FRAME, tmp_path, kind)
    written = write_model(
        path, tmp_path / "m.zip", declared=DECLARED, epsilon=1, drop=["who"],
        records_per_person=3, threshold_share=0.2,
    )  # fmt: skip
    frame = FRAME.drop(columns="who")
    fitted = ig.PrivateDetector(
        bounds=DECLARED.bounds, categories=DECLARED.categories, log=["load"],
        records_per_person=3, threshold_share=0.2,
    ).fit(frame)  # fmt: skip
    loaded = ig.load_model(tmp_path / "m.zip", unsigned=True)
    np.testing.assert_array_equal(loaded.anomaly_score(frame), fitted.anomaly_score(frame))
    assert written.threshold == fitted.threshold_
    assert written.guarantee == fitted.guarantee_
    assert (written.name, written.columns, written.fingerprint) == ("m", 4, None)


def test_with_a_person_no_more_than_their_share_is_counted(tmp_path, monkeypatch):
    totals = []

    def door(raw, noise, *, n_jobs):
        totals.append(int(raw[:17].sum()))  # the root of the first column's tree
        return raw.copy()

    monkeypatch.setattr(counts, "add_noise", door)
    path = save(FRAME, tmp_path, "parquet")
    write_model(path, tmp_path / "m.zip", declared=DECLARED, epsilon=1, person="who")
    assert totals[0] == N // 3
    write_model(
        path, tmp_path / "n.zip", declared=DECLARED, epsilon=1, person="who", records_per_person=2,
        owner_card=tmp_path / "o.html", card=tmp_path / "c.html",
    )  # fmt: skip
    assert totals[2] == 2 * N // 3
    owner, card = ((tmp_path / f"{name}.html").read_text() for name in "oc")
    assert "do not forward" in owner
    assert "2,000 of 3,000 rows" in owner
    assert "do not forward" not in card
    assert "3,000" not in card
    for page in (owner, card):
        assert "http" not in page.replace("http-equiv", "")
    assert re.findall(rb"\bwho\b", b"".join(model.read(tmp_path / "n.zip").entries.values())) == []


def test_a_row_number_is_no_person_where_another_column_says_whose_it_is(tmp_path):
    path = save(FRAME.assign(row=np.arange(N)), tmp_path, "parquet")
    settings = {"declared": DECLARED, "epsilon": 1, "drop": ["who"], "person": "row"}
    with pytest.raises(TableError, match=r"column who .* looks like an identifier, and repeats"):
        write_model(path, tmp_path / "m.zip", **settings)
    write_model(path, tmp_path / "m.zip", records_per_person=1, **settings)
    write_model(path, tmp_path / "n.zip", **settings | {"drop": ["row"], "person": "who"})


def test_no_byte_of_a_model_depends_on_more_than_its_noised_counts(tmp_path, monkeypatch):
    """Neighboring tables, one with a person more at any place: with the same integers, one file."""
    fixed = {}

    def door(raw, noise, *, n_jobs):
        return fixed.setdefault((len(raw), noise.cells), raw.copy())

    monkeypatch.setattr(counts, "add_noise", door)
    found = set()
    one_more = pd.concat([FRAME[:100], FRAME[:1].assign(who="new", x=1e300), FRAME[100:]])
    for frame in (FRAME, FRAME[3:], one_more):
        path = save(frame, tmp_path, "csv")
        write_model(
            path, tmp_path / "m.zip", declared=DECLARED, epsilon=1, person="who",
            threshold_share=0.3, card=tmp_path / "c.html", force=True,
        )  # fmt: skip
        found.add((tmp_path / "m.zip").read_bytes() + (tmp_path / "c.html").read_bytes())
    assert len(found) == 1


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"drop": []}, "columns without a declaration: who"),
        ({"drop": ["nobody"]}, "has no column named nobody"),
        ({"drop": ["who"], "records_per_person": None}, "looks like an identifier, and repeats"),
        ({"drop": FRAME.columns.tolist()}, "no column left to count"),
        ({"name": "a\nb"}, "name must be a printable text"),
        ({"declared": Declared({"x": (1.0, 1.0)})}, "columns without a declaration: load"),
        ({"epsilon": "0.0000001"}, "epsilon must be a number > 0"),
        ({"delta": 1}, "delta must be"),
        ({"threshold_share": 2}, "threshold_share must be"),
        ({"records_per_person": 0}, "records_per_person must be"),
        ({"declared": Declared(dict.fromkeys(FRAME, (0.0, 1.0)))}, "are not numbers: fleet"),
        ({"declared": Declared(dict.fromkeys(FRAME, (1.0, 1.0)))}, "low < high"),
    ],
)
def test_refusals_come_before_anything_is_written(tmp_path, change, said):
    settings = {"declared": DECLARED, "epsilon": 1, "drop": ["who"], "records_per_person": 3}
    path = save(FRAME, tmp_path, "parquet")
    with pytest.raises((ModelError, TableError, ValueError), match=said):
        write_model(path, tmp_path / "m.zip", **(settings | change))
    assert [p.name for p in tmp_path.iterdir()] == ["t.parquet"]


def test_nothing_is_written_over(tmp_path):
    path = save(FRAME, tmp_path, "parquet")
    for other in ("card", "owner_card"):
        with pytest.raises(Exception, match="different names"):
            write_model(
                path,
                tmp_path / "m.zip",
                declared=DECLARED,
                epsilon=1,
                **{other: tmp_path / "m.zip"},
            )
    (tmp_path / "m.zip").write_text("mine")
    with pytest.raises(Exception, match="exists"):
        write_model(path, tmp_path / "m.zip", declared=DECLARED, epsilon=1)
    assert (tmp_path / "m.zip").read_text() == "mine"


def test_a_constant_column_is_counted_like_any_other(tmp_path):
    frame = pd.DataFrame({"x": RNG.normal(size=N), "same": 3.0})
    declared = Declared({"x": (-10.0, 10.0), "same": (0.0, 10.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        write_model(save(frame, tmp_path, "csv"), tmp_path / "m.zip", declared=declared, epsilon=1)
    assert ig.load_model(tmp_path / "m.zip", unsigned=True).n_features_in_ == 2


# What is declared.


@pytest.mark.parametrize(
    "text",
    [
        "x,-1,1\ny,0,2\n",
        "column,low,high\nx,-1,1\ny,0,2\n",
        '{"x": [-1, 1], "y": [0, 2]}',
        '\ufeff{"x": [-1, 1], "y": {"low": 0, "high": 2}}',
    ],
)
def test_bounds_are_read_from_lines_and_from_json(tmp_path, text):
    path = tmp_path / "b.txt"
    path.write_text(text, encoding="utf-8")
    assert read_declared(path) == Declared({"x": (-1.0, 1.0), "y": (0.0, 2.0)})


def test_json_declares_steps_logarithms_and_categories(tmp_path):
    path = tmp_path / "b.json"
    facts = {
        "n": {"low": 1, "high": 8, "step": 1},
        "load": {"low": 0.01, "high": 10, "log": True},
        "c": {"categories": ["A", 2, True]},
    }
    path.write_text(json.dumps(facts))
    assert read_declared(path) == Declared(
        {"n": (1.0, 8.0), "load": (0.01, 10.0)}, {"c": ["A", 2, True]}, {"n": 1.0}, ("load",)
    )


@pytest.mark.parametrize(
    "text",
    [
        "", "x,1\n", "{", "[]", "3", "{}", '{"x": 3}', '{"x": [1]}', '{"x": [1, "a"]}',
        '{"x": {"low": 1}}', '{"x": {"low": 1, "high": 2, "more": 3}}', '{"x": {"categories": 3}}',
        '{"x": {"low": "1", "high": 2}}', '{"x": {"low": 1, "high": 2, "log": 1}}',
        '{"x": [1, 2], "x": [1, 2]}', '{"x": {"low": 1, "high": NaN}}', '{"x": {"min": 1}}',
        '{"x": [1, 2, 3], "y": {"categories": []}}',
        '{"x": {"categories": [[1]]}}', '{"x": {"categories": [null]}}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["json", "csv"])
def test_what_is_no_declaration_is_a_sentence(tmp_path, text, ending):
    path = tmp_path / f"b.{ending}"
    path.write_text(text)
    with pytest.raises(TableError, match="bounds file"):
        read_declared(path)
