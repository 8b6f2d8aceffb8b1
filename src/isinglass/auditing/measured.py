"""One setting, measured once: draw a key, release, attack, look for the outliers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass import chance
from isinglass.auditing.candidates import Candidate
from isinglass.auditing.plan import Wanted, plan
from isinglass.auditing.redraw import redraw
from isinglass.auditing.score import gain_interval
from isinglass.auditing.subject import Subject, public_parameters, subject_of
from isinglass.auditing.trial import attack_all
from isinglass.auditing.utility import default_detector

Array = NDArray[Any]

#: Records scored in a search; a hundredth more or less decides nothing yet.
ENOUGH_TO_COMPARE = 2400


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one draw of one setting gave; as plain numbers, so that it can be kept in a file."""

    detection: float
    n_outliers: int
    gain: float
    gain_low: float
    gain_high: float
    strongest: str


def measure(
    candidate: Candidate,
    table: Array,
    seed: int,
    *,
    attacks: Wanted = "auto",
    most_pairs: int | None = None,
    n_outliers: int | None = None,
) -> Measurement:
    """Release `table` once under a new key and send the attackers, those with the key excepted."""
    perturbation = candidate.perturbation()
    rng = chance.generator(seed)
    subject = _subject(table, candidate, n_outliers)
    drawn = redraw(subject, perturbation, rng, enough=ENOUGH_TO_COMPARE, most_pairs=most_pairs)
    steps, _ = plan(drawn.scene, attacks, seed)
    steps = [step for step in steps if not step.with_key]
    outcomes = attack_all(
        drawn.scene, steps, subject.yard, held_out=drawn.held_out, rng=rng, tell=lambda: None
    )
    done = [(o.score.gain(), o) for o in outcomes if o.score is not None]
    assert drawn.detection is not None  # candidates keep their rows
    rate = drawn.detection.rate
    assert rate is not None
    if not done:
        return Measurement(rate, drawn.detection.n_outliers, 1.0, 0.0, 1.0, "none")
    gain, best = max(done, key=lambda pair: pair[0])
    assert best.score is not None
    low, high = gain_interval(best.score, [])
    # The highest upper limit may belong to another attacker.
    high = max(high, *(gain_interval(o.score, [])[1] for _, o in done if o.score is not None))
    return Measurement(rate, drawn.detection.n_outliers, gain, low, high, best.step.attack.name)


def _subject(table: Array, candidate: Candidate, n_outliers: int | None) -> Subject:
    perturbation = candidate.perturbation()
    # How a release is scaled depends on the method alone; no release exists yet.
    width = table.shape[1] if perturbation.keeps_columns else table.shape[1] + 1
    return subject_of(
        table,
        np.zeros((len(table), width)),
        names=None,
        detector=default_detector(len(table), n_outliers),
        parameters=public_parameters(perturbation),
        labels=None,
    )
