"""Chart engine: a specification in, a picture out."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from isinglass.documents import for_json
from isinglass.formats import printable


def svg(spec: dict[str, Any]) -> str:
    """A Vega-Lite specification as SVG; drawn here, without a browser or a network."""
    return _drawn(json.dumps(cleaned(spec)))


@lru_cache(maxsize=32)
def _drawn(spec: str) -> str:
    """Two editions of a report share most of their figures, so that each is drawn once."""
    import vl_convert

    return str(vl_convert.vegalite_to_svg(spec, allowed_base_urls=[]))


def png(spec: dict[str, Any], *, scale: float) -> bytes:
    """The same as PNG, `scale` times its size in pixels."""
    import vl_convert

    return bytes(vl_convert.vegalite_to_png(cleaned(spec), scale=scale, allowed_base_urls=[]))


def cleaned(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification without what the engine chokes on.

    A control character that reaches it ends the whole process, which no `except` can catch; a
    line separator breaks the expressions it compiles from names. A backslash begins an escape in
    them, so that one written out would come to life again: its wide twin stands for it.
    """
    found: dict[str, Any] = _printable(for_json(spec))
    return found


def _printable(part: Any) -> Any:
    if isinstance(part, dict):
        return {_shown(name): _printable(item) for name, item in part.items()}
    if isinstance(part, list):
        return [_printable(item) for item in part]
    return _shown(part) if isinstance(part, str) else part


def _shown(text: str) -> str:
    return printable(text, keep="\n").replace("\\", "\N{FULLWIDTH REVERSE SOLIDUS}")


def bundle(code: str) -> str:
    """JavaScript of ours together with the engine, for a page that loads nothing."""
    import vl_convert

    return str(vl_convert.javascript_bundle(code))
