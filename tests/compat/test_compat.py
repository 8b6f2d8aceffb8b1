"""Files of an earlier version open unchanged, and do what they did."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow.parquet as pq
import pytest
from tests.compat import make, recipe
from tests.compat.comparing import assert_read, assert_same_release, header, names_in, same
from tests.curate import ledgers, models

import isinglass as ig
from isinglass.attack.registry import ATTACKS
from isinglass.errors import BudgetError, KeyFileError, PrivacyWarning
from isinglass.release import read_facts

EXPECTED = json.loads((Path(__file__).parent / "files" / "expected.json").read_text("utf-8"))
# Attacks that were added after the files were made.
LATER_ATTACKS = {"decoding"}
# Behind a query of no entries: the statements that made a ledger's table.
ONLY_SCHEMA = "WHERE 0 UNION SELECT type || name || sql FROM sqlite_schema ORDER BY 1"


@pytest.mark.parametrize("method", EXPECTED["releases"])
def test_a_key_makes_its_release_again(shared, tmp_path, method, recwarn):
    path = shared / "releases" / f"{method}.parquet"
    assert_read(path, EXPECTED["releases"][method])
    key = ig.load_key(path.with_suffix(".key"))
    assert_same_release(path, key, recipe.numbers(shared))
    key.save_key(tmp_path / "new.key")
    former, new = header(path.with_suffix(".key")), header(tmp_path / "new.key")
    assert former[0] == new[0]
    for name in ("columns", "one_hot", "categories"):  # known to who wrote the release alone
        former[1]["facts"].pop(name)
    assert same(new[1], former[1])
    assert not recwarn.list


@pytest.mark.parametrize("method", EXPECTED["locked"])
def test_a_locked_key_opens_with_its_passphrase(shared, method):
    path = shared / "locked" / f"{method}.parquet"
    assert_read(path, EXPECTED["locked"][method])
    opened = ig.load_key(path.with_suffix(".key"), passphrase=recipe.PASSPHRASE)
    assert_same_release(path, opened, recipe.numbers(shared))
    with pytest.raises(KeyFileError, match="passphrase"):
        ig.load_key(path.with_suffix(".key"))


def test_a_locked_key_refuses_another_passphrase(shared):
    with pytest.raises(KeyFileError, match="passphrase"):
        ig.load_key(shared / "locked" / "multiparty.key", passphrase="another")


def test_a_key_that_others_can_read_is_warned_of(shared, tmp_path):
    path = shutil.copy(shared / "releases" / "tanh.key", tmp_path)
    Path(path).chmod(0o644)
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


def test_a_new_release_has_the_names_of_the_old(folder, typed):
    typed(*("new.parquet" if word == "shuffled.parquet" else word for word in recipe.SHUFFLED))
    former, new = (header(folder / f"{name}.key") for name in ("shuffled", "new"))
    assert former[0] == new[0]
    assert same(new[1], former[1])
    files = [pq.read_metadata(folder / f"{name}.parquet") for name in ("shuffled", "new")]
    former, new = (file.schema.to_arrow_schema() for file in files)
    assert former.equals(new)
    former, new = (json.loads(file.metadata[b"isinglass"]) for file in files)
    assert set(names_in(former)) <= set(names_in(new))
    told = {"version", "warnings"}  # another version may say more, and in other words
    assert same(new, {name: fact for name, fact in former.items() if name not in told})


def audited(name):
    return (
        "audit", "table.csv", f"{name}.parquet", "--key", f"{name}.key", "--max-pairs", 0,
        "--trials", 1, "--seed", 1, "--policy", "policies/origin.toml",
    )  # fmt: skip


def test_a_release_is_audited_and_its_key_shows_how_it_was_made(typed):
    # The policy is met by what a key shows, and by nothing else.
    said = typed(*audited("releases/condensation"))
    assert said["rows"] == 60
    assert "naive" in {attack["name"] for attack in said["attacks"]}


def test_a_policy_of_before_refuses_an_identifier_that_was_kept(typed):
    said = typed(*audited("shuffled"), ends=1)
    (refused,) = (line for line in said.splitlines() if line.startswith("policy: "))
    assert "60 combinations of kept values in 60 rows" in refused


def test_a_public_matrix_is_the_same_on_every_machine(folder, typed):
    matrix = ig.PublicMatrix.load(folder / "releases" / "multiparty.matrix.json")
    assert matrix.matrix.tolist() == EXPECTED["matrix"]
    former = json.loads((folder / "releases" / "multiparty.matrix.json").read_text("utf-8"))
    assert same(matrix.to_json(), former)
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
    lines = (folder / "register" / "releases.jsonl").read_text().splitlines()
    former, new = (set(names_in(json.loads(line))) for line in lines)
    assert former <= new


def test_a_space_puts_records_where_they_were(folder, typed):
    space = ig.Space.load(folder / "space.json")
    # To the bit: an answer in a ledger is found again by its place.
    places = space.places(recipe.numbers(folder)[:3])
    assert places.tolist() == EXPECTED["space"]["places"]
    said = typed(*recipe.asked("table.csv", "new.db", []), "--budget", 1, "--dry-run")
    assert said["spent"] == 0.3
    assert same(space.to_json(), json.loads((folder / "space.json").read_text("utf-8")))
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
    assert same(typed(*ask, "--request-id", "monday"), expected["monday"])
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


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_ledger_of_before_models_takes_one_once_it_is_amended(folder, typed, kind, request):
    where = folder / "ledger" / "sqlite.db"
    if kind == "postgresql":
        url = request.getfixturevalue("server").url
        where = recipe.restored(folder / "ledger" / "postgresql.sql", url)
    _, secret, _, note = recipe.held(kind)
    held = {"secret": folder / secret, "note": folder / note}
    with ig.Ledger(where, **held) as ledger:
        assert ledger.contract.delta_cap == 0
        assert not ledger._keeper.db.has_counts()
        with pytest.raises(BudgetError, match="of the cap of 0, 0 is spent"):
            models.charged(ledger, micro=10**5, femto=1, rho=models.TINY, records_per_person=2)
        assert models.pure(ledger, 10**5, records_per_person=2) == models.COUNTS
        ledger.amend(delta_cap=models.DELTA, reason="a model a year")
        how = {"micro": 10**5, "femto": models.DELTA, "rho": models.RHO / 100}
        models.charged(ledger, "february", **how, records_per_person=2)
        assert ledger.verify().problems == []
    shown = typed("ledger", "show", str(where), *recipe.held(kind))
    assert shown["spent"] == pytest.approx(EXPECTED["ledger"][kind]["show"]["spent"] + 0.2)
    assert [model["stored"] for model in shown["models"]] == [True, True]


def test_a_new_ledger_has_the_names_of_the_old(folder):
    make.filled(folder, "ledger/new.db", "new")

    def written(name):
        where = str(folder / "ledger" / f"{name}.db")
        entries = ledgers.rows(where, 'kind, "user", "key", micro, version, facts', "ORDER BY seq")
        facts = [set(names_in(json.loads(entry[-1] or "null"))) for entry in entries]
        return [entry[:-1] for entry in entries], facts

    former, new = written("sqlite"), written("new")
    assert former[0] == new[0]
    assert all(names <= more for names, more in zip(former[1], new[1], strict=True))
    schema = [
        ledgers.rows(str(folder / "ledger" / f"{name}.db"), "0", ONLY_SCHEMA)
        for name in ("sqlite", "new")
    ]
    assert schema[0] == schema[1]


def test_a_search_goes_on_without_measuring_again(folder, typed, monkeypatch):
    """A search is of its table, its settings and the attacks there are: a new attack ends it."""
    before = (folder / "tune.jsonl").read_bytes()
    assert "a search with other settings" in typed(*recipe.TUNE, ends=2)
    known = {name: kind for name, kind in ATTACKS.items() if name not in LATER_ATTACKS}
    monkeypatch.setattr("isinglass.auditing.tuning.tune.ATTACKS", known)
    said = typed(*recipe.TUNE)
    assert (folder / "tune.jsonl").read_bytes() == before
    assert same(said, EXPECTED["tune"])


@pytest.mark.parametrize("name", EXPECTED["policies"])
def test_a_policy_demands_what_it_did(shared, name):
    assert same(recipe.demands(shared / "policies" / name), EXPECTED["policies"][name])


def test_a_model_scores_as_it_did(shared):
    expected = EXPECTED["model"]
    session = onnxruntime.InferenceSession(
        shared / "model.onnx", providers=["CPUExecutionProvider"]
    )
    record = recipe.numbers(shared).astype(np.float32)
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
