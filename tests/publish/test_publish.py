"""The owner's step from Python: what leaves, what stays, and what is refused."""

import json
import os
import signal
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import isinglass as ig
from isinglass.errors import KeyFileError, ReleaseError, TableError
from isinglass.perturb.key import read_key
from isinglass.publish import Caller
from isinglass.release_register import Register
from isinglass.table import read
from isinglass.table.row_order import keyed_order

RNG = np.random.default_rng(3)
N = 1000
FRAME = pd.DataFrame(RNG.random((N, 4)), columns=["a", "b", "c", "d"])
FRAME["tail"] = [f"N{i:04d}" for i in range(N)]
BOUNDS = {"a": (0.0, 1.0), "b": (0.0, 1.0), "c": (0.0, 1.0), "d": (0.0, 1.0)}


@pytest.fixture
def table(tmp_path) -> Path:
    path = tmp_path / "flights.parquet"
    FRAME.to_parquet(path)
    return path


def release(table, out, perturbation=None, **options):
    perturbation = ig.Distortion(random_state=1) if perturbation is None else perturbation
    options = {"drop": ["tail"], "again": True} | options
    if "use_key" in options:
        perturbation = None
    about = {n: options.pop(n) for n in ("home", "reads", "writes", "say") if n in options}
    if about:
        options["caller"] = Caller(**about)
    return ig.write_release(table, out, perturbation, **options)


