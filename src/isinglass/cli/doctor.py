"""`isinglass doctor`: what is installed, what works, how fast."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

from isinglass.cli import options, show


def doctor(as_json: options.AsJson = False) -> None:
    """Say what is installed, which accelerators work, and where a release's time goes here."""
    facts = {
        "isinglass": _version("isinglass"),
        "python": _python(),
        "cores": _cores(),
        "memory": _memory(),
        "packages": {name: _version(name) for name in _PACKAGES},
        "optional": {name: _version(name) for name in _OPTIONAL},
        "accelerators": _accelerators(),
        "register": _register(),
        "ledgers": _ledgers(),
        "release_seconds_per_million_rows": _times(),
    }
    if as_json:
        show.print_json(facts)
        return
    for name, value in facts.items():
        if isinstance(value, dict):
            show.echo(f"{name.replace('_', ' ')}:")
            for key, inner in value.items():
                show.echo(f"  {key:<16} {'not installed' if inner is None else inner}")
        else:
            show.echo(f"{name:<18} {value}")


_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "narwhals", "randomgen",
             "cryptography", "safetensors", "typer", "rich")  # fmt: skip
#: of the table that is measured
ROWS = 250_000
_OPTIONAL = ("pandas", "polars", "psycopg", "torch", "onnx", "onnxruntime")


def _version(name: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _python() -> str:
    import platform

    return f"{platform.python_version()} on {platform.system()} {platform.machine()}"


def _cores() -> int:
    import os

    return os.cpu_count() or 1


def _memory() -> str:
    from isinglass.memory import available_bytes, format_bytes

    return f"{format_bytes(available_bytes())} available"


def _accelerators() -> str:
    if _version("torch") is None:
        return "none: torch is not installed; Autoencoder would use it"
    code = "import torch; print(torch.cuda.get_device_name() if torch.cuda.is_available() else '')"
    # In a process of its own: loading torch takes seconds and memory that nothing else here needs.
    name = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    ).stdout.strip()
    return f"{name}, for Autoencoder(device='cuda')" if name else "none that torch can use"


def _register() -> str:
    from isinglass.errors import IsinglassError
    from isinglass.release_register import Register

    try:
        return str(Register().folder)
    except IsinglassError as error:
        return f"unusable: {error}"


def _ledgers() -> str:
    from isinglass import files

    return "work here" if files.LOCKS else "do not work here: this system has no file locks"


def _times() -> dict[str, Any]:
    """Seconds for a million rows of 29 numbers, measured on a quarter of that."""
    import tempfile
    import time
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.parquet as pq

    from isinglass.datasets import flights
    from isinglass.perturb.distortion import Distortion
    from isinglass.table.columns import choose_columns
    from isinglass.table.prepare import Source
    from isinglass.table.read import open_table
    from isinglass.table.survey import survey

    times: dict[str, Any] = {}
    clock = time.perf_counter()

    def lap(name: str) -> None:
        nonlocal clock
        now = time.perf_counter()
        times[name] = round((now - clock) * 1_000_000 / ROWS, 2)
        clock = now

    with tempfile.TemporaryDirectory() as folder:
        data = flights(ROWS, n_outliers=0, random_state=0)
        clock = time.perf_counter()
        table = pa.table([pa.array(c) for c in data.X.T], names=list(data.column_names))
        pq.write_table(table, Path(folder) / "t.parquet", use_dictionary=False)
        lap("writing")
        opened = open_table(Path(folder) / "t.parquet")
        blocks = [b.X for b in Source(opened, choose_columns(opened)).blocks()]
        lap("reading")
        facts = survey(data.X)
        lap("surveying")
        bounds = (facts.low, facts.high)
        veil = Distortion(bounds=bounds).fit_survey(facts)
        for block in blocks:
            veil.transform_rows(block, 0)
        lap("perturbing")
    return times
