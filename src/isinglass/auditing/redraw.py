"""The same perturbation under another key, with records held out that are never released."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isinglass.attack.knowledge import KeptColumns, PublicParameters
from isinglass.auditing.cast import ENOUGH, HELD_OUT, cast_rows
from isinglass.auditing.result import Detection
from isinglass.auditing.scene import Scene
from isinglass.auditing.subject import Subject, public_parameters
from isinglass.auditing.utility import Truth
from isinglass.errors import PrivacyWarning
from isinglass.perturb.base import Perturbation

Array = NDArray[Any]

#: A method that must see all records at once is tried again on no more than these.
_MOST_REFITTED = 10_000


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A release that might have been."""

    scene: Scene
    rows: NDArray[np.intp] = field(repr=False)  # of the table, that were released
    held_out: Array = field(repr=False)
    detection: Detection | None


def redraw(
    subject: Subject,
    perturbation: Perturbation,
    rng: np.random.Generator,
    kept: KeptColumns | None = None,
    *,
    enough: int = ENOUGH,
    most_pairs: int | None = None,
    levels: tuple[int, ...] | None = None,
    with_key: bool = False,
    order_shows: bool = True,
    others: Sequence[Array] = (),
    other_parameters: Sequence[PublicParameters | None] = (),
) -> Redrawn:
    """Hold out one record in five, draw a new key for the others, release them, look for outliers.

    Other releases of the rows were made under their own keys and cannot be drawn again: those
    whose row i is record i are cut to the records that are released.
    """
    order = rng.permutation(len(subject.table))
    if perturbation.needs_table:
        order = order[:_MOST_REFITTED]
    n_held = max(1, round(HELD_OUT * len(order)))
    held, rows = order[:n_held], np.sort(order[n_held:])
    table = subject.table[rows]
    fresh = clone(perturbation).set_params(random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # told when the release was made
        released = np.asarray(fresh.fit_transform(table))
    correspond = perturbation.keeps_rows
    part = replace(subject, table=table)  # bounds are learned from what is released alone
    labels = None if subject.labels is None else subject.labels[rows]
    truth = Truth(part.scaled(table), subject.detector, rng, labels)
    detection = truth.compare(part.scaled_release(released)) if correspond else None
    beside = None if kept is None else KeptColumns(kept.values[rows], kept.categorical)
    scene = Scene(
        table,
        released,
        cast_rows(
            len(table),
            table.shape[1],
            truth.strongest,
            rng,
            enough=enough,
            most_pairs=most_pairs,
            levels=levels,
            aligned=correspond,
        ),
        public_parameters(fresh),
        beside,
        None if beside is None else beside.values,
        key=fresh if with_key else None,
        rows_correspond=correspond,
        others=tuple(other[rows] for other in others) if correspond else (),
        other_parameters=tuple(other_parameters) if correspond else (),
        order_shows=order_shows,
    )
    return Redrawn(scene, rows, np.asarray(subject.table[held], dtype=np.float64), detection)
