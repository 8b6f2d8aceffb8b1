"""Private models as files: equal scores, nothing but what may leave, and every number bounded."""

import json
import os
import re
import zipfile

import numpy as np
import pandas as pd
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect.private import counts, detector
from isinglass.detect.private.card import card_page
from isinglass.detect.private.document import read_document
from isinglass.errors import ModelError
from isinglass.model import pack
from isinglass.signing import SigningKey, write_keys

RNG = np.random.default_rng(0)
TABLE = RNG.normal(size=(3000, 3))
FRAME = pd.DataFrame(
    {
        "load": RNG.lognormal(size=2000),
        "fleet": RNG.choice(["A", "B", "C"], 2000),
        "engines": RNG.choice([2, 4], 2000),
        "height": RNG.normal(1000, 50, 2000),
    }
)
WIDE = {
    "bounds": {"load": (0.01, 100), "height": (0, 5000), "engines": (1, 8)},
    "categories": {"fleet": ["A", "B"]},
    "steps": {"engines": 1},
    "log": ["load"],
    "records_per_person": 2,
}


def scored(table, path, **settings):
    fitted = ig.PrivateDetector(**settings).fit(table)
    fitted.save(path)
    return fitted, ig.load_model(path, unsigned=True)


@pytest.mark.filterwarnings("ignore:the noise is large", "ignore:threshold_ cannot")
@pytest.mark.parametrize(
    ("table", "settings"),
    [
        (TABLE, {"bounds": (-10, 10)}),
        (TABLE, {"bounds": (-10, 10), "rounds": 1, "epsilon": "0.3", "threshold_share": 0.1}),
        (TABLE, {"bounds": (-10, 10), "delta": 0, "threshold_share": 0.05}),
        (FRAME, WIDE),
        (FRAME, WIDE | {"rounds": 1, "threshold_share": 0.01}),
        (FRAME[["fleet"]], {"categories": {"fleet": ["A", "B", "C"]}}),
        (FRAME[["fleet"]], {"categories": {"fleet": ["A", True, 3, 2.5]}, "rounds": 1}),
    ],
)
def test_a_loaded_model_scores_as_the_fitted_one_to_the_last_bit(tmp_path, table, settings):
    fitted, loaded = scored(table, tmp_path / "m.zip", **settings)
    records = table[:500].copy()
    if isinstance(records, np.ndarray):
        records[:3] = np.nan, np.inf, -1e300
    np.testing.assert_array_equal(loaded.anomaly_score(records), fitted.anomaly_score(records))
    np.testing.assert_array_equal(loaded.explain(records), fitted.explain(records))
    assert loaded.threshold_ == fitted.threshold_
    assert loaded.n_estimated_ == fitted.n_estimated_
    assert loaded.guarantee_ == fitted.guarantee_
    loaded.save(tmp_path / "again.zip", name="m")
    assert (tmp_path / "again.zip").read_bytes() == (tmp_path / "m.zip").read_bytes()


def test_a_model_of_another_number_of_projections_opens_and_scores_the_same(tmp_path, monkeypatch):
    # Pure models had 32 before they had 48: the file says how many, and the card prices them.
    monkeypatch.setattr(detector, "usual_projections", lambda rounds, *, pure: 32)
    fitted, _ = scored(TABLE, tmp_path / "m.zip", bounds=(-10, 10), delta=0)
    monkeypatch.undo()
    loaded = ig.load_model(tmp_path / "m.zip", unsigned=True)
    np.testing.assert_array_equal(loaded.anomaly_score(TABLE), fitted.anomaly_score(TABLE))
    assert loaded.guarantee_ == fitted.guarantee_
    assert [r.cells for r in loaded.guarantee_.price.rounds] == [9, 32]


def test_a_file_of_29_columns_is_small(tmp_path):
    ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 29))).save(tmp_path / "m.zip")
    assert os.path.getsize(tmp_path / "m.zip") < 300_000


