"""`isinglass detect`: equal to brute force on every kind of file, and clear when it refuses."""

import json
import os
import re
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import isinglass as ig

RNG = np.random.default_rng(11)
SECRET = 98765.4321


@pytest.fixture
def run(run):
    """`isinglass detect`."""
    return partial(run, "detect")


@pytest.fixture
def found(run):
    """The document of a run that goes well."""

    def call(*arguments):
        code, out, err = run(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    return call


def brute(X, n, k, *, score="mean", weights=None, discrete=()):
    """Every distance, by the definition."""
    X = np.asarray(X, dtype=np.float64)
    weights = np.ones(X.shape[1]) if weights is None else weights
    scores = []
    for i in range(len(X)):
        total = np.zeros(len(X))
        for c in range(X.shape[1]):
            step = X[:, c] - X[i, c]
            total += weights[c] * ((step != 0) if c in discrete else step * step)
        near = np.sort(np.sqrt(np.delete(total, i)))[:k]
        added = np.cumsum(near)[-1]  # one after the other, the nearest first
        near = {"mean": added / len(near), "sum": added, "kth": near[-1]}[score]
        scores.append(near)
    order = np.lexsort((np.arange(len(X)), -np.array(scores)))[:n]
    return [{"row": int(i), "score": float(scores[i])} for i in order]


def write(frame, name):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    if name.endswith("csv"):
        frame.to_csv(name, index=False)
    elif name.endswith("parquet"):
        pq.write_table(table, name, row_group_size=50)
    elif name.endswith("feather"):
        feather.write_feather(table, name)
    else:
        with pa.ipc.new_file(name, table.schema) as file:
            file.write_table(table, max_chunksize=30)
    return name


def numbers(rows=150, columns=4):
    """Columns of few whole numbers, so that many scores are equal."""
    X = RNG.integers(0, 4, (rows, columns)).astype(float)
    X[::40] += 10
    return pd.DataFrame(X, columns=[f"c{i}" for i in range(columns)])


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.feather", "t.arrow"])
@pytest.mark.parametrize("score", ["mean", "kth", "sum"])
def test_equal_to_brute_force_with_ties(name, score, found):
    frame = numbers()
    write(frame, name)
    document = found(name, "-n", 40, "-k", 3, "--score", score)
    assert document["outliers"] == brute(frame, 40, 3, score=score)


def test_the_json_shape_is_pinned(found):
    frame = pd.DataFrame(RNG.normal(size=(80, 3)).astype(np.float32), columns=list("abc"))
    write(frame, "t.parquet")
    document = found("t.parquet", "-n", 7)
    assert list(document) == ["rows", "columns", "outliers", "cutoff", "seconds"]
    assert document["rows"] == 80
    assert document["columns"] == 3
    assert document["outliers"] == brute(frame, 7, 5)
    assert all(list(entry) == ["row", "score"] for entry in document["outliers"])
    assert document["cutoff"] == document["outliers"][-1]["score"]
    assert 0 < document["seconds"] < 60


def test_fewer_rows_than_asked_for_are_ranked_all(found):
    frame = numbers(20)
    write(frame, "t.csv")
    document = found("t.csv")
    assert document["outliers"] == brute(frame, 500, 5)
    assert len(document["outliers"]) == 20


def test_text_and_numbers_compared_by_equality(found):
    frame = numbers().assign(
        town=RNG.choice(["Ulm", "Bonn", "Jena"], 150), gear=RNG.integers(1, 5, 150)
    )
    coded = frame.assign(town=pd.factorize(frame.town)[0])
    for name in ("t.csv", "t.parquet"):
        write(frame, name)
        document = found(name, "-n", 30, "--discrete", "town,gear", "--weights", "town=4,c1=0.25")
        expected = brute(coded, 30, 5, weights=[1, 0.25, 1, 1, 4, 1], discrete=[4, 5])
        assert document["outliers"] == expected
        assert document["columns"] == 6
    document = found("t.csv", "-n", 9, "--drop", "c*", "--discrete", "town", "--discrete", "gear")
    assert document["outliers"] == brute(coded[["town", "gear"]], 9, 5, discrete=[0, 1])


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("w.csv", 'column,weight\n# a remark\n\nc0,4\n"c,2",0\n'),
        ("w.txt", "c0,4\nc,2,0\n"),
        ("w.json", '{"c0": 4, "c,2": 0}'),
    ],
)
def test_weights_from_a_file(name, text, found, tmp_path):
    frame = numbers().rename(columns={"c2": "c,2"})
    write(frame, "t.csv")
    (tmp_path / name).write_text(text)
    expected = brute(frame, 20, 5, weights=[4, 1, 0, 1])
    assert found("t.csv", "-n", 20, "--weights", name)["outliers"] == expected
    given = found("t.csv", "-n", 20, "--weights", "c,2=0", "--weights", "c0=4")
    assert given["outliers"] == expected


