"""Three airlines release their flights, a miner finds the outliers, and a snoop tries his luck."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from isinglass import datasets
from isinglass.activations import double_logistic, double_logistic_inverse
from isinglass.errors import ReleaseError
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.load import load_key
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import PublicMatrix, public_matrix
from isinglass.publish import write_release
from isinglass.release import Release

Array = NDArray[Any]
Bounds = dict[str, tuple[float, float]]

AIRLINES = ("aurora", "borealis", "cirrus")
ROWS = 6000
PLANTED = 40
TOP = 100
ALPHA = 0.2
_MARKER = ".isinglass-demo"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One way of releasing: what the miner finds, and what somebody gets back."""

    name: str
    found: int  # of the TOP strongest outliers of the pooled tables
    planted_found: int  # of all planted anomalies
    recovered: float  # share of values guessed within 10 % of their column's range
    blind: float  # the same for a guess that never saw the release


@dataclass(frozen=True, slots=True)
class Story:
    """All that the demo measured."""

    rows: int
    columns: int
    planted: int
    planted_found_in_tables: int
    top: int
    shared_key: Chapter
    multiparty: Chapter
    folder: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def run(folder: Path, say: Callable[[str], None], random_state: int | None = None) -> Story:
    """Play the story in `folder`; keys come from the operating system unless seeded for a test."""
    _fresh(folder)
    say(f"Three airlines record {ROWS:,} moments of flight each, 29 sensors, in {folder}/.")
    tables, planted = _record(folder, random_state)
    bounds = _public_bounds(random_state)
    pooled = np.vstack([_scaled(X, bounds) for X in tables.values()])
    truth = _strongest(pooled)
    chapters = {}
    for name, tell in (("shared key", _shared_key), ("multiparty", _multiparty)):
        say(f"Releasing under {name} …")
        releases, recovered, blind = tell(folder, tables, bounds)
        found = _strongest(np.vstack(releases))
        hits, hit_planted = len(found & truth), _count(found, planted)
        chapters[name] = Chapter(name, hits, hit_planted, recovered, blind)
    return Story(
        rows=len(pooled),
        columns=pooled.shape[1],
        planted=int(planted.sum()),
        planted_found_in_tables=_count(truth, planted),
        top=TOP,
        shared_key=chapters["shared key"],
        multiparty=chapters["multiparty"],
        folder=str(folder),
    )


def _fresh(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(f"{folder} is a file; name another folder with --out")
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARKER).exists():
        raise ReleaseError(
            f"{folder} holds files that are not the demo's; name another folder with --out"
        )
    for name in (*AIRLINES, "miner"):
        # What an earlier demo left goes; whatever else lies in the folder stays.
        shutil.rmtree(folder / name, ignore_errors=True)
        (folder / name).mkdir(parents=True)
    (folder / _MARKER).touch()


def _record(folder: Path, seed: int | None) -> tuple[dict[str, Array], NDArray[np.bool_]]:
    tables, planted = {}, []
    for number, name in enumerate(AIRLINES):
        data = datasets.flights(
            ROWS, n_outliers=PLANTED, carrier=number, random_state=_seed(seed, number)
        )
        columns = [pa.array(column) for column in data.X.T]
        table = pa.table(columns, names=list(data.column_names))
        pq.write_table(table, folder / name / "flights.parquet")
        tables[name] = data.X
        assert data.is_outlier is not None
        planted.append(data.is_outlier)
    return tables, np.concatenate(planted)


def _public_bounds(seed: int | None) -> Bounds:
    """Sensor ranges from recordings nobody minds showing, with room to spare on both sides."""
    public = [
        datasets.flights(2000, n_outliers=0, carrier=n, random_state=_seed(seed, 7 + n))
        for n in range(3)
    ]
    X = np.vstack([p.X for p in public]).astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    room = (high - low) / 2
    edges = zip(public[0].column_names, low - room, high + room, strict=True)
    return {name: (float(a), float(b)) for name, a, b in edges}


