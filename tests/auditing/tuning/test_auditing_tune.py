"""The search for a setting: what it tries, what it keeps, and that it goes on where it stopped."""

from __future__ import annotations

import html
import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

import isinglass as ig
from isinglass.auditing.tuning import evaluation as measured
from isinglass.auditing.tuning import tune as searching
from isinglass.auditing.tuning.effort import DECISIVE, Effort
from isinglass.auditing.tuning.evaluation import AttackerGain, Measurement, measure
from isinglass.auditing.tuning.guaranteed import ModelPoint, bound_of, guaranteed_points
from isinglass.auditing.tuning.points import Point
from isinglass.auditing.tuning.search_space import Candidate, candidates, refine, searchable
from isinglass.cli.options import perturbation_for
from isinglass.errors import AuditError
from isinglass.formats import html_text
from isinglass.method_names import METHODS

pytestmark = pytest.mark.filterwarnings("ignore::isinglass.errors.PrivacyWarning")


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(9000, 4))


#: Models as they are compared: what they find does not depend on the settings.
MODELS = (
    ModelPoint(0.3, 1e-6, 0.149, 0.62, 0.55, 0.7, 3),
    ModelPoint(1.0, 1e-6, 0.462, 0.85, 0.82, 0.88, 3),
    ModelPoint(3.0, 1e-6, 0.905, 0.9, 0.87, 0.93, 3),
)


class Calls(list):
    """Settings and rows of every measurement; `efforts` are rows and efforts."""

    def __init__(self):
        super().__init__()
        self.efforts = []


@pytest.fixture
def made_up(monkeypatch):
    """Settings whose figures are known: more noise finds less and gives away less."""
    calls = Calls()

    monkeypatch.setattr(searching, "guaranteed_points", lambda *given: MODELS)

    def made(candidate, table, seed, *, effort, **more):
        calls.append((candidate, len(table)))
        calls.efforts.append((len(table), effort))
        strength = {"gaussian": 1.0, "uniform": 1.5}.get(candidate.method, 30.0)
        x = (candidate.value or 1.0) / strength
        detection, gain = 1 / (1 + x), 1 / (1 + 4 * x)
        if candidate.method not in ("gaussian", "uniform"):
            detection, gain = 0.1, 0.9
        named = tuple(
            AttackerGain(name, g, g - 0.01, g + 0.01, "known_input")
            for name, g in (("outsider", gain / 4), ("acquainted", gain / 2), ("insider", gain))
        )
        (own,) = [a for a in named if a.name == effort.attacker]
        return Measurement(
            detection, 500, own.gain, own.gain_low, own.gain_high, own.strongest,
            () if effort.stop else named, ("known_input insider 40",),
        )  # fmt: skip

    monkeypatch.setattr(searching, "measure", made)
    return calls


def test_every_method_whose_rows_are_records_is_searched():
    assert {c.method for c in candidates("all", 8)} == set(METHODS) - {"condensation"}
    one_column = {c.method for c in candidates("all", 1)}
    assert set(searchable()) - one_column == {"multiparty", "rotation", "projection"}


@pytest.mark.parametrize("candidate", candidates("all", 8), ids=str)
def test_code_and_command_make_the_same_perturbation(candidate):
    made = eval(candidate.code(), {"ig": ig})
    words = candidate.command().split()
    assert words[:3] == ["isinglass", "release", "TABLE"]
    settings = [words[i + 1] for i, word in enumerate(words) if word == "--set"]
    typed = perturbation_for(words[words.index("--method") + 1], settings)
    for other in (made, typed):
        assert type(other) is type(candidate.perturbation())
        assert other.get_params() == candidate.perturbation().get_params()


