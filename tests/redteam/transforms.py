"""Cases of tools that mix rows by a fixed transform, or say only how rows lie to one another."""

from __future__ import annotations

from functools import partial

import numpy as np
import pandas as pd
from scipy.cluster.vq import kmeans2
from scipy.fft import dct
from scipy.linalg import hadamard
from scipy.spatial import cKDTree
from sklearn.linear_model import Ridge

from tests.redteam import making as mk
from tests.redteam import tables as t
from tests.redteam.harness import Case, Known, one_to_one

apart = partial(t.independent, 512, 6)
many = partial(t.factors, 500, 40, 20, rest=0.5)
groups = partial(t.clusters, 900, 6, 30)


def cosines(records, rng):
    """The discrete cosine transform of every column along the rows."""
    return pd.DataFrame(dct(records.to_numpy(), norm="ortho", axis=0)).add_prefix("f")


def frequencies(records, rng):
    """The Fourier transform along the rows: a row a frequency, real and imaginary parts."""
    F = np.fft.rfft(records.to_numpy(), axis=0)
    rows = np.full(len(F), -1)  # no row is a record's
    return pd.DataFrame(np.hstack([F.real, F.imag])).add_prefix("f"), rows


def signs(records, rng):
    """The Walsh-Hadamard transform along the rows."""
    return pd.DataFrame(hadamard(len(records)) @ records.to_numpy()).add_prefix("f")


def noise_of_low_rank(records, rng):
    """Strong noise that lies in three secret directions of forty."""
    draws = rng.normal(size=(len(records), 3)) @ rng.normal(size=(3, records.shape[1]))
    return records + 8 * draws * records.std().to_numpy()


def cluster_labels(records, rng):
    """Nothing but the number of each record's cluster."""
    labels = kmeans2(records.to_numpy(), 30, seed=3, minit="++")[1]
    return pd.DataFrame({"cluster": labels})


def near_rows(records, rng):
    """The row numbers of each record's ten nearest records."""
    found = cKDTree(records.to_numpy()).query(records.to_numpy(), 11)[1][:, 1:]
    return pd.DataFrame(found).add_prefix("near")


def undo_cosines(k: Known) -> np.ndarray:
    return dct(k.Z, norm="ortho", axis=0, type=3)


def undo_signs(k: Known) -> np.ndarray:
    return hadamard(len(k.Z)) @ k.Z / len(k.Z)


def beside_the_noise(k: Known) -> np.ndarray:
    """The directions with more variance than the table has are noise; the others are exact."""
    public = k.values("public")
    values, axes = np.linalg.eigh(np.cov(k.Z.T) - np.cov(public.T))
    quiet = axes[:, values < 0.05 * values.max()]
    cost = ((k.Z @ quiet)[:, None] - (public @ quiet)[None]) ** 2
    return one_to_one(cost.sum(axis=2))


def means_of_label(k: Known) -> np.ndarray:
    """The mean of the known records of the same cluster."""
    known = pd.DataFrame(k.values("records")).groupby(k.Z[k.rows, 0]).mean()
    guess = known.reindex(k.Z[:, 0]).to_numpy()
    return np.where(np.isnan(guess), k.mean, guess)


def along_the_graph(k: Known) -> np.ndarray:
    """Slow vectors of the graph of near rows, fitted to the known records."""
    A = np.zeros((len(k.Z), len(k.Z)))
    A[np.repeat(np.arange(len(A)), k.Z.shape[1]), k.Z.astype(int).ravel()] = 1
    A = np.maximum(A, A.T)
    size = np.sqrt(A.sum(axis=1))
    slow = np.linalg.eigh(A / size[:, None] / size)[1][:, -25:] / size[:, None]
    slow *= np.sqrt(len(slow)) / np.linalg.norm(slow, axis=0)
    return Ridge(0.3).fit(slow[k.rows], k.values("records")).predict(slow)


TRANSFORMS = [
    Case("cosines-along-the-rows", "a cosine transform along the rows", "outsider", "r2",
         mk.foreign(apart, cosines), undo_cosines),
    Case("signs-along-the-rows", "a Hadamard transform along the rows", "outsider", "r2",
         mk.foreign(apart, signs), undo_signs),
    Case("noise-of-low-rank", "strong noise in 3 secret directions of 40", "insider", "linked",
         mk.foreign(many, noise_of_low_rank), beside_the_noise),
    Case("cluster-labels", "the numbers of 30 clusters", "acquainted", "r2",
         mk.foreign(groups, cluster_labels), means_of_label),
    Case("near-rows", "row numbers of the ten nearest records", "acquainted", "r2",
         mk.foreign(groups, near_rows), along_the_graph),
]  # fmt: skip
