"""Card of a private model: what it promises and what it cannot do; it may be forwarded.

Nothing on it was measured on the private table: it says settings, what noised counts show, and how
such models did on public data.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import isinglass
from isinglass.detect.private.document import ModelDocument, column_facts
from isinglass.detect.private.for_everyone import (
    EARLIER,
    hardly_counts,
    most_certain,
    sentence_for_everyone,
)
from isinglass.detect.private.guarantee import ModelGuarantee
from isinglass.detect.private.layout import SHORT_LEVELS, Layout
from isinglass.detect.private.public_data import public_data
from isinglass.detect.private.validity import Validity
from isinglass.documents import canonical_json, read_json
from isinglass.epsilon import FEMTO, as_float, femto, micro
from isinglass.formats import number
from isinglass.kernels.grid import FAN
from isinglass.plots import pages

FORMAT = "isinglass-model-card-1"
CANNOT_FIND = (
    "records that are strange only beside their nearest neighbors (anomalies of local density)",
    "how far beyond the declared bounds a value lies: it counts as lying on them",
    "strange combinations that lie along none of the lines the model looks along",
)


@dataclass(frozen=True, slots=True)
class Payment:
    """How a model was paid for, and whether the table also left in another way: public settings."""

    ledger: bool = False
    also_released: bool = False

    def sentences(self) -> list[str]:
        """Both facts for a reader."""
        said = [
            "The price was charged to a ledger that adds up what was spent on this table before "
            "the model left."
            if self.ledger
            else "The price was noted in no ledger: other models or answers from the same table, "
            "if there are any, cost their own prices besides."
        ]
        if self.also_released:
            said.append("The table also left as a release, which the guarantee does not cover.")
        return said


def card_facts(
    document: ModelDocument,
    guarantee: ModelGuarantee,
    *,
    name: str,
    payment: Payment,
    validity: Validity,
) -> dict[str, Any]:
    """The card as it stands in the model's file."""
    model = document.model
    return {
        "format": FORMAT,
        "name": name,
        "kind": "private",
        **validity.to_json(),
        "made_by": f"isinglass {isinglass.__version__}",
        "for_everyone": _for_everyone(document),
        "guarantee": guarantee.to_json(),
        "payment": payment.sentences(),
        "ledger": payment.ledger,
        "also_released": payment.also_released,
        "columns": [column_facts(column) for column in model.layout.columns],
        "rounds": model.layout.rounds,
        "threshold": document.threshold,
        "threshold_share": document.threshold_share,
        "records": {
            "about": round(model.n_estimated),
            "give_or_take": math.ceil(2 * _deviation_of_n(model.layout, guarantee)),
            "why": "read from noised counts; the number itself is private",
        },
        "measured_floor": measured_floor(),
        "cannot_find": list(CANNOT_FIND),
        "on_public_data": public_data(model.layout.rounds, pure=guarantee.price.pure),
    }


def refuse_contradiction(card: dict[str, Any], document: ModelDocument, *, name: str) -> None:
    """Raise ValueError where a card says something else than the model that it lies beside."""
    layout = document.model.layout
    model = {
        "name": name,
        "columns": [column_facts(column) for column in layout.columns],
        "rounds": layout.rounds,
        "threshold": document.threshold,
        "threshold_share": document.threshold_share,
    }
    promise = {
        "epsilon": as_float(document.micro),
        "delta": document.femto / FEMTO,
        "records_per_person": document.records_per_person,
    }
    said = card.get("guarantee")
    promised = said if isinstance(said, dict) else {}
    wrong = [
        what.replace("_", " ")
        for facts, true in ((card, model), (promised, promise))
        for what, value in true.items()
        # As JSON, in which 1, 1.0 and true are three values.
        if what not in facts or canonical_json(facts[what]) != canonical_json(value)
    ]
    if card.get("for_everyone") not in (_for_everyone(document), EARLIER):
        wrong.append("what it says to everyone")
    if wrong:
        raise ValueError(f"its card contradicts its model: {', '.join(wrong)}")


def doubt_of_card(card: dict[str, Any]) -> str | None:
    """Why not to believe the card of an earlier version of isinglass, which said one thing of all.

    The card is one that does not contradict its model.
    """
    promised = card["guarantee"]
    spent = micro(promised["epsilon"]), femto(promised["delta"])
    if card["for_everyone"] != EARLIER or hardly_counts(*spent):
        return None
    return (
        "its card says that it would be almost the same without any one person, which is too much "
        f"at epsilon {promised['epsilon']:g}: from even odds, somebody can be right about who was "
        f"counted with a chance of {most_certain(*spent)} %"
    )