def test_files_of_neighboring_tables_differ_in_noised_counts_alone(tmp_path, monkeypatch):
    """With the same noised integers every byte is the same, whatever the table was."""
    kept = {}

    def door(raw, noise, *, n_jobs):
        return kept.setdefault((len(raw), noise.cells), raw + 7)

    monkeypatch.setattr(counts, "add_noise", door)
    settings = {"bounds": (-10, 10), "threshold_share": 0.2}
    key = SigningKey.draw()
    files = []
    for table in (TABLE, TABLE[:-1], np.vstack([TABLE, [[1e300, -np.inf, np.nan]]])):
        path = tmp_path / f"{len(files)}.zip"
        ig.PrivateDetector(**settings).fit(table).save(path, name="m", key=key)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]
    assert len(kept) == 3


def test_a_file_tells_no_time_and_no_number_of_rows(tmp_path):
    table = RNG.normal(size=(12_347, 2))
    fitted = ig.PrivateDetector(bounds=(-10, 10)).fit(table)
    fitted.save(tmp_path / "m.zip")
    with zipfile.ZipFile(tmp_path / "m.zip") as file:
        assert {about.date_time[0] for about in file.infolist()} == {1980}
        text = b"".join(file.read(name) for name in file.namelist()).decode(errors="replace")
    for estimate in (repr(fitted.n_estimated_), f"{round(fitted.n_estimated_):,}"):
        text = text.replace(estimate, "").replace(estimate.replace(",", ""), "")
    assert not re.search(r"(?<!\d)12347(?!\d)", text)  # longer numbers may hold it by chance
    assert not [word for word in ("second", "time", "date", "rows") if f'"{word}' in text]


def test_a_saved_file_is_signed_and_the_signer_checked(tmp_path):
    fitted = ig.PrivateDetector(bounds=(-10, 10)).fit(TABLE)
    key = SigningKey.draw()
    public = write_keys(tmp_path / "k", key, passphrase="p")
    fitted.save(tmp_path / "m.zip", key=tmp_path / "k", passphrase="p")
    assert ig.load_model(tmp_path / "m.zip", public).n_features_in_ == 3
    ig.load_model(tmp_path / "m.zip")
    fitted.save(tmp_path / "m.zip", key=SigningKey.draw(), force=True)
    with pytest.raises(ModelError, match="until now"):
        ig.load_model(tmp_path / "m.zip")
    fitted.save(tmp_path / "m.zip", force=True)
    with pytest.raises(ModelError, match="is not signed"):
        ig.load_model(tmp_path / "m.zip")
    with pytest.raises(Exception, match="exists"):
        fitted.save(tmp_path / "m.zip")


def document():
    fitted = ig.PrivateDetector(threshold_share=0.2, **WIDE).fit(FRAME)
    from isinglass.detect.private.document import write_document

    return json.loads(write_document(fitted._document))


DOCUMENT = document()
NAN = float("nan")
_COLUMN = {"name": "a", "low": 0, "high": 1, "step": None, "log": False}


def one(value):
    return [value, *DOCUMENT["middle"][1:]]


