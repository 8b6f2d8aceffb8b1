"""The demo's report: one page that needs nothing but a browser, and leads on to the audits."""

from __future__ import annotations

from isinglass.attack.registry import ATTACKS
from isinglass.auditing.findings import MUCH, SOME, AttackResult
from isinglass.auditing.report import text as words
from isinglass.demo.story import AIRLINES, ALPHA, Chapter, Story
from isinglass.plots.markup import document, text

_STYLE = """<style>
h1 { font-size: 1.7rem; line-height: 1.2; color: var(--ink); }
main { max-width: 48rem; }
.row { display: grid; grid-template-columns: minmax(9rem, 19rem) 1fr 4.2rem; gap: .1rem .8rem;
  align-items: center; margin: .7rem 0; }
.bar { height: 1.05rem; background: var(--line); border-radius: 3px; position: relative; }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--calm); }
.leak .bar i { background: var(--bad); }
.bar b { position: absolute; top: -.25rem; bottom: -.25rem; width: 2px; background: var(--ink); }
.value { text-align: right; font-variant-numeric: tabular-nums; }
.row .soft { grid-column: 1 / -1; }
.note { border-left: .3rem solid var(--bad); padding-left: 1rem; margin: 1.5rem 0; }
@media screen and (max-width: 44rem) { .row { grid-template-columns: 1fr 4.2rem; }
  .row .label { grid-column: 1 / -1; } }
</style>"""


def render(story: Story) -> str:
    """The page as HTML; every number in it was measured in this run."""
    first, second, third = (name.title() for name in AIRLINES)
    shared, own = story.shared_key, story.multiparty
    chapters = _chapter(
        "1. One key for all: tanh distortion",
        "All three perturb with the same secret key, so that records of different airlines can be "
        "compared. The price: whoever holds the key reads everybody's release, and so does the "
        f"miner with the help of one of them. Here {second} undoes {first}'s.",
        shared,
        story,
    ) + _chapter(
        "2. A secret each: random multiparty perturbation",
        f"Each airline adds a secret of its own to a public matrix (α = {ALPHA:g}), and no key is "
        "shared. But the matrix is public, and the miner can reckon back from it.",
        own,
        story,
    )
    body = f"""{_STYLE}<h1>Three airlines, one miner</h1>
<p>{first}, {second} and {third} want to know which of their {story.rows:,} recorded moments of
flight are strange, without showing anybody their recordings. Each hands a perturbed copy &mdash; a
<em>release</em> &mdash; to a miner, who pools them and looks for records far from all others.</p>
<p>Two questions decide whether that is a good idea: <strong>are the strange moments still
found?</strong> and <strong>what could somebody get back?</strong> {first} answers them by an
<em>audit</em>: it attacks its own releases as a snoop would, and compares the guesses with its
recordings. There are two ways of releasing here.</p>
<div class="verdict"><p><strong>One key for all:</strong> the miner finds {shared.found} of the
{story.top} strangest moments, but {second}, who holds the same key, reads
{text(words.share(shared.snoop.success))} of {first}&rsquo;s values.</p>
<p><strong>A secret each:</strong> the miner finds {own.found}, and can still guess
{text(words.share(own.snoop.success))} of {first}&rsquo;s values, knowing
{text(had_to_know(own.snoop))}.</p></div>
{chapters}
<h2>How to read this</h2>
<ul><li><strong>Found</strong>: of the strongest outliers of the recordings, how many are among the
strongest of the releases: {story.top} of all recordings, or {story.top} of {first}&rsquo;s.</li>
<li><strong>Got back</strong>: the share of {first}&rsquo;s values, {story.columns} to a record,
that an attacker guessed to within 10&nbsp;% of the sensor&rsquo;s range. The upright line is a
blind guess: the best one that never looks at the release.</li>
<li><strong>Known pair</strong>: a record that the attacker has and can point to in the release.
Nobody gets points for records that were given.</li>
<li><strong>Verdict</strong>: <em>recovered</em> where the strongest attacker without the key got
{words.share(MUCH)} or more of what a blind guess leaves open, <em>partly recovered</em> from
{words.share(SOME)}. It
speaks of the attacks tried and of no others.</li></ul>
<div class="note"><p><strong>Neither release is a guarantee.</strong> Perturbation is a heuristic:
what it hides depends on what the other side already knows. The two ways are shown side by side; an
airline that really used both on the same recordings would tell more than either does alone.
<code>isinglass tune</code> looks for a setting that gives away less.</p></div>
<h2>How well could anybody find them?</h2>
<p>{story.planted} anomalies were planted, some of them faint. On the recordings themselves the
{story.top} strongest outliers contain {story.planted_found_in_tables} of them; on the tanh
releases {shared.planted_found}, on the multiparty releases {own.planted_found}.</p>
<h2>What lies in this folder</h2>
<p><code>{"/</code>, <code>".join(AIRLINES)}/</code>: each airline&rsquo;s recordings and keys, and
{first}&rsquo;s own edition of the audits, which names single records. They stay there.
<code>miner/</code>: the releases, the public matrix and the public edition of the audits, which is
all that left. The flights are generated; the keys came from the operating system.</p>"""
    return document("isinglass demo: three airlines, one miner", body)


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


def _chapter(title: str, told: str, chapter: Chapter, story: Story) -> str:
    first = AIRLINES[0].title()
    d = chapter.findings.detection
    rows = "".join(
        _row(
            who,
            attack.success,
            words.share(attack.success),
            leak=True,
            mark=attack.baseline,
            below=_small(attack),
        )
        for who, attack in attackers(chapter)
    )
    pooled = _row(
        "By the miner, in all releases pooled",
        chapter.found / story.top,
        f"{chapter.found}/{story.top}",
    )
    alone = _row(
        f"In {first}'s release by itself",
        d.rate or 0.0,
        f"{words.found(chapter.findings)}/{d.n_outliers}",
        below=f"{words.interval(d.low, d.high)}, allowing for chance; a blind choice would find "
        f"{words.share(d.chance)}",
    )
    whole, public = chapter.report, chapter.public_report
    return f"""<h2>{text(title)}</h2><p>{text(told)}</p>
<h3>Are the strange moments still found?</h3>{pooled}{alone}
<h3>What could somebody get back?</h3>
<p>The audit&rsquo;s verdict: <strong>{text(chapter.findings.verdict)}</strong>.</p>
{rows}
<p>The whole audit: <a href="{whole}">{first}&rsquo;s own edition</a>, which stays with {first},
and <a href="{public}">the public edition</a>, which may be passed on.</p>"""


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
    label: str, share: float, value: str, *, leak: bool = False, mark: float = -1, below: str = ""
) -> str:
    line = f'<b style="left:{100 * mark:.1f}%"></b>' if mark >= 0 else ""
    small = f'<span class="soft">{text(below)}</span>' if below else ""
    return (
        f'<div class="{"row leak" if leak else "row"}"><span class="label">{text(label)}</span>'
        f'<span class="bar"><i style="width:{100 * share:.1f}%"></i>{line}</span>'
        f'<span class="value">{text(value)}</span>{small}</div>'
    )
