"""What card and plan say about public data: the benchmark's figures, of models of their kind."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect.private.card import card_page
from isinglass.detect.private.public_data import (
    CAUTION,
    ISOLATION_FOREST,
    ISOLATION_FOREST_ON_UNSEEN,
    ON_FILES,
    ON_UNSEEN,
    public_data,
)

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks" / "private.md"
ROWS = {
    **{f"ε = {e}": ("two rounds", e) for e in ("3", "1", "0.3", "0.1")},
    "ε = 1, one round": ("one round", "1"),
    "pure ε = 1": ("pure epsilon", "1"),
}


def test_the_figures_are_those_of_the_benchmark():
    """Where this fails, the ranking was measured anew: copy its means into public_data.py."""
    lines = re.findall(r"^\| ([^|]+) \| \*\*(\S+) \((\S+)\)\*\* \|", PAGE.read_text("utf-8"), re.M)
    measured = {name: (float(auc), float(precision)) for name, auc, precision in lines}
    assert {kind: {e for k, e in ROWS.values() if k == kind} for kind in ON_FILES} == {
        kind: set(found) for kind, found in ON_FILES.items()
    }
    for name, (kind, epsilon) in ROWS.items():
        assert ON_FILES[kind][epsilon] == measured[name], name
    assert measured["isolation forest"] == ISOLATION_FOREST


def test_the_caution_says_what_was_found_on_files_never_seen():
    for figure in (ON_UNSEEN["two rounds"]["1"], ISOLATION_FOREST_ON_UNSEEN):
        assert f"{figure:.3f}".removeprefix("0") in CAUTION


@pytest.mark.filterwarnings("ignore:the noise is large")
@pytest.mark.parametrize(
    ("settings", "kind", "shown"),
    [
        ({}, "two rounds", 4),
        ({"rounds": 1}, "one round", 1),
        ({"delta": 0}, "pure epsilon", 1),
        ({"delta": 0, "rounds": 1}, "pure epsilon in one round", 0),
    ],
)
def test_a_card_shows_what_is_known_of_its_kind(settings, kind, shown, tmp_path):
    table = np.random.default_rng(0).normal(size=(3000, 2))
    ig.PrivateDetector(bounds=(-10, 10), **settings).fit(table).save(tmp_path / "m.zip")
    card = json.loads(model.read(tmp_path / "m.zip").entries["card.json"])
    data = card["on_public_data"]
    assert data == public_data(settings.get("rounds", 2), pure=settings.get("delta") == 0)
    assert data["kind"] == kind
    assert len(data["by_epsilon"]) == len(data["average_precision_by_epsilon"]) == shown
    page = card_page(card, signer=None, owner=None)
    assert CAUTION in page
    assert ("were not measured" in page) is (shown == 0)
    for epsilon, (auc, precision) in ON_FILES.get(kind, {}).items():
        assert f"{auc:.3f} ({precision:.3f})" in page
        assert f"epsilon {epsilon}, {kind}" in page
