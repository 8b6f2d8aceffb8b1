"""`python -m benchmarks.privacy_floor`: the empirical floors that cards of models show.

Run it again for every version: it writes src/isinglass/detect/private/measured_floor.json.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
from pathlib import Path

import isinglass as ig
from isinglass.detect.private import card

CLAIMS = ((3.0, 1e-6), (1.0, 1e-6), (0.3, 1e-6), (0.1, 1e-6), (1.0, 0.0))
COLUMNS = 3


def main() -> None:
    """Measure all claims, one after the other, and write the floors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=-1)
    given = parser.parse_args()
    floors = []
    for epsilon, delta in CLAIMS:
        found = ig.verify_privacy(
            epsilon, delta, n_columns=COLUMNS, draws=given.draws, n_jobs=given.jobs
        )
        print(f"epsilon {epsilon:g}, delta {delta:g}\n{found}\n", flush=True)
        if not found.passed:
            raise SystemExit(1)
        floors.append(
            {
                "epsilon": epsilon,
                "delta": delta,
                "epsilon_floor": _down(found.epsilon_floor),
                "rho": None if found.rho is None else _down(found.rho),
                "rho_floor": None if found.rho_floor is None else _down(found.rho_floor),
            }
        )
    document = {
        "made_by": "python -m benchmarks.privacy_floor",
        "isinglass": ig.__version__,
        "opendp": importlib.metadata.version("opendp"),
        "columns": COLUMNS,
        "draws": given.draws,
        "error_rate": found.error_rate,
        "floors": floors,
    }
    path = Path(card.__file__).with_name("measured_floor.json")
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _down(value: float) -> float:
    """The value rounded down to three digits: a floor stays one."""
    digits = 2 - math.floor(math.log10(value))
    return math.floor(value * 10**digits) / 10**digits


if __name__ == "__main__":
    main()