@pytest.mark.parametrize("thorough", [False, True])
def test_each_round_keeps_the_better_half_and_sees_more_rows(table, made_up, thorough):
    methods = ["gaussian", "uniform", "linear", "square"]
    found = ig.tune(table, methods, thorough=thorough, random_state=1)
    sizes = [n for _, n in made_up]
    assert sizes.count(1000) == 14
    assert sizes.count(3000) == 7
    # Four settings and those next to the best, three draws each.
    assert sizes.count(9000) in (12, 15, 18)
    assert {p.round for p in found.points} == {1, 2, 3}
    assert not any(p.method in ("linear", "square") for p in found.points if p.round > 1)


def test_the_frontier_holds_what_nobody_beats(table, made_up):
    found = ig.tune(table, ["gaussian", "uniform"], random_state=1)
    front = [p for p in found.points if p.on_frontier]
    last = [p for p in found.points if p.round == 3]
    assert front
    for p in last:
        assert p.on_frontier == (not any(q.dominates(p) for q in last))


def test_the_setting_recommended_has_what_was_asked_for(table, made_up):
    found = ig.tune(table, ["gaussian"], min_detection=0.5, max_attack_gain=0.5, random_state=1)
    best = found.recommended
    assert best.detection_low >= 0.5
    assert best.gain_high <= 0.5
    # Strengths 0.25 … 0.95 have both (1 / (1 + 4 x) <= .49 and 1 / (1 + x) - interval >= .5); of
    # those tried the one that gives least away is the strongest.
    assert best.value == max(p.value for p in found.points if 0.26 < p.value < 0.9)
    assert found.code == f"ig.AdditiveNoise('gaussian', scale={best.value:g})"
    assert found.command("t.csv").endswith(f"--method gaussian --set scale={best.value:g}")


def test_the_command_carries_what_the_search_was_told_about_columns(table, made_up, tmp_path):
    found = ig.tune(table, ["gaussian"], min_detection=0.5, max_attack_gain=0.5, random_state=1)
    assert found.command().startswith("isinglass release TABLE -o RELEASE --method gaussian")
    options = ("--drop", "tail number,fleet", "--one-hot", "gear", "--missing", "drop")
    found = replace(found, table="my flights.csv", options=options)
    command = found.command()
    words = shlex.split(command)
    assert words[:3] == ["isinglass", "release", "my flights.csv"]
    assert words[3:9] == list(options)
    assert words[9:13] == ["-o", "RELEASE", "--method", "gaussian"]
    assert shlex.split(found.command("there/my flights.csv"))[2] == "there/my flights.csv"
    found.save(tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["recommended"]["command"] == command
    found.save(tmp_path / "f.html")
    assert html.escape(command) in (tmp_path / "f.html").read_text()


def test_where_nothing_has_both_nothing_is_recommended(table, made_up):
    found = ig.tune(table, ["gaussian"], min_detection=0.99, max_attack_gain=0.01, random_state=1)
    assert found.recommended is None
    assert found.code is None
    assert found.sentence.startswith("No setting that was tried keeps 99 %")


def steps_of(table, made_up, **wishes):
    found = ig.tune(table, ["gaussian"], random_state=1, **wishes)
    found = replace(found, options=("--drop", "id", "--one-hot", "gear", "--missing", "drop"))
    return found, found.next_steps("my t.csv")


def test_where_nothing_has_both_the_cheapest_model_that_finds_enough_comes_first(table, made_up):
    found, steps = steps_of(table, made_up, min_detection=0.8, max_attack_gain=0.01)
    assert found.recommended is None
    words = shlex.split(steps[0].command)
    assert words[:5] == ["isinglass", "model", "my t.csv", "--drop", "id"]
    assert words[5:7] == ["--epsilon", "1"]  # at 0.3 the lower limit is .55
    assert "--one-hot" not in words  # a model takes categories as they are
    assert "85 % of the same anomalies." in steps[0].sentence
    assert "at most 46 % of the way" in steps[0].sentence
    assert [s.command for s in steps if s.command][-1] == "isinglass plan 'my t.csv'"


def test_a_model_that_finds_too_few_is_said_to(table, made_up, monkeypatch):
    few = replace(MODELS[1], detection=0.2, detection_low=0.1)
    monkeypatch.setattr(searching, "guaranteed_points", lambda *given: (few,))
    _, steps = steps_of(table, made_up, min_detection=0.8, max_attack_gain=0.01)
    assert "fewer than were asked for" in steps[0].sentence
    assert "this model does not find them" in steps[0].sentence


def test_a_setting_that_holds_a_weaker_attacker_is_named_with_the_assumption(table, made_up):
    # An outsider gets a quarter of what an insider gets.
    _, steps = steps_of(table, made_up, min_detection=0.7, max_attack_gain=0.2)
    (step,) = [s for s in steps if s.command and " release " in s.command]
    assert "If nobody who gets it knows more than an outsider" in step.sentence
    assert shlex.split(step.command)[3:9] == [
        "--drop", "id", "--one-hot", "gear", "--missing", "drop"
    ]  # fmt: skip


@pytest.mark.parametrize("wish", [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0), (0.99, 0.01)])
def test_there_is_always_something_to_do(table, made_up, wish):
    found, steps = steps_of(table, made_up, min_detection=wish[0], max_attack_gain=wish[1])
    assert any(step.command for step in steps)
    if found.recommended is not None:
        assert steps[0].command == found.command("my t.csv")


