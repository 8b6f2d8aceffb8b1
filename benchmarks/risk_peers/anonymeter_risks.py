"""Anonymeter's three risks of one release; runs in Anonymeter's own environment.

`python anonymeter_risks.py FOLDER ...` reads each folder's table-peers.csv, release-peers.csv and
apart-peers.csv and writes FOLDER/anonymeter.json.
"""

import json
import logging
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

ATTACKS, SECRETS, ATTEMPTS = 200, 4, 20_000


def positive(tables):
    """Numbers moved above 0 alike in all tables.

    The inference evaluator divides by the guess with its sign, so that every negative guess
    counts as right, whatever the truth; tables above 0 do not meet this.
    """
    for name in tables[0].select_dtypes("number"):
        low = min(t[name].min() for t in tables)
        if low <= 0:
            shift = tables[0][name].std() - low
            for t in tables:
                t[name] = t[name] + shift
    return tables


def worst(risks):
    return max(risks, key=lambda r: r["value"], default=None)


def facts(evaluator, what):
    risk = evaluator.risk(confidence_level=0.95)
    return {"value": float(risk.value), "low": float(risk.ci[0]), "high": float(risk.ci[1]),
            "what": what}  # fmt: skip


def tried(evaluate, failed):
    try:
        return [evaluate()]
    except (RuntimeError, ValueError, ZeroDivisionError, IndexError) as error:
        failed.append(type(error).__name__)
        return []


def main(folder):
    np.random.seed(1)  # noqa: NPY002 - Anonymeter draws from the global state
    names = ("table-peers.csv", "release-peers.csv", "apart-peers.csv")
    table, release, apart = positive([pd.read_csv(folder / name) for name in names])
    n = min(ATTACKS, len(apart), len(table), len(release))
    failed = []
    singled = []
    for mode in ("univariate", "multivariate"):
        evaluator = SinglingOutEvaluator(
            table, release, n_attacks=n, n_cols=min(4, table.shape[1]), control=apart,
            max_attempts=ATTEMPTS, seed=1,
        )  # fmt: skip
        singled += tried(lambda e=evaluator, m=mode: facts(e.evaluate(mode=m), m), failed)
    columns = list(table)
    halves = (columns[::2], columns[1::2])
    one, five = (
        tried(
            lambda k=k: facts(
                LinkabilityEvaluator(
                    table, release, aux_cols=halves, n_attacks=n, n_neighbors=k, control=apart
                ).evaluate(n_jobs=1),
                f"{k} neighbors",
            ),
            failed,
        )
        for k in (1, 5)
    )
    numbers = list(table.select_dtypes("number"))
    secrets = [numbers[i] for i in np.unique(np.linspace(0, len(numbers) - 1, SECRETS).astype(int))]
    inferred = []
    for secret in secrets:
        evaluator = InferenceEvaluator(
            table, release, aux_cols=[c for c in columns if c != secret], secret=secret,
            regression=True, n_attacks=n, control=apart,
        )  # fmt: skip
        inferred += tried(lambda e=evaluator, s=secret: facts(e.evaluate(n_jobs=1), s), failed)
    found = {
        "version": version("anonymeter"),
        "singling_out": worst(singled),
        "linkability": worst(one + five),
        "inference": worst(inferred),
        "all": {"singling_out": singled, "linkability": one + five, "inference": inferred},
        "failed": failed,
    }
    (folder / "anonymeter.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name in sys.argv[1:]:
        main(Path(name))
