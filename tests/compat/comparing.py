"""What it means that a file is as it was: the same names, and numbers that agree."""

import hashlib
import json

import numpy as np
import pytest

import isinglass as ig
from isinglass.release import read_facts


def same(found, expected):
    """Equal, numbers up to what processors round differently; facts may have been added."""
    if isinstance(expected, dict):
        return expected.keys() <= found.keys() and all(
            same(found[name], value) for name, value in expected.items()
        )
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    if isinstance(expected, float):
        return found == pytest.approx(expected, rel=1e-9, abs=1e-12)
    return found == expected


def names_in(document, before=()):
    """Every name in a document, with those it lies under; items of a list count as one."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield (*before, name)
            yield from names_in(value, (*before, name))
    elif isinstance(document, list):
        for item in document:
            yield from names_in(item, (*before, "[]"))


def assert_same_release(path, key, table):
    """A key makes, from the table, the numbers that its release holds."""
    released = ig.Release.read(path).to_numpy()
    if isinstance(key, ig.Condensation):  # makes its records of what the key holds alone
        again = key.emit_again(np.float64)
    else:
        again = key.transform_rows(table, 0)
    # Another processor may sum in another order; no other key comes anywhere near.
    np.testing.assert_allclose(again, released, rtol=1e-12, atol=1e-12 * np.abs(released).max())


def header(path):
    """A key file's header: what its tensors are called, their kinds and shapes, and its facts."""
    data = path.read_bytes()
    found = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    said = found.pop("__metadata__")
    tensors = {name: (array["dtype"], len(array["shape"])) for name, array in found.items()}
    return tensors, said | {"facts": json.loads(said["facts"])}


def assert_read(path, expected):
    """A release says what it said, and holds the same bytes of numbers."""
    assert same(read_facts(path).to_json(), {**expected["facts"], **_tuples(expected["facts"])})
    numbers = ig.Release.read(path).to_numpy()
    assert hashlib.sha256(numbers.tobytes()).hexdigest() == expected["sha256"]


def _tuples(facts):
    """What JSON turned into lists."""
    bounds = facts["bounds"]
    found = {name: tuple(facts[name]) for name in ("columns", "kept", "warnings")}
    return found | {"bounds": bounds and {name: tuple(ends) for name, ends in bounds.items()}}
