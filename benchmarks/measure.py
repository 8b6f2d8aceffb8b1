"""Timing and memory for the benchmarks: child processes, best of several, ratios in one run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path


def best(work: Callable[[], object], times: int = 3) -> float:
    """Seconds of the fastest of several runs."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        found.append(time.perf_counter() - start)
    return min(found)


def child(code: str, *arguments: str) -> dict[str, float]:
    """Run Python code in a process of its own; give back its seconds and peak memory in MiB.

    The seconds are those between START and the end of the code, without starting Python.
    """
    wrapped = (
        "import json, re, sys, time\nSTART = time.perf_counter()\n"
        + code
        + "\nseconds = time.perf_counter() - START\n"
        # Not ru_maxrss: a child inherits its parent's.
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())\n"
        "print(json.dumps({'seconds': seconds, 'mib': int(peak[1]) / 1024}))"
    )
    result = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", wrapped, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "ignore"},
    )
    measured: dict[str, float] = json.loads(result.stdout.splitlines()[-1])
    return measured


def publish(name: str, command: str, text: str) -> None:
    """Print a result and keep it in the documentation, with the command that made it."""
    print(text)
    folder = Path(__file__).parent.parent / "docs" / "benchmarks"
    folder.mkdir(parents=True, exist_ok=True)
    machine = f"{os.cpu_count()} cores"
    page = f"# {name}\n\nMade by `{command}` on {machine}; ratios within one run.\n\n{text}\n"
    (folder / f"{name}.md").write_text(page, encoding="utf-8")