def unregistered(table, out, *args, **options):
    """A release by an owner who has never released anything."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as home:
        patch.setenv("ISINGLASS_HOME", home)
        return release(table, out, *args, **options)


def numbers(path):
    return ig.Release.read(path).to_numpy()


def test_a_release_its_key_and_its_facts(table, tmp_path):
    out = tmp_path / "out.parquet"
    written = release(table, out, ig.Distortion(), keep=["tail"], drop=[], again=False)
    facts = ig.Release.read(out).facts
    assert (written.rows, written.columns) == (N, 4)
    assert facts.columns == ("z0", "z1", "z2", "z3")
    assert facts.kept == ("tail",)
    assert facts.promise.kind == "heuristic"
    assert facts.rows == N
    assert written.key == tmp_path / "out.key"
    assert written.key.stat().st_mode & 0o777 == 0o600
    assert pq.read_table(out).column("tail").to_pylist() == FRAME["tail"].to_list()
    # The key gives the same release from the same rows.
    veil = ig.load_key(written.key)
    rows = FRAME[["a", "b", "c", "d"]].to_numpy()
    np.testing.assert_array_equal(veil.transform_rows(rows, 0), numbers(out))


def test_the_metadata_holds_neither_key_nor_bounds_nor_seed(table, tmp_path):
    out = tmp_path / "out.parquet"
    written = release(table, out, ig.Distortion(random_state=987654))
    text = pq.read_metadata(out).metadata[b"isinglass"].decode()
    facts = json.loads(text)
    assert facts["bounds"] is None
    assert facts["seeded"] is True
    assert "987654" not in text
    assert any("random_state" in w for w in facts["warnings"])
    for array in read_key(written.key).arrays.values():
        for number in np.ravel(array)[:50].tolist():
            assert len(repr(number)) < 8 or repr(number) not in text
    for column in ("a", "b", "c", "d"):
        assert repr(FRAME[column].min()) not in text
        assert repr(FRAME[column].max()) not in text


def test_declared_bounds_are_public_and_do_not_warn(table, tmp_path):
    out = tmp_path / "out.parquet"
    written = release(table, out, bounds=BOUNDS)
    assert ig.Release.read(out).facts.bounds == BOUNDS
    assert not any("learned" in w for w in written.warnings)
    learned = release(table, tmp_path / "learned.parquet")
    assert any("bounds were learned" in w for w in learned.warnings)


def test_values_outside_declared_bounds_are_counted_or_clipped(table, tmp_path):
    narrow = BOUNDS | {"b": (0.25, 1.0)}
    below = int((FRAME["b"] < 0.25).sum())
    with pytest.raises(TableError, match=rf"b \({below}\).*clip=True"):
        release(table, tmp_path / "out.parquet", bounds=narrow)
    assert not list(tmp_path.glob("*out*"))
    release(table, tmp_path / "out.parquet", bounds=narrow, clip=True)


SOURCES = {
    "pandas": lambda: FRAME,
    "polars": lambda: pl.from_pandas(FRAME),
    "pyarrow": lambda: pa.Table.from_pandas(FRAME),
    "csv": None,
    "arrow": None,
}


@pytest.mark.parametrize("kind", list(SOURCES))
def test_every_kind_of_table_gives_the_same_release(kind, table, tmp_path):
    unregistered(table, tmp_path / "parquet.parquet", bounds=BOUNDS)
    if kind == "csv":
        source = tmp_path / "t.csv"
        FRAME.to_csv(source, index=False)
    elif kind == "arrow":
        source = tmp_path / "t.arrow"
        pl.from_pandas(FRAME).write_ipc(source)
    else:
        source = SOURCES[kind]()
    unregistered(source, tmp_path / "other.parquet", bounds=BOUNDS)
    assert (tmp_path / "other.parquet").read_bytes() == (tmp_path / "parquet.parquet").read_bytes()


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.integers(1, N))
@pytest.mark.parametrize(
    "veil",
    [
        ig.Distortion(random_state=5),
        ig.AdditiveNoise(random_state=5),
        ig.MultiplicativeNoise(random_state=5),
        ig.GeometricPerturbation(random_state=5),
        ig.MultipartyPerturbation(alpha=0.1, random_state=5),
    ],
)
def test_equal_bytes_whatever_the_batch_size(veil, rows, table, tmp_path):
    out, whole = tmp_path / "cut.parquet", tmp_path / "whole.parquet"
    bounds = None if veil.keeps_columns else BOUNDS
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "batch_rows", lambda width: rows)
        unregistered(table, out, veil, bounds=bounds, force=True)
    unregistered(table, whole, veil, bounds=bounds, force=True)
    if type(veil).__name__ == "MultipartyPerturbation":
        # Its public matrix is fresh each time; the rows are what must agree.
        key = ig.load_key(out.with_suffix(".key"))
        rows_in = FRAME[["a", "b", "c", "d"]].to_numpy()
        np.testing.assert_array_equal(key.transform_rows(rows_in, 0), numbers(out))
    else:
        assert out.read_bytes() == whole.read_bytes()


@pytest.mark.parametrize("veil", [ig.AdditiveNoise(), ig.MultiplicativeNoise(),
                                  ig.GeometricPerturbation(), ig.Condensation(k=5)])  # fmt: skip
def test_a_noise_key_is_never_used_again(veil, table, tmp_path):
    written = release(table, tmp_path / "one.parquet", veil)
    with pytest.raises(KeyFileError, match="used once"):
        release(table, tmp_path / "two.parquet", use_key=written.key)
    assert not (tmp_path / "two.parquet").exists()


def test_a_key_is_used_again_only_with_its_declared_bounds(table, tmp_path):
    first = release(table, tmp_path / "one.parquet", bounds=BOUNDS)
    more = FRAME.sample(frac=1, random_state=0)[: N // 2]
    written = release(more, tmp_path / "two.parquet", use_key=first.key)
    assert written.key == first.key
    np.testing.assert_array_equal(
        numbers(tmp_path / "two.parquet"), numbers(tmp_path / "one.parquet")[more.index]
    )
    with pytest.raises(KeyFileError, match="bounds given differ"):
        release(more, tmp_path / "x.parquet", use_key=first.key, bounds=BOUNDS | {"a": (0, 2)})
    learned = release(table, tmp_path / "three.parquet")
    with pytest.raises(KeyFileError, match="learned"):
        release(more, tmp_path / "x.parquet", use_key=learned.key)
    with pytest.raises(KeyFileError, match="other columns"):
        release(more, tmp_path / "x.parquet", use_key=first.key, drop=["tail", "a"])
    outside = more.assign(a=7.5)
    with pytest.raises(TableError, match=r"a \(500\)"):
        release(outside, tmp_path / "x.parquet", use_key=first.key)
    assert not (tmp_path / "x.parquet").exists()


def test_a_second_release_of_the_same_rows_is_refused(table, tmp_path):
    ig.write_release(table, tmp_path / "1.parquet", ig.Distortion(), drop=["tail"], again=True)
    disguised = FRAME.sample(frac=0.9, random_state=1)[["c", "a", "d", "b", "tail"]]
    for source, veil in ((table, ig.AdditiveNoise()), (disguised, ig.Distortion())):
        with pytest.raises(ReleaseError, match=r"left before.*again=True"):
            release(source, tmp_path / "2.parquet", veil, again=False)
        assert not list(tmp_path.glob("*2.*"))
    written = release(table, tmp_path / "2.parquet", again=True)
    assert any("released before" in w for w in written.warnings)
    assert ig.Release.read(tmp_path / "2.parquet").facts.again
    assert not ig.Release.read(tmp_path / "1.parquet").facts.again
    other = pd.DataFrame(RNG.random((N, 4)), columns=list("abcd"))
    release(other, tmp_path / "3.parquet", drop=[], again=False)


def test_a_refused_release_leaves_nothing_in_the_register(table, tmp_path):
    with pytest.raises(TableError):
        release(table, tmp_path / "1.parquet", drop=[])
    release(table, tmp_path / "1.parquet", again=False)


def test_row_order_warns_and_shuffling_helps(tmp_path):
    ordered = FRAME.drop(columns="tail").sort_values("b")
    ordered["label"] = np.arange(N)
    written = release(ordered, tmp_path / "1.parquet", drop=["label"])
    assert any("row number" in w and ": b;" in w for w in written.warnings)
    facts = ig.Release.read(tmp_path / "1.parquet").facts
    public = [w for w in facts.warnings if "row number" in w]
    assert public == [
        "columns that rise or fall with the row number, so that a record's place tells its value: 1"
    ]
    written = release(
        ordered, tmp_path / "2.parquet", drop=[], keep=["label"], shuffle=True, bounds=BOUNDS
    )
    assert not any("row number" in w for w in written.warnings)
    read_back = ig.Release.read(tmp_path / "2.parquet")
    assert read_back.facts.order == "keyed"
    # The key undoes the order, and the columns kept moved with their rows.
    order = keyed_order(read_key(written.key).arrays["shuffle"], N)
    labels = read_back.table.column("label").to_numpy()
    np.testing.assert_array_equal(labels, order)
    assert abs(np.corrcoef(labels, np.arange(N))[0, 1]) < 0.2
    back = np.empty((N, 4))
    back[order] = read_back.to_numpy()
    veil = ig.load_key(written.key)
    np.testing.assert_array_equal(veil.transform_rows(ordered[list("abcd")].to_numpy(), 0), back)


def test_rows_like_their_neighbors_warn_and_shuffling_helps(tmp_path):
    rng = np.random.default_rng(5)
    waves = pd.DataFrame({"a": np.sin(np.arange(400) / 9), "b": rng.normal(size=400)})
    written = release(waves, tmp_path / "1.parquet", ig.AdditiveNoise(), drop=[])
    assert any("neighboring rows" in w and ": a; consider" in w for w in written.warnings)
    facts = ig.Release.read(tmp_path / "1.parquet").facts
    public = [w for w in facts.warnings if "neighboring rows" in w]
    assert public == [
        "columns in which neighboring rows are alike, so that noise can be smoothed away: 1"
    ]
    written = release(waves, tmp_path / "2.parquet", ig.AdditiveNoise(), drop=[], shuffle=True)
    assert not any("neighboring rows" in w for w in written.warnings)
    rows = waves.sample(frac=1, random_state=6)
    written = release(rows, tmp_path / "3.parquet", ig.AdditiveNoise(), drop=[])
    assert not any("neighboring rows" in w for w in written.warnings)


def test_shuffled_noise_still_belongs_to_the_tables_rows(table, tmp_path):
    written = release(table, tmp_path / "1.parquet", ig.AdditiveNoise(), shuffle=True)
    order = keyed_order(read_key(written.key).arrays["shuffle"], N)
    rows = FRAME[list("abcd")].to_numpy()
    expected = ig.load_key(written.key).transform_rows(rows, 0)
    np.testing.assert_array_equal(numbers(tmp_path / "1.parquet"), expected[order])


def test_kept_columns_are_disclosed_and_said_to_be(table, tmp_path):
    written = release(table, tmp_path / "1.parquet", keep=["tail", "a"], drop=[])
    assert any("kept columns" in w and "tail, a" in w for w in written.warnings)
    assert any("kept columns" in w for w in ig.Release.read(tmp_path / "1.parquet").facts.warnings)


def test_constant_columns_are_allowed_and_mentioned(tmp_path):
    table = FRAME.drop(columns="tail").assign(flag=2.5)
    written = release(table, tmp_path / "1.parquet", drop=[])
    assert any("one value only: flag" in w for w in written.warnings)
    assert np.isfinite(numbers(tmp_path / "1.parquet")).all()
    public = ig.Release.read(tmp_path / "1.parquet").facts.warnings
    assert not any("flag" in w for w in public)


def test_additive_noise_keeps_names_and_others_do_not(table, tmp_path):
    release(table, tmp_path / "1.parquet", ig.AdditiveNoise(scale=0.1))
    facts = ig.Release.read(tmp_path / "1.parquet").facts
    assert facts.columns == ("a", "b", "c", "d")
    noise = numbers(tmp_path / "1.parquet") - FRAME[list("abcd")].to_numpy()
    ratio = noise.std(axis=0) / FRAME[list("abcd")].std().to_numpy()
    assert np.abs(ratio - 0.1).max() < 0.02


def test_one_hot_columns_are_mixed_in(table, tmp_path):
    frame = FRAME.assign(gear=np.arange(N) % 3)
    written = release(frame, tmp_path / "1.parquet", one_hot=["gear"], bounds=BOUNDS)
    assert written.columns == 7
    with pytest.raises(TableError, match="not among the 3 categories"):
        release(frame.assign(gear=7), tmp_path / "2.parquet", use_key=written.key, one_hot=["gear"])
    again = release(frame, tmp_path / "2.parquet", use_key=written.key, one_hot=["gear"])
    assert again.columns == 7
    np.testing.assert_array_equal(numbers(tmp_path / "1.parquet"), numbers(tmp_path / "2.parquet"))


@pytest.mark.parametrize("missing", ["drop", "median"])
def test_missing_values_are_settled_as_asked(missing, tmp_path):
    frame = FRAME.copy()
    frame.loc[3, "a"] = np.nan
    frame.loc[9, "b"] = np.inf
    with pytest.raises(TableError, match=r"a \(1\), b \(1\).*missing='drop'"):
        release(frame, tmp_path / "0.parquet")
    written = release(frame, tmp_path / "1.parquet", ig.AdditiveNoise(scale=1e-9), missing=missing)
    values = numbers(tmp_path / "1.parquet")
    if missing == "drop":
        assert written.rows == N - 2
        np.testing.assert_allclose(values[3], FRAME[list("abcd")].to_numpy()[4], atol=1e-6)
    else:
        assert written.rows == N
        median = np.median(np.delete(FRAME["a"].to_numpy(), 3))
        np.testing.assert_allclose(values[3, 0], median, atol=1e-6)


def test_condensation_makes_as_many_new_records(table, tmp_path):
    said = []
    written = release(table, tmp_path / "1.parquet", ig.Condensation(k=10), say=said.append)
    assert written.rows == N
    assert "must hold all 1,000 rows" in said[0]
    values = numbers(tmp_path / "1.parquet")
    original = FRAME[list("abcd")].to_numpy()
    np.testing.assert_allclose(values.mean(0), original.mean(0), atol=0.05)
    assert not (values[:, None] == original[None]).all(axis=2).any()
    with pytest.raises(ReleaseError, match="no column can be kept"):
        release(table, tmp_path / "2.parquet", ig.Condensation(), keep=["tail"], drop=[])


def test_multiparty_writes_its_public_matrix_beside_the_key(table, tmp_path):
    written = release(table, tmp_path / "1.parquet", ig.MultipartyPerturbation(alpha=0.1))
    matrix = ig.PublicMatrix.load(written.public_file)
    assert matrix.n_features == 4
    assert matrix.n_components == 2
    shared = release(
        table, tmp_path / "2.parquet", ig.MultipartyPerturbation(matrix, alpha=0.1), bounds=BOUNDS
    )
    assert shared.public_file is None


def test_nothing_is_overwritten_without_force(table, tmp_path):
    out = tmp_path / "out.parquet"
    release(table, out)
    before = {p: p.read_bytes() for p in (out, out.with_suffix(".key"))}
    with pytest.raises(ReleaseError, match="exists"):
        release(table, out)
    out.unlink()
    with pytest.raises(ReleaseError, match=r"out\.key exists"):
        release(table, out)
    assert out.with_suffix(".key").read_bytes() == before[out.with_suffix(".key")]
    release(table, out, force=True)
    with pytest.raises(ReleaseError, match="is read for this release"):
        release(table, table, force=True)


@pytest.mark.parametrize("moment", ["perturb", "key", "register"])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_whatever_fails_nothing_is_left_behind(moment, error, table, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise error

    if moment == "perturb":
        monkeypatch.setattr(ig.Distortion, "_perturb", fail)
    elif moment == "key":
        monkeypatch.setattr(ig.Distortion, "key_file", fail)
    else:
        monkeypatch.setattr(Register, "add", fail)
    before = set(os.listdir(tmp_path))
    with pytest.raises(error):
        release(table, tmp_path / "out.parquet", shuffle=True)
    assert set(os.listdir(tmp_path)) == before


def test_the_register_knows_before_the_release_has_its_name(table, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"
    seen = []
    add = Register.add
    monkeypatch.setattr(
        Register, "add", lambda self, *a, **k: (seen.append(out.exists()), add(self, *a, **k))[1]
    )
    replace = os.replace
    order = []
    monkeypatch.setattr(os, "replace", lambda a, b: (order.append(Path(b).name), replace(a, b))[1])
    release(table, out, force=True)
    assert seen == [False]
    assert order == ["out.key", "out.parquet"]


def test_a_table_that_changes_between_the_passes_is_noticed(table, tmp_path, monkeypatch):
    fit = ig.Distortion.fit_survey

    def meddle(self, facts):
        FRAME[: N // 2].to_parquet(table)
        return fit(self, facts)

    monkeypatch.setattr(ig.Distortion, "fit_survey", meddle)
    with pytest.raises(TableError, match="changed while"):
        release(table, tmp_path / "out.parquet")
    assert not (tmp_path / "out.parquet").exists()


def test_a_key_too_large_for_memory_is_refused_before_work_starts(tmp_path, monkeypatch):
    from isinglass.publish import first_pass

    monkeypatch.setattr(first_pass, "available_bytes", lambda: 100)
    with pytest.raises(ReleaseError, match="of memory, more than there is"):
        release(FRAME, tmp_path / "out.parquet")


def test_progress_counts_rows_up_to_the_end(table, tmp_path):
    calls = []
    release(table, tmp_path / "out.parquet", progress=lambda *a: calls.append(a))
    assert ("reading", N, N) in calls
    assert ("perturbing", N, N) in calls


def test_other_warnings_are_not_swallowed(table, tmp_path, monkeypatch):
    fit = ig.Distortion.fit_survey

    def noisy(self, facts):
        warnings.warn("something else", DeprecationWarning, stacklevel=1)
        return fit(self, facts)

    monkeypatch.setattr(ig.Distortion, "fit_survey", noisy)
    with pytest.warns(DeprecationWarning, match="something else"):
        release(table, tmp_path / "out.parquet")


def test_noise_that_left_is_not_given_to_other_records(table, tmp_path):
    veil = ig.AdditiveNoise(scale=1.0, relative=False)
    release(table, tmp_path / "1.parquet", veil)
    other = RNG.random((N, 4))
    first = numbers(tmp_path / "1.parquet") - FRAME[list("abcd")].to_numpy()
    assert not np.allclose(veil.fit(other).transform(other) - other, first)
    # Rows that were given by number are used up too.
    veil = ig.AdditiveNoise(scale=1.0, relative=False).fit(other)
    given = veil.transform_rows(other, 0) - other
    # Two draws agree to a few digits now and then; a pad used again agrees everywhere.
    assert np.isclose(veil.transform(other) - other, given).mean() < 0.1


def test_the_callers_perturbation_stays_as_it_was(table, tmp_path):
    veil = ig.Distortion()
    release(table, tmp_path / "1.parquet", veil, bounds=BOUNDS, clip=True)
    assert veil.bounds is None
    assert veil.clip is False
    assert not hasattr(veil, "_key")
    wider = FRAME.assign(a=5 * FRAME["a"])
    release(wider, tmp_path / "2.parquet", veil)
    assert ig.Release.read(tmp_path / "2.parquet").facts.bounds is None


def test_what_the_release_warns_of_is_raised_in_python_too(table, tmp_path):
    with pytest.warns(ig.PrivacyWarning) as caught:
        release(
            table, tmp_path / "1.parquet", ig.Distortion(random_state=1), keep=["tail"], drop=[]
        )
    texts = [str(w.message) for w in caught]
    for word in ("bounds were learned", "random_state", "kept columns"):
        assert any(word in text for text in texts)


def test_a_seeded_key_warns_again_when_it_is_used_again(table, tmp_path):
    first = release(table, tmp_path / "1.parquet", ig.Distortion(random_state=3), bounds=BOUNDS)
    second = release(FRAME[:500], tmp_path / "2.parquet", use_key=first.key)
    assert any("random_state" in w for w in second.warnings)
    facts = ig.Release.read(tmp_path / "2.parquet").facts
    assert facts.seeded
    assert any("random_state" in w for w in facts.warnings)


def test_the_owners_paths_stay_out_of_the_metadata(table, tmp_path):
    first = release(table, tmp_path / "1.parquet", bounds=BOUNDS)
    os.chmod(first.key, 0o644)
    second = release(FRAME[:500], tmp_path / "2.parquet", use_key=first.key)
    assert any("chmod 600" in w for w in second.warnings)
    text = pq.read_metadata(tmp_path / "2.parquet").metadata[b"isinglass"].decode()
    assert "chmod" not in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize(
    ("out", "key", "method"),
    [
        ("x.parquet", "x.parquet", "tanh"),
        ("x.parquet", "sub/../x.parquet", "tanh"),
        ("x.parquet", "link/x.parquet", "tanh"),
        ("x.parquet", "flights.parquet", "tanh"),
        ("flights.parquet", "x.key", "tanh"),
        ("x.matrix.json", "x.key", "multiparty"),
        ("x.parquet", "bounds.csv", "tanh"),
    ],
)
def test_no_file_takes_the_place_of_another(out, key, method, force, table, tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    (tmp_path / "bounds.csv").write_text("a,0,1")
    before = {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}
    veil = ig.Distortion() if method == "tanh" else ig.MultipartyPerturbation(alpha=0.1)
    with pytest.raises(ReleaseError, match=r"different names|is read for|exists"):
        release(
            table, tmp_path / out, veil, key=tmp_path / key, force=force,
            reads=[tmp_path / "bounds.csv"],
        )  # fmt: skip
    assert {p: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_a_key_is_never_written_over_by_its_own_release(table, tmp_path):
    first = release(table, tmp_path / "1.parquet", bounds=BOUNDS)
    before = first.key.read_bytes()
    with pytest.raises(ReleaseError, match="is read for"):
        release(FRAME[:500], first.key, use_key=first.key, force=True)
    assert first.key.read_bytes() == before


def test_a_target_that_appears_meanwhile_leaves_no_key(table, tmp_path, monkeypatch):
    out = tmp_path / "out.parquet"
    add = Register.add

    def meddle(self, *args, **kwargs):
        out.write_text("somebody else's")
        return add(self, *args, **kwargs)

    monkeypatch.setattr(Register, "add", meddle)
    with pytest.raises(ReleaseError, match="exists"):
        release(table, out)
    assert out.read_text() == "somebody else's"
    assert set(os.listdir(tmp_path)) == {"flights.parquet", "out.parquet"}


@pytest.fixture
def stoppable():
    """Ctrl-C as in a terminal: whoever runs the tests in the background may have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("stoppable")
