"""The report: what it says first, what it never loads, and what its public edition leaves out."""

from __future__ import annotations

import base64
import inspect
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
from tests.auditing.examples import ROW, attack, said, tiny, troubled, usual

import isinglass as ig
from isinglass.auditing.audit import audit_arrays
from isinglass.auditing.findings import (
    NOT_MEASURED,
    PARTLY,
    RECOVERED,
    RESISTED,
    ColumnResult,
    Detection,
    SkippedAttack,
)
from isinglass.auditing.notes import AuditNote, Kind, OwnersFile
from isinglass.auditing.report import figures as charts
from isinglass.auditing.report import text as words
from isinglass.auditing.report.report import Report, without_records
from isinglass.auditing.report.rerun import INNER, NAMED, audit_lines, names_given, tune_lines
from isinglass.auditing.tuning import page as frontier_page
from isinglass.auditing.tuning.figure import free_spot
from isinglass.auditing.tuning.frontier import Frontier
from isinglass.auditing.tuning.points import Point
from isinglass.cli.tune import _told
from isinglass.errors import ReleaseError
from isinglass.plots.chart import width_of

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
    assert second.startswith(f"{said}: the strongest attacker (known input), who was given 1,000 ")
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
    assert "explained 93 % of the variance of the values, where a blind guess explains none" in said
    matched = replace(by_variance, r2_baseline=0.4)
    said = words.attack_sentence(replace(usual(), attacks=(matched,)))
    assert "explained 93 % of the variance of the values, where a blind guess explains 40 %" in said
    close = attack(success=0.36, baseline=0.35, r2=0, near=0.8, near_baseline=0.1, gain=0.78)
    said = words.attack_sentence(replace(usual(), attacks=(close,)))
    assert "80 % of the values to within a tenth of their column's standard deviation" in said


def test_where_one_part_fell_the_verdict_names_the_part():
    weak = attack(success=0.36, gain=0.02, r2=0, near=0.08, worst_gain=0.7, outliers=None)
    column = words.attack_sentence(replace(usual(PARTLY), attacks=(weak,)))
    assert "column “b” fell to an attacker (known input), who was given 30 known pairs" in column
    assert "70 % of what a blind guess leaves" in column
    few = replace(weak, worst_gain=0.1, outliers=0.9, outliers_baseline=0.2)
    assert "of the outliers' values" in words.attack_sentence(
        replace(usual(PARTLY), attacks=(few,))
    )
    copy = replace(
        usual(),
        attacks=(replace(weak, worst_gain=0.1),),
        notes=(AuditNote.of(Kind.UNCHANGED_ROWS, share=1.0),),
    )
    assert "stand in the release unchanged" in words.attack_sentence(copy)


def test_the_sentence_and_the_verdict_go_by_the_same_reading():
    # The baseline leaves 1 % of the range reading, of which 0.9 % is a fifth of what must be left
    # at least, and not nine tenths: the verdict goes by the variance, and so must the sentence.
    full = attack(success=0.999, baseline=0.99, r2=0.55, near=0.1, gain=0.55, worst_gain=0.5)
    assert "explained 55 %" in words.attack_sentence(replace(usual(), attacks=(full,)))
    # A hundredth more decides for the verdict, so it decides here too.
    near = attack(success=0.61, baseline=0.2, r2=0.52, near=0.1, gain=0.52, worst_gain=0.5)
    assert "explained 52 %" in words.attack_sentence(replace(usual(), attacks=(near,)))


def test_a_column_that_fell_is_told_by_the_reading_of_the_whole_or_it_is_said_which():
    worse = ColumnResult("b", success=0.5, baseline=0.35, error=0.1, r2=0.97)
    by_variance = attack(success=0.36, r2=0.6, near=0.1, gain=0.6, worst_gain=0.97,
                         columns=(worse,))  # fmt: skip
    said = words.attack_sentence(replace(usual(), attacks=(by_variance,)))
    assert said.endswith("explains none; of column “b” 97 %.")
    near = replace(by_variance, r2=0.1, near=0.7)
    said = words.attack_sentence(replace(usual(), attacks=(near,)))
    assert said.endswith(
        "; of column “b” 97 % of what a blind guess leaves, by the reading that shows most of it."
    )
    in_range = attack(success=0.71, gain=0.55, worst_gain=0.7)
    assert words.attack_sentence(replace(usual(), attacks=(in_range,))).endswith(
        "where a blind guess gets 35 %; of column “b” 81 % (blind: 35 %)."
    )