def test_label_and_dropped_columns_are_no_features(found, run):
    frame = numbers()
    mark = np.zeros(150, dtype=int)
    mark[:3] = 1
    extra = frame.assign(label=mark, meta_time=RNG.random(150), meta_name="x")
    write(extra, "t.parquet")
    options = ["t.parquet", "-n", 20, "--label", "label", "--drop", "meta_*"]
    expected = brute(frame, 20, 5)
    assert found(*options)["outliers"] == expected
    hits = sum(entry["row"] < 3 for entry in expected)
    code, out, err = run(*options)
    line = f"{hits} of the 20 rows found have label 1; 3 rows of the file have it"
    assert code == 0
    assert out.splitlines()[-1] == line
    assert err == ""
    code, out, err = run(*options, "--json")
    assert json.loads(out)["columns"] == 4
    assert err.strip() == line
    # Other labels are only left out.
    write(frame.assign(label=mark + 1), "t.parquet")
    assert run(*options[:5])[2] == ""
    code, _, err = run("t.parquet", "--drop", "label,meta_*")
    assert code == 2
    assert "no column named meta_*" in err


def test_columns_are_rescaled_only_when_asked(found):
    frame = pd.DataFrame(
        {"a": RNG.normal(size=90) * 1000, "b": RNG.normal(size=90), "same": np.full(90, 3.0)}
    )
    write(frame, "t.parquet")
    assert found("t.parquet", "-n", 10)["outliers"] == brute(frame, 10, 5)
    X = frame.to_numpy()
    span = np.ptp(X, axis=0)
    scaled = (X - X.min(axis=0)) / np.where(span, span, 1)
    assert found("t.parquet", "-n", 10, "--scale")["outliers"] == brute(scaled, 10, 5)


def test_missing_values(found, run):
    frame = numbers()
    frame.iloc[[2, 77], 1] = np.nan
    write(frame, "t.csv")
    whole = frame.dropna()
    expected = [
        {"row": int(whole.index[e["row"]]), "score": e["score"]} for e in brute(whole, 30, 5)
    ]
    document = found("t.csv", "-n", 30, "--missing", "drop")
    assert document["outliers"] == expected
    assert document["rows"] == 148
    assert "2 rows with missing values were left out" in run("t.csv", "--missing", "drop")[1]
    filled = frame.fillna(frame.median())
    document = found("t.csv", "-n", 30, "--missing", "median")
    assert document["outliers"] == brute(filled, 30, 5)


@pytest.mark.parametrize("limit", ["2000", "3kB", "0.004MiB"])
def test_little_memory_gives_the_same_answer(limit, found):
    frame = numbers().assign(town=RNG.choice(["Ulm", "Bonn"], 150))
    frame.iloc[5, 0] = np.nan
    write(frame, "t.csv")
    options = ["t.csv", "-n", 25, "--discrete", "town", "--missing", "drop", "--jobs", 1]
    assert found(*options, "--memory-limit", limit)["outliers"] == found(*options)["outliers"]


