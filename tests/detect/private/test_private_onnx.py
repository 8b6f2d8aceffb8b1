"""The graph of a private model: scores as ours, in any runtime."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect import onnx_graph
from isinglass.detect.private.onnx_model import onnx_bytes
from isinglass.errors import IsinglassError

RNG = np.random.default_rng(0)


def scores(path, **inputs):
    session = onnxruntime.InferenceSession(model.read(path).entries["model.onnx"])
    outputs = [found.name for found in session.get_outputs()]
    return dict(zip(outputs, session.run(None, inputs), strict=True))


@pytest.mark.filterwarnings("ignore:the noise is large", "ignore:threshold_ cannot")
@pytest.mark.parametrize("settings", [{}, {"rounds": 1}, {"delta": 0, "threshold_share": 0.1}])
@pytest.mark.parametrize("d", [1, 7])
def test_a_runtime_scores_as_we_do(tmp_path, settings, d):
    mix = RNG.normal(size=(d, d))
    fitted = ig.PrivateDetector(bounds=(-100, 100), **settings).fit(
        RNG.normal(size=(4000, d)) @ mix
    )
    fitted.save(tmp_path / "m.zip")
    records = RNG.normal(size=(20_000, d)) @ mix * RNG.lognormal(size=(20_000, 1))
    records[:10], records[10:20], records[20:30] = np.nan, np.inf, -1e300
    records[30:200, 0] = np.nan
    found, wanted = scores(tmp_path / "m.zip", record=records), fitted.anomaly_score(records)
    # Our asinh is made of whole numbers; where it rounds otherwise, a bin's edge may lie between.
    assert (np.abs(found["score"] - wanted) > 1e-5).sum() <= 10
    assert ("is_outlier" in found) is (fitted.threshold_ is not None)
    if "is_outlier" in found:
        assert (found["is_outlier"] != (fitted.predict(records) == -1)).sum() <= 10


def test_categories_and_logarithms(tmp_path):
    n = 5000
    table = pd.DataFrame(
        {
            "load": RNG.lognormal(size=n),
            "fleet": RNG.choice(["A", "B", "C"], n),
            "x": RNG.normal(size=n),
            "crew": RNG.choice([2, 3, 4], n),
        }
    )
    fitted = ig.PrivateDetector(
        bounds={"load": (1e-3, 1e3), "x": (-9, 9)}, log=["load"],
        categories={"fleet": ["A", "B"], "crew": [2, 3, 4]},
    ).fit(table)  # fmt: skip
    fitted.save(tmp_path / "m.zip")
    numbers = table[["load", "x"]].to_numpy(copy=True)
    table.loc[:9, "load"], numbers[:10, 0] = -1.0, -1.0
    codes = np.column_stack(
        [table["fleet"].map({"A": 0, "B": 1, "C": 2}), table["crew"].map({2: 0, 3: 1, 4: 2})]
    )
    found = scores(tmp_path / "m.zip", record=numbers, categories=codes)["score"]
    # A logarithm that is rounded otherwise may put a value on an edge into the next cell.
    assert (np.abs(found - fitted.anomaly_score(table)) > 1e-5).sum() <= 5
    alone = ig.PrivateDetector(categories={"fleet": ["A", "B"]}).fit(table[["fleet"]])
    alone.save(tmp_path / "n.zip")
    found = scores(tmp_path / "n.zip", categories=codes[:, :1])["score"]
    np.testing.assert_array_equal(found, alone.anomaly_score(table[["fleet"]]))


def test_a_file_of_29_columns_stays_small_with_its_graph(tmp_path):
    fitted = ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 29)))
    fitted.save(tmp_path / "m.zip")
    assert "model.onnx" in model.read(tmp_path / "m.zip").entries
    assert (tmp_path / "m.zip").stat().st_size < 300_000


def test_without_onnx_the_file_has_no_graph(tmp_path, monkeypatch):
    def absent():
        raise IsinglassError("not installed")

    monkeypatch.setattr(onnx_graph, "_import_onnx", absent)
    fitted = ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 2)))
    assert onnx_bytes(fitted._document) is None
    fitted.save(tmp_path / "m.zip")
    entries = {"model.json", "card.json", "score.html"}
    assert set(model.read(tmp_path / "m.zip").entries) == entries
    ig.load_model(tmp_path / "m.zip", unsigned=True)
