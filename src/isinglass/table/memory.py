"""How much memory there is, and how to say so."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path


def available_bytes(root: Path = Path("/")) -> int:
    """Memory that a program could still take: of this machine, or of its share in a container."""
    return min([_of_machine(root), *_of_groups(root)])


def _of_machine(root: Path) -> int:
    try:
        for line in (root / "proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _of_groups(root: Path) -> Iterator[int]:
    """What each control group that holds this process (Linux) leaves of its limit."""
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":  # version 2
            top, names = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            top = "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # A limit of a group above counts too. In a container the path may be the host's name
        # for what is mounted here as the top.
        group = Path(path.lstrip("/"))
        for folder in (group, *group.parents):
            left = _left(root / top / folder, *names)
            if left is not None:
                yield left


def _left(folder: Path, limit: str, usage: str, cached: str) -> int | None:
    """The limit less what is used, files aside that the system would drop; None: no limit."""
    try:
        most = int((folder / limit).read_text())
        used = int((folder / usage).read_text())
        stat = (line.split() for line in (folder / "memory.stat").read_text().splitlines())
        dropped = sum(int(size) for name, size in stat if name == cached)
    except (OSError, ValueError):  # no such group here, or "max"
        return None
    return max(most - used + dropped, 0)


def readable(size: float) -> str:
    """512 MiB, 1.5 GiB."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 10 or units[0] == "B" else f"{size:.1f} {units[0]}"
