"""Story of the demo: three airlines, one miner, one audit."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from isinglass import datasets
from isinglass.auditing.files.audit_files import audit_files
from isinglass.auditing.findings import AttackResult, Findings
from isinglass.auditing.report.text import briefly
from isinglass.demo.guaranteed import (
    DELTA,
    EPSILON,
    GuaranteedChapter,
    forest_scores,
    guaranteed_scores,
)
from isinglass.errors import ReleaseError
from isinglass.messages import spell
from isinglass.perturb.distortion import Distortion
from isinglass.perturb.multiparty import MultipartyPerturbation
from isinglass.perturb.public_matrix import public_matrix
from isinglass.perturb.registry import load_key
from isinglass.publish import Caller, write_release
from isinglass.release import Release
from isinglass.threads import one_thread

Array = NDArray[Any]
Bounds = dict[str, tuple[float, float]]

AIRLINES = ("aurora", "borealis", "cirrus")
ROWS = 6000
PLANTED = 40
TOP = 100
ALPHA = 0.2
TRIALS = 2  # the release at hand, and one under a key drawn anew with records held out
_NAMES = {"tanh": "shared key", "multiparty": "multiparty"}
_KEYS = {"tanh": "shared.key", "multiparty": "multiparty.key"}
_MARKER = ".isinglass-demo"


@dataclass(frozen=True, slots=True)
class Chapter:
    """One way of releasing: what the miner finds, and what attackers get of the first airline."""

    name: str
    found: int  # of the TOP strongest outliers of the pooled tables
    planted_found: int  # of all planted anomalies
    findings: Findings = field(repr=False)
    report: str  # the audit's two editions, from the demo's folder
    public_report: str

    @property
    def strongest(self) -> AttackResult:
        """Whoever got most without the key."""
        attack = self.findings.strongest()
        assert attack is not None
        return attack

    @property
    def snoop(self) -> AttackResult:
        """Whom the chapter is about: a holder of the shared key, else the miner on its own."""
        done = [a for a in self.findings.attacks if a.failed is None]
        holders = [a for a in done if a.with_key and a.name == "collusion"]
        return holders[0] if holders else self.unaided

    @property
    def unaided(self) -> AttackResult:
        """Whoever got most without the key and without recognizing a record in the release."""
        done = [a for a in self.findings.attacks if a.failed is None and not a.with_key]
        return max((a for a in done if a.n_pairs is None), key=lambda a: a.gain)

    def to_json(self, folder: Path) -> dict[str, Any]:
        detection = self.findings.detection
        names = ("name", "knowledge", "success", "low", "high", "baseline")
        return {
            "name": self.name,
            "found": self.found,
            "planted_found": self.planted_found,
            "recovered": self.snoop.success,
            "blind": self.snoop.baseline,
            "verdict": self.findings.verdict,
            "strongest": {name: getattr(self.strongest, name) for name in names},
            "detection": {
                name: getattr(detection, name) for name in ("rate", "low", "high", "n_outliers")
            },
            "report": str(folder / self.report),
            "public_report": str(folder / self.public_report),
        }


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
    guaranteed: GuaranteedChapter
    folder: str

    def to_json(self) -> dict[str, Any]:
        told = {
            c: getattr(self, c).to_json(Path(self.folder)) for c in ("shared_key", "multiparty")
        }
        told["guaranteed"] = self.guaranteed.to_json()
        return {name: told.get(name, getattr(self, name)) for name in self.__slots__}


def run(folder: Path, say: Callable[[str], None], random_state: int | None = None) -> Story:
    """Play the story in `folder`; keys come from the operating system unless seeded for a test."""
    _fresh(folder)
    say(f"Three airlines record {ROWS:,} moments of flight each, 29 sensors, in {folder}/.")
    tables, planted = _record(folder, random_state)
    bounds = _public_bounds(random_state)
    pooled = np.vstack([_scaled(X, bounds) for X in tables.values()])
    truth = _strongest(pooled)
    found = {}
    for veil, release in (("tanh", _shared_key), ("multiparty", _multiparty)):
        say(f"Releasing under {_NAMES[veil]} …")
        found[veil] = _strongest(np.vstack(release(folder, bounds)))
    say("Counting with exact noise …")
    guaranteed = _guaranteed(list(tables.values()), bounds, truth, planted, random_state)
    chapters = {}
    for veil, rows in found.items():
        say(f"Attacking {AIRLINES[0]}'s {veil} release …")
        hits, planted_hits = len(rows & truth), _count(rows, planted)
        chapters[veil] = Chapter(
            _NAMES[veil], hits, planted_hits, *_audit(folder, veil, random_state)
        )
    return Story(
        rows=len(pooled),
        columns=pooled.shape[1],
        planted=int(planted.sum()),
        planted_found_in_tables=_count(truth, planted),
        top=TOP,
        shared_key=chapters["tanh"],
        multiparty=chapters["multiparty"],
        guaranteed=guaranteed,
        folder=str(folder),
    )


def _fresh(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ReleaseError(f"{folder} is a file; name another folder with {spell('out')}")
    if folder.exists() and any(folder.iterdir()) and not (folder / _MARKER).exists():
        raise ReleaseError(
            f"{folder} holds files that are not the demo's; name another folder with {spell('out')}"
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


def _shared_key(folder: Path, bounds: Bounds) -> list[Array]:
    """Everybody perturbs with one key, so that records of different airlines can be compared."""
    first = AIRLINES[0]
    key = folder / first / _KEYS["tanh"]
    releases = []
    for name in AIRLINES:
        out = folder / "miner" / f"{name}.tanh.parquet"
        veil = Distortion("tanh") if name == first else None
        write_release(
            folder / name / "flights.parquet", out, veil, key=key if veil else None,
            use_key=None if veil else key, bounds=bounds, clip=True,
            caller=Caller(home=folder / name / "register"),
        )  # fmt: skip
        releases.append(Release.read(out).to_numpy())
    return releases


def _multiparty(folder: Path, bounds: Bounds) -> list[Array]:
    """Everybody adds a secret of their own to a public matrix."""
    matrix = public_matrix(len(bounds), study="demo")
    matrix.save(folder / "miner" / "public.matrix.json")
    releases = []
    for name in AIRLINES:
        out = folder / "miner" / f"{name}.multiparty.parquet"
        write_release(
            folder / name / "flights.parquet", out, MultipartyPerturbation(matrix, alpha=ALPHA),
            key=folder / name / _KEYS["multiparty"], bounds=bounds, clip=True, again=True,
            caller=Caller(home=folder / name / "register"),
        )  # fmt: skip
        releases.append(Release.read(out).to_numpy())
    return releases


def _guaranteed(
    tables: list[Array],
    bounds: Bounds,
    truth: set[int],
    planted: NDArray[np.bool_],
    seed: int | None,
) -> GuaranteedChapter:
    """Everybody counts with noise; the sums are one model, which scores everybody's records."""
    scores, read, uncounted = guaranteed_scores(tables, bounds)
    strongest, by_forest = (
        set(np.argsort(-s, kind="stable")[:TOP].tolist())
        for s in (scores, forest_scores(tables, _seed(seed, 11)))
    )
    return GuaranteedChapter(
        found=len(strongest & truth),
        planted_found=_count(strongest, planted),
        forest_found=len(by_forest & truth),
        forest_planted_found=_count(by_forest, planted),
        epsilon=float(EPSILON),
        delta=float(DELTA),
        read=read,
        read_uncounted=uncounted,
    )


