"""JSON and TOML within limits, and values that files state."""

import json
import time

import pytest

from isinglass import field_checks
from isinglass.documents import (
    DEEPEST,
    MOST_BYTES,
    MOST_TOML_BYTES,
    BrokenDocumentError,
    DocumentError,
    read_json,
    read_toml,
)


def test_what_json_says_is_read():
    said = {"a": [1, -2, 0.5, 1e300, True, None, "x"], "b": {"c": 2**63}}
    assert read_json(json.dumps(said)) == said
    assert read_json(json.dumps(said).encode()) == said
    assert read_json('{"a": 1, "a": 2}', as_pairs=True) == [("a", 1), ("a", 2)]
    assert read_json("[Infinity]", infinite=True) == [float("inf")]


def nested(depth):
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[1", "not JSON: line 1"),
        ("", "not JSON"),
        (b"\xff\xfe\xfa", "not"),
        ("[NaN]", "not finite"),
        ("[-Infinity]", "not finite"),
        ("[1e999]", "not finite"),
        ("[1" + "0" * 5000 + "]", "more than 20 digits"),
        ("-" + "9" * 21, "more than 20 digits"),
        (nested(DEEPEST + 1), "nested more than 32 deep"),
        (nested(100_000), "nested more than 32 deep"),
        ('{"a":' * 40 + "1" + "}" * 40, "nested more than 32 deep"),
        ("[" * 100_000, "deep"),
    ],
)
def test_whatever_is_wrong_with_json_is_one_kind_of_error(text, words):
    begin = time.perf_counter()
    with pytest.raises(DocumentError, match=words):
        read_json(text)
    assert time.perf_counter() - begin < 2


def test_json_may_be_as_deep_as_the_limit():
    assert read_json(nested(DEEPEST)) is not None


def test_text_that_was_cut_short_is_told_from_text_that_goes_too_far():
    with pytest.raises(BrokenDocumentError):
        read_json('{"a": ')
    with pytest.raises(DocumentError) as error:
        read_json(nested(100))
    assert not isinstance(error.value, BrokenDocumentError)


def test_a_document_of_many_megabytes_is_not_read(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *a, **k: pytest.fail("it was read"))
    with pytest.raises(DocumentError, match="longer than 64 MiB"):
        read_json(bytes(MOST_BYTES + 1))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[a", "not TOML"),
        ("a = " + "9" * 30, "more than 20 digits"),
        ("a = " + "9" * 5000, "more than 20 digits"),
        ("a = " + nested(20_000), "deep"),
        ("a = " + nested(40), "deep"),
        ("a." * 20_000 + "b = 1", "deep"),
        ("[" + "a." * 100 + "b]", "deep"),
        ("a = '" + "x" * MOST_TOML_BYTES + "'", "longer than 64 KiB"),
    ],
)
def test_whatever_is_wrong_with_toml_is_one_kind_of_error(text, words):
    begin = time.perf_counter()
    with pytest.raises(DocumentError, match=words):
        read_toml(text)
    assert time.perf_counter() - begin < 2


def test_what_toml_says_is_read():
    assert read_toml("[a]\nb = 0.5\nc = ['x']\n") == {"a": {"b": 0.5, "c": ["x"]}}


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (field_checks.word, "x", [1, None, "x" * 101]),
        (field_checks.names, ["a", "b"], ["ab", [1], None, {"a": 1}]),
        (field_checks.flag, False, [0, "true", None]),
        (field_checks.whole, 7, [True, 1.0, -1, 10**17, "7"]),
        (field_checks.number, 1.5, [True, "1", float("nan"), float("inf"), 10**400, None, [1]]),
        (field_checks.section, {"a": 1}, [[], "a", None]),
        (field_checks.pair, (0.0, 1.0), [[1], [2, 1], "ab", [0, "1"], None, [0, float("nan")]]),
    ],
)
def test_a_stated_value_is_of_its_kind_or_an_error_that_names_the_field(check, good, bad):
    assert check(good, "field") == (tuple(good) if isinstance(good, list) else good)
    for value in bad:
        with pytest.raises(ValueError, match=r"^field must be"):
            check(value, "field")