def test_a_stop_between_key_and_release_waits_for_the_end(table, tmp_path, monkeypatch):
    add = Register.add

    def stop(self, *args, **kwargs):
        os.kill(os.getpid(), signal.SIGINT)
        return add(self, *args, **kwargs)

    monkeypatch.setattr(Register, "add", stop)
    release(table, tmp_path / "out.parquet")
    assert ig.Release.read(tmp_path / "out.parquet").facts.rows == N
    with pytest.raises(KeyboardInterrupt):  # and afterwards a stop is a stop again
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("at", [1, 2])
def test_cut_off_at_its_last_steps_no_release_is_left_beside_anothers_key(
    table, tmp_path, monkeypatch, at
):
    release(table, tmp_path / "out.parquet")
    replace, renamed = os.replace, []

    def cut_off(*args):
        renamed.append(args)
        if len(renamed) == at:
            raise SystemExit
        replace(*args)

    monkeypatch.setattr("isinglass.files.os.replace", cut_off)
    with pytest.raises(SystemExit):
        release(table, tmp_path / "out.parquet", force=True, again=True)
    assert len(renamed) == at
    assert not (tmp_path / "out.parquet").exists()


def test_other_numbers_in_the_second_pass_are_noticed(table, tmp_path, monkeypatch):
    fit = ig.Distortion.fit_survey

    def meddle(self, facts):
        FRAME.assign(a=FRAME["a"].to_numpy()[::-1] * 0.5).to_parquet(table)
        return fit(self, facts)

    monkeypatch.setattr(ig.Distortion, "fit_survey", meddle)
    with pytest.raises(TableError, match="changed while"):
        release(table, tmp_path / "out.parquet")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("veil", [ig.Distortion(), ig.AdditiveNoise(), ig.Rotation(n_iter=1)])