def _audit(folder: Path, veil: str, seed: int | None) -> tuple[Findings, str, str]:
    """The first airline attacks its own release; one edition stays, the other may be passed on."""
    first = AIRLINES[0]
    table, release, key = (
        f"{first}/flights.parquet", f"miner/{first}.{veil}.parquet", f"{first}/{_KEYS[veil]}"
    )  # fmt: skip
    again = f"isinglass audit {table} {release} --key {key} --trials {TRIALS} -n {TOP}"
    with one_thread():  # small products: threads would wait for each other longer than they work
        audited = audit_files(
            folder / table,
            folder / release,
            perturbation=load_key(folder / key),
            n_trials=TRIALS,
            n_outliers=TOP,
            settings={"command": again},
            random_state=seed,
        )
    internal, public = f"{first}/audit-{veil}.html", f"miner/audit-{veil}.public.html"
    audited.save(folder / internal)
    audited.save(folder / public, public=True)
    return briefly(audited.findings), internal, public


def _strongest(X: Array) -> set[int]:
    """The rows farthest, on the mean, from their five nearest neighbors."""
    from isinglass.detect.distance import DistanceOutliers

    doubles = X.astype(np.float64)  # a release is narrower, and its width would be compiled anew
    return set(DistanceOutliers(TOP, n_jobs=-1).fit(doubles).outliers_.tolist())


def _scaled(X: Array, bounds: Bounds) -> Array:
    low, high = np.array(list(bounds.values())).T
    return np.asarray(np.clip((X - low) / (high - low), 0, 1))


def _count(rows: set[int], planted: NDArray[np.bool_]) -> int:
    return int(planted[sorted(rows)].sum())


def _seed(seed: int | None, number: int) -> int:
    # The recordings are the demo's own and no secret; only keys must be unpredictable.
    return 100 * (2026 if seed is None else seed) + number
