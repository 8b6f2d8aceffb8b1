"""Printable text from untrusted strings."""

from __future__ import annotations

import html
import unicodedata


def printable(text: str, *, keep: str = "") -> str:
    r"""The text on one line, with `\x1b`, `\u202e` and the like in place of what has no shape.

    Control characters move a terminal's cursor and abort the chart engine, marks of direction
    reorder the words around them, a line break lets a name pass for a line of ours, and half a
    surrogate pair cannot be encoded at all. `keep` names characters that are let through.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in keep or unicodedata.category(c) == "Zs" else _escaped(c)
        for c in text
    )


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def shorten(text: str, most: int = 200) -> str:
    """The text, without its middle where a file has put a novel there."""
    half = (most - 1) // 2
    return text if len(text) <= most else f"{text[:half]}…{text[-half:]}"


def html_text(value: object) -> str:
    """Anything as the text of a page, or of one of its attributes in double quotes."""
    return html.escape(printable(str(value)))
