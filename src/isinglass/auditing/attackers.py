"""Named attackers (outsider, acquainted, insider, key holder) and their results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from isinglass.attack.base import Attack
from isinglass.attack.knowledge import (
    Colluders,
    Knowledge,
    KnownPairs,
    KnownRecords,
    PopulationSample,
    PublicTable,
    StolenKey,
)
from isinglass.auditing.findings import (
    ATTACKERS,
    NOT_MEASURED,
    PARTLY,
    PARTLY_RECOVERED_GAIN,
    RECOVERED,
    RECOVERED_GAIN,
    RESISTED,
    AttackerResult,
    AttackResult,
    Linkage,
    MembershipResult,
    holds,
)
from isinglass.auditing.split import FEW_PAIRS

OUTSIDER, ACQUAINTED, INSIDER, KEY_HOLDER = ATTACKERS
ASSUMES = {
    OUTSIDER: "the release, all that its owner says about it, and statistics of each column",
    ACQUAINTED: "what an outsider has, a sample of similar records, a few recognized records",
    INSIDER: "what the acquainted has, the whole table as a public one, more recognized records",
    KEY_HOLDER: "what an insider has, and the owner's key",
}


#: The attack whose gain is the share of rows named rightly.
ROWLESS = "rowless_linkage"
#: Columns of which less of the variance is explained are not told at all.
_TOLD = 0.05
#: Several attacks, one for each column, must beat the best single one by this.
_CLEARLY = 0.02


def few_pairs(n_columns: int) -> int:
    """The most records that somebody acquainted with the people in the table recognizes."""
    return max(2 * n_columns, FEW_PAIRS)


def attacker_of(known: Knowledge, n_columns: int) -> str:
    """The weakest of the named attackers who holds all of this."""
    colluders, pairs = known.find(Colluders), known.find(KnownPairs)
    if StolenKey in known or (colluders is not None and colluders.key is not None):
        return KEY_HOLDER
    many = pairs is not None and len(pairs.rows) > few_pairs(n_columns)
    public = known.find(PublicTable)
    if many or (public is not None and public.complete):
        return INSIDER
    few = (PopulationSample, KnownRecords, KnownPairs, Colluders, PublicTable)
    return ACQUAINTED if any(kind in known for kind in few) else OUTSIDER


def attacker_for(attack: type[Attack] | Attack) -> str:
    """The weakest attacker who holds what an attack cannot begin without."""
    if StolenKey in attack.needs:
        return KEY_HOLDER
    if PublicTable in attack.needs:
        return INSIDER
    few = (PopulationSample, KnownRecords, KnownPairs, Colluders)
    return ACQUAINTED if any(kind in few for kind in attack.needs) else OUTSIDER


def attacker_results(
    results: Sequence[AttackResult],
    *,
    verbatim: float,
    recognition: Linkage | None,
    linkage: Linkage | None,
    membership: Sequence[MembershipResult] = (),
    part: bool = False,
) -> tuple[AttackerResult, ...]:
    """What each attacker got: the best of all attacks that need no more than is held.

    `verbatim` is plain to see for anybody; `recognition` tells how well records of the sample are
    found in the release, `linkage` how well those of the public table are, and `membership` how
    well records in the release are told from others. Where only a `part` of the table left, nobody
    says which; whoever names the records of a share g of the rows knows these for members and
    guesses at the rest, which is an area of g + (1 - g) / 2.
    """
    found = []
    for name in ATTACKERS:
        done = [r for r in results if r.failed is None and holds(name, r.attacker)]
        if name == KEY_HOLDER and not any(r.attacker == KEY_HOLDER for r in done):
            continue
        links = [
            link
            for holder, link in ((ACQUAINTED, recognition), (INSIDER, linkage))
            if link is not None and holds(name, holder)
        ]
        told = [m for m in membership if holds(name, m.attacker)]
        shown = max([verbatim, *(link.gain for link in links), *(m.gain for m in told)])
        found.append(_result(name, done, links, told, shown, part=part))
    return tuple(found)


def _result(
    name: str,
    done: list[AttackResult],
    links: list[Linkage],
    told: list[MembershipResult],
    shown: float,
    *,
    part: bool,
) -> AttackerResult:
    best = max(done, key=lambda r: r.gain, default=None)
    values = (0.0, 0.0, 0.0) if best is None else (best.gain, best.gain_low, best.gain_high)
    together, r2 = _column_by_column(done)
    if together > values[0] + _CLEARLY:  # no interval is known for it but that of its parts
        values = (together, max(values[1], together - _CLEARLY), max(values[2], together))
    high = max([values[2], shown, *(r.gain_high for r in done), *(m.gain_high for m in told)])
    areas = [m.area for m in told]
    if part and done:
        areas.append((1.0 + max(values[0], shown, 0.0)) / 2)
    return AttackerResult(
        name=name,
        assumes=ASSUMES[name],
        verdict=verdict_of(done, max(shown, values[0])),
        gain=max(values[0], shown),
        low=max(values[1], shown if shown > values[0] else 0.0),
        high=high,
        r2=r2,
        linked=_linked(done, links),
        membership=max(areas, default=None),
        unclear=any(m.unclear and m.gain_high >= high for m in told),
        strongest=None if best is None else best.name,
        knowledge=None if best is None else best.knowledge,
    )


def _column_by_column(done: list[AttackResult]) -> tuple[float, float | None]:
    """Gain and share of variance where each column is guessed by the attack that suits it best.

    Of many attacks the luckiest has some gain in any column; one that explains no variance there
    does not count.
    """
    by_row = [r for r in done if r.scored_by == "row" and r.columns]
    r2 = max((r.r2_positive for r in done), default=None)
    if r2 is None or not by_row:
        return 0.0, r2
    shares = np.array([[c.r2 for c in r.columns] for r in by_row])
    gains = np.array([[c.gain for c in r.columns] for r in by_row])
    told = np.where(shares.max(axis=0) >= _TOLD, np.maximum(gains.max(axis=0), 0.0), 0.0)
    return float(told.mean()), max(r2, float(np.maximum(shares.max(axis=0), 0.0).mean()))


def _linked(done: list[AttackResult], links: list[Linkage]) -> float | None:
    """Share of records picked out: by their fit, or because every value of them is known."""
    whole = max((r.exact for r in done), default=0.0)
    shares = [link.linked for link in links] + ([whole] if whole > 0 else [])
    shares += [r.gain for r in done if r.name == ROWLESS and r.gain > 0]
    return max(shares, default=None)


def verdict_of(done: Sequence[AttackResult], shown: float) -> str:
    """The strongest attack decides; one column, the outliers or linked records count too."""
    if not done and shown < PARTLY_RECOVERED_GAIN:
        return NOT_MEASURED
    gain = max([shown, *(r.gain for r in done)])
    if gain >= RECOVERED_GAIN:
        return RECOVERED
    parts = [max(r.worst_gain, r.outliers_gain) for r in done]
    return (
        PARTLY
        if gain >= PARTLY_RECOVERED_GAIN or max(parts, default=0.0) >= RECOVERED_GAIN
        else RESISTED
    )


def not_comforted(attackers: Sequence[AttackerResult]) -> tuple[AttackerResult, ...]:
    """The same where an insider's attacks could not be run: that nothing was found says nothing."""
    return tuple(
        replace(a, verdict=NOT_MEASURED) if a.name == INSIDER and a.verdict == RESISTED else a
        for a in attackers
    )
