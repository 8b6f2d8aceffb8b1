"""First pass over a table: checks and statistics before a byte is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.errors import ReleaseError, TableError
from isinglass.memory import available_bytes, format_bytes
from isinglass.messages import spell, spell_call
from isinglass.perturb.base import Perturbation
from isinglass.perturb.scaled import ScaledPerturbation
from isinglass.progress import Progress
from isinglass.release_register import Register
from isinglass.table.batches import prefetch
from isinglass.table.columns import listed
from isinglass.table.fingerprint import Fingerprint
from isinglass.table.prepare import Source
from isinglass.table.row_order import RowOrderCheck
from isinglass.table.scale import Scaling, declared_scaling, outside_message
from isinglass.table.survey import Survey, Surveyor


class Checksum:
    """Sums of every block, to notice that the second pass meets other numbers than the first."""

    def __init__(self) -> None:
        self._sums: list[bytes] = []

    def add(self, block: NDArray[Any]) -> None:
        with np.errstate(over="ignore"):
            self._sums.append(np.asarray(block.sum(axis=0)).tobytes())

    def agrees_with(self, whole: Checksum) -> bool:
        """Was the block that was added last the same in the other pass?"""
        place = len(self._sums)
        return self._sums[-1:] == whole._sums[place - 1 : place]


@dataclass(frozen=True, slots=True)
class FirstPass:
    """What the first pass found."""

    survey: Survey
    fingerprint: Fingerprint = field(repr=False)
    checksum: Checksum = field(repr=False)
    trending: tuple[str, ...]
    alike: tuple[str, ...] = ()  # columns whose neighboring rows are, but that have no trend


def look_at(
    source: Source,
    perturbation: Perturbation,
    register: Register,
    tell: Progress,
    *,
    advice: str,
) -> FirstPass:
    """Survey the table, compare it with declared bounds, and take its fingerprint."""
    scaling = _declared(perturbation, source.n_columns)
    gather = Surveyor(source.n_columns, deviation=perturbation.needs_deviation)
    order, prints = RowOrderCheck(source.n_columns), register.fingerprinter(source.names)
    outside = np.zeros(source.n_columns, dtype=np.int64)
    done, checksum = 0, Checksum()
    for block in prefetch(source.blocks()):
        gather.add(block.X)
        order.add(block.X)
        prints.add(block.X)
        checksum.add(block.X)
        if scaling is not None:
            outside += scaling.outside(block.X)
        done += len(block.X)
        tell("reading", done, source.table.n_rows)
    if done == 0:
        reason = "has no rows" if source.missing != "drop" else "has no complete row"
        raise TableError(f"{source.table.name} {reason}")
    if outside.any() and not getattr(perturbation, "clip", False):
        raise TableError(
            f"{source.table.name} has " + outside_message(outside, source.names, advice)
        )
    facts = gather.result()
    for j in source.one_hot_positions():
        facts.low[j], facts.high[j] = 0.0, 1.0
    _refuse_overflow(facts, source, perturbation.needs_deviation)
    trends = order.trending()
    trending = tuple(source.labels[j] for j in trends)
    alike = tuple(source.labels[j] for j in np.setdiff1d(order.alike(), trends))
    return FirstPass(facts, prints.result(), checksum, trending, alike)


def _refuse_overflow(facts: Survey, source: Source, needs_deviation: bool) -> None:
    """A range or deviation that is no number any more would come out as nonsense."""
    with np.errstate(over="ignore", invalid="ignore"):
        span = facts.high.astype(source.dtype) - facts.low.astype(source.dtype)
        too_large = ~np.isfinite(span)
        if needs_deviation:
            too_large |= ~np.isfinite(facts.deviation)
    if too_large.any():
        names = [source.names[j] for j in np.flatnonzero(too_large)]
        raise TableError(
            f"{source.table.name} has columns whose range is too large to compute with: "
            f"{listed(names, most=8)}; scale them down or leave them out with {spell('drop')}"
        )


def _declared(perturbation: Perturbation, n_columns: int) -> Scaling | None:
    if not isinstance(perturbation, ScaledPerturbation) or perturbation.bounds is None:
        return None
    return declared_scaling(perturbation.bounds, n_columns)


def refuse_earlier(source: Source, look: FirstPass, register: Register, *, again: bool) -> int:
    """Refuse rows that have left before unless told otherwise; say how often they have."""
    earlier = register.earlier(look.fingerprint)
    if earlier and not again:
        last = earlier[-1]
        raise ReleaseError(
            f"rows of {source.table.name} left before ({last.method}, {last.when[:10]}, "
            f"{last.release}); several releases of the same rows can be averaged or combined "
            f"against them: pass {spell('again', True)} if that is meant; if nobody else ever had "
            f"that file, {spell_call('Register.mark_never_left', entry=last.entry, reason=...)} "
            "says so"
        )
    return len(earlier)


def state_needs(perturbation: Perturbation, facts: Survey, say: Callable[[str], None]) -> None:
    """Say how much memory a method takes beyond the batches, and refuse what cannot fit."""
    need = 3 * perturbation.key_bytes(facts.n_columns)
    what = f"a {perturbation.method} key for {facts.n_columns:,} columns"
    if perturbation.needs_table:
        need += perturbation.table_bytes(facts.n_rows, facts.n_columns)
        what = f"{perturbation.method} must hold all {facts.n_rows:,} rows at once and"
    if need > available_bytes():
        raise ReleaseError(
            f"{what} takes about {format_bytes(need)} of memory, more than there is; use fewer "
            f"columns ({spell('drop')}, or {spell('n_components')}) or a method that works row by "
            "row"
        )
    if perturbation.needs_table or need > 256 << 20:
        say(f"{what} takes about {format_bytes(need)} of memory")
