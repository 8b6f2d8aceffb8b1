"""Attacks that used more knowledge to less effect, whose figures are no comfort."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from isinglass.auditing.attackers import KEY_HOLDER
from isinglass.auditing.findings import ATTACKERS, PARTLY_RECOVERED_GAIN, AttackResult, holds

#: An alarm that names many attacks names none.
_NAMED = 2


def failed_with_knowledge(results: Sequence[AttackResult]) -> tuple[str, ...]:
    """The one or two attacks that fell shortest of what their knowledge allowed.

    Such an attack has failed, and its figure is no comfort: the better one counts for everybody
    who holds as much. It did worse than a blind guess where no more knowledge did better, or
    though it holds the key; or than itself with less knowledge; or it is the best of all that
    need what one attacker holds, and did worse than one who holds less. The last two beyond both
    intervals, and by a tenth of all that can be got.
    """
    done = [r for r in results if r.failed is None]
    failures = [*_below_blind(done), *_below_itself(done), *_below_weaker_attackers(done)]
    failures.sort(key=lambda found: -found[0])
    return tuple(dict.fromkeys(name for _, name in failures))[:_NAMED]


def _best(results: Iterable[AttackResult]) -> dict[str, AttackResult]:
    """Of each attack the result that got most."""
    best: dict[str, AttackResult] = {}
    for r in results:
        if r.name not in best or r.gain > best[r.name].gain:
            best[r.name] = r
    return best


def _below_blind(done: Sequence[AttackResult]) -> Iterator[tuple[float, str]]:
    best = _best(done)
    for name, own in best.items():
        if own.gain > 0.0 or own.success >= own.baseline:
            continue
        better = [r.gain for r in best.values() if holds(own.attacker, r.attacker)]
        most = max(better, default=0.0)
        if own.attacker == KEY_HOLDER or most >= PARTLY_RECOVERED_GAIN:
            yield most + own.baseline - own.success, name


def _below_itself(done: Sequence[AttackResult]) -> Iterator[tuple[float, str]]:
    """The same attack with more pairs, or in the hands of somebody who holds more."""
    by_knowledge: dict[tuple[str, int, int], AttackResult] = {}
    for r in done:
        known = (r.name, ATTACKERS.index(r.attacker), r.n_pairs or 0)
        if known not in by_knowledge or r.gain > by_knowledge[known].gain:
            by_knowledge[known] = r
    for (name, level, n_pairs), own in by_knowledge.items():
        for (other, less, fewer), r in by_knowledge.items():
            if other == name and less <= level and fewer <= n_pairs and _clearly(own, r):
                yield r.gain - own.gain, name


def _below_weaker_attackers(done: Sequence[AttackResult]) -> Iterator[tuple[float, str]]:
    """The best that an attacker makes of what only he holds."""
    for attacker in ATTACKERS[1:]:
        own = max((r for r in done if r.attacker == attacker), key=_gain, default=None)
        weaker = [r for r in done if r.attacker != attacker and holds(attacker, r.attacker)]
        best = max(weaker, key=_gain, default=None)
        if own is not None and best is not None and _clearly(own, best):
            yield best.gain - own.gain, own.name


def _gain(result: AttackResult) -> float:
    return result.gain


def _clearly(own: AttackResult, better: AttackResult) -> bool:
    apart = better.gain_low > own.gain_high
    return apart and better.gain - own.gain >= PARTLY_RECOVERED_GAIN
