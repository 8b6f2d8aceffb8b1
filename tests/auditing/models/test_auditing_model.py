"""Audits of models: overfitted ones are told apart, others are not, and what is said of it."""

from dataclasses import replace

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing.findings import NOT_MEASURED, RESISTED
from isinglass.auditing.models import audit_model as model_audit
from isinglass.auditing.models.audit_model import audit_model
from isinglass.auditing.models.model_files import audit_model_file
from isinglass.auditing.models.shadows import train_shadows
from isinglass.auditing.policy import Policy
from isinglass.auditing.report.sentences import sentences
from isinglass.detect.onnx_file import read_autoencoder
from isinglass.errors import AuditError
from isinglass.progress import quiet

D = 16
MIXED = np.random.default_rng(1).normal(size=(D, D))


def records(n, seed):
    return np.random.default_rng(seed).normal(size=(n, D)) @ MIXED


TABLE, OTHERS, ELSEWHERE = records(50, 2), records(50, 3), records(150, 4)


def exported(table, path, epochs):
    detector = ig.Autoencoder(
        8, max_epochs=epochs, validation_fraction=0, batch_size=10, random_state=0
    )
    detector.fit(table).export(path)
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A model that was trained far too long on few records, and one trained on other records."""
    folder = tmp_path_factory.mktemp("models")
    return {
        "overfitted": exported(TABLE, folder / "overfitted.onnx", 250),
        "elsewhere": exported(ELSEWHERE, folder / "elsewhere.onnx", 20),
    }


@pytest.fixture(scope="module")
def overfitted(files):
    return read_autoencoder(files["overfitted"])


@pytest.fixture(scope="module")
def elsewhere(files):
    return read_autoencoder(files["elsewhere"])


@pytest.fixture(scope="module")
def report(overfitted):
    return audit_model(overfitted, TABLE, OTHERS, n_shadows=8, random_state=0)


@pytest.fixture(scope="module")
def alike(overfitted):
    return audit_model(overfitted, TABLE, n_shadows=6, random_state=0)


def areas(report):
    return {m.name: m.area for m in report.findings.membership}


def test_an_overfitted_model_gives_its_records_away(report):
    found = areas(report)
    assert set(found) == {"loss_threshold", "difficulty", "likelihood_ratio", "residual"}
    assert found["likelihood_ratio"] > 0.7
    assert report.verdict != RESISTED
    attackers = {a.name: a for a in report.findings.attackers}
    assert attackers["outsider"].membership == found["loss_threshold"]
    assert attackers["acquainted"].membership == max(found.values())
    assert report.findings.settings["models_made_alike"] is False


def test_a_model_trained_on_other_records_tells_nothing(elsewhere):
    table, others = records(300, 5), records(300, 6)
    report = audit_model(elsewhere, table, others, n_shadows=4, random_state=0)
    for result in report.findings.membership:
        assert abs(result.area - 0.5) < 0.1, result.name
        assert result.low < 0.5 < result.high, result.name
    assert report.verdict == RESISTED


def test_outliers_stand_apart_and_shares_have_intervals(elsewhere):
    table, others = records(300, 5), records(300, 6)
    result = audit_model(elsewhere, table, others, n_shadows=4, random_state=0).findings
    for m in result.membership:
        assert (m.n_members, m.n_others) == (300, 300)
        low, high = m.outliers_range
        assert low <= m.outliers_area <= high
        low, high = m.recognized_1pct_range
        assert low <= m.recognized_1pct <= high
        assert m.recognized_01pct is None  # a thousandth of 300 records is none


def test_without_others_only_models_made_alike_are_measured(alike):
    assert alike.findings.settings["models_made_alike"] is True
    assert max(areas(alike).values()) > 0.7
    assert any("models made alike" in text for text in sentences(alike.findings.assumptions))
    assert "not of this very model" in alike.html()


def test_a_seed_repeats_an_audit(elsewhere):
    first, again, other = (
        audit_model(elsewhere, TABLE, n_shadows=4, random_state=seed).findings.membership
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_each_record_is_in_one_of_two_twins(elsewhere):
    shown = elsewhere.shown(TABLE)
    made = train_shadows(
        elsewhere, shown, np.arange(50), -9.0, n_models=4, rng=np.random.default_rng(0),
        progress=quiet,
    )  # fmt: skip
    assert (made.trained_on[0::2] ^ made.trained_on[1::2]).all()
    assert made.trained_on.sum(axis=1).tolist() == [25, 25, 25, 25]
    assert made.fit_reached


def test_a_fit_that_is_never_reached_is_no_comfort(elsewhere, monkeypatch):
    # Weights that repeat every record almost exactly: nobody here trains as hard.
    closer = replace(elsewhere)
    monkeypatch.setattr(type(elsewhere), "errors", _tiny_errors(type(elsewhere).errors, closer))
    monkeypatch.setattr("isinglass.auditing.models.shadows._MOST_STEPS", 20)
    report = audit_model(closer, records(300, 5), n_shadows=4, random_state=0)
    assert report.verdict == NOT_MEASURED
    assert any("too low" in note for note in sentences(report.findings.notes))
    policy = Policy.parse("[risks]\nmaximum_membership = 1.0\n")
    assert not all(line.met for line in policy.check(report.findings))


def _tiny_errors(real, which):
    def errors(self, shown):
        found = real(self, shown)
        return 1e-6 * found if self is which else found

    return errors


def test_without_torch_the_loss_threshold_alone_is_tried(overfitted, monkeypatch):
    monkeypatch.setattr(model_audit, "_lacks_torch", lambda: "torch is not installed")
    report = audit_model(overfitted, TABLE, OTHERS, random_state=0)
    assert set(areas(report)) == {"loss_threshold"}
    assert [s.name for s in report.findings.skipped] == ["likelihood_ratio"]
    assert any("Only the loss threshold" in note for note in sentences(report.findings.notes))
    policy = Policy.parse("[risks]\nmaximum_membership = 1.0\n")
    assert not all(line.met for line in policy.check(report.findings))
    with pytest.raises(AuditError, match=r"isinglass\[neural\]"):
        audit_model(overfitted, TABLE, random_state=0)


@pytest.mark.parametrize("change", [lambda X: 0.2 * X, lambda X: X + X.std(axis=0)])
def test_others_of_another_kind_are_found_out_and_not_used(elsewhere, change):
    shifted = change(records(200, 6))
    report = audit_model(elsewhere, records(200, 5), shifted, n_shadows=4, random_state=0)
    assert report.findings.settings["models_made_alike"] is True
    assert any("were not used" in note for note in sentences(report.findings.notes))
    assert max(areas(report).values()) < 0.7


def test_others_that_are_in_the_table_do_not_count(elsewhere):
    mixed = np.vstack([TABLE[:20], OTHERS])
    found = audit_model(elsewhere, TABLE, mixed, n_shadows=4, random_state=0).findings
    assert found.membership[0].n_others == 50
    assert any("20 of the others" in note for note in sentences(found.notes))
    with pytest.raises(AuditError, match="10 others"):
        audit_model(elsewhere, TABLE, TABLE, random_state=0)


def test_repeated_records_do_not_make_random_others_unlike(elsewhere):
    few = records(12, 7)  # in the middle, and many times over
    drawn = np.vstack([records(200, 8), 0.3 * few[np.random.default_rng(0).integers(12, size=200)]])
    drawn = np.random.default_rng(1).permutation(drawn)
    report = audit_model(elsewhere, drawn[:200], drawn[200:], n_shadows=4, random_state=0)
    assert report.findings.settings["models_made_alike"] is False


def test_a_table_of_other_columns_is_refused(elsewhere, files):
    with pytest.raises(AuditError, match="16 columns"):
        audit_model(elsewhere, TABLE[:, :5])
    with pytest.raises(AuditError, match="16 columns"):
        audit_model_file(TABLE[:, :5], files["elsewhere"])


def test_columns_in_another_order_are_noticed(overfitted):
    report = audit_model(overfitted, 50 + TABLE[:, ::-1], OTHERS, n_shadows=4, random_state=0)
    assert any("another order" in note for note in sentences(report.findings.notes))


@pytest.mark.parametrize(
    ("demand", "met"),
    [
        ("[risks]\nmaximum_membership = 1.0", True),
        ("[risks]\nmaximum_membership = 0.55", False),
        ("[attackers]\ninsider = 1.0", True),
        ("[attackers]\ninsider = 0.1", False),
        # What is not measured of a model is not met, however mild the demand.
        ("[attacks]\nmaximum_gain = 1.0", False),
        ("[attacks]\nrequired = ['naive']", False),
        ("[attacks]\nmaximum_column_gain = 1.0", False),
        ("[release]\nmaximum_verbatim = 1.0", False),
        ("[release]\nmaximum_unique = 1.0", False),
        ("[linkage]\nminimum_level = 0", False),
        ("[detection]\nminimum = 0.0", False),
        ("[risks]\nmaximum_singling_out = 1.0", False),
        ("[risks]\nmaximum_inference = 1.0", False),
        ("[risks]\nmaximum_reidentification = 1.0", False),
    ],
)
def test_a_policy_on_a_model(report, demand, met):
    assert all(line.met for line in Policy.parse(demand).check(report.findings)) is met


def test_the_short_form_has_the_keys_of_any_audit(report):
    document = report.to_contract()
    assert list(document) == [
        *("rows", "columns", "detection", "attacks", "privacy", "linkage", "verdict"),
        *("attackers", "risks"),
    ]
    assert document["attacks"] == []
    assert document["linkage"] is None
    assert [document["detection"][k] for k in ("rate", "low", "high")] == [None, None, None]
    assert set(document["risks"].values()) == {None}
    assert [a["name"] for a in document["attackers"]] == ["outsider", "acquainted", "insider"]


def test_the_page_says_what_was_found_and_loads_nothing(report, tmp_path):
    page = report.html()
    assert "Audit of a model" in page
    assert "likelihood ratio" in page
    assert "http" not in page.replace("http-equiv", "")
    assert str(report.findings.settings["random_state"]) in page
    report.save(tmp_path / "report.html", public=True)
    report.save(tmp_path / "report.json")
    assert "ModelReport" in repr(report)
    assert report.verdict in report._repr_html_()
    assert report.promise.kind == "audited"
