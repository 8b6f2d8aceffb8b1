"""The graph of a private model: scores as ours, in any runtime, but on the very edge of a bin."""

import sys

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest

import isinglass as ig
from isinglass import model
from isinglass.detect.onnx_writer import graph_bytes
from isinglass.detect.private.log_edges import log_edges
from isinglass.detect.private.model import UNIT
from isinglass.detect.private.onnx_model import _roundings, onnx_bytes
from isinglass.kernels.grid import CELLS, LEAVES

RNG = np.random.default_rng(0)
NEAR = 1e-6  # of a bin's edge, where a runtime may round to its other side


def scores(path, **inputs):
    session = onnxruntime.InferenceSession(model.read(path).entries["model.onnx"])
    outputs = [found.name for found in session.get_outputs()]
    return dict(zip(outputs, session.run(None, inputs), strict=True))


def to_edges(places):
    """How far places are from the nearest whole number, at which a bin begins; NaN is in none."""
    known = np.where(np.isfinite(places), places, 0.5)
    return np.where(np.isfinite(places), np.abs(known - np.rint(known)), np.inf)


def distances(fitted, records):
    """The distance of each record to the nearest edge: of a cell, logarithmic or not, or of a bin.

    In cells, shares of a logarithmic edge, and standardized units along a projection.
    """
    layout, found = fitted._model.layout, []
    cells = np.full(records.shape, np.nan)
    for j, column in enumerate(layout.numbers):
        x = records[:, j]
        if column.log:
            edges = log_edges(column.low, column.high).all
            cells[:, j] = np.searchsorted(edges, x, side="right")
            near = np.clip(np.searchsorted(edges, x), 1, len(edges) - 1)
            found.append(np.minimum(np.abs(x / edges[near] - 1), np.abs(x / edges[near - 1] - 1)))
        else:
            low, width = column.grid
            places = (x - low) / width * CELLS
            cells[:, j] = np.clip(np.floor(np.nan_to_num(places)), 0, CELLS - 1)
            found.append(np.where((places < 0) | (places > CELLS), np.inf, to_edges(places)))
        cells[np.isnan(x), j] = np.nan
    held = np.nan_to_num(cells).astype(int)
    u = np.take_along_axis(fitted._model._table.T, held, axis=0).astype(float)
    u[np.isnan(cells)] = 0
    v = u @ layout.W
    bins = layout.bins
    places = (v + bins.shift) * bins.per_bin
    inside = (places > 0) & (places < bins.n)
    found.append(np.where(inside, to_edges(places) / bins.per_bin / UNIT, np.inf).min(axis=1))
    return np.min(found, axis=0)


@pytest.mark.filterwarnings("ignore:the noise is large", "ignore:threshold_ cannot")
@pytest.mark.parametrize("settings", [{}, {"rounds": 1}, {"delta": 0, "threshold_share": 0.1}])
@pytest.mark.parametrize("d", [1, 7, 29])
def test_a_runtime_scores_as_we_do_but_on_the_edge_of_a_bin(tmp_path, settings, d):
    mix = RNG.normal(size=(d, d))
    fitted = ig.PrivateDetector(bounds=(-100, 100), **settings).fit(
        RNG.normal(size=(4000, d)) @ mix
    )
    fitted.save(tmp_path / "m.zip")
    records = RNG.normal(size=(20_000, d)) @ mix * RNG.lognormal(size=(20_000, 1))
    records[:10], records[10:20], records[20:30] = np.nan, np.inf, -1e300
    records[30:200, 0] = np.nan
    records[200:300] = 200 / CELLS * RNG.integers(-9000, 9000, size=(100, d))  # on edges of cells
    found, wanted = scores(tmp_path / "m.zip", record=records), fitted.anomaly_score(records)
    near = distances(fitted, records) < NEAR
    assert near[200:300].all()
    assert near[300:].sum() < 0.002 * len(records)
    assert np.abs(found["score"] - wanted)[~near].max() < 1e-5
    # These edges are whole numbers of cells, found by the same four operations.
    assert (np.abs(found["score"] - wanted)[near] > 1e-5).sum() <= 2
    assert ("is_outlier" in found) is (fitted.threshold_ is not None)
    if "is_outlier" in found:
        apart = np.abs(wanted - fitted.threshold_) > 1e-5
        marked = fitted.predict(records) == -1
        assert np.array_equal(found["is_outlier"][apart & ~near], marked[apart & ~near])


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
    on_edges = log_edges(1e-3, 1e3).all[20_000:60_000:400]
    table.loc[10 : 9 + len(on_edges), "load"] = on_edges
    numbers = table[["load", "x"]].to_numpy(copy=True)
    table.loc[:9, "load"], numbers[:10, 0] = -1.0, -1.0
    codes = np.column_stack(
        [table["fleet"].map({"A": 0, "B": 1, "C": 2}), table["crew"].map({2: 0, 3: 1, 4: 2})]
    )
    found = scores(tmp_path / "m.zip", record=numbers, categories=codes)["score"]
    near = distances(fitted, numbers) < NEAR
    assert near[10 : 10 + len(on_edges)].all()
    assert near[10 + len(on_edges) :].sum() < 0.03 * n  # cells are 2e-4 wide, as shares of a value
    assert np.abs(found - fitted.anomaly_score(table))[~near].max() < 1e-5
    alone = ig.PrivateDetector(categories={"fleet": ["A", "B"]}).fit(table[["fleet"]])
    alone.save(tmp_path / "n.zip")
    found = scores(tmp_path / "n.zip", categories=codes[:, :1])["score"]
    np.testing.assert_array_equal(found, alone.anomaly_score(table[["fleet"]]))


