"""The committed comparison with other tools: complete, true to its page, and nowhere behind."""

import json
from pathlib import Path

from benchmarks.risk_peers.page import behind, page

ROOT = Path(__file__).resolve().parents[1]
RESULTS = json.loads((ROOT / "benchmarks" / "results" / "risk-peers.json").read_text())


def _entry(own, low):
    theirs = {"value": low + 0.1, "low": low, "high": low + 0.2, "what": "x"}
    risks = {"singling_out": None, "linkability": own, "inference": 1.0}
    return {"leaves": "", "ours": {"risks": risks}, "anonymeter": {"linkability": theirs}}


def test_a_figure_below_a_peers_interval_is_behind_and_one_within_is_not():
    found = behind({"under": _entry(0.19, 0.2), "within": _entry(0.21, 0.2)})
    assert [(pair, risk, peer) for pair, risk, peer, *_ in found] == [
        ("under", "linkability", "anonymeter")
    ]
    unmeasured = _entry(None, 0.2)
    assert behind({"unmeasured": unmeasured})


def test_no_peer_finds_more_on_the_twenty_committed_pairs():
    assert len(RESULTS) == 20
    assert all(entry["anonymeter"]["inference"] for entry in RESULTS.values())
    assert behind(RESULTS) == []


def test_the_page_shows_the_committed_results():
    written = (ROOT / "docs" / "benchmarks" / "risk-peers.md").read_text(encoding="utf-8")
    order = [line.split("|")[1].strip() for line in written.splitlines() if line.startswith("| ")]
    pairs = list(dict.fromkeys(name for name in order if name in RESULTS))
    assert sorted(pairs) == sorted(RESULTS)
    assert written == page({name: RESULTS[name] for name in pairs})
