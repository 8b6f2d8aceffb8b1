"""Policy lines about how a release was made, and a trial of seeds that people use."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.attack.knowledge import StolenKey
from isinglass.attack.noise.common_seeds import COMMON_SEEDS
from isinglass.attack.stolen_key import StolenKeyAttack
from isinglass.auditing.files.key_match import EXACTLY, NEARLY, NOT
from isinglass.auditing.files.provenance import rebuild_perturbation
from isinglass.auditing.findings import PolicyLine
from isinglass.auditing.notes import AuditNote, Kind
from isinglass.errors import IsinglassError
from isinglass.formats import counted
from isinglass.messages import spell
from isinglass.release import Facts

Array = NDArray[Any]

ORIGIN = "it is known how the release was made"
ORDER = "the order of the rows tells nothing"
KEPT = "how records depend on the kept columns can be read to the end"
NOISE = "noise hides the records"
DIGITS = "the last digits of noisy numbers tell nothing"
TOGETHER = "all releases of these rows are attacked together"
SECRET = "the key came from secret randomness"
#: Share of a column's variance that kept values may explain beyond what the audit can read.
_UNREAD = 0.1
#: Rows on which a guessed seed is looked at.
_ROWS_OF_SEED = 50
#: For so long seeds are tried.
_PATIENCE_S = 3.0


def origin_line(facts: Facts | None, *, made: str, beside: bool) -> PolicyLine:
    """Whether it is known how a release was made: `made` says how well its key makes it.

    `beside` says whether all that left beside the perturbed columns is as it is in the table.

    Attacks are chosen by what a release looks like, and nobody can think of all. So a file whose
    making is unknown, or only claimed, may give back more than the attacks listed got: noise of
    the stated law may come from a seed that others know.
    """
    if made != NOT and not beside:
        return PolicyLine(
            ORIGIN,
            "beside what the key makes it holds columns that are not the table's, and those may "
            "hold anything; audit the very file that was written",
            met=False,
        )
    if made == EXACTLY:
        return PolicyLine(ORIGIN, "the key turns the table into it", met=True)
    if made == NEARLY:
        return PolicyLine(
            ORIGIN,
            "the key turns the table into it up to rounding only, and the last digits may hold "
            "anything; audit the very file that was written, on the machine that wrote it",
            met=False,
        )
    if facts is None:
        return PolicyLine(
            ORIGIN,
            "it is not stated, and attacks that fit its making may get more (release.origin = "
            '"any" in the policy goes by the attacks listed alone)',
            met=False,
        )
    return PolicyLine(ORIGIN, f"only the release says so; {spell('key')} would show it", met=False)


def order_line(*, shows: bool) -> PolicyLine:
    """Whether the order of the rows tells nothing: `shows` says that they are not shuffled.

    A table's order may hold calendars, rosters, pairs of stations or anything else that puts alike
    records at places somebody can work out, and averaging over these takes noise away. No list of
    attacks has all of them; rows in a random order hold none.
    """
    if not shows:
        return PolicyLine(ORDER, "the rows are in a secret order", met=True)
    return PolicyLine(
        ORDER,
        "the rows are in the table's order, which may tell more than the attacks listed found; "
        f'{spell("shuffle", True)} hides it (release.order = "any" in the policy goes by the '
        "attacks alone)",
        met=False,
    )


def kept_line(n_combinations: int, n_rows: int, n_columns: int, noise: float) -> PolicyLine:
    """Whether kept columns have so few combinations of values that these can be read to the end.

    Records may depend on kept values in any way: by a product of two, a sum of three, a curve for
    each person, or by going together in another way for each value. No list of attacks has all.
    But within rows of equal kept values nothing is left to read from them, so means and
    covariances of each combination say it all, up to their errors: with `noise` in units of a
    column's variance, (1 + noise) times combinations over rows for means, and times the root of
    columns and combinations over rows for covariances. A value that all rows share says nothing.
    """
    told = f"{n_combinations:,} combinations of kept values in {n_rows:,} rows"
    share = n_combinations / n_rows
    unread = (1.0 + noise) * max(share, (n_columns * share) ** 0.5)
    if n_combinations < 2 or unread <= _UNREAD:
        return PolicyLine(KEPT, told, met=True)
    return PolicyLine(
        KEPT,
        f"{told}: how records depend on them may tell more than the attacks listed found; keep "
        'fewer columns, or none (release.kept = "any" in the policy goes by the attacks alone)',
        met=False,
    )


def noise_line(*, draws_noise: bool, silent: int | None) -> PolicyLine:
    """Whether noise hides the records: it must be drawn, and added to every column.

    A map without noise keeps coincidences, and can be learned. Equal records stay equal, equal
    differences and directions stay so, and second moments are turned and no more: counting these
    names categories, flags, sparse amounts and main directions without a single pair. With pairs
    the map itself is learned, and where it is flat its last digits are. No list of attacks has all
    structures and all maps.

    Noise that is not added to columns as they stand leaves something in them, too: factors leave
    zeros, signs and hard ends, noise on a map the map, rows drawn from groups what a group
    shares. `silent` counts columns that get none; it is None where noise is not added. What is
    left is a kept column that nobody declared.
    """
    anyhow = '(release.noise = "any" in the policy goes by the attacks alone)'
    if not draws_noise:
        return PolicyLine(
            NOISE,
            "the method maps equal records to equal rows: who counts them, or learns the map, may "
            f"get more than the attacks listed; use a method with noise {anyhow}",
            met=False,
        )
    if silent is None:
        return PolicyLine(
            NOISE,
            "the method does not add noise to every column: zeros, signs, hard ends or what groups "
            "share come through, and may tell more than the attacks listed; use gaussian, uniform "
            f"or adaptive {anyhow}",
            met=False,
        )
    if silent:
        return PolicyLine(
            NOISE,
            f"{counted(silent, 'column')} without noise, and all others may depend on "
            f"{'it' if silent == 1 else 'them'}: give every column a scale above 0 {anyhow}",
            met=False,
        )
    return PolicyLine(NOISE, "the method adds noise to every column", met=True)


def digits_line(*, rounded: bool) -> PolicyLine:
    """Whether noisy numbers are rounded; else their last digits rule out nearly all other records.

    Noise is one of 2**52 numbers, so a float64 says of most candidate values that they cannot lie
    beneath it, however large the noise is. Releases by older keys are not rounded.
    """
    if rounded:
        return PolicyLine(DIGITS, "they are rounded", met=True)
    return PolicyLine(
        DIGITS,
        "they are not rounded, as in releases of older versions, and rule out nearly every value "
        'but the true one; release the table again (release.noise = "any" in the policy goes by '
        "the attacks alone)",
        met=False,
    )


def together_lines(
    n_others: int, facts: Facts | None, earlier: int | None, notes: list[AuditNote]
) -> list[PolicyLine]:
    """Whether all releases of these rows were attacked; no line where there is but this one."""
    wanted = int(facts is not None and facts.again) if earlier is None else earlier
    if not wanted:
        return []
    # A release says that its rows had left before, and not how often.
    least = "at least " if earlier is None else ""
    told = f"{n_others} of {least}{counted(wanted, 'other release')}"
    option = spell("other_releases")
    if n_others < wanted:
        values = {"n_given": n_others, "n_known": wanted, "option": option}
        notes.append(AuditNote.of(Kind.OTHER_RELEASES_MISSING, **values))
        told += f"; add EARLIER with {option} so that all are attacked together"
    return [PolicyLine(TOGETHER, told, n_others >= wanted)]


def secret_line(seeded: bool) -> PolicyLine | None:
    """A demand that is not met where a seed was used; None elsewhere."""
    if not seeded:
        return None
    return PolicyLine(
        SECRET, "it came from a seed, and anyone who guesses the seed has the key", met=False
    )


def undone_by_seed(
    facts: Facts, names: Sequence[str], table: Array, released: Array
) -> Array | None:
    """The release undone with the key of a seed that people use; None where none fits."""
    begun = time.monotonic()
    for seed in COMMON_SEEDS:
        if time.monotonic() - begun > _PATIENCE_S:
            return None
        made = rebuild_perturbation(facts, names)
        if made is None or not hasattr(made, "random_state"):
            return None
        made.random_state = seed
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of a release that is not being made
                made.fit(table)
            again = made.transform_rows(table[:_ROWS_OF_SEED], 0)
            if again.shape != released[:_ROWS_OF_SEED].shape or not np.allclose(
                again, released[:_ROWS_OF_SEED], rtol=1e-4, atol=1e-4 * float(np.abs(again).max())
            ):
                continue
            return np.asarray(StolenKeyAttack().guess(released, StolenKey(made)))
        except (IsinglassError, ValueError, ArithmeticError):
            return None
    return None