def test_no_test_between_two_outcomes_passes_the_bound_and_one_reaches_it():
    # A coin that tells the truth with odds e^epsilon is epsilon-private: hits minus false alarms.
    for epsilon in (0.1, 1.0, 3.0):
        truth = np.exp(epsilon) / (1 + np.exp(epsilon))
        assert bound_of(epsilon, 0.0) == pytest.approx(truth - (1 - truth))
    # And one that betrays everything with chance delta, and else answers so.
    truth = (1 - 0.01) * np.e / (1 + np.e) + 0.01
    assert bound_of(1.0, 0.01) >= truth - (1 - 0.01) / (1 + np.e) - 1e-12
    assert bound_of(0.0, 0.01) == pytest.approx(0.01)
    assert bound_of(60.0, 0.5) == 1.0


def test_models_of_the_whole_table_are_compared_on_some_of_its_rows():
    rng = np.random.default_rng(5)
    table = np.column_stack([rng.normal(size=(4000, 3)), np.ones(4000)])
    labels = np.arange(4000) % 100 == 0
    table[labels, :3] += rng.choice([-9, 9], size=(40, 3))
    found = guaranteed_points(table, np.arange(2000), labels, 20, ("1", "3"))
    assert [m.epsilon for m in found] == [1.0, 3.0]
    for model in found:
        assert model.detection >= 0.6  # the strange ones are among the strongest
        assert model.auc > 0.9
        assert model.auc_low <= model.auc <= model.auc_high
        assert model.detection_low <= model.detection <= model.detection_high
        assert model.bound == bound_of(model.epsilon, model.delta)
    (without,) = guaranteed_points(table, np.arange(2000), np.zeros(4000, dtype=bool), 20, ("3",))
    assert without.auc is None


def test_a_first_impression_attacks_an_eighth_in_full_on_few_rows(table, made_up):
    found = ig.tune(table, ["gaussian", "uniform", "linear", "square"], quick=True, random_state=1)
    sizes = [n for _, n in made_up]
    assert sizes.count(1000) == 14
    assert sizes.count(2000) in (2, 3, 4)  # two of them, and those next to the better one
    assert {effort.name for n, effort in made_up.efforts if n == 2000} == {"all"}
    assert found.settings["quick"] is True
    with pytest.raises(ValueError, match="quick must be False"):
        ig.tune(table, quick=True, thorough=True)


def test_a_stopped_search_goes_on_where_it_stopped(table, made_up, tmp_path):
    book = tmp_path / "search.jsonl"
    whole = ig.tune(table, ["gaussian"], resume=book, random_state=3)
    n = len(made_up)
    again = ig.tune(table, ["gaussian"], resume=book)
    assert len(made_up) == n
    assert again == whole
    # The last line was cut short by a crash: it alone is measured again.
    text = book.read_text()
    book.write_text(text[: len(text) - 20])
    for _ in range(2):  # and stays in the book
        assert ig.tune(table, ["gaussian"], resume=book) == whole
        assert len(made_up) == n + 1


