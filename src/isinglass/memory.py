"""Memory available to this process: the machine's, or what a container's limit leaves."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

#: Assumed where the system does not say (Windows): what a small machine can spare.
DEFAULT_AVAILABLE_BYTES = 4 << 30


def available_bytes(root: Path = Path("/")) -> int:
    """Memory that a program could still take: of this machine, or of its share in a container."""
    return min([_of_machine(root), *_of_groups(root)])


def _of_machine(root: Path) -> int:
    free = _facts(root / "proc/meminfo").get("MemAvailable:")
    if free is not None:
        return free * 1024
    if hasattr(os, "sysconf"):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return DEFAULT_AVAILABLE_BYTES


def _of_groups(root: Path) -> Iterator[int]:
    """What each control group that holds this process (Linux) leaves of its limit."""
    for line in _text(root / "proc/self/cgroup").split("\n"):
        _, _, rest = line.partition(":")
        kinds, colon, path = rest.partition(":")
        if not colon:
            continue
        if kinds == "":  # version 2
            top, names = "sys/fs/cgroup", ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            top = "sys/fs/cgroup/memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # A limit of a group above counts too. In a container the path may be the host's name
        # for what is mounted here as the top.
        group = Path(*(part for part in path.split("/") if part not in ("", "..")))
        for folder in (group, *group.parents):
            left = _left(root / top / folder, *names)
            if left is not None:
                yield left


def _left(folder: Path, limit: str, usage: str, cached: str) -> int | None:
    """The limit less what is used, files aside that the system would drop; None: no limit."""
    most, used = _whole(_text(folder / limit)), _whole(_text(folder / usage))
    if most is None or used is None:  # no such group here, or "max"
        return None
    kept = used - _facts(folder / "memory.stat").get(cached, 0)
    return max(most - max(kept, 0), 0)


def _facts(path: Path) -> dict[str, int]:
    """Lines of a name and a whole number; others are passed over."""
    facts = {}
    for line in _text(path).split("\n"):
        name, _, rest = line.partition(" ")
        value = _whole(rest.removesuffix("kB"))
        if value is not None:
            facts[name] = value
    return facts


def _whole(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isdecimal() and text.isascii() and len(text) < 20 else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf8", errors="replace")
    except (OSError, ValueError):  # not there, not for us, or not a name
        return ""


def format_bytes(size: float) -> str:
    """A size in binary units, such as 512 MiB or 1.5 GiB."""
    units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while size >= 1024 and len(units) > 1:
        size /= 1024
        units.pop(0)
    return f"{size:.0f} {units[0]}" if size >= 10 or units[0] == "B" else f"{size:.1f} {units[0]}"
