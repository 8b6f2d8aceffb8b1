"""American spelling in every tracked text, but for names that are stored."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = {".py", ".pyi", ".md", ".j2", ".js", ".html", ".toml", ".css", ".yml", ".cff"}
#: Stems that no American word has; a word counts from its beginning on.
BRITISH = re.compile(
    r"\b(?:un|re|mis)?(?:labell(?:ed|ing)|towards\b|catalogue|neighbour|colour|centre(?:d|s|\b)"
    r"|behaviour|favour|honour|modell(?:ed|ing)|cancell(?:ed|ing)|travell|signall(?:ed|ing)"
    r"|(?:normal|random|anonym|optim|recogn|organ|summar|minim|maxim|general|standard|initial"
    r"|synchron|emphas|util|categor|parametr|penal|real|special|visual|serial|vector|local)"
    r"is(?:e|ed|es|ing|ation|ations)\b|analys(?:e|ed|ing)\b|licence|artefact|defence|grey\b"
    r"|judgement|learnt\b|whilst\b|amongst\b|programme\b|fulfil\b)",
    re.IGNORECASE,
)
#: Names in files that exist, or of somebody else: JSON keys, HTML, a theme's colors.
EXCUSED = re.compile(
    r"\"neighbours\"|'neighbours'|\.neighbours\b|\bneighbours=|`neighbours`|labelled_(?:recall|precision)"
    r"|aria-labelledby|blue grey|grey:8421504"
)


def british(text: str) -> list[str]:
    return BRITISH.findall(EXCUSED.sub("", text))


def test_the_words_are_found():
    assert british("unlabelled records, randomised towards a colour's centre") == [
        "unlabelled", "randomised", "towards", "colour", "centre",
    ]  # fmt: skip
    assert british("labeled_recall, centered, otherwise, precise, exercise, a promise") == []
    assert british('{"neighbours": 3, "labelled_recall": 1}') == []


def test_every_text_is_spelled_as_in_america():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a clone")
    found = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        own = name in ("tests/test_spelling.py",)
        if path.suffix in TEXT and not own and (words := british(path.read_text("utf-8"))):
            found[name] = sorted(set(words))
    assert found == {}