def test_what_an_attacker_was_given_is_a_list_in_english():
    assert words.listed("a, b, 1,000 pairs") == "a, b and 1,000 pairs"
    assert words.listed("a, b") == "a and b"
    assert words.listed("1,000 pairs") == "1,000 pairs"


def test_nothing_is_claimed_where_nothing_was_measured():
    sentence = "No attack could be finished, so nothing is said about what could be got back."
    broken = replace(troubled(), attacks=troubled().attacks[2:], verdict=NOT_MEASURED)
    for nothing in (replace(tiny(), attacks=()), broken):
        assert words.attack_sentence(nothing) == sentence
    page = Page(Report(broken).html())
    assert "? not measured 120 of the 200 strongest anomalies" in page.text
    assert sentence in page.text
    assert ("div", {"class": "verdict void"}) in page.tags
    assert "best guesses off? Not measured." in page.text  # and not 0


def test_detection_that_was_not_measured_is_never_a_number():
    unknown = replace(usual(), detection=Detection(None, None, None, n_outliers=500, chance=0.1))
    said = words.detection_sentence(unknown)
    assert said.startswith("Whether the strongest anomalies are still found was not measured")
    assert "do not correspond" in said
    assert "detection not measured, " in repr(Report(unknown))
    text = Page(Report(unknown).html()).text
    part = text[text.index("Are the anomalies still found?") :]
    assert part.startswith("Are the anomalies still found? Not measured: the rows")
    assert "%" not in part[: part.index("What did each attacker get?")]
    drawn = replace(unknown.detection, table_scores=(1, 0.5), release_scores=(1, 0.4))
    assert "500 strongest rows of the table are among the strongest of the release was not " in (
        charts.scores(drawn).alt
    )
    # The widest limits are a measurement all the same.
    wide = replace(tiny(), detection=Detection(rate=0.5, low=0, high=1, n_outliers=30))
    assert words.detection_sentence(wide).startswith("15 of the 30 strongest")


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.0, "0 %"), (1.0, "100 %"), (0.9996, "99.9 %"), (0.0001, "0.1 %"), (0.355, "36 %"),
     (-0.07, "-7 %"), (None, "–"), (math.nan, "–")],
)  # fmt: skip
def test_a_share_is_never_rounded_to_all_or_nothing(value, said):
    assert words.share(value) == said


def shown(text: str) -> float:
    return float(text.removesuffix(" %"))


def test_an_interval_is_rounded_outwards_and_holds_the_value_shown():
    assert words.interval(0.9996, 0.9999) == "99.9 % to 100 %"
    assert words.interval(0.98, 1 - 1e-12) == "98 % to 100 %"
    assert words.interval(0.0004, 0.0111) == "0 % to 2 %"
    assert words.interval(0.07, 0.29) == "7 % to 29 %"  # 100 * 0.07 is a little more than 7
    assert words.interval(0.1, None) == words.interval(math.nan, 1.0) == "–"
    ends = np.r_[0, 1, np.linspace(0, 0.02, 41), np.linspace(0.3, 0.32, 11), 1 - np.geomspace(
        1e-12, 0.02, 40)]  # fmt: skip
    for low in ends:
        for value in ends[ends >= low]:
            left, right = words.interval(float(low), float(value)).split(" to ")
            assert shown(left) <= shown(words.share(float(low)))
            assert shown(left) <= shown(words.share(float(value))) <= shown(right)


def test_the_worst_1_percent_is_told_once_and_a_gain_of_outliers_in_one_way():
    levels = ((0.001, 1.0), (0.01, 2.0), (0.05, 3.0))
    said = words.linkage_sentence(replace(usual().linkage, levels=levels))
    assert said.count("worst 1 %") == 1
    assert said.endswith("Further: 1 for the worst 0.1 %, 3 for the worst 5 %.")
    assert attack(outliers=0.6, outliers_baseline=0.2).outliers_gain == pytest.approx(0.5)
    assert attack(outliers=None).outliers_gain == 0


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
    assert "got 100 % of the way from a blind guess" in heat
    assert "with 29 columns 183 and 2.78" in levels


