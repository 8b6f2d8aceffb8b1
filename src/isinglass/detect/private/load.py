"""Load a model file: what it holds is checked, and so is who signed it."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from pathlib import Path

from isinglass import model
from isinglass.detect.private.card import doubt_of_card, refuse_contradiction
from isinglass.detect.private.detector import PrivateDetector
from isinglass.detect.private.document import ModelDocument, read_document
from isinglass.detect.private.validity import Validity, read_card
from isinglass.errors import ModelError
from isinglass.messages import warn
from isinglass.signing import Pins, check_signer


def load_model(
    path: str | Path, signer: str | Path | None = None, *, unsigned: bool = False
) -> PrivateDetector:
    """Load a private detector from the file that `PrivateDetector.save` or the command wrote.

    `signer` is the fingerprint of whoever must have signed it, or the file of their public key.
    Without one, the signer of the first file of a model's name is noted in your folder, and any
    other is refused afterwards; a signature by itself proves nothing. A file without a signature is
    refused unless `unsigned`. A model that expired, or of which a later version was loaded here
    before, is loaded with a warning.

    Examples
    --------
    >>> table = np.random.default_rng(0).normal(size=(3000, 2))
    >>> fitted = ig.PrivateDetector(epsilon=1, bounds=(-10, 10)).fit(table)
    >>> fitted.save("model.zip")
    >>> loaded = ig.load_model("model.zip", unsigned=True)
    >>> record = [[6.0, -7.0]]
    >>> bool(loaded.anomaly_score(record) == fitted.anomaly_score(record))
    True
    """
    found, document = open_model(path, signer, unsigned=unsigned)
    for doubt in doubts(found):
        warn(doubt, UserWarning)
    return PrivateDetector._loaded(document)


def open_model(
    path: str | Path,
    signer: str | Path | None = None,
    *,
    unsigned: bool = False,
    say: Callable[[str], object] = lambda text: None,
) -> tuple[model.ModelFile, ModelDocument]:
    """A model file and its document, once its signer is found to be the right one."""
    found = model.read(path)
    try:
        document = read_document(found.entries["model.json"])
        Validity.of_card(found.entries["card.json"])
        refuse_contradiction(read_card(found.entries["card.json"]), document, name=found.name)
    except (ValueError, OverflowError) as error:
        raise ModelError(f"{path} is not a model file that can be used: {error}") from None
    # Last: what cannot be read must not settle whose signature is expected.
    check_signer(
        found.signer, name=found.name, file=str(path), wanted=signer, unsigned=unsigned, say=say
    )
    return found, document


def doubts(found: model.ModelFile) -> list[str]:
    """Why this model should not be used any more, or its card not be believed.

    It expired; a later version was read here, since of each signer's models the newest version is
    noted by name in the user's folder; or the card is an old one that says too much.
    """
    validity, newest = Validity.of_card(found.entries["card.json"]), 0
    # Without a signature, anybody may have written any version.
    if found.signer is not None and validity.version is not None:
        pins, signer = Pins(), found.signer.fingerprint
        pins.note_version(found.name, signer, validity.version)
        newest = pins.newest(found.name, signer)
    found_doubts = validity.doubts(found.name, today=datetime.date.today(), newest=newest)
    doubt = doubt_of_card(read_card(found.entries["card.json"]))
    return found_doubts if doubt is None else [*found_doubts, doubt]
