"""The floors that every card shows are those of the versions that are installed."""

import importlib.metadata

import isinglass as ig
from isinglass.detect.private.card import measured_floor


def test_the_floors_of_cards_were_measured_with_what_is_installed():
    measured = measured_floor()
    installed = {"isinglass": ig.__version__, "opendp": importlib.metadata.version("opendp")}
    assert {name: measured[name] for name in installed} == installed, (
        f"measure them anew, which takes some minutes: {measured['made_by']}"
    )
    assert measured["made_by"] == "python -m benchmarks.privacy_floor"
