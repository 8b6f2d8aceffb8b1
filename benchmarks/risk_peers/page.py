"""The page: every figure of every pair, and where a peer finds more than our audit."""

from __future__ import annotations

from typing import Any

#: Each risk, the peers that measure it, and the name of ours.
RISKS = {
    "singling_out": ("Singling out", ("anonymeter",)),
    "linkability": ("Linkability", ("anonymeter",)),
    "inference": ("Inference", ("anonymeter", "alc")),
}
NAMES = {"anonymeter": "Anonymeter", "alc": "loss coefficient"}


def behind(results: dict[str, Any]) -> list[tuple[str, str, str, float, dict[str, Any]]]:
    """Where ours is below a peer's interval: pair, risk, peer, ours, and the peer's figure."""
    found = []
    for pair, entry in results.items():
        for risk, (_, peers) in RISKS.items():
            own = _own(entry, risk) or 0.0
            for peer in peers:
                theirs = entry.get(peer, {}).get(risk)
                if theirs is not None and own < theirs["low"]:
                    found.append((pair, risk, peer, own, theirs))
    return found


def page(results: dict[str, Any]) -> str:
    """The page as Markdown."""
    versions = {p: e[p]["version"] for e in results.values() for p in NAMES if p in e}
    less = behind(results)
    with_alc = sum(bool(e.get("alc", {}).get("inference")) for e in results.values())
    lines = [
        "# Our risks beside those of other tools",
        "",
        "Made by `make peers` and `python -m benchmarks.risk_peers`, with Anonymeter "
        f"{versions.get('anonymeter', '–')} and anonymity-loss-coefficient "
        f"{versions.get('alc', '–')}, each in an environment of its own.",
        "",
        HOW,
        "",
        f"Pairs: {len(results)}, all with Anonymeter, {with_alc} with a loss coefficient (minutes"
        f" a pair). Figures of ours below a peer's interval: **{len(less)}**.",
        "",
    ]
    for pair, risk, peer, own, theirs in less:
        lines.append(
            f"- {pair}, {RISKS[risk][0].lower()}: {NAMES[peer]} {_peer(theirs)}, ours {own:.2f}"
        )
    lines += [""] if less else []
    for risk, (title, peers) in RISKS.items():
        beside = "column" if risk == "inference" else "by"
        heads = " | ".join(f"{NAMES[p]} (95 %) | {beside}" for p in peers)
        lines += [f"## {title}", "", f"| pair | what leaves | ours | {heads} |"]
        lines.append("|---|---|---|" + "---|---|" * len(peers))
        for pair, entry in results.items():
            own = _own(entry, risk)
            cells = [pair, entry["leaves"], "not measured" if own is None else f"{own:.2f}"]
            for peer in peers:
                theirs = entry.get(peer, {}).get(risk)
                below = theirs is not None and (own or 0.0) < theirs["low"]
                none = "none" if peer in entry else "not run"
                shown = none if theirs is None else _peer(theirs)
                cells.append(shown + (" **more**" if below else ""))
                cells.append("" if theirs is None else theirs["what"])
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _own(entry: dict[str, Any], risk: str) -> float | None:
    value = entry["ours"].get("risks", {}).get(risk)
    return None if value is None else float(value)


def _peer(theirs: dict[str, Any]) -> str:
    return f"{theirs['value']:.2f} ({theirs['low']:.2f} to {theirs['high']:.2f})"


HOW = """\
Releases of the red team's kind (`tests/redteam`), made of half of the records of a table (384 or
490). The other half was never released and is Anonymeter's control: of the same size, because with
a smaller one it extrapolates, and finds too much singling out (means of five near records: .27
with 210 records for control; with fresh controls of equal size such predicates gain .09). Ours are
the risks of `isinglass audit --json`, for the insider. Both peers compare columns by name: a
release whose columns have other names, or mix them, is given to them under the table's names.

- *Singling out*: ours is the share of records that alone fit a released row, that left unchanged,
  or that have their kept values to themselves, or the share of conditions read off a released row
  that hold for one record, beyond chance. Anonymeter's is the share of such conditions beyond the
  share that hold for one record of the control; the larger of its univariate and multivariate
  (four columns) modes.
- *Linkability*: ours is the mean probability that a released row is assigned to its record, or the
  share of records whose two halves of columns have the nearest released row in common, or one of
  the five nearest, beyond that of records held out. Anonymeter's is the latter, the larger figure
  of one neighbor, its default, and five: a link of one to a few.
- *Inference*: ours is what the best attack gains of the worst column. Anonymeter's is the share of
  secrets within 5 % of the value in the released row nearest in all other columns, beyond the
  control; the largest of four columns. Its evaluator divides by the guess with its sign, so that
  any negative guess counts as right; columns were moved above 0 first. The loss coefficient is that
  of the best row match, all columns but one known, against the best model of the same column from
  other records; of the first column, from the middle on, of which there is a figure. It can be
  below 0, and is then shown as it is;
  "none" where the package ended without one for any column of a table this small.

A figure of ours is behind where it is below the lower limit of a peer's interval."""
