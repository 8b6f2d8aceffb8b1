"""Public names of a module, listed in its stub file and loaded when first used."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

#: Modules that took names over which stood in `isinglass` itself before.
_TOOK_OVER = ("attacks", "mechanisms", "metrics", "errors")


def lazy_names(module: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module whose names are those of its `.pyi` file.

    The stub is the only list: type checkers and editors read it as it is, and a name's home is
    imported when somebody asks for the name, so that `import isinglass` stays quick.
    """
    stub = Path(file).with_suffix(".pyi")

    def load(name: str) -> Any:
        if name == "__all__":
            return names()
        home, original = homes(stub).get(name, ("", ""))
        if home == module:
            return importlib.import_module(f"{home}.{original}")
        if home:
            return getattr(importlib.import_module(home), original)
        now = _moved(stub.parent, name) if module == "isinglass" else None
        if now is not None:
            raise AttributeError(f"{name} is now {now}")
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    def names() -> list[str]:
        return sorted([*homes(stub), *(["__version__"] if module == "isinglass" else [])])

    return load, names


@functools.cache
def homes(stub: Path) -> dict[str, tuple[str, str]]:
    """Each name that a stub exports, with the module it comes from and its name there.

    `from home import name as name` exports the name; `other = name` exports it as `other`.
    """
    import ast  # only when a name is asked for: it would slow down `import isinglass`

    found, exported = {}, {}
    for node in ast.parse(stub.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                found[alias.name] = (str(node.module), alias.name)
                if alias.asname:
                    exported[alias.asname] = found[alias.name]
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    exported[target.id] = found[node.value.id]
    return exported


def _moved(package: Path, name: str) -> str | None:
    """Where a name that stood in `isinglass` stands now, as a user types it."""
    if name.startswith("_"):
        return None
    for module in _TOOK_OVER:
        stub = package / f"{module}.pyi"
        if not stub.exists():
            if hasattr(importlib.import_module(f"isinglass.{module}"), name):
                return f"ig.{module}.{name}"
            continue
        for public, (_, original) in homes(stub).items():
            if name == original:
                return f"ig.{module}.{public}"
    return None
