"""ONNX export of an autoencoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import isinglass
from isinglass.detect.network import Weights
from isinglass.detect.onnx_writer import IR_VERSION, OPSET, Node
from isinglass.errors import IsinglassError
from isinglass.files import whole_file

Array = NDArray[Any]

# Of opset 17; ReduceMean takes its axes otherwise from 18 on.
_ATTRIBUTES: dict[str, dict[str, Any]] = {"ReduceMean": {"axes": [1], "keepdims": 0}}


def graph_nodes(logistic: bool) -> list[Node]:
    """The steps of the graph in order: scale, cut, two layers, squared error, threshold."""
    linear = "linear" if logistic else "output"
    return [
        ("Sub", ("record", "low"), ("shifted",)),
        ("Mul", ("shifted", "factor"), ("scaled",)),
        ("Clip", ("scaled", "least", "most"), ("shown",)),
        ("Gemm", ("shown", "W", "a"), ("inner",)),
        ("Sigmoid", ("inner",), ("hidden",)),
        ("Gemm", ("hidden", "V", "b"), (linear,)),
        *([("Sigmoid", (linear,), ("output",))] if logistic else []),
        ("Sub", ("scaled", "output"), ("error",)),
        ("Mul", ("error", "error"), ("squares",)),
        ("ReduceMean", ("squares",), ("score",)),
        ("Greater", ("score", "threshold"), ("is_outlier",)),
        ("Div", ("output", "factor"), ("stretched",)),
        ("Add", ("stretched", "low"), ("reconstruction",)),
    ]


def build_model(
    weights: Weights, low: Array, factor: Array, *, reach: tuple[float, float], threshold: float
) -> Any:
    """Build the model: the graph with its constants, checked."""
    onnx = _import_onnx()
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    real, truth = onnx.TensorProto.FLOAT, onnx.TensorProto.BOOL
    W, a, V, b = weights.parts()
    constants = {
        "low": low,
        "factor": factor,
        "least": reach[0],
        "most": reach[1],
        "W": W,
        "a": a,
        "V": V,
        "b": b,
        "threshold": threshold,
    }
    nodes = [
        node(operator, inputs, outputs, **_ATTRIBUTES.get(operator, {}))
        for operator, inputs, outputs in graph_nodes(weights.logistic)
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "autoencoder",
        [value("record", real, ["N", weights.width])],
        [
            value("score", real, ["N"]),
            value("reconstruction", real, ["N", weights.width]),
            value("is_outlier", truth, ["N"]),
        ],
        [
            onnx.numpy_helper.from_array(np.asarray(constant, dtype=np.float32), name)
            for name, constant in constants.items()
        ],
    )
    model = onnx.helper.make_model(
        graph,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="isinglass",
        producer_version=isinglass.__version__,
    )
    facts = {
        "method": "autoencoder",
        "version": isinglass.__version__,
        "threshold": repr(float(threshold)),
        "promise": "none; membership inference is not excluded",
    }
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return model


def write(path: str | Path, model: Any) -> None:
    """Put the file in place, whole or not at all."""
    data = model.SerializeToString(deterministic=True)
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


def _import_onnx() -> Any:
    try:
        import onnx
        import onnx.checker
        import onnx.helper
        import onnx.numpy_helper
    except ImportError:
        raise IsinglassError(
            "export needs onnx, which is not installed; install isinglass[neural]"
        ) from None
    return onnx