def test_the_page_goes_from_verdict_to_settings(pages):
    text = Page(pages["troubled", False]).text
    steps = [
        "partly recovered", "120 of the 200", "For the data-protection officer",
        "What was not measured", "When to look again",
        "Parameters", "Unit of privacy", "Algorithm", "Implementation", "Trust", "Side channels",
        "Data access", "The technical part", "2 of 3 were not met",
        "What was assumed of the attacker", "The numbers",
        "Are the anomalies still found?", "What did each attacker get?",
        "Attacks that were not run", "The settings that reproduce it",
        "report = ig.audit(table, release, n_outliers=200)",
    ]  # fmt: skip
    places = [text.index(step) for step in steps]
    assert places == sorted(places)


def test_an_attack_that_gets_nothing_says_so_and_one_not_run_proves_nothing(pages):
    text = Page(pages["troubled", False]).text
    assert "no better than its baseline" in text
    assert "not finished: did not converge" in text
    assert "not made for such a release: noise was not added" in text
    assert "something was missing: the public parameters are not known" in text
    assert "proves nothing in the release's favor" in text
    assert "Linkage was not measured; that proves nothing" in text
    assert "nan" not in text.lower().split()
    assert [a.name for a in words.order(troubled().attacks)] == ["sample", "naive"]


def test_a_reading_that_gains_is_not_hidden_behind_one_that_does_not():
    both = attack(success=0.35, low=0.3, baseline=0.35, r2=0.5)
    assert words.remark(both).endswith("but by others: see all readings")
    assert words.remark(replace(both, r2=0.0, near=0.08)) == "no better than its baseline"


def test_what_every_attacker_knows_is_said_once():
    known = "the public parameters of rotation"
    both = (
        attack(knowledge=f"{known}, 30 known pairs", knowledge_beyond="30 known pairs"),
        attack("naive", knowledge=known, knowledge_beyond="nothing more"),
    )
    findings = replace(tiny(), method="rotation", attacks=both, assumptions=())
    assert words.briefly(findings) == findings  # or it would be said nowhere
    stated = replace(findings, assumptions=(AuditNote.of(Kind.PARAMETERS_KNOWN),))
    short = [a.knowledge for a in words.briefly(stated).attacks]
    assert short == ["30 known pairs", "nothing more"]
    assert Page(Report(stated).html()).text.count(known) == 1  # in the verdict, as everywhere
    other = replace(stated, attacks=(*both, attack(knowledge="column statistics")))
    assert words.briefly(other) == other


def test_a_page_names_the_release_it_is_about():
    named = replace(tiny(), settings={"release": "<b>.parquet"})
    assert '<p class="soft">&lt;b&gt;.parquet: ' in Report(named).html()


def test_attacks_with_the_key_stand_apart(pages):
    text = Page(pages["usual", False]).text
    apart = text.index("If the key leaks No part of the verdict")
    assert "stolen key the key 99.4 % 99.6 %" in text[apart:]
    assert "stolen key the key 99.4 %" not in text[text.index("remark") : apart]
    assert "stolen key" not in charts.heat(usual().attacks).header
    assert words.order(usual().attacks)[-1].name == "stolen_key"


def test_settings_that_reproduce_it_are_on_the_page(pages):
    text = Page(pages["usual", False]).text
    # The command that was typed, with the seed that was drawn; no second way that differs.
    assert "$ isinglass audit flights.parquet release.parquet --seed 20261115" in text
    assert "ig.audit(" not in text
    assert "versions.numpy 2.4.0" in text
    public = Page(pages["usual", True]).text
    # Further trials draw keys, so the line must name what draws them.
    assert "# perturbation: what made the release report = ig.audit(table, release, " in public
    assert "perturbation=perturbation, n_trials=5, n_outliers=500)" in public
    assert "ig.audit(table, release, n_outliers=1)" in Page(pages["tiny", False]).text


