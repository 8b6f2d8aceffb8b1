"""Generated flight recordings with planted anomalies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import DTypeLike, NDArray

from isinglass import chance
from isinglass.datasets.dataset import Dataset
from isinglass.datasets.sensors import (
    AircraftState,
    Code,
    Sensor,
    Single,
    codes_up_to,
    sensors_up_to,
)

# Rows are made in blocks, each from a generator of its own, and then cut to the asked batches;
# this is why batches never change what is in them. Not a power of two: the transposed copy below
# would hit the same cache lines over and over.
_BLOCK_ROWS = 16_000
_FLIGHT_ROWS = 640  # mean length of a flight
_NOISE = 0.006  # sd of the sensor noise, in units of a sensor's span
_WEAKEST, _STRONGEST = 0.1, 1.6  # length of an anomaly's displacement, in the same units

# Fixed: a carrier keeps its fleet whatever the random state.
_FLEET_SEED = 1903


@dataclass(frozen=True, slots=True)
class _Fleet:
    """What sets one carrier apart."""

    cruise_feet: float
    weight: float
    engine_wear: float
    gains: Single
    offsets: Single  # in units of a sensor's span


def flights(
    n_rows: int,
    *,
    n_features: int = 29,
    n_discrete: int = 0,
    n_outliers: int | None = None,
    carrier: int | str = 0,
    dtype: DTypeLike = np.float32,
    random_state: chance.RandomState = None,
) -> Dataset:
    """Recordings of climb, cruise and descent, one flight after the other, anomalies planted.

    A stand-in for the two archives of Bhaduri, Stefanski and Srivastava: simulated engines
    (C-MAPSS flights, 32,640,967 rows of 29 columns) and one carrier's own recordings (47
    columns, 7 of them discrete). Neither is at hand, so all that follows is our choice. A flight
    is a run of some 400 to 900 rows; a table shorter than that is one short flight. Every sensor
    is a smooth function of the phase of flight and of a few facts about the flight (cruise
    level, weight, weather, engine wear), plus gaussian noise of 0.6 % of its span. The formulas
    are plausible; they are no flight model.

    Anomalies are single rows of three kinds: a spike on a few sensors; sensors that read what
    belongs to another moment; engine sensors that drift together as wear would push them. Their
    strength is graded (log-uniform, sixteenfold), and the weakest are no stranger than the
    strangest of the other rows. Coded columns stay as they were. The number of planted rows
    changes nothing in the other rows.

    Parameters
    ----------
    n_features : columns in all. From the 30th on, sensors are nameless mixtures of the state.
    n_discrete : how many of them, the last ones, hold whole-number codes.
    n_outliers : rows to plant, spread evenly; 1000 and one in a thousand rows by default, but
        at most one row in fifty.
    carrier : a number from 0 or a letter from "A"; its fleet differs a little from the others
        in cruise level, weight, engine wear and calibration, and always in the same way.
    dtype : float32 or float64, which holds the same values.

    Examples
    --------
    >>> data = ig.datasets.flights(1000, n_features=6, random_state=0)
    >>> data.X.shape, data.X.dtype
    ((1000, 6), dtype('float32'))
    """
    batches = flight_batches(
        n_rows,
        batch_rows=max(n_rows, 1),
        n_features=n_features,
        n_discrete=n_discrete,
        n_outliers=n_outliers,
        carrier=carrier,
        dtype=dtype,
        random_state=random_state,
    )
    return next(batches)


def flight_batches(
    n_rows: int,
    *,
    batch_rows: int = 65_536,
    n_features: int = 29,
    n_discrete: int = 0,
    n_outliers: int | None = None,
    carrier: int | str = 0,
    dtype: DTypeLike = np.float32,
    random_state: chance.RandomState = None,
) -> Iterator[Dataset]:
    """What `flights` gives, `batch_rows` rows at a time, in memory that `n_rows` does not change.

    Joined together, the batches are equal to `flights` of the same random state bit for bit,
    whatever `batch_rows` is.

    Examples
    --------
    >>> batches = ig.datasets.flight_batches(1000, batch_rows=400, n_features=6, random_state=0)
    >>> [len(batch.X) for batch in batches]
    [400, 400, 200]
    """
    if n_rows < 1:
        raise ValueError(f"n_rows must be >= 1, got {n_rows}")
    if batch_rows < 1:
        raise ValueError(f"batch_rows must be >= 1, got {batch_rows}")
    if n_features < 1:
        raise ValueError(f"n_features must be >= 1, got {n_features}")
    if not 0 <= n_discrete < n_features:
        raise ValueError(
            f"n_discrete must be >= 0 and below n_features = {n_features}, got {n_discrete}"
        )
    if n_outliers is None:
        n_outliers = min(1000 + round(n_rows / 1000), n_rows // 50)
    if not 0 <= n_outliers <= n_rows:
        raise ValueError(f"n_outliers must lie between 0 and n_rows = {n_rows}, got {n_outliers}")
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise ValueError(f"dtype must be float32 or float64, got {dtype}")
    number = _carrier_number(carrier)
    sensors = sensors_up_to(n_features - n_discrete)
    archive = _Archive(
        n_rows=n_rows,
        n_outliers=n_outliers,
        # The carrier belongs to the seed: two carriers share no flight.
        seed=(*chance.stream_key(chance.generator(random_state)).tolist(), number),
        fleet=_fleet(number, len(sensors)),
        sensors=sensors,
        codes=codes_up_to(n_discrete),
    )
    return _cut(archive, batch_rows, dtype)


@dataclass(frozen=True, slots=True)
class _Archive:
    """All that decides the rows, before any of them exists."""

    n_rows: int
    n_outliers: int
    seed: tuple[int, ...]
    fleet: _Fleet
    sensors: tuple[Sensor, ...]
    codes: tuple[Code, ...]

    def column_names(self) -> tuple[str, ...]:
        return (*(sensor.name for sensor in self.sensors), *(code.name for code in self.codes))

    def block(self, start: int) -> tuple[Single, NDArray[np.bool_]]:
        """The rows of the block that begins at row `start`, and which of them are planted."""
        end = min(start + _BLOCK_ROWS, self.n_rows)
        rows, width = end - start, len(self.sensors)
        # A fast generator, not a secret one: nobody's record is behind these rows.
        rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([*self.seed, start])))
        moments = _moments(rows, self.fleet, rng)
        X = np.empty((rows, width + len(self.codes)), dtype=np.float32)
        X[:, :width] = _readings(self.sensors, moments, self.fleet, rng).T
        for position, code in enumerate(self.codes, start=width):
            X[:, position] = code.read(moments)
        # Spread evenly: the first r rows hold floor(r n_outliers / n_rows), for every block end.
        n_planted = end * self.n_outliers // self.n_rows - start * self.n_outliers // self.n_rows
        planted = rng.choice(rows, size=n_planted, replace=False)
        X[planted, :width] += _displacements(X[:, :width], planted, self.sensors, rng)
        is_outlier = np.zeros(rows, dtype=bool)
        is_outlier[planted] = True
        return X, is_outlier


def _cut(archive: _Archive, batch_rows: int, dtype: DTypeLike) -> Iterator[Dataset]:
    """Make block after block and cut them anew, into batches."""
    names = archive.column_names()
    made, made_planted = np.empty((0, len(names)), dtype=np.float32), np.empty(0, dtype=bool)
    next_block = 0
    for first in range(0, archive.n_rows, batch_rows):
        rows = min(batch_rows, archive.n_rows - first)
        X = np.empty((rows, len(names)), dtype=dtype)
        is_outlier = np.empty(rows, dtype=bool)
        filled = 0
        while filled < rows:
            if len(made) == 0:
                made, made_planted = archive.block(next_block)
                next_block += len(made)
            piece = slice(filled, filled + min(len(made), rows - filled))
            taken = piece.stop - piece.start
            X[piece], made = made[:taken], made[taken:]
            is_outlier[piece], made_planted = made_planted[:taken], made_planted[taken:]
            filled += taken
        yield Dataset(X, is_outlier, names)


def _moments(rows: int, fleet: _Fleet, rng: np.random.Generator) -> AircraftState:
    """Cut the rows into flights, draw what sets each flight apart, and fly it."""
    n_flights = max(1, round(rows / _FLIGHT_ROWS))
    ends = np.cumsum(rng.uniform(0.6, 1.4, size=n_flights))
    ends = np.rint(rows * ends / ends[-1]).astype(int)
    lengths = np.diff(ends, prepend=0)
    # One line per fact, one column per flight, then one column per row.
    facts = np.stack(
        [
            ends - lengths,
            1.0 / lengths,
            rng.uniform(0.26, 0.34, size=n_flights),
            rng.uniform(0.26, 0.34, size=n_flights),
            fleet.cruise_feet + rng.normal(scale=1500, size=n_flights),
            fleet.weight + rng.uniform(-0.1, 0.1, size=n_flights),
            fleet.engine_wear + rng.uniform(-0.3, 0.3, size=n_flights),
            fleet.engine_wear + rng.uniform(-0.3, 0.3, size=n_flights),
            rng.normal(scale=6, size=n_flights),
            rng.normal(scale=20, size=n_flights),
            rng.uniform(0.1, 1.0, size=n_flights),
            rng.uniform(0.0, 1.0, size=n_flights),
        ]
    ).astype(np.float32)
    flown = np.repeat(facts, lengths, axis=1)
    start, pace, climb_share, descent_share, cruise, loaded, wear_1, wear_2 = flown[:8]
    warmth, wind, rough, phase = flown[8:]

    progress = (np.arange(rows, dtype=np.float32) - start) * pace
    up = np.minimum(progress / climb_share, 1)
    down = np.minimum((1 - progress) / descent_share, 1)
    level = up * up * (3 - 2 * up) * (down * down * (3 - 2 * down))
    climb = 4 * up * (1 - up) - 4 * down * (1 - down)
    altitude = cruise * level
    kelvin = 288.15 + warmth - 0.00198 * altitude
    pressure = (1 - 6.8756e-6 * altitude) ** 5.2559  # the standard atmosphere
    weight = loaded - 0.12 * progress
    airspeed = 145 + 110 * level * (2 - level) + 40 * (weight - 0.85)
    # Calibrated airspeed to Mach number, subsonic.
    impact = (1 + 0.2 * (airspeed / 661.47) ** 2) ** 3.5 - 1
    mach = np.sqrt(5 * ((impact / pressure + 1) ** (2 / 7) - 1))
    return AircraftState(
        level=level,
        climb=climb,
        altitude=altitude,
        pressure=pressure,
        kelvin=kelvin,
        airspeed=airspeed,
        mach=mach,
        weight=weight,
        power=0.5 + 0.33 * climb + 0.1 * level + 0.3 * (weight - 0.85),
        wear_1=wear_1,
        wear_2=wear_2,
        warmth=warmth,
        wind=wind,
        gust=rough * np.sin(2 * np.pi * (6 * progress + phase)),
        bank=(1 - 0.8 * level) * np.sin(2 * np.pi * (3 * progress + 5 * phase)),
        icing=phase,
    )


def _readings(
    sensors: tuple[Sensor, ...], moments: AircraftState, fleet: _Fleet, rng: np.random.Generator
) -> Single:
    """What the sensors show, one line per sensor."""
    spans = np.array([sensor.span for sensor in sensors], dtype=np.float32)[:, None]
    shown = rng.standard_normal((len(sensors), len(moments.level)), dtype=np.float32)
    shown *= _NOISE * spans
    shown += fleet.offsets[:, None] * spans
    for position, sensor in enumerate(sensors):
        shown[position] += fleet.gains[position] * sensor.read(moments)
    return shown


def _displacements(
    X: Single, planted: NDArray[np.int64], sensors: tuple[Sensor, ...], rng: np.random.Generator
) -> Single:
    """How far each planted row is moved: a direction of one of three kinds, times a strength."""
    n_planted, width = len(planted), len(sensors)
    spans = np.array([sensor.span for sensor in sensors], dtype=np.float32)
    wear = np.array([sensor.wear for sensor in sensors])
    spike = rng.normal(size=(n_planted, width)) * (rng.random((n_planted, width)) < 4 / width)
    spike[np.arange(n_planted), rng.integers(width, size=n_planted)] += 1
    moment = (X[rng.integers(len(X), size=n_planted)] - X[planted]) / spans
    moment *= rng.random((n_planted, width)) < 0.5
    drift = wear * rng.uniform(0.2, 1.8, size=(n_planted, width))
    kind = rng.integers(3, size=n_planted)[:, None]
    direction = np.where(kind == 0, spike, np.where(kind == 1, moment, drift))
    still = ~direction.any(axis=1)  # few sensors, none of them chosen or none an engine's
    direction[still] = spike[still]
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    strength = _WEAKEST * (_STRONGEST / _WEAKEST) ** rng.random((n_planted, 1))
    return np.asarray(strength * direction * spans, dtype=np.float32)


def _fleet(carrier: int, n_sensors: int) -> _Fleet:
    rng = np.random.Generator(np.random.SFC64(np.random.SeedSequence([_FLEET_SEED, carrier])))
    cruise, weight, wear = rng.uniform(-1, 1, size=3).tolist()
    calibration = rng.normal(scale=[0.004, 0.008], size=(n_sensors, 2)).astype(np.float32)
    return _Fleet(
        cruise_feet=33_000 + 2500 * cruise,
        weight=0.85 + 0.05 * weight,
        engine_wear=0.5 + 0.2 * wear,
        gains=1 + calibration[:, 0],
        offsets=calibration[:, 1],
    )


def _carrier_number(carrier: int | str) -> int:
    if isinstance(carrier, str) and len(carrier) == 1 and "A" <= carrier <= "Z":
        return ord(carrier) - ord("A")
    if isinstance(carrier, int | np.integer) and carrier >= 0:
        return int(carrier)
    raise ValueError(f"carrier must be a whole number >= 0 or a letter A to Z, got {carrier!r}")