@pytest.mark.parametrize("name", ["o.csv", "o.parquet"])
def test_a_file_of_all_outliers(name, found, run):
    frame = pd.DataFrame(RNG.normal(size=(90, 3)), columns=list("abc"))
    write(frame, "t.csv")
    document = found("t.csv", "-n", 25, "-o", name)
    read = (csv.read_csv if name.endswith("csv") else pq.read_table)(name).to_pandas()
    assert list(read.columns) == ["row", "score", "rank"]
    assert read[["row", "score"]].to_dict("records") == document["outliers"]
    assert read["rank"].tolist() == list(range(1, 26))
    code, out, err = run("t.csv", "-n", 5, "-o", name)
    assert (code, out) == (2, "")
    assert "exists; choose another name or pass --force" in err
    code, out, _ = run("t.csv", "-n", 5, "-o", name, "--force")
    assert code == 0
    assert f"all 5 are in {name}" in out
    assert set(os.listdir()) == {"t.csv", name}


def test_what_a_person_sees(run):
    frame = numbers()
    write(frame, "t.csv")
    code, out, err = run("t.csv", "-n", 30, "-k", 3)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    strongest = brute(frame, 30, 3)
    assert lines[0] == "rows     150, numbered from 0"
    assert lines[1] == "columns  4"
    assert lines[2] == f"cutoff   {strongest[-1]['score']:.6g}"
    assert lines[3].startswith("seconds  ")
    assert lines[5].split() == ["rank", "row", "score"]
    for rank, (line, entry) in enumerate(zip(lines[6:16], strongest, strict=False), start=1):
        assert line.split() == [str(rank), str(entry["row"]), f"{entry['score']:.6g}"]
        assert len(line) == len(lines[5])
    assert lines[16] == "and 20 more; -o FILE or --json gives all 30"


@pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")
def test_a_release_and_the_columns_it_kept(run):
    frame = numbers().assign(fleet=RNG.integers(0, 2, 150))
    ig.write_release(frame, "r.parquet", ig.Distortion("identity"), keep=["fleet"])
    code, _, err = run("r.parquet", "-n", 5)
    assert code == 0
    assert err.splitlines() == [
        "note: r.parquet is a release; columns it kept as they are (fleet) are compared like the "
        "others; --drop them if they should not be"
    ]
    code, out, err = run("r.parquet", "-n", 5, "--drop", "fleet", "--json")
    assert (code, err) == (0, "")
    released = ig.Release.read("r.parquet").to_numpy()
    assert json.loads(out)["outliers"] == brute(released, 5, 5)


def test_a_csv_in_another_spelling(found):
    frame = numbers().rename(columns={"c0": "Höhe"})
    frame.to_csv("t.csv", index=False, sep="|", encoding="latin-1")
    document = found("t.csv", "-n", 5, "--encoding", "latin-1", "--delimiter", "|")
    assert document["outliers"] == brute(frame, 5, 5)


def bad_files():
    row = f"1.5,{SECRET},2\n"
    texts = {
        "empty.csv": "",
        "header.csv": "a,b,c\n",
        "one.csv": "a,b,c\n" + row,
        "ragged.csv": "a,b,c\n" + row * 3 + f"{SECRET},1\n",
        "text.csv": "a,b\n" + f"1,SECRET{SECRET}\n" * 9,
        "names.csv": "a,b\n" + f"x,SECRET{SECRET}\n" * 9,
        "nan.csv": "a,b,c\n" + row * 9 + "nan,1,inf\n",
        "holes.csv": "a,b,c\n" + "1,,2\n" * 9,
        "huge.csv": "a,b,c\n" + row * 9 + f"{SECRET}e200,1,2\n",
        "good.csv": "a,b,c\n" + row * 9,
        "w.csv": f"a,{SECRET}x\n",
        "w.json": "{nothing",
    }
    for name, text in texts.items():
        with open(name, "w") as file:
            file.write(text)
    pq.write_table(pa.table({"a": np.full(5000, SECRET), "b": np.arange(5000.0)}), "whole.parquet")
    with open("whole.parquet", "rb") as whole, open("cut.parquet", "wb") as cut:
        cut.write(whole.read()[:-100])
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), "nothing.parquet")
    os.mkdir("folder.csv")
    os.mkdir("out.csv")