def _shared_key(
    folder: Path, tables: dict[str, Array], bounds: Bounds
) -> tuple[list[Array], float, float]:
    """Everybody perturbs with one key, so that records of different airlines can be compared."""
    first, second, _ = AIRLINES
    key = folder / first / "shared.key"
    releases = []
    for name in AIRLINES:
        out = folder / "miner" / f"{name}.tanh.parquet"
        veil = Distortion("tanh") if name == first else None
        write_release(
            folder / name / "flights.parquet", out, veil, key=key if veil else None,
            use_key=None if veil else key, bounds=bounds, clip=True,
            home=folder / name / "register",
        )  # fmt: skip
        releases.append(Release.read(out).to_numpy())
    # The second airline holds the same key, and so reads the first one's release.
    holder = load_key(key)
    assert isinstance(holder, Distortion)
    return releases, *_score(holder.undo(releases[0]), tables[first], tables[second])


def _multiparty(
    folder: Path, tables: dict[str, Array], bounds: Bounds
) -> tuple[list[Array], float, float]:
    """Everybody adds a secret of their own to a public matrix."""
    first, second, _ = AIRLINES
    matrix = public_matrix(len(bounds), study="demo")
    matrix.save(folder / "miner" / "public.matrix.json")
    releases = []
    for name in AIRLINES:
        out = folder / "miner" / f"{name}.multiparty.parquet"
        write_release(
            folder / name / "flights.parquet", out, MultipartyPerturbation(matrix, alpha=ALPHA),
            key=folder / name / "multiparty.key", bounds=bounds, clip=True, again=True,
            home=folder / name / "register",
        )  # fmt: skip
        releases.append(Release.read(out).to_numpy())
    guess = _linear_guess(releases[0], matrix, _scaled(tables[second], bounds))
    low, high = np.array(list(bounds.values())).T
    return releases, *_score(guess * (high - low) + low, tables[first], tables[second])


def _linear_guess(Z: Array, matrix: PublicMatrix, sample: Array) -> Array:
    """The best linear guess of whoever knows T, alpha and records like those in the release.

    Erfani et al., eq. 5, with the public T in place of T + D and the unknown D y as noise of
    variance alpha^2 / 3 E|y|^2.
    """
    T, Y = matrix.matrix, double_logistic(sample)
    mean, spread = Y.mean(axis=0), np.cov(Y, rowvar=False)
    noise = ALPHA**2 / 3 * (Y**2).sum(axis=1).mean()
    gain = spread @ T.T @ np.linalg.inv(T @ spread @ T.T + noise * np.eye(len(T)))
    guess = mean + (Z - mean @ T.T) @ gain.T
    return double_logistic_inverse(np.clip(guess, 0, double_logistic(np.array(1.0))))


def _score(guess: Array, truth: Array, sample: Array) -> tuple[float, float]:
    """Share of values within 10 % of their range: of this guess, and of one made blind."""
    width = 0.1 * np.ptp(truth, axis=0)
    blind = np.median(sample, axis=0)
    return (
        float((np.abs(guess - truth) <= width).mean()),
        float((np.abs(blind - truth) <= width).mean()),
    )


def _strongest(X: Array) -> set[int]:
    """The rows farthest, on the mean, from their five nearest neighbours."""
    from isinglass.detect.distance import DistanceOutliers

    return set(DistanceOutliers(TOP).fit(X).outliers_.tolist())


def _scaled(X: Array, bounds: Bounds) -> Array:
    low, high = np.array(list(bounds.values())).T
    return np.asarray(np.clip((X - low) / (high - low), 0, 1))


def _count(rows: set[int], planted: NDArray[np.bool_]) -> int:
    return int(planted[sorted(rows)].sum())


def _seed(seed: int | None, number: int) -> int:
    # The recordings are the demo's own and no secret; only keys must be unpredictable.
    return 100 * (2026 if seed is None else seed) + number
