"""Sensor readings as functions of an aircraft's state."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Single = NDArray[np.float32]

# Fixed: a sensor keeps its meaning whatever the random state.
_SENSOR_SEED = 1947


@dataclass(frozen=True, slots=True)
class AircraftState:
    """The state of the aircraft at every row of a block; all sensors are functions of it."""

    level: Single  # 0 on the ground, 1 at cruise
    climb: Single  # 1 in steepest climb, -1 in steepest descent
    altitude: Single
    pressure: Single  # share of the sea level's
    kelvin: Single
    airspeed: Single
    mach: Single
    weight: Single  # share of the largest allowed
    power: Single
    wear_1: Single
    wear_2: Single
    warmth: Single
    wind: Single
    gust: Single
    bank: Single
    icing: Single


@dataclass(frozen=True, slots=True)
class Sensor:
    """A column: how it reads the state, how far it ranges, where engine wear pushes it."""

    name: str
    span: float
    wear: float
    read: Callable[[AircraftState], Single]


@dataclass(frozen=True, slots=True)
class Code:
    """A column of whole numbers."""

    name: str
    read: Callable[[AircraftState], NDArray[Any]]


_SENSORS = (
    Sensor("altitude", 38_000, 0, lambda m: m.altitude),
    Sensor("airspeed", 130, 0, lambda m: m.airspeed),
    Sensor("mach", 0.6, 0, lambda m: m.mach),
    Sensor("vertical_speed", 5000, 0, lambda m: 0.07 * m.climb * m.altitude + 900 * m.climb),
    Sensor("engine_1_n1", 60, 0.3, lambda m: 32 + 66 * m.power + 2 * m.wear_1),
    Sensor("engine_1_egt", 420, 1.0, lambda m: 380 + 430 * m.power**2 + 40 * m.wear_1 + m.warmth),
    Sensor("engine_1_fuel_flow", 2400, 0.7, lambda m: _fuel_flow(m, m.wear_1)),
    Sensor("pitch", 18, 0, lambda m: 7 * m.climb + 1.5 * m.gust + 4 * _lift(m)),
    Sensor("angle_of_attack", 6, 0, lambda m: 6 * _lift(m) + m.gust),
    Sensor("static_air_temperature", 80, 0, lambda m: m.kelvin - 273.15),
    Sensor("total_air_temperature", 65, 0, lambda m: _total_kelvin(m) - 273.15),
    Sensor("static_pressure", 820, 0, lambda m: 1013.25 * m.pressure),
    Sensor("engine_2_n1", 60, 0.3, lambda m: 32 + 66 * m.power + 2 * m.wear_2),
    Sensor("engine_2_egt", 420, 1.0, lambda m: 380 + 430 * m.power**2 + 40 * m.wear_2 + m.warmth),
    Sensor("engine_2_fuel_flow", 2400, 0.7, lambda m: _fuel_flow(m, m.wear_2)),
    Sensor("true_airspeed", 330, 0, lambda m: _true_airspeed(m)),
    Sensor("ground_speed", 380, 0, lambda m: _true_airspeed(m) + m.wind * m.level),
    Sensor("gross_weight", 26_000, 0, lambda m: 78_000 * m.weight),
    Sensor("roll", 45, 0, lambda m: 20 * m.bank),
    Sensor("vertical_acceleration", 0.5, 0, lambda m: 1 + 0.2 * m.gust + 0.05 * m.bank**2),
    Sensor("lateral_acceleration", 0.2, 0, lambda m: 0.06 * m.bank + 0.03 * m.gust),
    Sensor("throttle_lever", 45, 0, lambda m: 20 + 48 * m.power),
    Sensor("engine_1_n2", 32, 0.3, lambda m: 66 + 33 * np.sqrt(m.power) + 2 * m.wear_1),
    Sensor("engine_2_n2", 32, 0.3, lambda m: 66 + 33 * np.sqrt(m.power) + 2 * m.wear_2),
    Sensor("engine_1_oil_temperature", 45, 0.8, lambda m: 68 + 40 * m.power + 10 * m.wear_1),
    Sensor("engine_1_oil_pressure", 28, -0.8, lambda m: 38 + 26 * m.power - 6 * m.wear_1),
    Sensor("engine_1_vibration", 1.6, 1.0, lambda m: 0.2 + m.power**3 + 0.6 * m.wear_1),
    Sensor("cabin_altitude", 8000, 0, lambda m: 8000 * m.level * (2 - m.level)),
    Sensor("stabilizer_trim", 6, 0, lambda m: 4 * m.level - 5 * m.weight + 0.5 * m.climb),
)

# Switches share their levels, so that every combination lasts for a dozen rows of a flight.
_CODES = (
    Code("flap_position", lambda m: 1 * (m.level < 0.3) + (m.level < 0.15) + (m.level < 0.06)),
    Code("landing_gear", lambda m: m.level < 0.06),
    Code("autopilot_mode", lambda m: (m.level > 0.15) * (2 - (m.climb > 0.1) + (m.climb < -0.1))),
    Code("speed_brake", lambda m: (m.climb < 0) & (m.level > 0.3) & (m.level < 0.6)),
    Code("anti_ice", lambda m: (m.icing > 0.5) & (m.level > 0.15) & (m.level < 0.6)),
    Code("seat_belt_sign", lambda m: m.level < 0.3),
    Code("ground_contact", lambda m: m.level < 0.015),
)


def sensors_up_to(count: int) -> tuple[Sensor, ...]:
    """The first `count` sensors; those past the named ones bend a mixture of the state."""
    rng = np.random.Generator(np.random.SFC64(_SENSOR_SEED))
    mixtures = rng.normal(size=(max(0, count - len(_SENSORS)), 6)).tolist()
    extra = (
        Sensor(f"sensor_{number}", 2, 0, partial(_mixture, weights))
        for number, weights in enumerate(mixtures, start=len(_SENSORS) + 1)
    )
    return (*_SENSORS[:count], *extra)


def codes_up_to(count: int) -> tuple[Code, ...]:
    """The first `count` coded columns; those past the named ones switch at some level."""
    extra = (
        Code(f"status_{number}", partial(_above, 0.1 + 0.8 * (0.618 * number % 1)))
        for number in range(len(_CODES) + 1, count + 1)
    )
    return (*_CODES[:count], *extra)


def _lift(m: AircraftState) -> Single:
    """The lift coefficient, up to a constant."""
    return np.asarray(m.weight * (145 / m.airspeed) ** 2)


def _true_airspeed(m: AircraftState) -> Single:
    return np.asarray(38.967 * m.mach * np.sqrt(m.kelvin))


def _total_kelvin(m: AircraftState) -> Single:
    return np.asarray(m.kelvin * (1 + 0.2 * m.mach**2))


def _fuel_flow(m: AircraftState, wear: Single) -> Single:
    return np.asarray((300 + 2900 * m.power) * (0.45 + 0.55 * m.pressure) * (1 + 0.05 * wear))


def _mixture(weights: list[float], m: AircraftState) -> Single:
    state = (m.level, m.climb, 5 * (m.weight - 0.8), m.power, 0.3 * m.gust, m.wear_1)
    total = np.zeros_like(m.level)
    for weight, part in zip(weights, state, strict=True):
        total += weight * part
    return np.asarray(np.tanh(total))


def _above(step: float, m: AircraftState) -> NDArray[np.bool_]:
    return np.asarray(m.level > step)
