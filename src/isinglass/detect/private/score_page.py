"""Page that scores records by a private model, offline, in whatever browser opens it."""

from __future__ import annotations

from typing import Any

from isinglass.detect.private.card import declared_values
from isinglass.detect.private.document import ModelDocument
from isinglass.documents import read_json
from isinglass.formats import number
from isinglass.plots import pages

#: One after the other they are the page's only script.
_SCRIPTS = ("score_model.js", "score_values.js", "score_csv.js", "score_page.js")


def score_page(
    document: ModelDocument, data: bytes, card: dict[str, Any], *, signer: str | None
) -> str:
    """The page: it follows from the model's document, its card and its signer alone.

    `data` are the bytes of the document. The directions of projections go with it, so that the
    page need not draw them anew.
    """
    directions = (
        document.model.layout.W.astype(int).tolist() if document.model.layout.numbers else []
    )
    share = document.threshold_share
    return pages.render(
        "isinglass/detect/private/score.html.j2",
        card=card,
        guarantee=card["guarantee"],
        signer=signer,
        columns=[(column["name"], declared_values(column)) for column in card["columns"]],
        threshold=None if document.threshold is None else number(document.threshold),
        share=None if share is None else f"{100 * share:g} %",
        model=pages.data({"model": read_json(data), "directions": directions}),
        script=pages.script(*(f"isinglass/detect/private/{name}" for name in _SCRIPTS)),
    )
