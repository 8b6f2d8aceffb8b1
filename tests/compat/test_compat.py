"""Files of an earlier version open unchanged, and do what they did."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from tests.cli.commands import inside
from tests.compat import recipe
from tests.curate import postgres

import isinglass as ig
from isinglass.errors import KeyFileError, PrivacyWarning
from isinglass.release import read_facts

FILES = Path(__file__).parent / "files"
EXPECTED = json.loads((FILES / "expected.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", autouse=True)
def _checkout_stays_as_it_is():
    """No test changes, adds or removes one of the files."""

    def found():
        paths = sorted(path for path in FILES.rglob("*") if path.is_file())
        return {path: path.read_bytes() for path in paths}

    before = found()
    yield
    assert found() == before


@pytest.fixture
def folder(tmp_path):
    """A copy of all files, closed to others as those that made them had them."""
    copy = tmp_path / "files"
    shutil.copytree(FILES, copy)
    for path in copy.rglob("*"):
        path.chmod(0o700 if path.is_dir() else 0o600)
    return copy


@pytest.fixture
def typed(folder):
    """A command in that folder: what it says in JSON, or what it says when it ends otherwise."""

    def run(*words, ends=0):
        done = inside(*words, "--json", cwd=folder)
        assert done.returncode == ends, done.stderr
        return json.loads(done.stdout) if ends == 0 else done.stderr

    return run


@pytest.fixture(scope="module")
def server():
    """A PostgreSQL server of this file's own."""
    if (reason := postgres.missing()) is not None:
        pytest.skip(reason)
    with postgres.running() as server:
        yield server


