"""Scripts that combine kept columns, or find out after how long they come round."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tests.redteam.harness import Known


def _means_by(k: Known, groups: pd.Series, effects: float = 1.0) -> np.ndarray:
    """Noisy means by group, drawn to the mean by what noise leaves of them."""
    means = pd.DataFrame(k.Z).groupby(groups.to_numpy()).transform("mean").to_numpy()
    size = groups.groupby(groups).transform("size").to_numpy()[:, None]
    return k.mean + (means - k.mean) / (1 + k.facts["parameters"]["scale"] ** 2 / size / effects)


def means_by_stay(k: Known) -> np.ndarray:
    """Neither date says anything, but the days between them do."""
    came, left = (pd.to_datetime(k.release[name]) for name in ("admitted", "discharged"))
    return _means_by(k, (left - came).dt.days)


def means_by_same_country(k: Known) -> np.ndarray:
    """A parcel goes abroad or not: the first letters of both codes say which."""
    sender, receiver = (k.release[name].str[:2] for name in ("sender", "receiver"))
    return _means_by(k, sender == receiver, 2.0)


def sample_means_by_index(k: Known) -> np.ndarray:
    """Weight by squared height, in classes of one each; means of clean records of a sample."""
    classes = [(t["weight"] / t["height"] ** 2).round() for t in (k.sample, k.release)]
    clean = k.sample.groupby(classes[0])[k.hidden].mean()
    return clean.reindex(classes[1]).fillna(k.sample[k.hidden].mean()).to_numpy()


def means_by_plot(k: Known) -> np.ndarray:
    """Every other plot of a field, as on a checkerboard; the size that tells plots most apart."""
    boards = [(k.release["x"] // s + k.release["y"] // s) % 2 for s in range(1, 60)]
    apart = [
        np.square((k.Z[b == 1].mean(axis=0) - k.Z[b == 0].mean(axis=0)) / k.sd).sum()
        for b in boards
    ]
    return _means_by(k, boards[int(np.argmax(apart))], 2.0)


def best_wave(k: Known) -> np.ndarray:
    """The period, of all between five hours and four days, whose wave is the strongest."""
    hours = pd.to_datetime(k.release["at"]).astype("datetime64[s]").astype("int64") / 3600
    hours = (hours - hours.min()).to_numpy()
    Y, best, least = (k.Z - k.mean) / k.sd, np.zeros_like(k.Z), 0.0
    for rounds in np.arange(1 / 96, 1 / 5, 0.3 / hours.max()):
        angle = 2 * np.pi * rounds * hours
        wave = np.column_stack([np.cos(angle), np.sin(angle)])
        weights = 2 * wave.T @ Y / len(Y)
        if np.square(weights).sum() > least:
            best, least = wave @ weights, np.square(weights).sum()
    return k.mean + k.sd * best