def test_a_line_of_code_names_all_that_was_given_and_says_what_it_is():
    given = names_given(dict.fromkeys(NAMED) | {
        "labels": np.ones(3), "kept": np.ones((3, 1)), "other_releases": (np.ones(3),),
        "parameters": None, "attacks": "auto", "knowledge": "auto", "other_parameters": (),
        "random_state": 7,
    })  # fmt: skip
    assert given == ["labels", "kept", "other_releases"]
    with pytest.raises(KeyError):
        names_given({"labels": None})  # one that is forgotten is no default
    settings = {"given": given, "most_pairs": 0, "n_trials": 1, "random_state": 7}
    lines = audit_lines(replace(tiny(), settings=settings))
    assert lines[-1] == (
        "report = ig.audit(table, release, labels=labels, kept=kept, other_releases=other_releases"
        ", n_trials=1, most_pairs=0, random_state=7, n_outliers=1)"
    )
    explained = {line.removeprefix("# ").partition(":")[0] for line in lines[:-1]}
    assert explained == {"table, release", "labels", "kept", "other_releases"}
    # Whatever the line may name is an argument of the audit, and nothing is forgotten.
    arguments = set(inspect.signature(audit_arrays).parameters)
    said = {*NAMED, "n_trials", "n_outliers", "most_pairs", "rows_correspond", "order_known",
            "order_shows", "id_released", "random_state"}  # fmt: skip
    assert arguments - {"table", "released", "settings", "progress"} == said
    assert set(inspect.signature(ig.audit).parameters) - {"table", "release", "files"} == (
        arguments - {"table", "released", "settings"} - INNER
    )
    inner = replace(tiny(), settings={"given": ["made_by"], "random_state": 1})
    assert audit_lines(inner)[-2:] == [
        "from isinglass.auditing.audit import audit_arrays",
        "report = audit_arrays(table, release, made_by=made_by, random_state=1, n_outliers=1)",
    ]
    own = replace(tiny(), settings={"given": ["detector"]})
    assert audit_lines(own)[-1] == "report = ig.audit(table, release, detector=detector)"
    released = {"command": "isinglass release t.csv -o r.csv", "random_state": 3}
    assert audit_lines(replace(tiny(), settings=released)) == [
        "# the audit drew its own seed, 3", "$ isinglass release t.csv -o r.csv",
    ]  # fmt: skip


def test_a_line_of_code_gives_the_same_numbers_again():
    rng = np.random.default_rng(4)
    table = rng.normal(size=(120, 3)) @ rng.normal(size=(3, 3))
    release = table @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
    labels = np.arange(120) < 6
    first = ig.audit(table, release, labels=labels, most_pairs=8, n_outliers=9,
                     rows_correspond=True)  # fmt: skip
    names = {"ig": ig, "table": table, "release": release, "labels": labels}
    exec("\n".join(audit_lines(first.findings)), names)  # noqa: S102
    assert names["report"].to_contract() == first.to_contract()
    assert names["report"].detection == first.detection


def test_a_refused_release_is_called_so_in_its_report(pages):
    assert "The policy was not met." in Page(pages["troubled", False]).text
    assert "refused" not in Page(pages["troubled", False]).text
    outcome = {"outcome": "this release was refused."}
    for public in (False, True):
        text = Page(Report(replace(troubled(), settings=outcome)).html(public=public)).text
        assert "The policy was not met: this release was refused." in text


def test_errors_are_there_for_every_column():
    some = (ColumnResult("a", 1, 0, 0.2, 0), ColumnResult("b", 1, 0, 0.1, 0))
    other = (ColumnResult("a", 1, 0, 0.05, 0), ColumnResult("b", 1, 0, 0.3, 0))
    key = (ColumnResult("a", 1, 0, 0.0, 0), ColumnResult("b", 1, 0, 0.0, 0))
    attacks = (
        attack("naive", "nothing", 0.5, columns=other),
        attack("sample", "a sample", 0.8, columns=some),
        attack("stolen_key", "the key", 1.0, columns=key, with_key=True),
    )
    text = Page(Report(replace(usual(), attacks=attacks)).html()).text
    assert (
        "column strongest attack (sample) least of all by a 0.2 0.05 naive: nothing "
        "b 0.1 0.1 sample: a sample" in text
    )
    assert "over all attacks without the key" in text


def test_the_control_is_said_to_be_what_it_is(pages):
    text = Page(pages["usual", False]).text
    assert "The control holds the same guesses beside records that are not behind them" in text
    assert "the same attack on records" not in text


