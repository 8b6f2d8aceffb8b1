"""The report: what it says first, what it never loads, and what its public edition leaves out."""

from __future__ import annotations

import base64
import json
import math
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from tests.auditing import examples
from tests.auditing.examples import ROW, attack, tiny, troubled, usual

from isinglass.auditing import charts, words
from isinglass.auditing.report import Report, without_records
from isinglass.auditing.result import PARTLY, RECOVERED, RESISTED, Detection, SkippedAttack
from isinglass.errors import ReleaseError

WHOLE = {"usual": usual, "tiny": tiny, "troubled": troubled}
CSP = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
ADDRESSES = ("src", "srcset", "href", "action", "data", "poster", "background", "xlink:href")


class Page(HTMLParser):
    """Every tag with its attributes, and the text of the page as a reader sees it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._style = False
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._style = tag == "style"

    def handle_endtag(self, tag):
        self._style = False

    def handle_data(self, data):
        if not self._style:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words).replace("\xa0", " "))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


@pytest.fixture(scope="module")
def pages():
    """Both editions of each example, drawn once."""
    return {
        (name, public): Report(make()).html(public=public)
        for name, make in WHOLE.items()
        for public in (False, True)
    }


EDITIONS = [(name, public) for name in WHOLE for public in (False, True)]


# The verdict.


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (RECOVERED, "The table was recovered"),
        (PARTLY, "The table was partly recovered"),
        (RESISTED, "The release resisted the attacks listed"),
    ],
)
def test_the_verdict_is_two_sentences_with_the_numbers(verdict, said):
    findings = usual(verdict)
    assert words.detection_sentence(findings) == (
        "471 of the 500 strongest anomalies are still found in the release, where a blind choice "
        "would find 0.5 % of them."
    )
    second = words.attack_sentence(findings)
    assert second.startswith(f"{said}: the strongest attacker (known input), who needed 1,000 ")
    assert "97 % of the values" in second
    assert "a blind guess gets 35 %" in second
    assert second.count(". ") == 0


def test_the_holder_of_the_key_is_no_part_of_the_verdict():
    assert "stolen" not in words.attack_sentence(usual())


def test_a_release_that_resists_is_said_to_give_no_more_than_a_blind_guess():
    said = words.attack_sentence(tiny())
    assert "34 % of the values" in said
    assert "no better than a blind guess (35 %)" in said
    assert words.detection_sentence(tiny()).startswith("The strongest anomaly is still found")


def test_the_verdict_takes_the_reading_that_shows_most():
    by_variance = attack(success=0.36, baseline=0.35, r2=0.93, near=0.1, gain=0.93, worst_gain=0.9)
    said = words.attack_sentence(replace(usual(), attacks=(by_variance,)))
    assert "explained 93 % of the variance" in said
    close = attack(success=0.36, baseline=0.35, r2=0, near=0.8, near_baseline=0.1, gain=0.78)
    said = words.attack_sentence(replace(usual(), attacks=(close,)))
    assert "80 % of the values to within a tenth of their column's standard deviation" in said


def test_where_one_part_fell_the_verdict_names_the_part():
    weak = attack(success=0.36, gain=0.02, r2=0, near=0.08, worst_gain=0.7, outliers=None)
    column = words.attack_sentence(replace(usual(PARTLY), attacks=(weak,)))
    assert "column “b” fell to an attacker (known input), who needed 30 known pairs" in column
    assert "70 % of what a blind guess leaves" in column
    few = replace(weak, worst_gain=0.1, outliers=0.9, outliers_baseline=0.2)
    assert "of the outliers' values" in words.attack_sentence(
        replace(usual(PARTLY), attacks=(few,))
    )
    copy = replace(usual(), attacks=(replace(weak, worst_gain=0.1),), notes=("All unchanged.",))
    assert "stand in the release unchanged" in words.attack_sentence(copy)


def test_nothing_is_claimed_where_nothing_was_measured():
    none = replace(tiny(), attacks=())
    assert "says nothing about what an attacker could get back" in words.attack_sentence(none)
    blank = replace(tiny(), detection=Detection(rate=0, low=0, high=1, n_outliers=30))
    assert "cannot be told" in words.detection_sentence(blank)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.9996, "99.9 %"), (0.0001, "0.1 %"), (0.355, "36 %"),
     (-0.07, "-7 %"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(value, said):
    assert words.share(value) == said


# The page.


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_page_loads_nothing(pages, edition):
    page = Page(pages[edition])
    for _, attrs in page.tags:
        for name in ADDRESSES:
            value = attrs.get(name) or "#"
            assert value.startswith(("#", "data:image/svg+xml;base64,")), (name, value[:60])
    assert not {"script", "link", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}
    assert "url(" not in pages[edition]
    assert "@import" not in pages[edition]
    policies = [m["content"] for m in page.all("meta") if "http-equiv" in m]
    assert [p.startswith(CSP) for p in policies] == [True]
    assert len(pages[edition]) < 2_000_000


@pytest.mark.parametrize("edition", EDITIONS)
def test_every_chart_has_both_colors_and_words(pages, edition):
    page = Page(pages[edition])
    images, dark = page.all("img"), page.all("source")
    assert len(images) == len(dark) == len(page.all("figure"))
    assert len(images) >= (1 if edition[0] != "usual" else 3)
    for light, other in zip(images, dark, strict=True):
        assert other["media"] == "screen and (prefers-color-scheme: dark)"
        pictures = [
            base64.b64decode(address.partition("base64,")[2])
            for address in (light["src"], other["srcset"])
        ]
        assert all(ET.fromstring(p).tag.endswith("svg") for p in pictures)
        assert [b"#ffffff" in pictures[0], b"#1c242c" in pictures[1]] == [True, True]
        assert not any(re.search(rb'"\$[a-z]', p) for p in pictures)
        assert re.search(r"\d", light["alt"])
    assert page.text.count("The numbers behind the chart") == len(images)


def test_text_alternatives_state_the_findings(pages):
    scores, success, heat, levels = (i["alt"] for i in Page(pages["usual", False]).all("img"))
    assert "94 % of the 500" in scores
    assert "0.913" in scores
    assert "97 % of the values" in success
    assert "95 % to 99 %" in success
    assert "baseline 35 %, control 36 %" in success
    assert "65 % of its values over" in heat
    assert "with 29 columns 183 and 2.78" in levels


def test_the_page_goes_from_verdict_to_settings(pages):
    text = Page(pages["troubled", False]).text
    steps = [
        "partly recovered", "120 of the 200", "The policy", "2 of 3 were not met",
        "What was assumed of the attacker", "The numbers", "Are the anomalies still found?",
        "What did each attacker get?", "Attacks that were not run", "Parameters",
        "Unit of privacy", "Algorithm", "Implementation", "Trust", "Side channels", "Data access",
        "The settings that reproduce it", "report = ig.audit(table, release",
    ]  # fmt: skip
    places = [text.index(step) for step in steps]
    assert places == sorted(places)


def test_an_attack_that_gets_nothing_says_so_and_one_not_run_proves_nothing(pages):
    text = Page(pages["troubled", False]).text
    assert "no better than its baseline" in text
    assert "not finished: did not converge" in text
    assert "not made for such a release: noise was not added" in text
    assert "something was missing: the public parameters are not known" in text
    assert "proves nothing in the release's favour" in text
    assert "Linkage was not measured; that proves nothing" in text
    assert "nan" not in text.lower().split()
    assert [a.name for a in words.order(troubled().attacks)] == ["sample", "naive"]


def test_a_reading_that_gains_is_not_hidden_behind_one_that_does_not():
    both = attack(success=0.35, low=0.3, baseline=0.35, r2=0.5)
    assert words.remark(both).endswith("but by others: see all readings")
    assert words.remark(replace(both, r2=0.0, near=0.08)) == "no better than its baseline"


def test_what_every_attacker_knows_is_said_once():
    known = "the public parameters of rotation"
    both = (attack(knowledge=f"{known}, 30 known pairs"), attack("naive", knowledge=known))
    findings = replace(tiny(), method="rotation", attacks=both, assumptions=())
    assert words.briefly(findings) == findings  # or it would be said nowhere
    stated = replace(findings, assumptions=("Every attacker knows the public parameters.",))
    short = [a.knowledge for a in words.briefly(stated).attacks]
    assert short == ["30 known pairs", "nothing more"]
    assert known not in Page(Report(stated).html()).text
    other = replace(stated, attacks=(*both, attack(knowledge="column statistics")))
    assert words.briefly(other) == other


def test_a_page_names_the_release_it_is_about():
    named = replace(tiny(), settings={"release": "<b>.parquet"})
    assert '<p class="soft">&lt;b&gt;.parquet: ' in Report(named).html()


def test_attacks_with_the_key_stand_apart(pages):
    text = Page(pages["usual", False]).text
    apart = text.index("If the key leaks No part of the verdict")
    assert "stolen key the key 99.6 %" in text[apart:]
    assert "stolen key the key 99.6 %" not in text[text.index("remark") : apart]
    assert "stolen key" not in charts.heat(usual().attacks).header
    assert words.order(usual().attacks)[-1].name == "stolen_key"


def test_settings_that_reproduce_it_are_on_the_page(pages):
    text = Page(pages["usual", False]).text
    line = "attacks='auto', knowledge='auto', n_trials=5, random_state=20261115)"
    # Further trials draw keys, so the line must name what draws them.
    assert f"ig.audit(table, release, perturbation=perturbation, {line}" in text
    assert "ig.audit(table, release)" in Page(pages["tiny", False]).text
    assert "isinglass audit flights.parquet release.parquet" in text
    assert "versions.numpy 2.4.0" in text


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_page_never_calls_a_release_what_it_is_not(pages, edition):
    text = Page(pages[edition]).text
    assert re.findall(r"(?i)\b(?:safe|safely|secure|private|anonymous|anonymi[sz]ed)\b", text) == []


def test_the_same_findings_give_the_same_bytes(pages):
    assert Report(troubled()).html(public=True) == pages["troubled", True]


def test_names_from_a_file_are_text_and_nothing_else():
    names = ("<script>alert(1)</script>", "x" * 4000, "$one", "a\nb", "\"'&><img src=http://x>")
    wild = replace(
        usual(n_columns=5),
        attacks=(attack(names=names, knowledge="<b>bold</b>"), attack("<i>new</i>", names=names)),
        method="<b>m</b>",
        notes=("<img src=http://example.org/x.png>",),
        skipped=(SkippedAttack("<u>", "<script>"),),
        settings={"<s>": "</pre><script>", "table": "a&b"},
    )
    html = Report(wild).html()
    page = Page(html)
    assert not {"script", "i", "u", "s"} & {tag for tag, _ in page.tags}
    assert all(i["src"].startswith("data:") for i in page.all("img"))
    assert "x" * 100 not in html
    assert "<script>alert(1)</script>" in page.text
    # What is called like one of our color names is drawn under its own name.
    assert ">$one<" in charts.heat(wild.attacks).svg()
    assert ">$one<" in charts.frontier([point("$one")]).svg()


def test_of_600_columns_the_40_worst_are_drawn_and_the_page_says_so():
    names = tuple(f"sensor_{i:03d}" for i in range(600))
    many = replace(usual(), columns=600, attacks=(attack(names=names, success=0.5),))
    chart = charts.heat(many.attacks)
    assert [row[0] for row in chart.rows] == [f"sensor_{i}" for i in range(599, 559, -1)]
    assert "600 columns were attacked; the 40 that came off worst are shown" in chart.alt
    assert len(chart.data_uri()) < 500_000


def test_worst_records_are_listed_by_row_number(pages):
    text = Page(pages["usual", False]).text
    assert "internal: names single records; do not pass on" in text
    assert f"row number level {ROW} 1 17 1 4021 2 77011 2" in text


# The public edition.


@pytest.mark.parametrize("name", WHOLE)
def test_the_public_edition_has_no_row_numbers_and_no_single_scores(pages, name):
    report = Report(WHOLE[name]())
    for text in (pages[name, True], json.dumps(report.to_json(public=True))):
        assert str(ROW) not in text
        assert f"{ROW:,}" not in text
        assert "20261115" not in text  # the seed would say which records were drawn
        assert "/home/owner" not in text
    kept = without_records(report.findings)
    assert kept.detection.table_scores == kept.detection.release_scores == ()
    assert kept.linkage is None or kept.linkage.worst_records == ()
    document = report.to_json(public=True)
    assert document["edition"] == "public"
    assert {"table_scores", "release_scores"} & set(document["detection"]) == set()
    assert "worst_records" not in (document["linkage"] or {})
    assert "public edition" in Page(pages[name, True]).text
    assert len(document["attacks"]) == len(report.attacks)


def test_a_mean_over_a_handful_of_outliers_is_not_made_public():
    few = replace(usual(), detection=replace(usual().detection, n_outliers=19))
    assert {a["outliers"] for a in Report(few).to_json(public=True)["attacks"]} == {None}
    shown = Report(usual()).to_json(public=True)["attacks"]
    assert shown[0]["outliers"] == pytest.approx(0.26)


@pytest.mark.parametrize(
    ("text", "told"),
    [("row 17 is far", True), ("Rows 3, 5", True), ("record no. 4", True), ("row #3", True),
     ("2,000 rows were read", False), ("a sample of 200 records", False), ("in a row", False)],
)  # fmt: skip
def test_row_numbers_in_sentences_are_recognised(text, told):
    assert words.names_a_row(text) is told


# JSON, files, short forms.


def test_json_holds_everything_and_only_what_json_knows():
    report = Report(replace(usual(), settings={"a": np.float64(1.5), "b": np.arange(2)}))
    document = json.loads(json.dumps(report.to_json(), allow_nan=False))
    assert document["format"] == "isinglass-report-1"
    assert document["edition"] == "internal"
    assert document["linkage"]["worst_records"][0] == [ROW, 1]
    assert document["settings"] == {"a": 1.5, "b": [0, 1]}
    assert len(document["detection"]["table_scores"]) == 500
    broken = Report(troubled()).to_json()
    assert broken["attacks"][2]["success"] is None
    assert broken["privacy"] == {"minimum": None, "average": None}


def test_a_report_hands_its_findings_on():
    findings = troubled()
    report = Report(findings)
    assert (report.verdict, report.passed) == (PARTLY, False)
    assert report.detection is findings.detection
    assert report.attacks is findings.attacks
    assert (report.privacy, report.linkage) == (findings.privacy, None)
    assert report.to_contract() == findings.to_contract()
    assert repr(Report(usual())) == (
        "Report('recovered', detection 94 %, strongest attack known_input 97 % (baseline 35 %))"
    )
    assert repr(Report(replace(tiny(), attacks=()))).endswith("no attack finished)")
    summary = report._repr_html_()
    assert "120 of the 200" in summary
    assert len(summary) < 1000


def test_save_writes_by_ending_and_leaves_no_half_file(pages, tmp_path, monkeypatch):
    report = Report(tiny())
    report.save(tmp_path / "r.html")
    report.save(tmp_path / "r.JSON", public=True)
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == pages["tiny", False]
    assert json.loads((tmp_path / "r.JSON").read_text()) == report.to_json(public=True)
    rights = [stat.S_IMODE((tmp_path / n).stat().st_mode) for n in ("r.html", "r.JSON")]
    assert rights[0] == 0o600
    for name in ("r.pdf", "r"):
        with pytest.raises(ValueError, match=r"path must end in \.html or \.json, got 'r"):
            report.save(tmp_path / name)
    with pytest.raises(ReleaseError, match="does not exist"):
        report.save(tmp_path / "nowhere" / "r.html")

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(ReleaseError, match="No space left"):
        report.save(tmp_path / "r.html")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["r.JSON", "r.html"]


def test_altair_loads_only_when_a_chart_is_made():
    code = (
        "import sys; from tests.auditing.examples import tiny; "
        "from isinglass.auditing.report import Report; r = Report(tiny()); "
        "r.to_json(); repr(r); assert 'altair' not in sys.modules; "
        "r.html(); assert 'altair' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=examples.__file__[:-27])


# Charts on their own.


def point(method="tanh", detection=0.9, gain=0.2, **fields):
    known = {
        "method": method, "setting": "slope=1", "detection": detection, "gain": gain,
        "detection_low": detection - 0.05, "detection_high": detection + 0.05,
        "gain_low": gain - 0.05, "gain_high": gain + 0.05, "on_frontier": True,
        "recommended": False,
    }  # fmt: skip
    return known | fields


def test_the_frontier_names_the_setting_to_use(tmp_path):
    points = [
        point(gain=np.float64(0.2), recommended=True),
        point("rotation", 0.95, 0.9),
        point("gaussian", 0.5, 0.4, on_frontier=False),
        point("sign", math.nan, 0.1),
    ]
    chart = charts.frontier(points)
    assert chart.alt == (
        "3 settings were tried; 2 are beaten by none in both respects. Recommended: tanh slope=1, "
        "which keeps 90 % of the anomalies and gives the strongest attack 20 % over its baseline."
    )
    assert [row[0] for row in chart.rows] == ["tanh", "gaussian", "rotation"]
    assert [row[-1] for row in chart.rows] == ["recommended", "no", "yes"]
    assert "use this" in chart.svg()
    charts.png(chart, tmp_path / "frontier.png")
    assert (tmp_path / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert "None is recommended" in charts.frontier([]).alt
    assert charts.frontier([]).svg(dark=True).startswith("<svg")


def test_zero_levels_and_zero_scores_are_drawn_too():
    linkage = replace(usual().linkage, by_dimension=((1, 10.0, 0.0), (2, 3.0, 0.0)))
    assert charts.levels(linkage).svg().count("<svg") == 1
    flat = Detection(rate=0, low=0, high=0.1, n_outliers=3, table_scores=(1, 0.5, 0),
                     release_scores=(0, 0, 0))  # fmt: skip
    assert [row[2] for row in charts.scores(flat).rows] == ["0", "0", "0"]
    assert charts.scores(replace(flat, table_scores=())) is None
    assert charts.success(()) is None
    assert charts.heat(()) is None