def test_a_book_of_another_table_is_refused(table, made_up, tmp_path):
    book = tmp_path / "search.jsonl"
    ig.tune(table, ["linear"], resume=book)
    for other in (table + 1, table[:-1]):
        with pytest.raises(AuditError, match="another table"):
            ig.tune(other, ["linear"], resume=book)
    with pytest.raises(AuditError, match="other settings"):
        ig.tune(table, ["linear"], most_pairs=0, resume=book)
    with pytest.raises(AuditError, match="other settings"):
        ig.tune(table, ["linear"], attacker="outsider", resume=book)
    with pytest.raises(AuditError, match="other settings"):
        ig.tune(table, ["linear"], labels=np.zeros(len(table)), resume=book)
    head = json.loads(book.read_text().splitlines()[0])
    book.write_text(json.dumps(head | {"format": "isinglass-tune-1"}) + "\n")
    with pytest.raises(AuditError, match="kept by an earlier version, which measured less"):
        ig.tune(table, ["linear"], resume=book)
    book.write_text("not json\n")
    with pytest.raises(AuditError, match="go on from"):
        ig.tune(table, ["linear"], resume=book)


def test_a_book_that_cannot_be_kept_is_said_in_a_sentence(table, made_up, tmp_path):
    for path, words in (
        (tmp_path / "absent" / "book", "book cannot be written: No such file"),
        (tmp_path, "cannot be read: Is a directory"),
    ):
        with pytest.raises(AuditError, match=words):
            ig.tune(table, ["linear"], resume=path)
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AuditError, match="b is not a file that a search can go on from"):
        ig.tune(table, ["linear"], resume=tmp_path / "b")
    assert made_up == []  # before hours of work


def test_no_value_of_the_table_stands_in_the_book(made_up, tmp_path):
    book = tmp_path / "search.jsonl"
    table = np.random.default_rng(0).normal(size=(50, 3)) + 987654.0
    ig.tune(table, ["linear"], resume=book)
    first, *rest = map(json.loads, book.read_text().splitlines())
    # Drawn anew, or a digest: digits of their own.
    told = {name: fact for name, fact in first.items() if name not in ("salt", "table", "seed")}
    assert rest
    assert "98765" not in json.dumps([told, rest])


def test_strengths_next_to_the_best_are_between_its_neighbors():
    tried = [Candidate("gaussian", v) for v in (0.1, 0.25, 1, 4)] + [Candidate("tanh", 0.5)]
    near = refine(Candidate("gaussian", 1), tried)
    assert [c.value for c in near] == [0.5, 2.0]
    assert refine(Candidate("linear"), tried) == []
    assert [c.value for c in refine(Candidate("adaptive", 3), [Candidate("adaptive", 4)])] == []


def test_weak_noise_gives_more_away_than_strong_noise():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(800, 3)) @ rng.normal(size=(3, 5))
    weak, strong = (measure(Candidate("gaussian", s), table, 7) for s in (0.1, 4.0))
    assert weak.gain > 0.8
    assert strong.gain < 0.5
    assert weak.detection > strong.detection


def test_what_keeps_all_distances_keeps_all_anomalies():
    # Heavy tails: whoever is held out changes the ranges by which columns are scaled.
    table = np.random.default_rng(6).standard_t(2, size=(500, 4))
    found = [measure(Candidate("linear"), table, seed, attacks=("naive",)) for seed in range(8)]
    assert [m.detection for m in found] == [1] * 8