def test_ranges_too_large_to_compute_with_are_refused(dtype, veil, tmp_path):
    X = RNG.random((100, 3)).astype(dtype)
    X[0, 1], X[1, 1] = 0.9 * np.finfo(dtype).max, -0.9 * np.finfo(dtype).max
    with pytest.raises(TableError, match="too large to compute with: x1"):
        release(X, tmp_path / "out.parquet", veil, drop=[])
    assert not list(tmp_path.iterdir())


def test_two_released_columns_never_share_a_name(tmp_path):
    frame = pd.DataFrame(RNG.random((50, 1)), columns=["b#0"]).assign(b=np.arange(50) % 2)
    with pytest.raises(TableError, match="more than one released column"):
        release(frame, tmp_path / "o.parquet", ig.AdditiveNoise(), one_hot=["b"], drop=[])


def test_what_cannot_be_written_is_told_without_its_value(tmp_path):
    when = pa.array([2**62 - 7, 1], pa.timestamp("s"))
    table = pa.table({"a": [1.0, 2.0], "when": when})
    with pytest.raises(ReleaseError, match="cannot be written as Parquet") as error:
        release(table, tmp_path / "o.parquet", drop=[], keep=["when"])
    assert "46116860" not in str(error.value)
    assert error.value.__cause__ is None
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("veil", [ig.Rotation(2, check_ica=False), ig.AdaptiveNoise(k=3)])
def test_methods_that_see_the_whole_table_pass_kept_columns_on(table, tmp_path, veil):
    out = tmp_path / "1.parquet"
    release(table, out, veil, keep=["tail"], drop=[])
    assert ig.Release.read(out).table.column("tail").to_pylist() == FRAME["tail"].tolist()


