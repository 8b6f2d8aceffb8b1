"""HTML page of the demo."""

from __future__ import annotations

from typing import Any

from isinglass.attack.registry import ATTACKS
from isinglass.auditing.findings import PARTLY_RECOVERED_GAIN, RECOVERED_GAIN, AttackResult
from isinglass.auditing.report import text as words
from isinglass.demo.story import AIRLINES, ALPHA, Chapter, Story
from isinglass.plots import pages


def render(story: Story) -> str:
    """The page as HTML; every number in it was measured in this run."""
    first, second, third = (name.title() for name in AIRLINES)
    return pages.render(
        "isinglass/demo/page.html.j2",
        story=story,
        first=first,
        second=second,
        third=third,
        airlines=AIRLINES,
        alpha=f"{ALPHA:g}",
        shared=_chapter(story.shared_key, story),
        own=_chapter(story.multiparty, story),
        guaranteed=_guaranteed(story),
        much=words.share(RECOVERED_GAIN),
        some=words.share(PARTLY_RECOVERED_GAIN),
    )


def attackers(chapter: Chapter) -> list[tuple[str, AttackResult]]:
    """Who is told of, with what is said of each: most dangerous company first."""
    strongest, unaided, snoop = chapter.strongest, chapter.unaided, chapter.snoop
    told = [(f"{AIRLINES[1].title()}, who holds the same key", snoop)] if snoop.with_key else []
    told.append(("The strongest without the key", strongest))
    if unaided is not strongest:
        told.append(("The strongest without one known pair", unaided))
    return told


def had_to_know(attack: AttackResult) -> str:
    """An attacker's knowledge beyond what a release says of itself, which everybody has."""
    return " and ".join(attack.knowledge.rsplit(", ", 1))


def _chapter(chapter: Chapter, story: Story) -> dict[str, Any]:
    """What the page shows of one way of releasing."""
    d = chapter.findings.detection
    pooled = _row(
        "By the miner, in all releases pooled",
        chapter.found / story.top,
        f"{chapter.found}/{story.top}",
    )
    alone = _row(
        f"In {AIRLINES[0].title()}'s release by itself",
        d.rate or 0.0,
        f"{words.found(chapter.findings)}/{d.n_outliers}",
        below=f"{words.interval(d.low, d.high)}, allowing for chance; a blind choice would find "
        f"{words.share(d.chance)}",
    )
    got_back = [
        _row(
            who,
            attack.success,
            words.share(attack.success),
            mark=attack.baseline,
            below=_small(attack),
        )
        for who, attack in attackers(chapter)
    ]
    return {
        "chapter": chapter,
        "read": words.share(chapter.snoop.success),
        "had_to_know": had_to_know(chapter.snoop),
        "found": [pooled, alone],
        "got_back": got_back,
    }


def _guaranteed(story: Story) -> dict[str, Any]:
    """What the page shows of the guaranteed model."""
    told = story.guaranteed
    best = "By anybody who has the model, among all records"
    guess = "Someone who knows all of a record but one value"
    blind = f"For records that were kept out of the counts: {words.share(told.read_uncounted)}."
    read = words.share(told.read)
    return {
        "chapter": told,
        "certainty": words.share(told.certainty),
        "found": _row(best, told.found / story.top, f"{told.found}/{story.top}"),
        "forest": _row(
            "By an isolation forest that sees the flights themselves, without privacy",
            told.forest_found / story.top,
            f"{told.forest_found}/{story.top}",
        ),
        "got_back": _row(guess, told.read, read, mark=told.read_uncounted, below=blind),
    }


def _small(attack: AttackResult) -> str:
    """What stands under an attacker's bar."""
    remark = words.remark(attack)
    blind = f"A blind guess gets {words.share(attack.baseline)}" + (
        f": {remark}." if remark else "."
    )
    if attack.with_key:
        return blind
    name, deed = words.name_of(attack.name), ATTACKS[attack.name].story
    known = had_to_know(attack)
    return f"“{name}” {deed}. It had to know: {known}. {blind}"


def _row(
    label: str, share: float, value: str, *, mark: float = -1, below: str = ""
) -> dict[str, str]:
    """A bar of this share, with an upright line at `mark`."""
    return {
        "label": label,
        "width": f"{100 * share:.1f}",
        "mark": f"{100 * mark:.1f}" if mark >= 0 else "",
        "value": value,
        "below": below,
    }