def test_a_quick_search_shows_nothing_that_was_not_attacked_in_full(table, made_up):
    found = ig.tune(table, ["gaussian", "uniform"], random_state=1)
    screened, stopped, last = ([e for n, e in made_up.efforts if n == size]
                               for size in (1000, 3000, 9000))  # fmt: skip
    assert all(e.screen and e.stop for e in screened)
    assert all(e.stop and not e.screen for e in stopped)
    shown = [p for p in found.points if p.round == 3]
    assert sum(e.whole for e in last) == len(shown)
    assert all(e.only == ("known_input insider 40",) for e in last if not e.whole)
    assert all(len(p.attackers) == 3 for p in shown)
    made_up.efforts.clear()
    ig.tune(table, ["gaussian", "uniform"], thorough=True, random_state=1)
    assert all(e.whole for _, e in made_up.efforts)


def test_the_attacker_named_is_the_one_whose_gain_counts(table, made_up):
    wishes = {"min_detection": 0.7, "max_attack_gain": 0.2, "random_state": 1}
    assert ig.tune(table, ["gaussian"], **wishes).recommended is None
    found = ig.tune(table, ["gaussian"], attacker="outsider", **wishes)
    best = found.recommended
    assert best.gain_high <= 0.2
    assert best.gain == best.gain_of("outsider").gain == best.gain_of("insider").gain / 4
    assert "strongest attack of an outsider (known_input)" in found.sentence
    document = found.to_json()
    assert document["attacker"] == "outsider"
    told = document["recommended"]["attackers"]
    assert [a["name"] for a in told] == ["outsider", "acquainted", "insider"]


def test_parts_hold_runs_of_neighboring_rows():
    order = searching._order(1010, np.random.default_rng(0))
    assert sorted(order) == list(range(1010))
    rows = np.sort(order[:200])
    assert (np.diff(rows) == 1).mean() > 0.9
    assert np.ptp(rows) > 500  # from all over the table


@pytest.fixture
def narrow():
    rng = np.random.default_rng(5)
    return rng.normal(size=(800, 3)) @ rng.normal(size=(3, 5))


def test_screening_runs_one_step_of_each_decisive_attack_and_stops_when_all_is_lost(
    narrow, monkeypatch
):
    ran = []
    real = measured.attack_all

    def spied(scene, steps, *given, **more):
        ran.extend((s.attack.name, s.n_pairs) for s in steps)
        return real(scene, steps, *given, **more)

    monkeypatch.setattr(measured, "attack_all", spied)
    strong = Candidate("gaussian", 4.0)
    measure(strong, narrow, 7, effort=Effort("screen", screen=True, stop=True))
    names = [name for name, _ in ran]
    assert names == [name for name in DECISIVE if name in names]
    assert ("known_input", 60) in ran  # the most, and no fewer
    ran.clear()
    lost = measure(Candidate("linear"), narrow, 7, effort=Effort("s", screen=True, stop=True))
    assert lost.gain > 0.95
    assert "row_order" not in [name for name, _ in ran]
    ran.clear()
    outside = measure(strong, narrow, 7, effort=Effort("s", "outsider", screen=True, stop=True))
    assert {name for name, _ in ran} <= {"naive", "spectral", "row_order"}
    assert outside.attackers == ()


def test_contenders_alone_find_what_all_attacks_found(narrow):
    whole = measure(Candidate("gaussian", 1.0), narrow, 7)
    again = measure(
        Candidate("gaussian", 1.0), narrow, 7, effort=Effort("again", only=whole.contenders)
    )
    assert 1 <= len(whole.contenders) <= 9
    for a, b in zip(whole.attackers, again.attackers, strict=True):
        assert a.gain == pytest.approx(b.gain, abs=0.02)
    assert whole.attackers[0].gain <= whole.attackers[1].gain <= whole.attackers[2].gain
    assert whole.gain == whole.attackers[2].gain


def test_picking_out_records_counts_as_it_does_in_an_audit(monkeypatch):
    """Noise that hides much of every value leaves each record the only one that fits."""
    monkeypatch.setattr(measured, "membership", lambda *given: ())
    table = np.random.default_rng(3).normal(size=(400, 20))
    given = {"attacks": ("naive",)}, {"attacks": ("naive", "linkage")}
    read, picked = (measure(Candidate("gaussian", 1.0), table, 7, **more) for more in given)
    assert read.gain < 0.6
    assert picked.strongest == "linkage"
    assert picked.gain > read.gain + 0.2
    assert picked.attackers[0].gain == read.gain