@pytest.mark.parametrize("edition", EDITIONS)
def test_percentages_have_one_form(pages, edition):
    page = Page(pages[edition])
    assert re.findall(r"\d%", page.text) == []
    assert re.findall(r"\d+ %", "".join(page.words)) == []  # a space that may break
    for picture in page.all("img"):
        svg = base64.b64decode(picture["src"].partition("base64,")[2])
        assert re.findall(rb"\d%<", svg) == []


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
        notes=(said("<img src=http://example.org/x.png>"),),
        skipped=(SkippedAttack("<u>", said("<script>")),),
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
    assert len(chart.svg()) < 400_000


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
        assert "flights.parquet" not in text
    kept = without_records(report.findings)
    assert kept.detection.table_scores == kept.detection.release_scores == ()
    assert kept.linkage is None or kept.linkage.worst_records == ()
    document = report.to_json(public=True)
    assert document["edition"] == "public"
    assert {"table_scores", "release_scores"} & set(document["detection"]) == set()
    assert "worst_records" not in (document["linkage"] or {})
    assert "public edition" in Page(pages[name, True]).text
    assert len(document["attacks"]) == len(report.attacks)


def test_the_public_edition_does_not_name_the_owners_file_anywhere():
    named = replace(
        troubled(), settings={"table": "payroll.csv", "release": "out.csv"},
        notes=(AuditNote.of(Kind.ROWS_WITHOUT_PARTNER, n=3, file=OwnersFile("payroll.csv")),),
        skipped=(SkippedAttack("map", said("payroll.csv says nothing", public=False)),),
    )  # fmt: skip
    report = Report(named)
    assert "payroll.csv" in report.html()
    for text in (report.html(public=True), json.dumps(report.to_json(public=True))):
        assert "payroll" not in text
        assert "Rows of the table that have no partner: 3." in text
        assert "out.csv" in text


def test_a_mean_over_a_handful_of_outliers_is_not_made_public():
    few = replace(usual(), detection=replace(usual().detection, n_outliers=19))
    assert {a["outliers"] for a in Report(few).to_json(public=True)["attacks"]} == {None}
    shown = Report(usual()).to_json(public=True)["attacks"]
    assert shown[0]["outliers"] == pytest.approx(0.26)


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
        "from isinglass.auditing.report.report import Report; r = Report(tiny()); "
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


def test_letters_are_of_one_size_on_all_pictures(pages):
    """A picture is shown by its own width, so few columns are not blown up to a page's width."""
    few = replace(usual(n_columns=2), attacks=(attack(names=("a", "b")),))
    for html in (pages["usual", False], Report(few).html()):
        for picture in Page(html).all("img"):
            svg = base64.b64decode(picture["src"].partition("base64,")[2]).decode()
            own = float(re.fullmatch(r"--own:([\d.]+)rem", picture["style"])[1])
            assert own * 16 / width_of(svg) == pytest.approx(1.15, abs=0.01)
    assert "var(--own)" in pages["usual", False]


def test_the_colors_of_the_columns_go_from_0_to_100_percent():
    low = (ColumnResult("a", 0.1, 0.99, 0.1, 0, 0.0), ColumnResult("b", 0.6, 0.6, 0.1, 0, 0.0))
    chart = charts.heat((attack(columns=low),))
    # A range that a few far values stretch makes any guess look good by that measure.
    assert "hatched" in chart.alt
    svg = chart.svg()
    assert svg.count("/ / / /") == 1
    assert "/ / / /" not in charts.heat((attack(columns=low[1:]),)).svg()
    ticks = re.findall(r">(\d+)\u00a0%<", svg)
    assert ticks == ["0", "25", "50", "75", "100"]
    cells = re.findall(r'aria-roledescription="rect mark"[^>]*fill="([^"]+)"', svg) or re.findall(
        r'<path[^>]*fill="(rgb[^"]+)"[^>]*stroke="#ffffff"', svg
    )
    assert len(cells) == 2
    assert len(set(cells)) == 1  # below 0 as 0
    assert "color of 0" not in charts.heat((attack(),)).alt.removesuffix("none")


def boxes(svg):
    """Where the label stands, and all marks, in the picture's pixels."""
    text = re.search(r'translate\(([\d.]+),([\d.]+)\)"[^>]*>use this<', svg)
    return float(text[1]), float(text[2])


def test_the_label_of_the_frontier_covers_no_neighbor():
    crowd = [
        point("tanh", 0.85, 0.5, recommended=True),
        *(
            point("rotation", 0.85 + dy, 0.5 + dx)
            for dx in (-0.06, 0, 0.06)
            for dy in (0.06, -0.06)
        ),
        point("sign", 0.2, 0.9),
    ]
    x, y = free_spot(crowd[0], crowd)
    for p in crowd:
        px, py = 370 * p["gain"], 320 * (1 - p["detection"])
        assert abs(px - x) > 32 or abs(py - y) > 10, p  # half the label's width and height
    svg = charts.frontier(crowd).svg()
    # The text is where it was put, up to the plot's own origin.
    assert boxes(svg)[0] == pytest.approx(x, abs=1)
    alone = free_spot(crowd[0], crowd[:1])
    assert math.dist(alone, (185, 48)) < 60  # near its mark where nothing is in the way