def test_whole_numbers_that_round_otherwise_are_said_in_the_graph():
    """Float64 rounds some of a table's cells otherwise; some thousand columns show that it does."""
    fitted = ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 12)))
    columns = fitted._model.columns
    for n_places in (CELLS, LEAVES):
        places, differences = _roundings(columns, n_places)
        assert places.shape == differences.shape
        assert np.isin(differences[places < 0], 0).all()
        assert (np.abs(differences[places >= 0]) == 1).all()
    assert 0 < (_roundings(columns, CELLS)[0] >= 0).sum() < 100


def test_a_file_of_29_columns_stays_small_with_its_graph(tmp_path):
    fitted = ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 29)))
    fitted.save(tmp_path / "m.zip")
    assert "model.onnx" in model.read(tmp_path / "m.zip").entries
    assert (tmp_path / "m.zip").stat().st_size < 300_000


def test_a_file_has_the_same_graph_whatever_is_installed(tmp_path, monkeypatch):
    fitted = ig.PrivateDetector(bounds=(-9, 9)).fit(RNG.normal(size=(5000, 2)))
    fitted.save(tmp_path / "m.zip")
    for name in [n for n in sys.modules if n.partition(".")[0] in ("onnx", "torch")]:
        monkeypatch.setitem(sys.modules, name, None)  # as where it cannot be imported
    fitted.save(tmp_path / "bare.zip", name="m")
    assert (tmp_path / "bare.zip").read_bytes() == (tmp_path / "m.zip").read_bytes()
    assert "model.onnx" in model.read(tmp_path / "bare.zip").entries


@pytest.mark.filterwarnings("ignore:the noise is large", "ignore:threshold_ cannot")
def test_the_graph_is_one_that_the_onnx_package_would_write():
    mixed = pd.DataFrame({"load": RNG.lognormal(size=900), "fleet": ["A"] * 900})
    fitted = ig.PrivateDetector(
        bounds={"load": (1e-3, 1e3)}, log=["load"], categories={"fleet": ["A"]},
        threshold_share=0.1,
    ).fit(mixed)  # fmt: skip
    data = onnx_bytes(fitted._document)
    read = onnx.load_from_string(data)
    onnx.checker.check_model(read, full_check=True)
    assert read.SerializeToString(deterministic=True) == data  # nothing is lost or unknown
    made = onnx.helper.make_model(
        read.graph, opset_imports=list(read.opset_import), ir_version=8,
        producer_name="isinglass", producer_version=ig.__version__,
    )  # fmt: skip
    onnx.helper.set_model_props(made, {"method": "private", "columns": "2"})
    assert made == read
    for kept in read.graph.initializer:
        assert onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(kept), kept.name) == kept


def test_constants_of_every_kind_and_order_are_written():
    constants = {
        "a": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "b": np.arange(300)[::2],
        "c": np.array([True, False]),
        "d": np.array(2.5, dtype=">f8"),
        "e": np.zeros((0, 2), dtype=np.float32),
    }
    read = onnx.load_from_string(graph_bytes("g", [], constants, {}, {}, {}))
    for kept in read.graph.initializer:
        found = onnx.numpy_helper.to_array(kept)
        assert found.shape == constants[kept.name].shape
        np.testing.assert_array_equal(found, constants[kept.name])