def _for_everyone(document: ModelDocument) -> str:
    return sentence_for_everyone(document.micro, document.femto, document.records_per_person)


@functools.cache
def measured_floor() -> dict[str, Any]:
    """What attacks on the noise of this version showed, on tables made for them.

    benchmarks/privacy_floor.py writes the file.
    """
    path = Path(__file__).with_name("measured_floor.json")
    found: dict[str, Any] = read_json(path.read_text(encoding="utf-8"))
    return found


def _deviation_of_n(layout: Layout, guarantee: ModelGuarantee) -> float:
    """The standard deviation of the number of records, as `n_records` estimates it."""
    cells = [FAN + 1] * len(layout.numbers) + [c.n_cells for c in layout.categories]
    if layout.rounds == 1:
        cells += [SHORT_LEVELS[0]] * layout.n_projections
    return guarantee.price.rounds[0].deviation / math.sqrt(sum(1 / n for n in cells))


def card_page(facts: dict[str, Any], *, signer: str | None, owner: dict[str, str] | None) -> str:
    """The card as a page; with what only its owner may see, if that is given."""
    return pages.render(
        "isinglass/detect/private/card.html.j2",
        card=facts,
        guarantee=facts["guarantee"],
        floors=[_floor_row(floor) for floor in facts["measured_floor"]["floors"]],
        floor_here=_floor_here(facts),
        signer=signer,
        owner=None if owner is None else [(value, what) for what, value in owner.items()],
        columns=[(column["name"], declared_values(column)) for column in facts["columns"]],
        records=f"{facts['records']['about']:,}, give or take {facts['records']['give_or_take']:,}",
        validity=validity_sentences(facts),
        threshold=_threshold(facts),
        public=_public(facts["on_public_data"]),
    )


def _public(data: dict[str, Any]) -> list[tuple[str, str]]:
    """What is known of models of this kind, and what detectors without privacy do."""
    precision = data["average_precision_by_epsilon"]
    forest = data["isolation_forest_without_privacy"], data["average_precision_of_isolation_forest"]
    return [
        *(
            (f"{auc:.3f} ({precision[e]:.3f})", f"epsilon {e}, {data['kind']}")
            for e, auc in data["by_epsilon"].items()
        ),
        (f"{forest[0]:.3f} ({forest[1]:.3f})", "isolation forest, no privacy"),
    ]


def _floor_row(floor: dict[str, Any]) -> tuple[str, str, str, str]:
    rho = ("", "") if floor["rho"] is None else (f"{floor['rho']:g}", f"{floor['rho_floor']:g}")
    delta = f", delta {floor['delta']:g}" if floor["delta"] else ", pure"
    return f"epsilon {floor['epsilon']:g}{delta}", f"{floor['epsilon_floor']:g}", *rho


def _floor_here(facts: dict[str, Any]) -> str:
    """The floor at this model's claim, where that was measured."""
    epsilon, delta = facts["guarantee"]["epsilon"], facts["guarantee"]["delta"]
    for floor in facts["measured_floor"]["floors"]:
        if (floor["epsilon"], floor["delta"]) == (epsilon, delta):
            return (
                f"The strongest test we have shows at least epsilon {floor['epsilon_floor']:g}; "
                f"the claim is {epsilon:g}."
            )
    return "This model's own claim was not among those measured."


def declared_values(column: dict[str, Any]) -> str:
    """What a column can hold, for a reader."""
    if "categories" in column:
        return "; ".join(map(str, column["categories"])) + "; other"
    said = f"{column['low']:g} to {column['high']:g}"
    if column["step"] is not None:
        said += f", in steps of {column['step']:g}"
    return said + (", by orders of magnitude" if column["log"] else "")


def validity_sentences(facts: dict[str, Any]) -> list[str]:
    """Version and last day, in sentences; nothing where the owner said neither."""
    version, before, expires = facts["version"], facts["supersedes"], facts["expires"]
    said = [] if version is None else [f"This is version {version} of the model."]
    if before is not None:
        said.append(f"It takes the place of version {before}, which should not be used any more.")
    return said + ([] if expires is None else [f"It is meant to be used until {expires}."])


def _threshold(facts: dict[str, Any]) -> str:
    share, found = facts["threshold_share"], facts["threshold"]
    if share is None:
        return "none was asked for"
    if found is None:
        return f"asked for {share:g} of the records, which noise drowns"
    return f"{number(found)}, for about {share:g} of the records"