def test_known_anomalies_are_measured_and_may_be_demanded():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(600, 3))
    labels = np.arange(600) % 20 == 0
    table[labels] += rng.normal(scale=8, size=(30, 3))
    wishes = {
        "min_detection": 0.0, "max_attack_gain": 1.0, "attacks": ["naive"], "guaranteed": False
    }  # fmt: skip
    found = ig.tune(table, ["linear"], labels=labels, random_state=1, **wishes)
    (point,) = found.points
    assert point.auc_table > 0.9
    assert point.auc == pytest.approx(point.auc_table)  # all distances are kept
    assert point.auc_low < point.auc < point.auc_high
    assert "known anomalies are told from the others with an area of" in found.sentence
    assert found.recommended is not None
    strict = ig.tune(table, ["linear"], labels=labels, min_auc=1.0, random_state=1, **wishes)
    assert strict.recommended is None
    assert "has an area of 1.00 under the curve" in strict.sentence


def test_the_same_results_in_several_processes(narrow, monkeypatch):
    monkeypatch.setattr(searching, "_WORTH_PROCESSES", 100)
    table = narrow[:300]
    given = {"attacks": ["naive"], "random_state": 2, "guaranteed": False}
    one, two = (ig.tune(table, ["linear"], n_jobs=n, **given) for n in (1, 2))
    assert one == two


def test_bad_wishes_are_refused(table):
    with pytest.raises(ValueError, match="attacker must be among outsider, acquainted, insider"):
        ig.tune(table, attacker="key_holder")
    with pytest.raises(ValueError, match="min_auc needs labels"):
        ig.tune(table, min_auc=0.9)
    with pytest.raises(AuditError, match="labels must be 0 or 1 for each of the 9,000 records"):
        ig.tune(table, labels=np.arange(9000))
    with pytest.raises(ValueError, match="min_detection must be >= 0 and <= 1"):
        ig.tune(table, min_detection=80)
    with pytest.raises(ValueError, match="methods must be 'all' or among"):
        ig.tune(table, ["magic"])


def point(detection, gain):
    return Point("linear", "", None, detection, 0, 1, gain, 0, 1, "naive", 10, 1, 1)


def test_dominance():
    assert point(0.9, 0.1).dominates(point(0.8, 0.1))
    assert not point(0.9, 0.1).dominates(point(0.9, 0.1))
    assert not point(0.9, 0.3).dominates(point(0.8, 0.1))
    assert not point(0.9, 0.1).dominates(replace(point(0.8, 0.1), auc=0.7))


def test_a_frontier_is_written_as_a_page_or_as_json(table, made_up, tmp_path):
    found = ig.tune(table, ["gaussian", "uniform"], random_state=1)
    found.save(tmp_path / "f.json")
    assert json.loads((tmp_path / "f.json").read_text())["sentence"] == found.sentence
    found.save(tmp_path / "f.html")
    page = (tmp_path / "f.html").read_text()
    assert found.sentence.split(":")[0].replace(" %", "&nbsp;%") in page
    assert "gaussian" in page
    found.save(tmp_path / "f.png")
    assert (tmp_path / "f.png").read_bytes()[:4] == b"\x89PNG"
    with pytest.raises(ValueError, match="must end in"):
        found.save(tmp_path / "f.pdf")


def test_a_report_shows_the_frontier_of_its_table(table, made_up, tmp_path):
    found = ig.tune(table[:300], ["gaussian", "uniform"], random_state=1)
    report = ig.audit(table[:300], table[:300] * 2, attacks=["naive"], random_state=0)
    report.save(tmp_path / "r.html", frontier=found)
    page = (tmp_path / "r.html").read_text()
    assert "What would other settings do?" in page
    assert html_text(found.sentence).replace(" %", "&nbsp;%") in page
    assert "What would other settings do?" not in report.html()
