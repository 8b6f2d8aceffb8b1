"""The anonymity loss coefficient of one release; runs in that package's own environment.

`python alc_risks.py FOLDER ...` reads each folder's table-peers.csv and
release-peers.csv and writes FOLDER/alc.json. The attack is the package's own, best row match: all
columns but one are known.
"""

import contextlib
import json
import logging
import os
import random
import sys
import tempfile
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from anonymity_loss_coefficient import BrmAttack

MOST = 200
PATIENCE_S = 150


def coefficient(attack, secret):
    """As `BrmAttack.run_one_attack`, without its plots, for at most `MOST` records."""
    manager = attack.alcm
    column = manager.get_discretized_column(secret)
    known = [c for c in attack.all_known_columns if c != secret]
    data = None
    for count, (row, _, _) in enumerate(manager.predictor(known, column), start=1):
        value, confidence = attack._best_row_attack(row, column)
        if value is None:
            manager.abstention()
        else:
            manager.prediction(value, confidence)
        data = (manager.halt_info or {}).get("data") or data
        if count >= MOST:
            break
    data = (manager.halt_info or {}).get("data") or data
    if data is None or not data["attack_total_predict"]:
        return None  # it found no records to begin with, which is not a coefficient of 0
    # The package's names: its "early high" is the lowest the coefficient may be.
    low, high = data["alc_early_high"], data["alc_early_low"]
    return {"value": data["alc"], "low": min(low, high), "high": max(low, high), "what": secret}


def main(folder):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002 - the package draws from the global state
    table = pd.read_csv(folder / "table-peers.csv")
    release = pd.read_csv(folder / "release-peers.csv")
    numbers = list(table.select_dtypes("number"))
    # A column takes as long as all of Anonymeter: the first of which there is a figure, from the
    # middle on, as the package finds no records to begin with for many.
    middle, found, failed = len(numbers) // 2, [], []
    begun = time.monotonic()
    for secret in sorted(numbers, key=lambda name: abs(numbers.index(name) - middle)):
        if found or time.monotonic() - begun > PATIENCE_S:
            break
        with (
            tempfile.TemporaryDirectory() as notes,
            open(os.devnull, "w") as null,
            contextlib.redirect_stdout(null),
            contextlib.redirect_stderr(null),
        ):
            try:
                attack = BrmAttack(table.copy(), release.copy(), results_path=notes)
                one = coefficient(attack, secret)
            except (RuntimeError, ValueError, ZeroDivisionError, KeyError) as error:
                failed.append(type(error).__name__)
                continue
        found += [one] if one else []
    worst = max(found, key=lambda r: r["value"], default=None)
    said = {"version": version("anonymity-loss-coefficient"), "inference": worst, "all": found,
            "failed": failed}  # fmt: skip
    (folder / "alc.json").write_text(json.dumps(said, indent=1))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    for name in sys.argv[1:]:
        main(Path(name))