def test_notes_hung_on_kept_columns_do_not_leave(tmp_path):
    inner = pa.field("u", pa.int64(), metadata={"note": "CHILDSECRET"})
    outer = pa.field("s", pa.struct([inner]), metadata={"note": "SECRET"})
    schema = pa.schema([pa.field("a", pa.float64()), outer], metadata={"table": "SECRET"})
    table = pa.table([pa.array([1.0, 2.0]), pa.array([{"u": 1}, {"u": 2}], outer.type)], schema)
    release(table, tmp_path / "o.parquet", drop=[], keep=["s"])
    assert b"SECRET" not in (tmp_path / "o.parquet").read_bytes()


def test_noise_below_a_numbers_precision_warns(tmp_path):
    clock = (1.7e9 + 2000 * RNG.random((500, 1))).astype(np.float32)
    written = release(clock, tmp_path / "o.parquet", ig.AdditiveNoise(scale=0.1), drop=[])
    assert any("too small for the precision" in w for w in written.warnings)
    fine = release(
        clock.astype(float), tmp_path / "p.parquet", ig.AdditiveNoise(scale=0.1), drop=[]
    )
    assert not any("too small for the precision" in w for w in fine.warnings)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_a_gate_that_refuses_leaves_nothing_at_all(error, table, tmp_path):
    home, before = tmp_path / "home", set(os.listdir(tmp_path))

    def refuse(draft):
        raise error

    with pytest.raises(error):
        release(
            table, tmp_path / "out.parquet", ig.MultipartyPerturbation(alpha=0.1), home=home,
            again=False, gate=refuse,
        )  # fmt: skip
    assert set(os.listdir(tmp_path)) == before | {"home"}
    assert not (home / "releases.jsonl").exists()
    # Nor does the next try need `again`.
    release(table, tmp_path / "out.parquet", home=home, again=False)


