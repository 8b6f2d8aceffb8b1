"""`python -m tests.compile`: compile the kernels once, so that no test pays for them.

Every kernel is met with the kinds of arrays that the tests bring. What is forgotten here is
compiled by the first test that needs it.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import isinglass as ig
from isinglass.curate.planning.choose import choose_beta_r
from isinglass.detect.metric import declare
from isinglass.kernels import ball_sum
from tests.curate.ledgers import opened, query, yes


def main() -> None:
    """Search, count, sum and randomize small tables."""
    X = np.random.default_rng(0).normal(size=(1500, 4))
    for table in (X.astype(np.float32), X):
        for limit in (None, 20_000):
            found = ig.DistanceOutliers(20, memory_limit=limit).fit(table)
        found.anomaly_score(X[:50])
        found.anomaly_score(X[:50].astype(np.float32))
        found.rank(X[:200])
        ig.DistanceOutliers(7, 300).fit(table).anomaly_score(table[:5])
        ig.DistanceOutliers(9, discrete=[1], weights=[1, 2, 1, 1]).fit(table)
    ig.DistanceOutliers(20, 2).fit(np.repeat(X[:300], 5, axis=0))
    for table in (X.astype(np.float32), X):
        private = ig.PrivateDetector(20, bounds=(-9, 9), threshold_share=0.2).fit(table)
        private.explain(table)
    within = ig.RadiusOutliers(3, 0.5).fit(X)
    within.counts(X[:50])
    within.count(X[0], cap=2)
    within.add(X[0]).remove(X[0])
    choose_beta_r(X, outlier_fraction=0.01)
    metric = declare("euclidean", None, None, 4)
    places, radii, micro = X[:90], np.ones(90), np.ones(90, dtype=np.int64)
    priced = ball_sum.build(np.column_stack([places, radii]), micro, np.ones(5))
    ball_sum.add_reached(metric.kernel, 1e-150, places, radii, priced, np.zeros_like(micro))
    with tempfile.TemporaryDirectory() as folder, opened(str(Path(folder, "l.db"))) as ledger:
        for _ in range(3):
            ledger.answer([query(3.0 * i) for i in range(90)], yes, fresh=True)
    Z = X + np.random.default_rng(1).uniform(-1, 1, size=X.shape)
    for kind in ("gaussian", "uniform"):
        ig.metrics.randomization_level(X, Z, scale=2.0, distribution=kind)
        ig.metrics.expected_randomization_level(X, scale=2.0, distribution=kind)
    ig.AdaptiveNoise(k=2, random_state=0).fit(X[:200]).transform(X[:200])


if __name__ == "__main__":
    main()
