"""Two files become two arrays whose rows and columns belong together, or the audit says why not."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import isinglass as ig
from isinglass.auditing.files import audit_files as files
from isinglass.auditing.files.align import Loaded, as_kept, match
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.files.key_match import KeyFacts
from isinglass.auditing.files.origin import TOGETHER
from isinglass.auditing.findings import Linkage
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.report import Report
from isinglass.auditing.report.sentences import sentences
from isinglass.errors import AuditError, TableError
from isinglass.files import home as files_home
from isinglass.perturb.key import read_key

RNG = np.random.default_rng(5)
N = 300
FRAME = pd.DataFrame(RNG.random((N, 4)), columns=["a", "b", "c", "d"])
FRAME["tail"] = [f"N{i:04d}" for i in range(N)]
X = FRAME[list("abcd")].to_numpy()
BOUNDS = dict.fromkeys("abcd", (0.0, 1.0))
pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


@pytest.fixture
def table(tmp_path):
    FRAME.to_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def release(frame, out, veil=None, **options):
    options = {"drop": ["tail"], "again": True} | options
    return ig.write_release(frame, out, veil or ig.Distortion(random_state=918_273_645), **options)


def key_of(written):
    stored = read_key(written.key)
    facts = stored.facts
    return ig.load_key(written.key), KeyFacts(
        tuple(facts["columns"]), tuple(facts["one_hot"]), facts["categories"],
        stored.arrays.get("shuffle"),
    )  # fmt: skip


def test_a_release_of_ours_says_itself_what_is_what(table, tmp_path, given):
    written = release(FRAME, tmp_path / "r.parquet", keep=["d"], bounds=BOUNDS)
    report = audit_files(table, tmp_path / "r.parquet")
    np.testing.assert_array_equal(given["table"], X[:, :3])
    np.testing.assert_array_equal(given["released"], ig.Release.read(written.release).to_numpy())
    np.testing.assert_array_equal(given["kept"].values, X[:, 3:])
    assert given["column_names"] == ["a", "b", "c"]
    assert given["rows_correspond"] is True
    public = given["parameters"]
    assert public.method == "distortion"
    assert public.parameters["activation"] == "tanh"
    np.testing.assert_array_equal(public.low, np.zeros(3))
    np.testing.assert_array_equal(public.high, np.ones(3))
    assert given["settings"] == {"table": "t.parquet", "release": "r.parquet"}
    own, many = sentences(report.findings.notes)
    assert own == "its own"
    assert many.startswith("The kept columns have 300 combinations of values in 300 rows")
    assert given["perturbation"] is None


def test_learned_bounds_are_not_public_and_text_columns_are_left_out(table, tmp_path, given):
    release(FRAME, tmp_path / "r.parquet")
    report = audit_files(table, tmp_path / "r.parquet")
    assert given["parameters"].low is None
    assert given["parameters"].matrix is None
    assert "Columns of the table that are not numbers were left out: tail." in sentences(
        report.findings.notes
    )


def test_a_studys_public_matrix_is_expanded(table, tmp_path, given):
    matrix = ig.public_matrix(4, study="s", seed="ab")
    veil = ig.MultipartyPerturbation(matrix, alpha=0.1)
    release(FRAME, tmp_path / "r.parquet", veil, bounds=BOUNDS)
    audit_files(table, tmp_path / "r.parquet")
    np.testing.assert_array_equal(given["parameters"].matrix, matrix.matrix)
    # Its width tells how many columns went in, though fewer came out.
    release(FRAME, tmp_path / "2.parquet", veil)
    with pytest.raises(AuditError, match=r"made from 4 columns, and .* has 5"):
        audit_files(FRAME.assign(e=1.0), tmp_path / "2.parquet")


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_foreign_releases_of_every_kind_are_taken_by_order(kind, tmp_path, given):
    FRAME.to_csv(tmp_path / "t.csv", index=False)
    made = pd.DataFrame(X @ RNG.normal(size=(4, 2)), columns=["u", "v"]).assign(who="x")
    path = tmp_path / f"r.{kind}"
    if kind == "csv":
        made.to_csv(path, index=False)
    elif kind == "parquet":
        made.to_parquet(path)
    else:
        made.to_feather(path)
    audit_files(tmp_path / "t.csv", path, drop=["d"])
    np.testing.assert_array_equal(given["table"], X[:, :3])
    np.testing.assert_allclose(given["released"], made[["u", "v"]].to_numpy())
    assert given["rows_correspond"] is None  # nobody said so
    assert given["parameters"] is None
    assert given["other_releases"][0].shape == (len(X), 1)  # text is read along, as codes


def test_other_numbers_of_rows_do_not_match_by_order(table, tmp_path, given):
    FRAME[:250].drop(columns="tail").to_parquet(tmp_path / "r.parquet")
    report = audit_files(table, tmp_path / "r.parquet")
    assert (given["rows_correspond"], given["order_known"]) == (False, False)
    assert any(
        "250, so they do not match by order" in note for note in sentences(report.findings.notes)
    )


@pytest.mark.parametrize("ids", ["text", "numbers", "mixed"])
def test_rows_are_matched_by_a_column_of_both(ids, tmp_path, given):
    order = np.random.default_rng(1).permutation(N)[:200]
    names = np.arange(1000, 1000 + N)
    mine = FRAME.drop(columns="tail").assign(id=names)
    theirs = pd.DataFrame({"id": names[order], "z": X[order, 0]})
    theirs.loc[3, "id"] = 99_999  # nobody's
    if ids == "text":
        mine["id"], theirs["id"] = "N" + mine["id"].astype(str), "N" + theirs["id"].astype(str)
    elif ids == "mixed":
        theirs["id"] = theirs["id"].astype(str)
    mine.to_parquet(tmp_path / "t.parquet")
    theirs.to_csv(tmp_path / "r.csv", index=False)
    report = audit_files(tmp_path / "t.parquet", tmp_path / "r.csv", id_column="id")
    rows = np.sort(np.delete(order, 3))
    np.testing.assert_array_equal(given["table"], X[rows])
    np.testing.assert_allclose(given["released"][:, 0], X[rows, 0])
    assert given["released"].shape[1] == 1
    assert given["rows_correspond"] is True
    assert "Rows of t.parquet that have no partner: 101." in sentences(report.findings.notes)
    assert "Rows of r.csv that have no partner: 1." in sentences(report.findings.notes)


def test_missing_identifiers_shift_nobody():
    def loaded(ids):
        return Loaded("f", np.zeros((len(ids), 1)), pa.table({"id": ids}))

    rows, places = match(loaded(["a", None, "c", "d"]), loaded([None, "d", None, "a", "e"]), "id")
    assert (rows.tolist(), places.tolist()) == ([0, 3], [3, 1])


def test_identifiers_must_tell_rows_apart(table, tmp_path, given):
    FRAME.assign(tail="SECRET").to_parquet(tmp_path / "r.parquet")
    with pytest.raises(AuditError, match="299 rows repeat") as error:
        audit_files(table, tmp_path / "r.parquet", id_column="tail")
    assert "SECRET" not in str(error.value)
    FRAME.assign(tail=[f"other{i}" for i in range(N)]).to_parquet(tmp_path / "r.parquet")
    with pytest.raises(AuditError, match="no identifier in column tail"):
        audit_files(table, tmp_path / "r.parquet", id_column="tail")
    FRAME.drop(columns="tail").to_parquet(tmp_path / "r.parquet")
    with pytest.raises(AuditError, match="no column named tail to match"):
        audit_files(table, tmp_path / "r.parquet", id_column="tail")


def test_a_shuffled_release_is_put_in_order_by_its_key_only(table, tmp_path, given):
    written = release(FRAME, tmp_path / "r.parquet", keep=["d"], shuffle=True)
    report = audit_files(table, written.release)
    # Every row is somebody's; only whose is not known, so attacks that need it are missing.
    assert (given["rows_correspond"], given["order_known"]) == (True, False)
    assert any("secret order" in note for note in sentences(report.findings.notes))
    veil, facts = key_of(written)
    with pytest.raises(AuditError, match="299 rows"):
        audit_files(FRAME[1:], written.release, perturbation=veil, key=facts)
    audit_files(table, written.release, perturbation=veil, key=facts)
    assert (given["rows_correspond"], given["order_known"]) == (True, True)
    np.testing.assert_array_equal(given["released"], veil.transform_rows(X[:, :3], 0))
    np.testing.assert_array_equal(given["kept"].values, X[:, 3:])
    assert given["perturbation"] is veil


def test_that_condensed_records_belong_to_no_row_is_a_claim(table, tmp_path, given):
    release(FRAME, tmp_path / "r.parquet", ig.Condensation(k=10))
    audit_files(table, tmp_path / "r.parquet")
    assert (given["rows_correspond"], given["order_known"]) == (None, True)


def test_columns_are_named_by_noise_by_bounds_and_by_the_key(table, tmp_path, given):
    frame = FRAME.assign(gear=np.arange(N) % 3)
    gears = (frame["gear"].to_numpy()[:, None] == np.arange(3)).astype(float)
    for veil, options in ((ig.AdditiveNoise(), {}), (ig.Distortion(), {"bounds": BOUNDS})):
        written = release(
            frame, tmp_path / "r.parquet", veil, drop=["tail", "b"], one_hot=["gear"],
            force=True, **options,
        )  # fmt: skip
        if options:  # what a file says of itself must not narrow what is looked for in it
            with pytest.raises(AuditError, match="does not say it was made from: b;"):
                audit_files(frame, written.release)
        dropped = ["b"] if options else []
        audit_files(frame, written.release, drop=dropped)  # nobody says --one-hot gear
        np.testing.assert_array_equal(given["table"], np.hstack([X[:, [0, 2, 3]], gears]))
        assert given["column_names"] == ["a", "c", "d", "gear#0", "gear#1", "gear#2"]
    written = release(frame, tmp_path / "2.parquet", drop=["tail", "b"], one_hot=["gear"])
    with pytest.raises(AuditError, match=r"made from 6 columns, and .* has 5 .*`drop`"):
        audit_files(frame, written.release)
    veil, facts = key_of(written)
    audit_files(frame, written.release, perturbation=veil, key=facts)
    np.testing.assert_array_equal(given["table"], np.hstack([X[:, [0, 2, 3]], gears]))
    with pytest.raises(AuditError, match="lacks columns the release was made from: gear"):
        audit_files(FRAME, written.release, perturbation=veil, key=facts)
    with pytest.raises(TableError, match="no column named nope"):
        audit_files(frame, written.release, drop=["nope"])


def test_which_category_a_column_is_stands_in_the_owners_edition_alone(tmp_path):
    frame = FRAME.assign(gear=np.where(np.arange(N) % 3, "low", "high"))
    written = release(frame, tmp_path / "r.parquet", ig.AdditiveNoise(), drop=["tail"],
                      one_hot=["gear"])  # fmt: skip
    report = audit_files(frame, written.release, random_state=0, most_pairs=2)
    (note,) = [n for n in sentences(report.findings.notes) if "gear = low" in n]
    assert note == (
        "Columns that stand for a category each: gear#0 (gear = high), gear#1 (gear = low)."
    )
    report.save(tmp_path / "public.html", public=True)
    assert "gear = " not in (tmp_path / "public.html").read_text()


def test_a_key_of_another_release_is_refused(table, tmp_path, given):
    one = release(FRAME, tmp_path / "1.parquet", ig.Distortion())
    two = release(FRAME, tmp_path / "2.parquet", ig.Distortion())
    three = release(FRAME, tmp_path / "3.parquet", ig.AdditiveNoise())
    for other in (two, three):
        veil, facts = key_of(other)
        with pytest.raises(AuditError, match=r"does not turn|is of the method additive"):
            audit_files(table, one.release, perturbation=veil, key=facts)
    veil, facts = key_of(one)
    wider = FRAME.assign(a=9 * FRAME["a"])
    with pytest.raises(AuditError, match="does not turn"):
        audit_files(wider, one.release, perturbation=veil, key=facts)


def test_noise_by_row_number_is_not_compared_where_rows_are_gone(tmp_path, given):
    written = release(FRAME, tmp_path / "r.parquet", ig.AdditiveNoise(), keep=["tail"], drop=[])
    veil, facts = key_of(written)
    audit_files(FRAME, written.release, id_column="tail", perturbation=veil, key=facts)
    assert given["perturbation"] is veil
    part = tmp_path / "part.parquet"
    pq.write_table(pq.read_table(written.release).slice(5), part)
    audit_files(FRAME, part, id_column="tail", perturbation=veil, key=facts)
    assert len(given["table"]) == N - 5
    assert not hasattr(given["perturbation"], "_key")  # it can only draw other keys
    with pytest.raises(AuditError, match="other rows were left out"):
        audit_files(FRAME[5:], part, id_column="tail", perturbation=veil, key=facts)


def test_trials_need_no_key_where_the_release_says_how_it_was_made(table, tmp_path, given):
    release(FRAME, tmp_path / "r.parquet", ig.Distortion("sigmoid", slope=2.0), bounds=BOUNDS)
    audit_files(table, tmp_path / "r.parquet", n_trials=3)
    veil = given["perturbation"]
    assert (veil.activation, veil.slope) == ("sigmoid", 2.0)
    assert veil.bounds == ([0.0] * 4, [1.0] * 4)
    assert not hasattr(veil, "_key")


def test_missing_rows_are_left_out_on_both_sides(tmp_path, given):
    frame = FRAME.copy()
    frame.loc[[3, 9], "a"] = np.nan
    frame.to_parquet(tmp_path / "t.parquet")
    written = release(frame, tmp_path / "r.parquet", missing="drop")
    with pytest.raises(TableError, match="missing='drop'"):
        audit_files(tmp_path / "t.parquet", written.release)
    report = audit_files(tmp_path / "t.parquet", written.release, missing="drop")
    np.testing.assert_array_equal(given["table"], np.delete(X, [3, 9], axis=0))
    assert "Rows of the table with missing values that were left out: 2." in sentences(
        report.findings.notes
    )


def test_labels_go_beside_the_columns(tmp_path, given):
    label = (np.arange(N) % 10 == 0).astype(int)
    frame = FRAME.assign(label=label, id=np.arange(N)[::-1])
    made = pd.DataFrame({"z": X[:, 0], "id": frame["id"], "label": label})
    made[::-1].to_parquet(tmp_path / "r.parquet")
    audit_files(frame, tmp_path / "r.parquet", label="label", id_column="id")
    np.testing.assert_array_equal(given["labels"], label)
    assert given["table"].shape[1] == 4
    assert given["released"].shape[1] == 1
    np.testing.assert_array_equal(given["released"][:, 0], X[:, 0])
    with pytest.raises(AuditError, match="must hold 0 or 1"):
        audit_files(frame, tmp_path / "r.parquet", label="tail", id_column="id")


def test_other_releases_are_brought_into_the_same_order(table, tmp_path, given, monkeypatch):
    first = release(FRAME, tmp_path / "1.parquet", ig.Distortion(), keep=["d"])
    second = release(FRAME, tmp_path / "2.parquet", ig.Distortion())
    policy = Policy(maximum_gain=1.0, required=())
    report = audit_files(table, second.release, policy=policy)
    assert not report.passed  # its metadata says that these rows had left before
    assert [p.met for p in report.findings.policy if p.demand == TOGETHER] == [False]
    # How often they had, the owner's register says.
    assert any("least 1 other release, 0 were" in note for note in sentences(report.findings.notes))
    with monkeypatch.context() as elsewhere:
        elsewhere.setenv("ISINGLASS_HOME", str(tmp_path / "elsewhere"))
        report = audit_files(table, second.release, policy=policy)
    assert any("least 1 other release, 0 were" in note for note in sentences(report.findings.notes))
    report = audit_files(table, second.release, policy=policy, other_releases=[first.release])
    seen = pq.read_table(first.release)
    expected = np.column_stack([seen.column(n).to_numpy() for n in ("z0", "z1", "z2")])
    np.testing.assert_array_equal(given["other_releases"][0], expected)
    # It left unchanged with the first.
    np.testing.assert_array_equal(given["other_releases"][1], X[:, 3:])
    assert [p.met for p in report.findings.policy if p.demand == TOGETHER] == [True]
    report = audit_files(
        table, second.release, policy=policy, other_releases=[first.release], earlier=2
    )
    assert [p.met for p in report.findings.policy if p.demand == TOGETHER] == [False]
    shuffled = release(FRAME, tmp_path / "3.parquet", ig.Distortion(), shuffle=True)
    report = audit_files(table, second.release, policy=policy, other_releases=[shuffled.release])
    assert list(given["other_releases"]) == []
    assert [p.met for p in report.findings.policy if p.demand == TOGETHER] == [False]
    FRAME[:50].drop(columns="tail").to_parquet(tmp_path / "4.parquet")
    with pytest.raises(AuditError, match=r"4\.parquet has 50 rows and the table has 300"):
        audit_files(table, second.release, other_releases=[tmp_path / "4.parquet"])


def test_only_releases_of_these_rows_count_as_such(table, tmp_path, given):
    first = release(FRAME, tmp_path / "1.parquet", ig.Distortion())
    second = release(FRAME, tmp_path / "2.parquet", ig.Distortion())
    third = release(FRAME, tmp_path / "3.parquet", ig.Distortion())
    elsewhere = FRAME.assign(**{c: RNG.random(N) for c in "abcd"})
    another = release(elsewhere, tmp_path / "another.parquet", ig.Distortion())
    copies = [tmp_path / f"copy{i}.parquet" for i in (1, 3)]
    for copy, of in zip(copies, (first, third), strict=True):
        copy.write_bytes(of.release.read_bytes())

    def demand(*others):
        report = audit_files(
            table, third.release, policy=Policy(maximum_gain=1.0), other_releases=others
        )
        (line,) = [p for p in report.findings.policy if p.demand == TOGETHER]
        told = [n for n in sentences(report.findings.notes) if "does not count" in n]
        return line.met, line.measured.split()[0], [n.split()[0] for n in told]

    one, two = first.release, second.release
    assert demand(one, two) == (True, "2", [])
    assert demand(one, another.release) == (False, "1", ["another.parquet"])
    assert demand(one, copies[0]) == (False, "1", ["copy1.parquet"])
    assert demand(one, copies[1]) == (False, "1", ["copy3.parquet"])  # the release itself
    assert demand(copies[0], two) == (True, "2", [])  # under whatever name
    # Lines of earlier versions do not say which file they are about: any may be it.
    register = files_home() / "releases.jsonl"
    lines = [json.loads(line) for line in register.read_text().splitlines()]
    assert all(len(line["digest"]) == 64 for line in lines)
    old = [{k: v for k, v in line.items() if k != "digest"} for line in lines]
    register.write_text("".join(json.dumps(line) + "\n" for line in [old[0], *lines[1:]]))
    assert demand(one, two) == (True, "2", [])
    assert demand(two, another.release, one) == (True, "2", ["1.parquet"])
    register.write_text("".join(json.dumps(line) + "\n" for line in old))
    assert demand(one, another.release) == (True, "2", [])
    assert demand(one, copies[0]) == (False, "1", ["copy1.parquet"])


def test_what_is_public_about_other_releases_goes_with_them(table, tmp_path, given):
    matrices = [ig.public_matrix(4, study="s", seed=seed) for seed in ("ab", "cd")]
    first, second = (
        release(FRAME, tmp_path / f"{i}.parquet", ig.MultipartyPerturbation(m, alpha=(1 + i) / 10))
        for i, m in enumerate(matrices)
    )
    narrow = release(FRAME, tmp_path / "n.parquet", ig.Distortion(), drop=["tail", "d"])
    pd.DataFrame(X).rename(columns=str).to_csv(tmp_path / "theirs.csv", index=False)
    others = [second.release, narrow.release, tmp_path / "theirs.csv"]
    audit_files(table, first.release, other_releases=others)
    study, *rest = given["other_parameters"]
    np.testing.assert_array_equal(study.matrix, matrices[1].matrix)
    assert study.parameters["alpha"] == 0.2
    # One was made from other columns, the other by somebody else.
    assert rest == [None, None]


def test_one_file_is_not_two_releases(table, tmp_path, given):
    one = release(FRAME, tmp_path / "1.parquet")
    two = release(FRAME, tmp_path / "2.parquet")
    for others in ([one.release], [two.release, two.release]):
        with pytest.raises(AuditError, match="counts once"):
            audit_files(table, one.release, other_releases=others)


def test_a_perturbed_column_tells_no_rows_apart_and_is_no_label(tmp_path, given):
    frame = FRAME.assign(b=(FRAME["b"] > 0.5).astype(float))
    written = release(frame, tmp_path / "r.parquet", ig.AdditiveNoise())
    for asked in ({"id_column": "a"}, {"label": "b"}):
        with pytest.raises(AuditError, match=r"column [ab] was perturbed in the release"):
            audit_files(frame, written.release, **asked)
    frame[["c"]].to_csv(tmp_path / "theirs.csv", index=False)
    with pytest.raises(AuditError, match="column b was perturbed"):
        audit_files(frame, tmp_path / "theirs.csv", label="b", one_hot=["b"])
    # The release keeps the column; another of the same rows, matched by order, perturbed it.
    keeps = release(frame, tmp_path / "k.parquet", ig.AdditiveNoise(), keep=["a"])
    audit_files(frame, keeps.release, id_column="a", other_releases=[written.release])
    assert given["other_releases"][0].shape == (N, 4)


def test_another_table_is_named_by_the_columns_it_lacks(tmp_path, given):
    written = release(FRAME, tmp_path / "r.parquet", ig.AdditiveNoise())
    with pytest.raises(AuditError, match=r"lacks columns the release was made from: b, d; it"):
        audit_files(FRAME[["a", "c", "tail"]], written.release)
    with pytest.raises(AuditError, match=r"not numbers among those the release was made from: b;"):
        audit_files(FRAME.assign(b="x"), written.release)


@pytest.mark.parametrize("by", ["order", "id"])
def test_the_worst_records_have_the_numbers_of_the_table(by, tmp_path, given, monkeypatch):
    plain = files.audit_arrays

    def audit(table, released, **more):
        rows = tuple((i, i + 1) for i in range(len(table)))
        found = plain(table, released, **more).findings
        return Report(replace(found, linkage=Linkage(9.0, 1.0, None, 0.5, N, rows)))

    monkeypatch.setattr(files, "audit_arrays", audit)
    frame = FRAME.assign(id=np.arange(N))
    frame.loc[[0, 1, 2, 250], "a"] = np.nan
    options = {"missing": "drop", "keep": ["id"]}
    written = release(frame, tmp_path / "r.parquet", ig.AdditiveNoise(), **options)
    path, more = written.release, {}
    if by == "id":  # some rows are gone and the others in another order
        path, more = tmp_path / "part.parquet", {"id_column": "id"}
        part = pq.read_table(written.release)
        pq.write_table(part.take(np.arange(len(part))[:40:-1]), path)
    report = audit_files(frame, path, missing="drop", **more)
    worst = report.findings.linkage.worst_records
    compared = given["table"]
    assert len(worst) == len(compared)
    for row, level in worst:
        np.testing.assert_array_equal(X[row], compared[level - 1])


def test_kept_columns_become_numbers_of_some_kind():
    def numbers(values, kind=None):
        column = pa.chunked_array([pa.array(values, kind)])
        found = as_kept(column, column)
        return None if found is None else found.released

    np.testing.assert_array_equal(numbers(["b", "a", None, "b"]), [2, 1, 0, 2])
    np.testing.assert_array_equal(numbers([1.0, None, 3.0]), [1, 2, 3])
    np.testing.assert_array_equal(numbers([True, False]), [1, 0])
    np.testing.assert_array_equal(numbers([5, 7], pa.date32()), [5, 7])
    np.testing.assert_array_equal(numbers([5, 7], pa.timestamp("s")), [5, 7])
    assert numbers([{"u": 1}]) is None


def test_categories_have_the_same_codes_in_table_and_release():
    released, own = (pa.chunked_array([pa.array(v)]) for v in (["b", "c"], ["a", "c", "b"]))
    found = as_kept(released, own)
    assert found is not None
    assert found.is_category
    np.testing.assert_array_equal(found.released, [1, 2])
    np.testing.assert_array_equal(found.own, [0, 2, 1])


def test_a_file_larger_than_memory_is_refused_unread(table, tmp_path, given, monkeypatch):
    from isinglass.auditing.files import align

    release(FRAME, tmp_path / "r.parquet")
    monkeypatch.setattr(align, "available_bytes", lambda: 1000)
    with pytest.raises(AuditError, match="of memory, more than there is"):
        audit_files(table, tmp_path / "r.parquet")


def test_a_file_that_only_looks_like_ours_is_treated_as_foreign(table, tmp_path, given):
    made = pa.table({"u": X[:, 0]}).replace_schema_metadata({"isinglass": json.dumps([1])})
    pq.write_table(made, tmp_path / "r.parquet")
    audit_files(table, tmp_path / "r.parquet")
    assert given["rows_correspond"] is None


def test_text_that_says_it_all_is_read(tmp_path):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("abc"))
    release = pd.DataFrame(rng.normal(size=(300, 3)), columns=list("xyz"))
    for name in "abc":
        release[f"note_{name}"] = [f"{v:.6f}" for v in table[name]]
    table.to_parquet(tmp_path / "t.parquet")
    release.to_parquet(tmp_path / "r.parquet")
    found = audit_files(tmp_path / "t.parquet", tmp_path / "r.parquet", random_state=0)
    assert found.verdict == "recovered"


def test_long_whole_identifiers_are_compared_digit_by_digit(tmp_path):
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(200, 3)), columns=list("abc"))
    table["id"] = 2**60 + np.arange(200)
    table.to_parquet(tmp_path / "t.parquet")
    table.iloc[::-1].to_parquet(tmp_path / "r.parquet")
    found = audit_files(tmp_path / "t.parquet", tmp_path / "r.parquet", id_column="id")
    assert found.detection.rate == 1


# Whatever left is looked at.


def noise_beside(**columns):
    noise = np.random.default_rng(3).normal(size=X.shape)
    return pa.table({f"z{j}": noise[:, j] for j in range(X.shape[1])} | columns)


def claimed(made, names):
    facts = {"method": "vault", "parameters": {}, "version": "1.0", "rows": len(X)}
    facts |= {"columns": names, "kept": [], "promise": {"kind": "heuristic"}}
    return made.replace_schema_metadata({"isinglass": json.dumps(facts)})


def test_columns_that_a_release_does_not_speak_of_are_attacked(table, tmp_path):
    made = noise_beside(**{f"c{j}": X[:, j] for j in range(X.shape[1])})
    pq.write_table(claimed(made, [f"z{j}" for j in range(X.shape[1])]), tmp_path / "r.parquet")
    found = audit_files(table, tmp_path / "r.parquet", random_state=0).findings
    assert found.verbatim == 1.0
    assert found.verdict == "recovered"


def test_numbers_in_a_list_are_read_and_bytes_are_refused(table, tmp_path):
    pq.write_table(noise_beside(vector=[list(x) for x in X]), tmp_path / "r.parquet")
    found = audit_files(table, tmp_path / "r.parquet", random_state=0).findings
    assert found.verdict == "recovered"
    pq.write_table(noise_beside(blob=[x.tobytes() for x in X]), tmp_path / "b.parquet")
    with pytest.raises(AuditError, match="column blob holds values that an audit cannot look at"):
        audit_files(table, tmp_path / "b.parquet")
