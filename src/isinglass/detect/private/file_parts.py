"""Parts of a private model's file: model, card, graph and page, made from the model's document."""

from __future__ import annotations

from typing import Any

import numpy as np

from isinglass import model
from isinglass.detect.private.card import Payment, card_facts, declared_values, validity_sentences
from isinglass.detect.private.document import ModelDocument, read_document, write_document
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import BINS, SHORT_LEVELS, Layout
from isinglass.detect.private.model import Densities, PrivateModel
from isinglass.detect.private.noise import ModelPrice, price_rounds
from isinglass.detect.private.onnx_model import onnx_bytes
from isinglass.detect.private.projections import FINE
from isinglass.detect.private.validity import Validity
from isinglass.documents import canonical_json, read_json
from isinglass.errors import ModelError
from isinglass.formats import number
from isinglass.kernels.grid import CELLS
from isinglass.plots import pages
from isinglass.signing import SigningKey

#: One after the other they are the page's only script.
_SCRIPTS = ("score_model.js", "score_values.js", "score_csv.js", "score_page.js")
_MOST_SHOWN = 50  # of a column's categories, in words; the page knows them all


def price_of(document: ModelDocument) -> ModelPrice:
    """The price of a model and the noise that goes with it, from its settings."""
    last = None if document.threshold_share is None else len(SHORT_LEVELS)
    moved, records = document.model.layout.moved, document.records_per_person
    return price_rounds(document.micro, document.femto, moved, last=last, records=records)


def packed(
    document: bytes,
    *,
    name: str,
    key: SigningKey | None = None,
    payment: Payment | None = None,
    validity: Validity | None = None,
) -> bytes:
    """The bytes of a model file; they follow from the document and from public settings.

    A page that would be too large is left out, because the model may have been paid for by now.
    """
    read = read_document(document)  # what was written can be read
    guarantee = ModelGuarantee(price_of(read))
    card = card_facts(
        read, guarantee, name=name, payment=payment or Payment(), validity=validity or Validity()
    )
    entries = {"model.json": document, "card.json": canonical_json(card)}
    entries["model.onnx"] = onnx_bytes(read)
    signer = None if key is None else key.signer.fingerprint
    page = _score_page(read, document, card, signer=signer).encode()
    if len(page) <= model.ENTRIES["score.html"]:
        entries["score.html"] = page
    return model.pack(name, entries, key=key)


def refuse_unwritable(
    layout: Layout,
    price: ModelPrice,
    *,
    name: str,
    threshold_share: float | None,
    payment: Payment,
) -> None:
    """Refuse settings of which no file can be made, before a model is counted and paid for.

    A model in which all is equally likely is packed, and must leave room for longer numbers.
    """
    n, T = len(layout.numbers), layout.n_projections
    scale = np.full(n, CELLS * FINE // 2)
    columns = Densities(np.full((n, BINS + 1), 1 / (BINS + 1)), scale, scale)
    projections = Densities(np.full((T, BINS), 1 / BINS))
    if layout.rounds == 1 and T:
        half = np.full(T, CELLS * FINE // 2)
        projections = Densities(projections.p, half, half)
    categories = tuple(np.full(c.n_cells, 1 / c.n_cells) for c in layout.categories)
    model_of_nothing = PrivateModel(layout, 10.0, columns, categories, projections)
    share = threshold_share
    empty = ModelDocument(model_of_nothing, price.micro, price.femto, price.records, share, None)
    document = write_document(empty)
    if len(document) * 3 // 2 > model.ENTRIES["model.json"]:
        raise ModelError(
            f"the model would be too large: {len(document):,} bytes; declare fewer categories, or "
            "leave columns out"
        )
    packed(document, name=name, payment=payment)


def _score_page(
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
        validity=validity_sentences(card),
        columns=[
            (column["name"], declared_values(_shortened(column))) for column in card["columns"]
        ],
        threshold=None if document.threshold is None else number(document.threshold),
        share=None if share is None else f"{100 * share:g} %",
        model=pages.data({"model": read_json(data), "directions": directions}),
        script=pages.script(*(f"isinglass/detect/private/{name}" for name in _SCRIPTS)),
    )


def _shortened(column: dict[str, Any]) -> dict[str, Any]:
    """What was declared of a column, with the first of many categories, and how many more."""
    more = len(column.get("categories", ())) - _MOST_SHOWN
    if more <= 0:
        return column
    return column | {"categories": [*column["categories"][:_MOST_SHOWN], f"{more:,} more"]}
