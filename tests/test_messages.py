"""Warnings name the user's line, however deep the method sits that gives them."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import isinglass as ig

X = np.random.default_rng(0).random((60, 3))
FRAME = pd.DataFrame(X, columns=list("abc"))
CONSTANT = np.column_stack([X, np.ones(60)])
NAMES = {
    "copy": copy, "pickle": pickle, "ig": ig, "X": X, "FRAME": FRAME, "CONSTANT": CONSTANT,
    "make_pipeline": make_pipeline, "StandardScaler": StandardScaler, "clone": clone,
    "cross_val_predict": cross_val_predict,
}  # fmt: skip


@pytest.mark.parametrize(
    "line",
    [
        "ig.Distortion().fit(X)",
        "ig.Distortion().fit_transform(X)",
        "ig.Distortion().set_output(transform='pandas').fit_transform(FRAME)",
        "make_pipeline(StandardScaler(), ig.Rotation(optimize=None)).fit_transform(X)",
        "ig.Rotation(2).fit(X)",
        "ig.GeometricPerturbation().fit(X)",
        "ig.AdditiveNoise().fit(CONSTANT)",
        "ig.AdaptiveNoise(k=3).fit(CONSTANT)",
        "ig.MultiplicativeNoise(0).fit(X)",
        "pickle.dumps(ig.AdditiveNoise().fit(X))",
        "copy.deepcopy(ig.AdditiveNoise().fit(X))",
        "ig.write_release(X, out, ig.Rotation(optimize=None))",
        "ig.Rotation(optimize=None).fit(X / 2).transform(X)",
    ],
)
def test_a_warning_is_shown_at_the_users_line(line, tmp_path, monkeypatch):
    monkeypatch.setenv("ISINGLASS_HOME", str(tmp_path))
    script = tmp_path / "script.py"
    code = compile(f"# a user's script\n\n{line}\n", str(script), "exec")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, NAMES | {"out": tmp_path / "r.parquet"})  # noqa: S102
    assert {issubclass(w.category, ig.PrivacyWarning) for w in caught} == {True}
    assert {(w.filename, w.lineno) for w in caught} == {(str(script), 3)}
