"""The demo's report: one page that needs nothing but a browser."""

from __future__ import annotations

from html import escape

from isinglass.demo.story import AIRLINES, ALPHA, Chapter, Story

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2733; --soft: #5b6876; --line: #d8dee6; --bg: #fbfcfd;
  --find: #2b7a78; --leak: #c4572f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --soft: #a3b0bd; --line: #38444f;
  --bg: #151b21; --find: #58b3ab; --leak: #e08a63; } }
body { margin: 0; background: var(--bg); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1.2rem 4rem; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .3rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .4rem; }
.lead, .small { color: var(--soft); }
.small { font-size: .88rem; }
.row { display: grid; grid-template-columns: minmax(9rem, 15rem) 1fr 4.2rem; gap: .8rem;
  align-items: center; margin: .45rem 0; }
.bar { height: 1.05rem; background: var(--line); border-radius: 3px; position: relative; }
.bar i { display: block; height: 100%; border-radius: 3px; background: var(--find); }
.leak .bar i { background: var(--leak); }
.bar b { position: absolute; top: -.2rem; bottom: -.2rem; width: 2px; background: var(--ink); }
.value { text-align: right; font-variant-numeric: tabular-nums; }
.note { border-left: 3px solid var(--leak); padding: .1rem 0 .1rem 1rem; margin: 1.2rem 0; }
code { font-size: .9em; }
@media (max-width: 34rem) { .row { grid-template-columns: 1fr 4.2rem; }
  .row .label { grid-column: 1 / -1; } }
"""


def _row(label: str, share: float, value: str, *, leak: bool = False, mark: float = -1) -> str:
    kind = "row leak" if leak else "row"
    line = f'<b style="left:{100 * mark:.1f}%"></b>' if mark >= 0 else ""
    return (
        f'<div class="{kind}"><span class="label">{escape(label)}</span>'
        f'<span class="bar"><i style="width:{100 * share:.1f}%"></i>{line}</span>'
        f'<span class="value">{escape(value)}</span></div>'
    )


def _chapter(title: str, text: str, chapter: Chapter, story: Story, who: str) -> str:
    found = _row("found by the miner", chapter.found / story.top, f"{chapter.found}/{story.top}")
    recovered = _row(
        f"read back by {who}",
        chapter.recovered,
        f"{chapter.recovered:.0%}",
        leak=True,
        mark=chapter.blind,
    )
    return f"<h2>{escape(title)}</h2><p>{text}</p>{found}{recovered}"


def render(story: Story) -> str:
    """The page as HTML; every number in it was measured in this run."""
    first, second, third = (name.title() for name in AIRLINES)
    shared, own = story.shared_key, story.multiparty
    chapters = _chapter(
        "One key for all (tanh distortion)",
        f"All three perturb with the same secret key, so distances between records of different "
        f"airlines still mean something. The price: whoever holds the key reads everybody&rsquo;s "
        f"release. Here {escape(second)} undoes {escape(first)}&rsquo;s.",
        shared,
        story,
        second,
    ) + _chapter(
        "A secret each (random multiparty perturbation)",
        f"Each airline adds its own secret to a public matrix (&alpha; = {ALPHA:g}). Nobody can "
        f"simply undo another&rsquo;s release, but the matrix is public: here the miner guesses "
        f"{escape(first)}&rsquo;s records from it, knowing what {escape(second)}&rsquo;s flights "
        "look like.",
        own,
        story,
        "the miner",
    )
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>isinglass demo: three airlines, one miner</title><style>{_STYLE}</style></head><body><main>
<h1>Three airlines, one miner</h1>
<p class="lead">{escape(first)}, {escape(second)} and {escape(third)} want to know which of their
{story.rows:,} recorded moments of flight are strange, without showing anybody their recordings.
Each hands a perturbed copy &mdash; a <em>release</em> &mdash; to a miner, who pools them and looks
for records far from all others.</p>
<p>Two questions decide whether that was a good idea: <strong>are the strange moments still
found?</strong> and <strong>what could somebody get back?</strong></p>
<p class="small">Found: how many of the {story.top} strongest outliers of the pooled recordings are
among the {story.top} strongest of the pooled releases. Read back: the share of
{escape(first)}&rsquo;s {story.columns} sensor values guessed to within 10&nbsp;% of the
sensor&rsquo;s range. The upright line is what a guess that never saw the release achieves.</p>
{chapters}
<div class="note"><p><strong>Neither release is a guarantee.</strong> Perturbation is a heuristic:
what is hidden depends on what the other side already knows. A few recognised records, a second
release of the same rows, or columns that were kept as they are help a snoop more than these two
numbers show.</p></div>
<h2>How well could anybody do?</h2>
<p>{story.planted} anomalies were planted, some of them faint. On the recordings themselves the
{story.top} strongest outliers contain {story.planted_found_in_tables} of them; on the tanh
releases {shared.planted_found}, on the multiparty releases {own.planted_found}.</p>
<h2>What lies in this folder</h2>
<p><code>{"/</code>, <code>".join(AIRLINES)}/</code>: each airline&rsquo;s recordings and keys,
which stay there. <code>miner/</code>: the releases and the public matrix, which is all that left.
The flights are generated; the keys came from the operating system.</p>
</main></body></html>
"""
