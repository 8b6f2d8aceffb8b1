"""The README and the papers' page count verdicts; the committed tables of claims have them."""

import csv
import re
from collections import Counter
from pathlib import Path

from isinglass_papers.core.result import VERDICTS
from isinglass_papers.core.run import PAPERS

ROOT = Path(__file__).parents[2]
WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
N = rf"(\d+|{'|'.join(WORDS)})"
#: the verdicts in the order of VERDICTS
SENTENCE = re.compile(
    rf"Of {N} claims, {N} of them our own questions, {N} hold, {N} hold under a condition, "
    rf"{N} do not hold, {N} could not be reproduced, and for {N} the data are missing"
)


README = re.compile(rf"of {N} claims {N} hold, {N} hold under a condition and {N} do not")


def text(page: str) -> str:
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def number(said: str) -> int:
    return WORDS.index(said) if said in WORDS else int(said)


def claims() -> list[dict[str, str]]:
    rows = []
    for paper in PAPERS:
        path = ROOT / "docs" / "reproduce" / paper / "claims.csv"
        with open(path, newline="", encoding="utf-8") as file:
            rows += list(csv.DictReader(file))
    return rows


def test_the_readme_counts_the_claims_as_the_tables_have_them():
    said = README.search(text("README.md"))
    assert said is not None
    total, *verdicts = map(number, said.groups())
    rows = claims()
    assert total == len(rows)
    assert verdicts == [sum(r["verdict"] == v for r in rows) for v in VERDICTS[:3]]


def test_the_papers_page_counts_the_claims_as_the_tables_have_them():
    said = SENTENCE.search(text("docs/reproduce/index.md"))
    assert said is not None
    total, own, *verdicts = map(number, said.groups())
    rows = claims()
    counted = Counter(row["verdict"] for row in rows)
    assert dict(zip(VERDICTS, verdicts, strict=True)) == {v: counted[v] for v in VERDICTS}
    assert total == len(rows) == sum(verdicts)
    assert own == sum(row["where"].startswith("beyond the paper") for row in rows)