@pytest.mark.parametrize(
    "change",
    [
        {"format": "isinglass-private-model-2"}, {"rounds": 3}, {"rounds": True}, {"rounds": 1},
        {"projections": 65}, {"projections": 0}, {"seed": "mine"}, {"seed": 3},
        {"epsilon_millionths": 0}, {"epsilon_millionths": 10**19}, {"delta_1e15": -1},
        {"delta_1e15": 10**15}, {"records_per_person": 0}, {"records_per_person": 10**9},
        {"threshold_share": 0.6}, {"threshold": NAN}, {"threshold": 33}, {"threshold": "1"},
        {"n_estimated": -1}, {"n_estimated": 1e300}, {"n_estimated": None},
        {"middle": None}, {"middle": []}, {"middle": one(-1)}, {"middle": one(2**26 + 1)},
        {"middle": one(1.5)}, {"half": one(0)}, {"half": one(8191)}, {"half": one(2**40)},
        {"terms": []}, {"terms": 3}, {"terms": [[0] * 33] * 3}, {"terms": [[-1] * 33] * 3},
        {"terms": [[NAN] * 33] * 3}, {"terms": [[2**40] * 33] * 3}, {"terms": [[0]] * 3},
        {"category_terms": []}, {"category_terms": [[0, 0, 0]]}, {"category_terms": [None]},
        {"projection_terms": [[0] * 32]}, {"projection_middle": [0] * 64},
        {"columns": []}, {"columns": [_COLUMN] * 4}, {"columns": [{"name": "a"}]},
        {"columns": [_COLUMN | {"high": 0}]}, {"columns": [_COLUMN | {"low": NAN}]},
        {"columns": [_COLUMN | {"log": True}]}, {"columns": [_COLUMN | {"step": 3}]},
        {"columns": [_COLUMN | {"step": "1"}]}, {"columns": [_COLUMN | {"log": 1}]},
        {"columns": [{"name": "a", "categories": []}]}, {"columns": "abcd"},
        {"columns": [{"name": "a", "categories": [[]]}]},
        {"columns": [{"name": "a", "categories": [1, 1.0]}]},
        {"columns": [{"name": "a", "categories": [None]}]},
        {"columns": [_COLUMN | {"name": f"c{i}"} for i in range(1025)]},
        {"more": 1},
    ],
)  # fmt: skip
def test_every_number_is_bounded(tmp_path, change):
    read_document(json.dumps(DOCUMENT).encode())
    bad = json.dumps(DOCUMENT | change).encode()
    with pytest.raises(ValueError, match=r"."):
        read_document(bad)
    path = tmp_path / "m.zip"
    path.write_bytes(pack("m", {"model.json": bad, "card.json": b"{}"}))
    with pytest.raises(ModelError, match=r"^[^\n]*$"):
        ig.load_model(path, unsigned=True)


def test_a_document_cut_short_is_refused():
    whole = json.dumps(DOCUMENT).encode()
    for data in (b"", b"[]", b"3", whole[:100], whole[:-1], b"\xff" + whole):
        with pytest.raises(ValueError, match=r"."):
            read_document(data)


def test_a_forged_file_settles_no_signer(tmp_path):
    path, key = tmp_path / "m.zip", SigningKey.draw()
    path.write_bytes(pack("m", {"model.json": b"{}", "card.json": b"{}"}, key=key))
    with pytest.raises(ModelError, match="not known here"):
        ig.load_model(path)
    ig.PrivateDetector(bounds=(-10, 10)).fit(TABLE).save(path, force=True, key=SigningKey.draw())
    ig.load_model(path)


def test_categories_that_no_file_can_hold_are_refused(tmp_path):
    frame = pd.DataFrame({"day": pd.to_datetime(["2020-01-01"] * 3000)})
    for value in (frame["day"].iloc[0], None, float("nan"), b"a"):
        with pytest.raises(ValueError, match="must be texts, numbers, true or false, for column"):
            ig.PrivateDetector(categories={"day": [value]}).fit(frame)
    with pytest.raises(ValueError, match=r"where categories are declared; these columns .* day"):
        ig.PrivateDetector(categories={"day": ["2020-01-01"]}).fit(frame)
    fitted = ig.PrivateDetector(categories={"day": ["x" * 1001]}).fit(frame.astype(str))
    with pytest.raises(ModelError, match="categories of column day must be texts"):
        fitted.save(tmp_path / "m.zip")
    assert not (tmp_path / "m.zip").exists()


def test_the_card_says_settings_and_noised_counts_only(tmp_path):
    fitted = ig.PrivateDetector(threshold_share=0.2, **WIDE).fit(FRAME)
    fitted.save(tmp_path / "m.zip")
    card = json.loads(model.read(tmp_path / "m.zip").entries["card.json"])
    assert card["guarantee"] == json.loads(json.dumps(fitted.guarantee_.to_json()))
    assert abs(card["records"]["about"] - fitted.n_estimated_) <= 0.5
    # At epsilon 1 and without other settings: about 44 is one deviation.
    ig.PrivateDetector(bounds=(-10, 10)).fit(TABLE).save(tmp_path / "n.zip")
    card = json.loads(model.read(tmp_path / "n.zip").entries["card.json"])
    assert 80 < card["records"]["give_or_take"] < 100