def test_a_gate_sees_the_very_file_before_anything_has_a_name(table, tmp_path):
    out, seen = tmp_path / "out.parquet", []

    def gate(draft):
        assert {p.name for p in tmp_path.iterdir() if not p.name.startswith(".")} == {
            "flights.parquet"
        }
        assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".out.parquet")] == [
            draft.path.name
        ]
        seen.append((draft, draft.path.read_bytes(), numbers(draft.path)))

    written = release(
        table, out, ig.AdditiveNoise(), gate=gate, shuffle=True, drop=["tail", "b"], again=True
    )
    ((draft, data, Z),) = seen
    assert out.read_bytes() == data
    assert draft.columns == ("a", "c", "d")
    assert (draft.one_hot, dict(draft.categories), draft.earlier) == ((), {}, 0)
    np.testing.assert_array_equal(draft.shuffle_key, read_key(written.key).arrays["shuffle"])
    rows = FRAME[["a", "c", "d"]].to_numpy()
    order = keyed_order(draft.shuffle_key, N)
    np.testing.assert_array_equal(draft.perturbation.transform_rows(rows, 0)[order], Z)
    assert "key" not in repr(draft).lower().replace("shuffle_key", "")
    release(table, tmp_path / "2.parquet", gate=lambda d: seen.append(d.earlier))
    release(table, tmp_path / "3.parquet", gate=lambda d: seen.append(d.earlier))
    assert seen[1:] == [1, 2]


