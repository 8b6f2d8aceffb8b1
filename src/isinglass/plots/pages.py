"""Fill page templates: one Jinja2 environment, whose values are all made printable and escaped."""

from __future__ import annotations

import base64
import hashlib
import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from isinglass.formats import html_text
from isinglass.plots.chart import data_uri, width_of

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

#: Pictures are drawn in one size of letters, and shown a little larger than they are drawn.
_ENLARGED = 1.15


@dataclass(frozen=True, slots=True)
class Verbatim:
    """What stands on a page as it is: a script of ours, or data for it."""

    text: str

    def __html__(self) -> str:
        return self.text

    @property
    def digest(self) -> str:
        """What a page's policy calls it by."""
        return f"sha256-{base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()}"


def script(*names: str) -> Verbatim:
    """Scripts by their paths, as templates have them, one after the other."""
    return Verbatim("\n".join(_source(name)[0] for name in names))


def data(value: Any) -> Verbatim:
    """JSON for a page's script; whatever texts are in it, they end no element and begin none."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Verbatim(text)


def render(template: str, **values: Any) -> str:
    """Fill a template, named by its path from the folder of its package: `isinglass/…`."""
    return _environment().get_template(template).render(values)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    made = Environment(
        loader=FunctionLoader(_source),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    made.filters["exact"] = _exact
    made.globals |= {"data_uri": data_uri, "shown_width": _shown_width}
    return made


def _source(name: str) -> tuple[str, str, None]:
    """A template's text, from whichever package it comes with, and its name for tracebacks."""
    package, _, path = name.partition("/")
    return resources.files(package).joinpath(path).read_text(encoding="utf-8"), name, None


def _shown(value: object) -> Any:
    """What stands on a page for a value: a percentage keeps its sign on the same line."""
    if hasattr(value, "__html__"):
        return value
    return _markup(html_text(value).replace(" %", "&nbsp;%"))


def _exact(value: object) -> Markup:
    """The value with nothing in it made prettier: for what is copied, and for attributes."""
    return _markup(html_text(value))


def _markup(escaped: str) -> Markup:
    from markupsafe import Markup

    return Markup(escaped)


def _shown_width(svg: str) -> str:
    """How wide a picture is shown, in the page's own unit, so that all letters are of one size."""
    return f"{_ENLARGED * width_of(svg) / 16:.1f}rem"