@pytest.mark.parametrize("epsilon", [1, "0.7"])
def test_the_card_shows_floors_that_were_not_measured_on_the_table(tmp_path, epsilon):
    fitted = ig.PrivateDetector(epsilon, **WIDE).fit(FRAME)
    fitted.save(tmp_path / "m.zip")
    facts = json.loads(model.read(tmp_path / "m.zip").entries["card.json"])
    measured = facts["measured_floor"]
    assert measured["error_rate"] == 1e-6
    assert measured["isinglass"] == ig.__version__
    claims = [(f["epsilon"], f["delta"]) for f in measured["floors"]]
    assert claims == [(3.0, 1e-6), (1.0, 1e-6), (0.3, 1e-6), (0.1, 1e-6), (1.0, 0.0)]
    for floor in measured["floors"]:
        assert 0.2 * floor["epsilon"] < floor["epsilon_floor"] < floor["epsilon"]
        assert (floor["rho"] is None) is (floor["delta"] == 0)
        if floor["rho"] is not None:
            assert 0.6 * floor["rho"] < floor["rho_floor"] < floor["rho"]
    page = card_page(facts, signer=None, owner=None)
    shown = f"at least epsilon {measured['floors'][1]['epsilon_floor']:g}; the claim is 1."
    assert (shown in page) is (epsilon == 1)
    assert ("was not among those measured" in page) is (epsilon != 1)


CARD_CHANGES = {
    "epsilon": {"guarantee": {"epsilon": 0.001}},
    "delta": {"guarantee": {"delta": 0}},
    "records per person": {"guarantee": {"records_per_person": 1}},
    "columns": {"columns": []},
    "threshold": {"threshold": 0.5},
    "threshold share": {"threshold_share": None},
    "rounds": {"rounds": True},
    "name": {"name": "other"},
    "what it says to everyone": {"for_everyone": "Nobody learns anything."},
}


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    path = tmp_path_factory.mktemp("card") / "m.zip"
    ig.PrivateDetector(threshold_share=0.2, **WIDE).fit(FRAME).save(path)
    return model.read(path).entries


@pytest.mark.parametrize("what", CARD_CHANGES)
def test_a_card_that_contradicts_its_model_is_refused(what, entries, tmp_path):
    card, change = json.loads(entries["card.json"]), CARD_CHANGES[what]
    guarantee = card["guarantee"] | change.get("guarantee", {})
    bad = json.dumps(card | change | {"guarantee": guarantee}).encode()
    path = tmp_path / "m.zip"
    path.write_bytes(pack("m", entries | {"card.json": bad}, key=SigningKey.draw()))
    with pytest.raises(ModelError, match=rf"its card contradicts its model: {what}$"):
        ig.load_model(path)


@pytest.mark.parametrize("card", [b"{}", b'{"guarantee":[1]}', b'{"guarantee":"epsilon"}'])
def test_a_card_that_says_nothing_is_refused(card, entries, tmp_path):
    path = tmp_path / "m.zip"
    path.write_bytes(pack("m", entries | {"card.json": card}))
    with pytest.raises(ModelError, match="its card contradicts its model: name, columns"):
        ig.load_model(path, unsigned=True)


@pytest.mark.parametrize("value", [b"{}", b"[]", b"0", b'{"a":0}'])
def test_a_short_text_that_would_take_much_memory_is_not_read(value, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *given, **more: pytest.fail("was read"))
    data = b"[" + value + (b"," + value) * ((4 << 20) // (len(value) + 1) - 2) + b"]"
    assert len(data) <= model.ENTRIES["model.json"]
    with pytest.raises(ValueError, match="it has more than 600,000 values"):
        read_document(data)


def test_the_widest_model_is_far_below_the_limits():
    number = next(j for j, c in enumerate(DOCUMENT["columns"]) if "low" in c)
    wide = DOCUMENT["columns"][number] | {"low": 0.12345678901234567, "high": 12345.678901234567}
    columns = [wide | {"name": f"{j:0100}"} for j in range(1024)]
    many = {name: [DOCUMENT[name][0]] * 1024 for name in ("middle", "half", "terms")}
    data = json.dumps(DOCUMENT | many | {"columns": columns, "category_terms": []}).encode()
    assert len(read_document(data).model.layout.columns) == 1024
    assert len(data) < model.ENTRIES["model.json"] // 4
    assert len(json.dumps(columns)) < model.ENTRIES["card.json"] // 4