BAD = [
    ("empty.csv", [], "is empty"),
    ("header.csv", [], "header but no rows"),
    ("nothing.parquet", [], "nothing.parquet has no rows"),
    ("one.csv", [], "has a single row"),
    ("ragged.csv", [], "row 5 .* has 2 fields where the header has 3"),
    ("text.csv", [], "not numbers: b; .*--drop.*--discrete"),
    ("names.csv", ["--drop", "*"], "no numeric column"),
    ("nan.csv", [], r"a \(1\), c \(1\); .*--missing"),
    ("holes.csv", ["--missing", "drop"], "missing value in every row"),
    ("holes.csv", ["--missing", "median"], "without a single value: b"),
    ("huge.csv", [], "scale"),
    ("huge.csv", ["--memory-limit", "500"], "scale"),
    ("cut.parquet", [], "truncated"),
    ("folder.csv", [], "is a folder"),
    ("absent.csv", [], "No such file"),
    ("good.csv", ["-n", 0], "-n must be >= 1, got 0"),
    ("good.csv", ["-k", -1], "-k must be >= 1, got -1"),
    (
        "good.csv",
        ["--score", "max"],
        "invalid value for '--score': 'max' is not one of 'mean', 'kth', 'sum'",
    ),
    ("good.csv", ["--missing", "zero"], "'zero' is not one of 'error', 'drop', 'median'"),
    ("good.csv", ["--jobs", 0], "--jobs must be .*, got 0"),
    ("good.csv", ["--memory-limit", "much"], "--memory-limit must be .*, got much"),
    ("good.csv", ["--memory-limit", "0GB"], "--memory-limit must be .*, got 0GB"),
    ("good.csv", ["--label", "z"], "no column named z; it has a, b, c"),
    ("good.csv", ["--discrete", "a,z"], "no column named z"),
    ("good.csv", ["--drop", "z"], "no column named z"),
    ("good.csv", ["--discrete", "a", "--drop", "a"], "cannot be both"),
    ("good.csv", ["--drop", "a,b,c"], "no numeric column"),
    ("good.csv", ["--weights", "z=1"], "--weights names z"),
    ("good.csv", ["--weights", "a=1", "--drop", "a"], "--weights names a"),
    ("good.csv", ["--weights", "a=-1"], "finite numbers >= 0, got a=-1"),
    ("good.csv", ["--weights", "a=nan"], "finite numbers >= 0, got a=nan"),
    ("good.csv", ["--weights", "a=2,b"], "COL=W.*, got b"),
    ("good.csv", ["--weights", "a=2,a=3"], "a twice"),
    ("good.csv", ["--weights", "a=0,b=0,c=0"], "at least one column"),
    ("good.csv", ["--weights", "w.csv"], "--weights must be finite numbers"),
    ("good.csv", ["--weights", "w.json"], "not a JSON object"),
    ("good.csv", ["--weights", "absent"], "COL=W.* or a file, got absent"),
    ("good.csv", ["-o", "o.txt"], "-o must be a .csv or .parquet file, got o.txt"),
    ("good.csv", ["-o", "no/o.csv"], "does not exist"),
    ("good.csv", ["-o", "out.csv"], "out.csv is a folder"),
    ("good.csv", ["-o", "good.csv", "--force"], "-o must not be a file that is read"),
    ("good.csv", ["--delimiter", "ab"], "delimiter must be one character"),
    ("good.csv", ["--encoding", "utf-9"], "no encoding named utf-9"),
]


