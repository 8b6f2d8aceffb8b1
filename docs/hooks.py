"""Entries of the API reference, made from the package's public names while the site is built.

A page under reference/api says in a comment which folders of the package it is about; below it
stands then every public name that is defined there. A name that is added to the package is
therefore on its page without anybody writing it there; tests/test_docs.py checks that each name
has exactly one page.
"""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

#: a formula in a docstring, which the site shows as it would code
FORMULA = re.compile(r"\$([^$<>]{1,120})\$")
SIGNS = {
    "Delta": "Δ", "beta": "β", "epsilon": "ε", "mu": "μ", "cdot": "·", "le": "≤",
    "lceil": "⌈", "rceil": "⌉",
}  # fmt: skip
COMMENT = re.compile(r"<!-- public names of: ([\w ]+) -->")


def public_names() -> dict[str, str]:
    """Every public name as it is typed after `ig.`, and where it is defined."""
    import isinglass

    found: dict[str, str] = {}
    modules = {}
    for name in isinglass.__all__:
        thing = getattr(isinglass, name)
        if isinstance(thing, ModuleType):
            modules[name] = thing
        elif not name.startswith("_"):
            found[name] = _path(thing, f"isinglass.{name}")
    for module, thing in modules.items():
        for name in getattr(thing, "__all__", ()):
            path = _path(getattr(thing, name), f"{thing.__name__}.{name}")
            if path not in found.values():
                found[f"{module}.{name}"] = path
    return found


def _path(thing: Any, otherwise: str) -> str:
    """Where a class or function is defined; a constant does not know it."""
    name = getattr(thing, "__qualname__", None)
    return otherwise if name is None else f"{thing.__module__}.{name}"


def names_of(markdown: str) -> dict[str, str]:
    """The public names that a page is about."""
    comment = COMMENT.search(markdown)
    folders = comment[1].split() if comment else []
    return {n: path for n, path in public_names().items() if path.split(".")[1] in folders}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Write the entries where a page has its comment."""

    def entries(_: re.Match[str]) -> str:
        return "\n".join(
            f"::: {path}\n    options:\n      heading: ig.{name}\n      toc_label: {name}\n"
            for name, path in sorted(names_of(markdown).items(), key=lambda n: n[0].lower())
        )

    return COMMENT.sub(entries, markdown)


def on_page_content(html: str, page: Any, **_: Any) -> str:
    """Show the formulas of docstrings as they would be typed; nothing is loaded to set them."""
    if not page.file.src_uri.startswith("reference/api/"):
        return html
    return FORMULA.sub(lambda m: f"<code>{_typed(m[1])}</code>", html)


def _typed(formula: str) -> str:
    """A formula with signs in place of TeX's names for them."""
    for name, sign in SIGNS.items():
        formula = re.sub(rf"\\{name}(?![a-z])", sign, formula)
    return formula.replace("\\", "")
