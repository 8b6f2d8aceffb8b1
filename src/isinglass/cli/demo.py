"""`isinglass demo`: three airlines, three ways to find anomalies together, and what leaks."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from isinglass.cli import options, show

if TYPE_CHECKING:
    from isinglass.demo.story import Chapter, Story


def demo(
    out: Annotated[Path, options.out("Folder for what it writes.")] = Path("isinglass-demo"),
    as_json: options.AsJson = False,
) -> None:
    """Three airlines look for outliers together, in three ways; an audit shows what each tells."""
    from isinglass.demo.page import render
    from isinglass.demo.story import run
    from isinglass.errors import PrivacyWarning
    from isinglass.files import whole_file

    stopped = f"stopped; {out} may hold part of the story, which the next demo there replaces"
    with show.saying(stopped), warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # the story itself tells what leaks
        story = run(out, show.print_message)
        report = out / "report.html"
        with whole_file(report) as temporary:
            temporary.write_text(render(story), encoding="utf-8")
    if as_json:
        show.print_json(story.to_json() | {"report": str(report)})
    else:
        show.echo(*_told(story))
        show.echo(f"The report, to be opened first: {report}")


def _told(story: Story) -> list[str]:
    chapters = {
        "One key for all (tanh distortion)": story.shared_key,
        "A secret each (random multiparty perturbation)": story.multiparty,
    }
    lines = [""]
    for title, chapter in chapters.items():
        lines += [title, *_chapter(chapter, story.top), ""]
    lines += ["Both are heuristics: nothing is proved about what they hide.", ""]
    return [*lines, "A guaranteed model (counts with exact noise)", *_guaranteed(story), ""]


def _guaranteed(story: Story) -> list[str]:
    from isinglass.auditing.report import text as words

    told = story.guaranteed
    return [
        f"  found       {told.found} of the {story.top} strongest outliers, by anybody who has the "
        "model; it misses what is",
        "              strange only in how values go together",
        f"              {told.forest_found} by an isolation forest without privacy, which misses "
        "such things, too",
        f"  got back    {words.share(told.read)} of the values that are missing in a record of "
        f"aurora's; {words.share(told.read_uncounted)} where",
        "              the record was not counted: nearly the same, as is proved",
        f"  guarantee   epsilon {told.epsilon:g}, delta {told.delta:g} for every record: from even "
        "odds, nobody is right",
        f"              more often than {words.share(told.certainty)} about whether it was counted",
    ]


def _chapter(chapter: Chapter, top: int) -> list[str]:
    from isinglass.auditing.report import text as words
    from isinglass.demo.page import attackers, had_to_know

    d = chapter.findings.detection
    lines = [
        f"  found       {chapter.found} of the {top} strongest outliers, by the miner, in all "
        "releases pooled",
        f"              {words.found(chapter.findings)} of {d.n_outliers} in aurora's by itself "
        f"({words.interval(d.low, d.high)})",
    ]
    for who, attack in attackers(chapter):
        lines += [
            f"  got back    {words.share(attack.success)} of aurora's values "
            f"({words.share(attack.baseline)} for a guess that never saw the release):",
            f"              {who[0].lower()}{who[1:]}"
            if attack.with_key
            else f"              {who[0].lower()}{who[1:]} ({words.name_of(attack.name)}), knowing "
            f"{had_to_know(attack)}",
        ]
    return [
        *lines,
        f"  verdict     {chapter.findings.verdict}",
        f"  audit       {chapter.report}, which stays with aurora; {chapter.public_report}",
    ]