def frontier_of(*points, **settings):
    best = next((p for p in points if p.recommended), None)
    return Frontier(points, best, "A sentence.", 0.8, 0.2, settings)


def settings_tried(rounds=(1, 1, 1)):
    def tried(method, detection, gain, number, **fields):
        return Point(method, "", None, detection, detection - 0.05, detection + 0.01, gain,
                     gain - 0.01, gain + 0.02, "naive", 2000, 3, number, **fields)  # fmt: skip

    return (
        tried("rotation", 0.95, 0.15, rounds[0], on_frontier=True),
        tried("linear", 0.93, 0.16, rounds[1], recommended=True),
        tried("sign", 0.3, 0.18, rounds[2]),
    )


def test_the_frontier_page_has_the_setting_to_use_in_its_first_table():
    page = frontier_page.render(frontier_of(*settings_tried(), random_state=5, rows=2000))
    text = Page(page).text
    first, _, others = text.partition("How to repeat it")[0].partition("The others")
    assert "linear ← use this – 93 % 88 % to 94 %" in first
    assert "16 % 15 % to 18 %" in first
    assert "linear" not in others
    assert "sign" in others
    assert "chosen by the limits" in first
    assert "earlier rounds" not in text
    again = frontier_page.render(frontier_of(*settings_tried((2, 2, 1)), random_state=5, rows=2))
    assert "Those of earlier rounds saw fewer rows" in Page(again).text
    assert page.count('<table class="stack">') == 2  # cards on a phone, no column cut off
    assert (
        "frontier = ig.tune(table, ['rotation', 'linear', 'sign'], min_detection=0.8, "
        "max_attack_gain=0.2, random_state=5)" in text
    )


def test_a_search_is_repeated_by_its_command_and_its_seed():
    found = frontier_of(*settings_tried(), random_state=5, command="isinglass tune t.csv")
    assert tune_lines(found) == ["$ isinglass tune t.csv --seed 5"]
    seeded = frontier_of(*settings_tried(), random_state=5, command="isinglass tune t.csv --seed 5")
    assert tune_lines(seeded) == ["$ isinglass tune t.csv --seed 5"]
    assert "linear" in _told(found, "t.csv").splitlines()[2]
    assert _told(found, "t.csv").splitlines()[2].startswith("→")
    assert "88 % to 94 %" in _told(found, "t.csv").splitlines()[2]
    assert "settings left out: 1 of 3" in _told(found, "t.csv")


# The page a data-protection officer signs from.


def officers_part(html):
    text = Page(html).text
    return text[text.index("For the data-protection officer") : text.index("The technical part")]


def test_the_officers_page_has_no_words_of_the_trade(pages):
    for edition in (False, True):
        said = officers_part(pages["usual", edition]).lower()
        for word in ("gain", "control", "ica", "randomization level", "r²", "baseline"):
            assert not re.search(rf"\b{word}\b", said), word


def test_the_officers_page_states_each_risk_with_its_interval(pages):
    said = officers_part(pages["usual", False])
    for risk in ("singling out", "linkability", "inference", "membership"):
        assert risk in said
    assert "21 %" in said  # the insider's mean probability of re-identification
    assert "is not above it" in said  # 7 % at the upper limit, for somebody acquainted
    assert "25 % of the rows are the only ones with their values" in said
    assert "Not measured: " in said


def test_a_page_made_without_pairs_says_so_in_the_verdict():
    assumed = replace(usual(), settings={"most_pairs": 0})
    text = Page(Report(assumed).html()).text
    verdict = text[: text.index("For the data-protection officer")]
    assert "assumes that nobody recognizes a single record" in verdict


def test_the_headline_names_the_assumption_that_decided():
    text = Page(Report(usual()).html()).text
    verdict = text[: text.index("For the data-protection officer")]
    assert "it takes somebody who has the original records from elsewhere" in verdict
    assert "recognizes a few of these it is: partly recovered" in verdict
