"""Release under a new key with a holdout, for controls and membership."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from isinglass.attack.knowledge import KeptColumns, PublicParameters
from isinglass.auditing.context import Subject, public_parameters
from isinglass.auditing.detection import Truth
from isinglass.auditing.findings import Detection
from isinglass.auditing.scene import Scene
from isinglass.auditing.split import ENOUGH, HELD_OUT, far_rows, split_rows
from isinglass.errors import PrivacyWarning
from isinglass.perturb.base import Perturbation

Array = NDArray[Any]

#: A method that must see all records at once is tried again on no more than these.
_MOST_REFITTED = 10_000


@dataclass(frozen=True, slots=True)
class Persons:
    """Whose records are in a release, and whose were held out."""

    released: Array = field(repr=False)
    held_out: Array = field(repr=False)


@dataclass(frozen=True, slots=True)
class Redrawn:
    """A release that might have been."""

    scene: Scene
    rows: NDArray[np.intp] = field(repr=False)  # of the table, that were released
    held_out: Array = field(repr=False)
    detection: Detection | None
    persons: Persons | None = None  # where all records of a person were held out together
    #: Kept values of the records held out; None where none were kept, or they are not to count.
    held_out_kept: Array | None = field(default=None, repr=False)


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
    persons: Array | None = None,
    detect: bool = True,
    kept_tells: bool = True,
) -> Redrawn:
    """Hold out one record in five, draw a new key for the others, release them, look for outliers.

    With `persons`, which says whose record each row is, all records of one person in five. `kept`
    are the kept columns of the table's rows. Other releases of the rows were made under their own
    keys and cannot be drawn again: those whose row i is record i are cut to the records that are
    released. Without `detect` nobody looks for outliers, and none is attacked apart. Without
    `kept_tells` nobody asks whether kept values of those held out are in the release.
    """
    order, n_held = _order(len(subject.table), persons, rng)
    if perturbation.needs_table and len(order) > _MOST_REFITTED:
        held, rest = order[:n_held], order[n_held:]
        n_held = max(1, n_held * _MOST_REFITTED // len(order))
        order = np.concatenate([held[:n_held], rest[: _MOST_REFITTED - n_held]])
    held, rows = order[:n_held], np.sort(order[n_held:])
    table = subject.table[rows]
    fresh = clone(perturbation).set_params(random_state=int(rng.integers(2**31)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)  # told when the release was made
        released = np.asarray(fresh.fit_transform(table))
    correspond = perturbation.keeps_rows
    part = replace(subject, table=table)  # bounds are learned from what is released alone
    labels = None if subject.labels is None else subject.labels[rows]
    detection, outliers = None, np.array([], dtype=np.intp)
    if detect:
        truth = Truth(part.scaled(table), subject.detector, rng, labels)
        detection = truth.compare(part.scaled_release(released)) if correspond else None
        outliers = truth.strongest
    beside = None if kept is None else kept.take(rows)
    scene = Scene(
        table,
        released,
        split_rows(
            len(table),
            table.shape[1],
            outliers,
            rng,
            enough=enough,
            most_pairs=most_pairs,
            levels=levels,
            aligned=correspond,
            far=far_rows(table),
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
    whose = None if persons is None else Persons(persons[rows], persons[held])
    asked = None if kept is None or not kept_tells else kept.values[held]
    strangers = np.asarray(subject.table[held], dtype=np.float64)
    return Redrawn(scene, rows, strangers, detection, whose, asked)


def _order(n_rows: int, persons: Array | None, rng: np.random.Generator) -> tuple[Array, int]:
    """Rows in a random order, and how many of the first are to be held out."""
    if persons is None:
        return rng.permutation(n_rows), max(1, round(HELD_OUT * n_rows))
    everybody, whose = np.unique(persons, return_inverse=True)
    n_held = min(max(1, round(HELD_OUT * len(everybody))), len(everybody) - 1)
    turn = rng.permutation(len(everybody))
    mixed = rng.permutation(n_rows)
    # Within those held out, and within the others, rows stand in no order.
    first = turn[whose[mixed]] < n_held
    return np.concatenate([mixed[first], mixed[~first]]), int(first.sum())
