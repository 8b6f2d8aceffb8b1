"""Parts of a private model's file: model, card and graph, all made from the model's document."""

from __future__ import annotations

from isinglass import model
from isinglass.detect.private.card import Payment, card_facts
from isinglass.detect.private.document import ModelDocument, read_document
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import SHORT_LEVELS
from isinglass.detect.private.noise import ModelPrice, price_rounds
from isinglass.detect.private.onnx_model import onnx_bytes
from isinglass.detect.private.validity import Validity
from isinglass.documents import canonical_json
from isinglass.signing import SigningKey


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

    The graph is left out where onnx is not installed: whoever has the document can make it.
    """
    read = read_document(document)  # what was written can be read
    guarantee = ModelGuarantee(price_of(read))
    card = card_facts(
        read, guarantee, name=name, payment=payment or Payment(), validity=validity or Validity()
    )
    entries = {"model.json": document, "card.json": canonical_json(card)}
    if (graph := onnx_bytes(read)) is not None:
        entries["model.onnx"] = graph
    return model.pack(name, entries, key=key)
