"""`python -m benchmarks.risk_peers`: our risks beside Anonymeter's and the loss coefficient.

Needs the peers' environments, which `make peers` makes. Stopped, it goes on where it was, with the
same `--folder`; `--page` writes the page from the results that are there.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.redteam.harness import RefusedError, audit

from benchmarks.risk_peers.page import page
from benchmarks.risk_peers.pairs import PAIRS, Pair

HERE, ROOT = Path(__file__).parent, Path(__file__).parent.parent.parent
RESULTS = HERE.parent / "results" / "risk-peers.json"
PEERS = {"anonymeter": ".venv-anonymeter", "alc": ".venv-alc"}


def ours(pair: Pair, folder: Path) -> dict[str, Any]:
    """What our audit says of this release."""
    os.environ["ISINGLASS_HOME"] = str(folder / "home")  # no pair meets another's releases
    try:
        said = audit(pair.make(folder), "insider")
    except RefusedError as error:
        return {"refused": str(error)}
    return {name: said[name] for name in ("rows", "columns", "verdict", "risks")}


def run_peer(peer: str, folder: Path) -> None:
    """Run a peer's script in the peer's environment; it leaves PEER.json in the folder."""
    python = ROOT / PEERS[peer] / "bin" / "python"
    if not python.exists():
        sys.exit(f"{python} is missing: `make peers` makes it")
    subprocess.run([python, HERE / f"{peer}_risks.py", folder], check=True)


def measured(pair: Pair, folder: Path) -> dict[str, Any]:
    """All figures of one pair; those that are in the folder already are taken as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    own = folder / "ours.json"
    if not own.exists():
        own.write_text(json.dumps(ours(pair, folder)))
    found = {"leaves": pair.leaves, "ours": json.loads(own.read_text())}
    if "refused" not in found["ours"]:
        for peer in PEERS:
            file = folder / f"{peer}.json"
            if not file.exists():
                run_peer(peer, folder)
            found[peer] = json.loads(file.read_text())
    return found


def main() -> None:
    """Measure what is not known yet, keep it, and write docs/benchmarks/risk-peers.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="pairs to measure; all by default")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "risk-peers")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for pair in [] if options.page else PAIRS:
        if not options.names or pair.name in options.names:
            print(pair.name, flush=True)
            results[pair.name] = measured(pair, options.folder / pair.name)
            RESULTS.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")
    order = [pair.name for pair in PAIRS if pair.name in results]
    text = page({name: results[name] for name in order})
    (ROOT / "docs" / "benchmarks" / "risk-peers.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
