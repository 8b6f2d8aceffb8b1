"""Membership test: records of the release against held-out records, by area under curve."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import Knowledge, PopulationSample
from isinglass.attack.members.membership import membership_scores
from isinglass.auditing.attackers import ACQUAINTED, INSIDER, OUTSIDER, few_pairs
from isinglass.auditing.findings import MembershipResult, holds
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.auditing.resample import Redrawn
from isinglass.errors import IsinglassError

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Rows = NDArray[np.intp]

#: Records on either side; the area is then known to about two hundredths.
_COMPARED = 1_000
#: The same where several are one person's, so that more of them say little more.
_COMPARED_PERSONS = 400
#: Standard errors of an interval: several ways of telling are tried, and the best is shown.
_ERRORS = 2.6
#: The share of records, farthest from all others, that is looked at apart.
_FAR = 0.1
_FEWEST_FAR = 10
_FEWEST = 2  # records on either side
#: Records are held out again until an interval is this narrow on either side, or tells enough.
_NARROW = 0.04
_ENOUGH = 0.75
#: How often at most, and how many rows are released for it in all.
_MOST_DRAWS = 40
_MOST_ROWS = 20_000
#: Who has what each way of telling needs.
_HOLDERS = {
    "nearer_than_sample": ACQUAINTED,
    "linked": ACQUAINTED,
    "among_others": INSIDER,
    "linked_by_many": INSIDER,
}
#: The share of rows with copies from which all copies of a record are held out together, and the
#: fewest different records that can be shared out so.
_COPIED, _FEWEST_RECORDS = 0.02, 10
_BY_PAIRS = ("linked", "among_others")


@dataclass(frozen=True, slots=True)
class _Told:
    """Scores of one way of telling, for the records of one hold-out."""

    scores: Array = field(repr=False)
    is_member: Flags = field(repr=False)
    far: Flags = field(repr=False)
    by_person: bool
    area: float
    error: float

    @classmethod
    def of(cls, scores: Array, is_member: Flags, far: Flags, persons: Array | None) -> Self:
        """With the area under the curve; `persons` tells whose records these are."""
        whose = () if persons is None else (persons[is_member], persons[~is_member])
        area, error = area_under_curve(scores[is_member], scores[~is_member], *whose)
        return cls(scores, is_member, far, persons is not None, area, error)

    @property
    def sides(self) -> tuple[Array, Array]:
        return self.scores[self.is_member], self.scores[~self.is_member]


def membership(
    drawn: Redrawn, rng: np.random.Generator, again: Callable[[], Redrawn] | None = None
) -> tuple[MembershipResult, ...]:
    """How well members are told from records that were never released, in several ways.

    `again` holds other records out: of a small table one hold-out says little, the mean over
    several says more.
    """
    told: dict[str, list[_Told]] = {}
    knowledge: dict[str, str] = {}
    for hold_out in _hold_outs(drawn, again, told):
        for name, known, found in _tell(hold_out, rng, _settled(told)):
            told.setdefault(name, []).append(found)
            knowledge[name] = known
    return tuple(_result(name, knowledge[name], found) for name, found in told.items())


def or_by_person(
    by_row: Sequence[MembershipResult], again: Callable[[], Redrawn], rng: np.random.Generator
) -> tuple[MembershipResult, ...]:
    """The same, or what hold-outs of whole persons show, where that is surely more.

    That rows of one person, or copies of a record, belong together is only supposed here, so that
    an interval too wide to show anything says nothing; and one hold-out does where it shows no
    more than single rows.
    """
    usual = {m.name: m.area for m in by_row}
    drawn = again()
    found = membership(drawn, rng)
    if any(m.area > usual.get(m.name, 0.5) + _NARROW for m in found):
        found = membership(drawn, rng, again)
    worse = {m.name: m for m in found if m.low > 0.5 and m.area > usual.get(m.name, 0.5)}
    return tuple(worse.get(m.name, m) for m in by_row)


def equal_records(table: Array) -> Array | None:
    """Codes that equal rows share, where some rows have copies; None elsewhere.

    Of a record with copies, one held out is still in the release: nobody could tell it from a
    member. Held out with all its copies, it is a stranger.
    """
    rows = np.ascontiguousarray(table, dtype=np.float64) + 0.0  # -0.0 equals 0.0
    whole = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
    codes, times = np.unique(whole, return_inverse=True, return_counts=True)[1:]
    copied = times[times > 1].sum()
    if copied < _COPIED * len(rows) or len(times) < _FEWEST_RECORDS:
        return None
    return np.asarray(codes)


def unclear_members(results: Sequence[MembershipResult]) -> list[AuditNote]:
    """A note where the release has too few rows to tell how well its members are recognized."""
    widest = max(results, key=lambda m: m.high, default=None)
    if widest is None or not widest.unclear:
        return []
    of = "persons" if widest.by_person else "rows"
    return [
        AuditNote.of(
            Kind.UNCLEAR_MEMBERSHIP, of=of, n_others=widest.n_others, n_draws=widest.n_draws,
            low=widest.low, high=widest.high,
        )
    ]  # fmt: skip


def _hold_outs(
    drawn: Redrawn, again: Callable[[], Redrawn] | None, told: dict[str, list[_Told]]
) -> Iterator[Redrawn]:
    """The hold-out given, and others until every way of telling is settled, or enough is."""
    yield drawn
    most = min(_MOST_DRAWS, _MOST_ROWS // len(drawn.scene.table)) if again is not None else 0
    for _ in range(most - 1):
        if len(_settled(told)) == len(told):
            return
        assert again is not None
        yield again()


def _settled(told: Mapping[str, Sequence[_Told]]) -> list[str]:
    """Ways of which enough is known: narrowly, or that they tell most, or that another is better.

    Only one that needs no more knowledge is better.
    """
    ranges = {}
    for name, found in told.items():
        area, error = _pooled(found)
        ranges[name] = area - _ERRORS * error, area + _ERRORS * error
    return [
        name
        for name, (low, high) in ranges.items()
        if high - low <= 2 * _NARROW
        or low > _ENOUGH
        or any(ranges[o][0] > high for o in ranges if holds(_holder(name), _holder(o)))
    ]


def _holder(name: str) -> str:
    return _HOLDERS.get(name, OUTSIDER)


def _tell(
    drawn: Redrawn, rng: np.random.Generator, settled: Collection[str]
) -> Iterator[tuple[str, str, _Told]]:
    """All ways of telling that are not settled, on one hold-out: name, knowledge and scores."""
    scene = drawn.scene
    paired = scene.rows_correspond is not False
    n_pairs = min(few_pairs(scene.table.shape[1]), scene.split.most_pairs) if paired else 0
    given = np.zeros(len(scene.table), dtype=bool)
    given[scene.split.attacked[:n_pairs]] = True
    sample = _sample(drawn, rng)
    given |= sample
    members = rng.permutation(np.flatnonzero(~given))
    others = rng.permutation(len(drawn.held_out))
    if drawn.persons is None:
        members, others = members[:_COMPARED], others[:_COMPARED]
    else:
        # As many records of each: rivals that are nearly the same would take a row's likelihood.
        mine, theirs = drawn.persons.released[members], drawn.persons.held_out[others]
        each = max(1, _COMPARED_PERSONS // max(1, len(np.unique(mine))))
        members, others = members[_first_of_each(mine, each)], others[_first_of_each(theirs, each)]
    if len(members) < _FEWEST or len(others) < _FEWEST:
        return
    records = np.vstack([scene.table[members], drawn.held_out[others]]).astype(np.float64)
    persons = None
    if drawn.persons is not None:
        persons = np.concatenate([drawn.persons.released[members], drawn.persons.held_out[others]])
    is_member, far = np.arange(len(records)) < len(members), _far(records)
    own_kept = _kept_values(drawn, members, others)
    public = scene.common(whole=True, others=False) | scene.statistics
    similar = public | PopulationSample(scene.table[sample])
    ways = [(similar, False)]
    if n_pairs:
        ways.append((similar | scene.split.pairs(scene.table, n_pairs, whole=True), True))
    released = np.asarray(scene.released, dtype=np.float64)
    found: dict[str, tuple[Knowledge, Array]] = {}
    for facts, linked in ways:
        # Noise is here as it was declared, and pairs teach nothing more but of kept columns.
        taught = "likelihood" in found and scene.kept is None
        if linked and (taught or all(name in settled for name in _BY_PAIRS)):
            continue
        try:
            scores = membership_scores(
                released, records, facts, near=not linked, linked=linked, own_kept=own_kept
            )
        except (IsinglassError, ArithmeticError, ValueError):
            continue
        found |= {name: (facts, values) for name, values in scores.items()}
    for name, (facts, values) in found.items():
        if name not in settled:
            known = facts if name in _HOLDERS else public
            yield name, known.describe(), _Told.of(values, is_member, far, persons)
    n_many = scene.split.most_pairs if paired else 0
    # Twice as many pairs may teach a map that a few do not.
    if n_many < 2 * n_pairs or "likelihood" in found or "linked_by_many" in settled:
        return
    facts = similar | scene.split.pairs(scene.table, n_many, whole=True)
    try:
        values = membership_scores(released, records, facts, near=False, linked=True)["linked"]
    except (IsinglassError, ArithmeticError, ValueError):
        return
    known_rows = np.isin(members, scene.split.attacked[:n_many])
    asked = np.concatenate([~known_rows, np.ones(len(others), dtype=bool)])
    if (~known_rows).sum() >= _FEWEST:
        whose = None if persons is None else persons[asked]
        told = _Told.of(values[asked], is_member[asked], far[asked], whose)
        yield "linked_by_many", facts.describe(), told


def _kept_values(drawn: Redrawn, members: Rows, others: Rows) -> Array | None:
    """The kept values of the records in question, members first."""
    mine, theirs = drawn.scene.table_kept, drawn.held_out_kept
    if mine is None or theirs is None:
        return None
    return np.vstack([mine[members], theirs[others]])


def _first_of_each(persons: Array, n: int) -> Rows:
    """Places of the first n records of every person, of so many persons as are compared."""
    order = np.argsort(persons, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(persons[order]) != 0][: len(order)])
    turn = np.arange(len(order)) - np.repeat(starts, np.diff(np.r_[starts, len(order)]))
    return np.sort(order[turn < n])[:_COMPARED]


def _sample(drawn: Redrawn, rng: np.random.Generator) -> Flags:
    """Marks the records that somebody acquainted holds: where persons are known, of a few."""
    scene = drawn.scene
    chosen = np.zeros(len(scene.table), dtype=bool)
    chosen[scene.split.sample] = True
    if drawn.persons is None:
        return chosen
    whose = drawn.persons.released
    everybody = np.unique(whose)
    few = rng.permutation(everybody)[: max(1, round(chosen.mean() * len(everybody)))]
    return np.isin(whose, few)


def _pooled(found: Sequence[_Told]) -> tuple[float, float]:
    """The mean area over hold-outs, and its standard error.

    Which records are held out is drawn anew each time, so that errors of several are independent
    of one another: of this table and this method the mean tells more.
    """
    variance = float(np.mean([f.error**2 for f in found]))
    return float(np.mean([f.area for f in found])), float(np.sqrt(variance / len(found)))


def _result(name: str, knowledge: str, found: Sequence[_Told]) -> MembershipResult:
    area, error = _pooled(found)
    return MembershipResult(
        name=name,
        knowledge=f"{knowledge}, and the record in question",
        attacker=_holder(name),
        area=area,
        low=max(0.0, area - _ERRORS * error),
        high=min(1.0, area + _ERRORS * error),
        outliers_area=_mean([_area_of_far(f) for f in found]),
        recognized_1pct=_mean([_recognized(*f.sides, 0.01) for f in found]),
        recognized_01pct=_mean([_recognized(*f.sides, 0.001) for f in found]),
        n_members=int(found[0].is_member.sum()),
        n_others=int((~found[0].is_member).sum()),
        n_draws=len(found),
        by_person=found[0].by_person,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(np.mean(known)) if known else None


def _area_of_far(found: _Told) -> float | None:
    member, other = found.far & found.is_member, found.far & ~found.is_member
    if min(int(member.sum()), int(other.sum())) < _FEWEST_FAR:
        return None
    return area_under_curve(found.scores[member], found.scores[other])[0]


def _far(records: Array) -> Flags:
    """The tenth of the records that lies farthest out, in deviations from the median."""
    spread = records.std(axis=0)
    away = np.abs(records - np.median(records, axis=0)) / np.where(spread > 0, spread, 1.0)
    distance = np.square(away).sum(axis=1)
    return np.asarray(distance > np.quantile(distance, 1 - _FAR))


def area_under_curve(
    members: Array,
    others: Array,
    of_members: Array | None = None,
    of_others: Array | None = None,
) -> tuple[float, float]:
    """The chance that a member scores higher than another, ties half, and its standard error.

    The error is DeLong's, from how often each one wins against all of the other side; where
    persons are given, several records of one count together (Obuchowski 1997).
    """
    m, o = np.sort(members), np.sort(others)
    wins = (np.searchsorted(o, members, "left") + np.searchsorted(o, members, "right")) / 2
    lost = (np.searchsorted(m, others, "left") + np.searchsorted(m, others, "right")) / 2
    sides = (wins / len(o), of_members), (1 - lost / len(m), of_others)
    variance, fewest = 0.0, len(members)
    for shares, persons in sides:
        away = shares - shares.mean()
        if persons is not None:
            away = np.bincount(np.unique(persons, return_inverse=True)[1], weights=away)
        fewest = min(fewest, len(away))
        if len(away) > 1:
            variance += (
                float(np.square(away).sum()) / len(shares) ** 2 * len(away) / (len(away) - 1)
            )
    # No win at all, or only wins, would have no error.
    least = 0.25 / fewest**2
    return float(sides[0][0].mean()), float(np.sqrt(variance + least))


def _recognized(members: Array, others: Array, rate: float) -> float | None:
    """Share of members above all but `rate` of the others; None where these are too few."""
    allowed = int(rate * len(others))
    if allowed < 1:
        return None
    return float((members > np.sort(others)[len(others) - 1 - allowed]).mean())
