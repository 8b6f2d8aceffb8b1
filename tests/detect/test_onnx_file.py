"""Exported autoencoders read back: what the file says, and files that say something else."""

import numpy as np
import onnx
import onnxruntime
import pytest

import isinglass as ig
from isinglass.detect import onnx_file
from isinglass.detect.onnx_file import read_autoencoder
from isinglass.detect.protobuf import is_onnx
from isinglass.errors import IsinglassError

TABLE = 10 * np.random.default_rng(2).normal(size=(60, 5))


@pytest.fixture(scope="module", params=["linear", "logistic"])
def exported(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / f"{request.param}.data"
    ig.Autoencoder(max_epochs=4, output=request.param, random_state=0).fit(TABLE).export(path)
    return path


def test_errors_are_those_of_the_runtime(exported):
    model = read_autoencoder(exported)
    assert (model.n_columns, model.n_hidden) == (5, 2)
    shown = model.shown(TABLE)
    session = onnxruntime.InferenceSession(exported)
    record = TABLE.astype(np.float32)
    again = session.run(["reconstruction"], {"record": record})[0]
    np.testing.assert_allclose(
        shown - (again - model.low) * model.factor, model.errors(shown), atol=1e-5
    )


def test_a_model_is_known_by_its_content(exported, tmp_path):
    assert is_onnx(exported)
    table = tmp_path / "table.onnx"
    table.write_text("a,b\n1,2\n")
    assert not is_onnx(table)
    assert not is_onnx(tmp_path / "absent")


def test_the_weights_do_not_print(exported):
    assert "array" not in repr(read_autoencoder(exported))


def test_a_file_cut_off_anywhere_is_refused_in_one_sentence(exported, tmp_path):
    data, cut = exported.read_bytes(), tmp_path / "cut"
    # A cut behind the graph may leave a whole model, without its metadata.
    end_of_graph = data.index(b"\x42", data.index(b"reconstruction\x12"))
    for size in range(3, end_of_graph, 11):
        cut.write_bytes(data[:size])
        with pytest.raises(IsinglassError, match="not an Autoencoder") as caught:
            read_autoencoder(cut)
        assert "\n" not in str(caught.value)


def _with_function(model):
    model.functions.add().name = "Gemm"


def _with_constant(model):
    extra = onnx.numpy_helper.from_array(TABLE.astype(np.float32), "records")
    model.graph.initializer.append(extra)


def _with_other_step(model):
    model.graph.node[4].op_type = "Tanh"


def _with_attribute(model):
    model.graph.node[3].attribute.append(onnx.helper.make_attribute("alpha", 2.0))


def _with_data_elsewhere(model):
    tensor = model.graph.initializer[0]
    tensor.data_location = onnx.TensorProto.EXTERNAL


def _with_infinite_weight(model):
    tensor = model.graph.initializer[4]
    tensor.raw_data = np.full(10, np.inf, dtype=np.float32).tobytes()


def _with_no_scale(model):
    tensor = model.graph.initializer[1]
    tensor.raw_data = np.zeros(5, dtype=np.float32).tobytes()


def _with_other_shape(model):
    tensor = model.graph.initializer[4]
    tensor.dims[:] = [2, 5]


def _with_endless_shape(model):
    tensor = model.graph.initializer[4]
    tensor.dims[:] = [2**62, 2**62]


def _with_records_in_the_metadata(model):
    model.metadata_props.add(key="notes", value=50_000 * "1")


@pytest.mark.parametrize(
    "change",
    [
        *(_with_function, _with_constant, _with_other_step, _with_attribute, _with_data_elsewhere),
        *(_with_infinite_weight, _with_no_scale, _with_other_shape, _with_endless_shape),
        _with_records_in_the_metadata,
    ],
)
def test_any_other_graph_is_refused(change, exported, tmp_path):
    model = onnx.load(exported)
    change(model)
    path = tmp_path / "changed"
    path.write_bytes(model.SerializeToString())
    with pytest.raises(IsinglassError, match="not an Autoencoder"):
        read_autoencoder(path)


def test_a_file_that_is_too_large_is_not_read_whole(exported, monkeypatch):
    monkeypatch.setattr(onnx_file, "MOST_BYTES", 100)
    with pytest.raises(IsinglassError, match="larger than"):
        read_autoencoder(exported)


def test_a_number_without_an_end_is_refused(tmp_path):
    path = tmp_path / "endless"
    path.write_bytes(b"\x08\x08\x12" + 64 * b"\xff")
    assert is_onnx(path)
    with pytest.raises(IsinglassError, match="too long"):
        read_autoencoder(path)