@pytest.mark.parametrize(("name", "options", "words"), BAD)
def test_bad_input_gets_one_sentence(name, options, words, run):
    bad_files()
    before = set(os.listdir())
    code, out, err = run(name, *options)
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1
    assert re.match(f"isinglass: .*{words}", err), err
    if name != "good.csv":
        assert "98765" not in err
    assert set(os.listdir()) == before


def test_a_program_gets_json_and_nothing_else(tmp_path, real_data):
    """A real table, in a process of its own: 3,511 of the shuttle's rows are marked."""
    command = [sys.executable, "-c", "from isinglass.cli import main; main()", "detect"]
    file = real_data / "shuttle.parquet"
    done = subprocess.run(
        [*command, str(file), "--label", "label", "-n", "50", "--json"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["rows"], document["columns"]) == (49_097, 9)
    assert done.stderr.strip().endswith("3,511 rows of the file have it")
    X = pq.read_table(file).drop_columns("label").to_pandas().to_numpy(np.float64)
    for entry in document["outliers"][::10]:
        squares = ((X - X[entry["row"]]) ** 2).sum(axis=1)
        near = np.sort(np.sqrt(np.delete(squares, entry["row"])))[:5]
        assert entry["score"] == pytest.approx(near.mean(), rel=1e-12)


def test_real_codes_and_times_are_left_out(real_data, found):
    file = real_data / "gas_drift.parquet"
    document = found(file, "--label", "label", "--drop", "meta_*", "-n", 20, "--scale")
    frame = pq.read_table(file).to_pandas()
    X = frame.drop(columns=["label", "meta_batch", "meta_ppmv"]).to_numpy(np.float64)
    span = np.ptp(X, axis=0)
    scaled = ((X - X.min(axis=0)) / np.where(span, span, 1)).astype(np.float32)
    assert document["columns"] == 128
    assert document["outliers"] == brute(scaled, 20, 5)


def test_help_names_every_option(run):
    code, out, _ = run("--help")
    assert code == 0
    for option in ("-n", "-k", "--score", "--weights", "--discrete", "--label", "--drop",
                   "--scale", "--missing", "--memory-limit", "--jobs", "-o", "--json"):  # fmt: skip
        assert option in out
    assert "'id_*'" in out
    assert "numbered from 0" in out


@pytest.mark.parametrize("free", [0, 1])
def test_where_hardly_any_memory_is_free_it_still_begins(found, monkeypatch, free):
    monkeypatch.setattr("isinglass.memory.available_bytes", lambda: free)
    X = RNG.normal(size=(300, 3))
    write(pd.DataFrame(X, columns=list("abc")), "some.csv")
    assert found("some.csv", "-n", 4)["outliers"] == brute(X, 4, 5)


def test_one_column_that_rules_is_named_and_none_where_all_count(run):
    rng = np.random.default_rng(0)
    wild = rng.normal(size=(200, 3)) * [1, 1000, 1]
    pd.DataFrame(wild, columns=["a", "wild", "c"]).to_csv("t.csv", index=False)
    code, _, err = run("t.csv", "-n", "5")
    assert code == 0
    assert "note: wild makes up 99.7 % of the squared distances" in err
    assert "--scale lets all columns count alike" in err
    assert "wild" not in run("t.csv", "-n", "5", "--scale")[2]
    weights = "wild=0"
    assert "makes up" not in run("t.csv", "-n", "5", "--weights", weights)[2]
    # Which rows are left out for missing values must not shift whom the hint is about.
    holes = pd.DataFrame(np.vstack([[[np.nan, 0, 0]] * 190, rng.normal(size=(10, 3))]))
    holes.columns = ["a", "b", "c"]
    holes.to_csv("h.csv", index=False)
    assert run("h.csv", "-n", "3", "--missing", "drop")[0] == 0
