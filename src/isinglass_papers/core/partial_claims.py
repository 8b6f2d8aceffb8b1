"""Claims about several sets, of which only some are there."""

from __future__ import annotations

from dataclasses import replace

from isinglass_papers.core.result import Claim


def on_sets(claim: Claim, there: int, of: int) -> Claim:
    """The claim as judged on `there` of the `of` sets it is about.

    Where some are missing its numbers begin by saying on how many they rest; below half of the
    sets it is not tested, whatever the rest would say.
    """
    if there >= of:
        return claim
    verdict = "not tested" if 2 * there < of else claim.verdict
    return replace(claim, verdict=verdict, ours=f"on {there} of {of} sets: {claim.ours}")