def same(found, expected):
    """Equal, numbers up to what processors round differently; facts may have been added."""
    if isinstance(expected, dict):
        return expected.keys() <= found.keys() and all(
            same(found[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    return found == expected


def assert_same_release(path, key, table):
    """A key makes, from the table, the numbers that its release holds."""
    released = ig.Release.read(path).to_numpy()
    if isinstance(key, ig.Condensation):  # makes its records of what the key holds alone
        again = key.emit_again(np.float64)
    else:
        again = key.transform_rows(table, 0)
    # Another processor may sum in another order; no other key comes anywhere near.
    np.testing.assert_allclose(again, released, rtol=1e-12, atol=1e-12 * np.abs(released).max())


def assert_read(path, expected):
    """A release says what it said, and holds the same bytes of numbers."""
    assert same(read_facts(path).to_json(), {**expected["facts"], **_tuples(expected["facts"])})
    numbers = ig.Release.read(path).to_numpy()
    assert hashlib.sha256(numbers.tobytes()).hexdigest() == expected["sha256"]


def _tuples(facts):
    """What JSON turned into lists."""
    bounds = facts["bounds"]
    found = {name: tuple(facts[name]) for name in ("columns", "kept", "warnings")}
    return found | {"bounds": bounds and {name: tuple(ends) for name, ends in bounds.items()}}


@pytest.mark.parametrize("method", EXPECTED["releases"])
def test_a_key_makes_its_release_again(folder, method, recwarn):
    path = folder / "releases" / f"{method}.parquet"
    assert_read(path, EXPECTED["releases"][method])
    assert_same_release(path, ig.load_key(path.with_suffix(".key")), recipe.numbers(folder))
    assert not recwarn.list


@pytest.mark.parametrize("method", EXPECTED["locked"])
def test_a_locked_key_opens_with_its_passphrase(folder, method):
    path = folder / "locked" / f"{method}.parquet"
    assert_read(path, EXPECTED["locked"][method])
    opened = ig.load_key(path.with_suffix(".key"), passphrase=recipe.PASSPHRASE)
    assert_same_release(path, opened, recipe.numbers(folder))
    with pytest.raises(KeyFileError, match="passphrase"):
        ig.load_key(path.with_suffix(".key"))


def test_a_locked_key_refuses_another_passphrase(folder):
    with pytest.raises(KeyFileError, match="passphrase"):
        ig.load_key(folder / "locked" / "multiparty.key", passphrase="another")


def test_a_key_that_others_can_read_is_warned_of(folder):
    path = folder / "releases" / "tanh.key"
    path.chmod(0o644)
    with pytest.warns(PrivacyWarning, match="chmod 600"):
        ig.load_key(path)


def test_a_key_perturbs_further_records_as_it_did(folder, typed):
    path = folder / "shuffled.parquet"
    assert_read(path, EXPECTED["shuffled"])
    typed(
        "release", "table.csv", "-o", "again.parquet", "--use-key", "shuffled.key",
        "--keep", "id", "--one-hot", "site",
    )  # fmt: skip
    first, again = ig.Release.read(path), ig.Release.read(folder / "again.parquet")
    rows = [release.table.column("id").to_numpy() for release in (first, again)]
    assert not np.array_equal(*rows)
    pairs = zip((first, again), rows, strict=True)
    ordered = [release.to_numpy()[np.argsort(ids)] for release, ids in pairs]
    np.testing.assert_allclose(*ordered, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["shuffled", "releases/gaussian", "releases/condensation"])
def test_a_release_is_audited_and_its_key_shows_how_it_was_made(typed, name):
    # The policy is met by what a key shows, and by nothing else.
    said = typed(
        "audit", "table.csv", f"{name}.parquet", "--key", f"{name}.key", "--pairs", 0, "--trials", 1,
        "--seed", 1, "--policy", "policies/origin.toml",
    )  # fmt: skip
    assert said["rows"] == 60
    assert "naive" in {attack["name"] for attack in said["attacks"]}


def test_a_public_matrix_is_the_same_on_every_machine(folder, typed):
    matrix = ig.PublicMatrix.load(folder / "releases" / "multiparty.matrix.json")
    assert matrix.matrix.tolist() == EXPECTED["matrix"]
    typed(
        *recipe.RELEASE, "-o", "joined.parquet", "--method", "multiparty", "--set", "alpha=0.1",
        "--public-matrix", "releases/multiparty.matrix.json",
    )  # fmt: skip
    said = read_facts(folder / "joined.parquet").parameters["public_matrix"]
    assert said == EXPECTED["releases"]["multiparty"]["facts"]["parameters"]["public_matrix"]


def test_the_register_knows_what_has_left(folder, typed, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(folder / "register"))
    expected = EXPECTED["register"]
    assert sorted(os.listdir(folder / "register")) == expected["files"]
    said = typed(*recipe.RELEASE, "-o", "again.parquet", ends=2)
    for fact in (expected["method"], expected["when"][:10], expected["release"]):
        assert fact in said
    assert "--again" in said
    said = typed(*recipe.asked("table.csv", "new.db", []), "--budget", 1, ends=2)
    assert "--also-released" in said
    typed("release", "public.csv", "--drop", "id,site", "-o", "others.parquet")


def test_a_space_puts_records_where_they_were(folder, typed):
    space = ig.Space.load(folder / "space.json")
    # To the bit: an answer in a ledger is found again by its place.
    places = space.places(recipe.numbers(folder)[:3])
    assert places.tolist() == EXPECTED["space"]["places"]
    said = typed(*recipe.asked("table.csv", "new.db", []), "--budget", 1, "--dry-run")
    assert said["spent"] == 0.3
    # And still says that it was planned on these records.
    said = typed(*recipe.asked("public.csv", "new.db", []), "--budget", 1, ends=2)
    assert "planned on" in said


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_ledger_goes_on(folder, typed, kind, request):
    where = "ledger/sqlite.db"
    if kind == "postgresql":
        url = request.getfixturevalue("server").url
        where = recipe.restored(folder / "ledger" / "postgresql.sql", url)
    expected, held = EXPECTED["ledger"][kind], recipe.held(kind)

    def shown():
        return typed("ledger", "show", where, *held)

    assert same(typed("ledger", "verify", where, *held), expected["verify"])
    assert expected["verify"]["problems"] == []
    assert same(shown(), expected["show"])
    ask = recipe.asked("table.csv", where, held)
    # Answered before: from the store, for nothing, to everybody their own.
    for user, answered in expected["again"].items():
        assert same(typed(*ask, "--user", user), answered)
    assert same(typed(*ask, "--key", "monday"), expected["monday"])
    assert same(typed(*ask, "--dry-run", "--fresh"), expected["prices"])
    assert shown()["head"] == expected["show"]["head"]
    # Drawn anew, as the dry run said.
    paid = typed(*ask, "--fresh")
    assert {n: paid[n] for n in ("spent", "left")} == {
        n: expected["prices"][n] for n in ("spent", "left")
    }
    assert typed("ledger", "verify", where, *held)["problems"] == []
    assert "version" in typed(*recipe.asked("earlier.csv", where, held), ends=2)
    # The analyst has a share of 0.3, and 0.1 of it is spent.
    typed(*ask, "--user", "analyst", "--epsilon", "0.21", ends=1)
    assert typed(*ask, "--user", "analyst", "--epsilon", "0.2")["left"] == 0


def test_a_search_goes_on_without_measuring_again(folder, typed):
    """A search is of its table, its settings and the attacks there are: a new attack ends it."""
    before = (folder / "tune.jsonl").read_bytes()
    said = typed(*recipe.TUNE)
    assert (folder / "tune.jsonl").read_bytes() == before
    assert same(said, EXPECTED["tune"])


@pytest.mark.parametrize("name", EXPECTED["policies"])
def test_a_policy_demands_what_it_did(folder, name):
    assert recipe.demands(folder / "policies" / name) == EXPECTED["policies"][name]


def test_a_model_scores_as_it_did(folder):
    expected = EXPECTED["model"]
    session = onnxruntime.InferenceSession(
        folder / "model.onnx", providers=["CPUExecutionProvider"]
    )
    record = recipe.numbers(folder).astype(np.float32)
    scores, outliers, again = session.run(
        ["score", "is_outlier", "reconstruction"], {"record": record}
    )
    np.testing.assert_allclose(scores, expected["scores"], rtol=1e-3, atol=1e-6)
    assert np.flatnonzero(outliers).tolist() == expected["outliers"]
    assert again.shape == record.shape


def test_a_model_is_audited(typed):
    said = typed("audit", "table.csv", "model.onnx", "--drop", "id,site", "--seed", 1)
    assert said["rows"] == 60
    assert said["columns"] == 4


def names_in(document, before=()):
    """Every name in a document, with those it lies under; items of a list count as one."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*before, name)
            yield from names_in(value, (*before, name))
    elif isinstance(document, list):
        for item in document:
            yield from names_in(item, (*before, "[]"))


def test_a_report_has_every_name_that_it_had(folder, typed):
    printed = typed(*recipe.AUDIT, "-o", "new.json")
    assert set(names_in(EXPECTED["report"])) <= set(names_in(printed))
    former, new = (
        json.loads((folder / name).read_text(encoding="utf-8"))
        for name in ("report.json", "new.json")
    )
    assert former["format"] == new["format"]
    assert set(names_in(former)) <= set(names_in(new))
    assert [a["name"] for a in former["attackers"]] == [a["name"] for a in new["attackers"]]
    for entries in ("attacks", "skipped", "membership"):
        assert {a["name"] for a in former[entries]} <= {a["name"] for a in new[entries]}
    for fact in ("method", "promise", "rows", "columns", "kind", "verdict"):
        assert former[fact] == new[fact]
    assert former["detection"]["rate"] == new["detection"]["rate"] == 1
    for name in ("attacks", "detection", "privacy", "linkage", "risks", "attackers", "verdict"):
        assert name in printed


def test_warnings_of_a_release_are_strings(typed):
    said = typed(*recipe.RELEASE, "-o", "new.parquet")
    assert said["warnings"]
    assert all(isinstance(warning, str) for warning in said["warnings"])
    assert {"rows", "columns", "method", "release", "key", "promise", "warnings"} == said.keys()