@pytest.mark.usefixtures("stoppable")
def test_a_stop_during_the_gate_is_a_stop(table, tmp_path):
    def stop(draft):
        os.kill(os.getpid(), signal.SIGINT)

    before = set(os.listdir(tmp_path))
    with pytest.raises(KeyboardInterrupt):
        release(table, tmp_path / "out.parquet", gate=stop)
    assert set(os.listdir(tmp_path)) == before


@pytest.mark.parametrize("name", ["out.parquet", "out.key", "flights.parquet"])
def test_what_the_caller_writes_takes_no_other_files_place(name, table, tmp_path):
    with pytest.raises(ReleaseError, match=r"different names|is read for"):
        release(table, tmp_path / "out.parquet", writes={"the report": tmp_path / name}, force=True)
    assert os.listdir(tmp_path) == ["flights.parquet"]


def test_encoded_columns_are_named_by_category_to_the_owner_alone(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.random(600), "country": np.repeat(["CH", "DE", "FR"], 200)})
    written = release(
        frame, tmp_path / "1.parquet", ig.AdditiveNoise(), drop=[], one_hot=["country"]
    )
    (ordered,) = [w for w in written.warnings if "row number" in w]
    assert "country = CH" in ordered
    assert "country#" not in ordered
    public = ig.Release.read(written.release).facts
    assert public.columns == ("a", "country#0", "country#1", "country#2")
    text = json.dumps(public.to_json())
    assert not any(name in text for name in ("CH", "DE", "FR"))
