"""Private model as an ONNX graph in float64, from raw records to scores.

It computes what the kernels compute. asinh is log(x + sqrt(x^2 + 1)), since no runtime has it in
float64; where the kernels' whole numbers round otherwise, the graph says by how much. Logarithmic
cells are found by a logarithm, so that a value next to an edge may fall on its other side.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isinglass.detect.onnx_writer import Described, Node, graph_bytes
from isinglass.detect.private.columns import NumberColumn
from isinglass.detect.private.document import ModelDocument
from isinglass.detect.private.layout import BINS, RANGE
from isinglass.detect.private.model import UNIT, Densities, PrivateModel, scaled_leaves, terms_of
from isinglass.detect.private.projections import FINE, LIMIT, ONE
from isinglass.kernels.grid import CELLS, FAN, LEAVES

_Roundings = tuple[NDArray[np.float64], NDArray[np.float64]]


def onnx_bytes(document: ModelDocument) -> bytes:
    """The graph's bytes.

    Inputs: `record` (float64, N x columns of numbers) and, where there are any, `categories`
    (int64, N x columns of categories): the place of a value in its declared list, the length of
    the list for any other. Missing numbers are NaN. Outputs: `score` (N) and, with a threshold,
    `is_outlier` (N).
    """
    model = document.model
    graph = _Graph()
    parts: list[str] = []
    n_columns = len(model.layout.columns)
    if model.layout.numbers:
        parts = _numbers(graph, model)
    if model.layout.categories:
        parts.append(_categories(graph, model))
    graph.add("Sum", *parts, to="whole")
    graph.add("Div", "whole", graph.constant("divisor", float(model._divisor)), to="score")
    inputs: Described = {}
    if model.layout.numbers:
        inputs["record"] = ("float64", ["N", len(model.layout.numbers)])
    if model.layout.categories:
        inputs["categories"] = ("int64", ["N", len(model.layout.categories)])
    outputs: Described = {"score": ("float64", ["N"])}
    if document.threshold is not None:
        graph.add("Greater", "score", graph.constant("threshold", document.threshold),
                  to="is_outlier")  # fmt: skip
        outputs["is_outlier"] = ("bool", ["N"])
    facts = {"method": "private", "columns": str(n_columns)}
    return graph_bytes("private_model", graph.nodes, graph.constants, inputs, outputs, facts)


class _Graph:
    """Nodes and constants as they are added."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[str, Any] = {}

    def add(self, operator: str, *inputs: str, to: str) -> str:
        self.nodes.append((operator, inputs, (to,)))
        return to

    def constant(self, name: str, value: Any, dtype: Any = np.float64) -> str:
        self.constants[name] = np.asarray(value, dtype=dtype)
        return name


def _numbers(graph: _Graph, model: PrivateModel) -> list[str]:
    """Terms of columns of numbers, and of projections; both as the kernels add them up."""
    layout, add, constant = model.layout, graph.add, graph.constant
    low, width = layout.grid
    logarithmic = np.array([c.log for c in layout.numbers])
    add("IsNaN", "record", to="missing")
    place = add("Div", add("Sub", "record", constant("low", low), to="above"),
                constant("width", width), to="share")  # fmt: skip
    if logarithmic.any():
        place = _log_share(graph, layout.numbers, logarithmic, place)
    constant("cells", float(CELLS))
    constant("zero", 0.0)
    add("Floor", add("Mul", place, "cells", to="place"), to="floor")
    add("Clip", "floor", "zero", constant("last", CELLS - 1.0), to="held")
    add("Where", "missing", "zero", "held", to="cell")

    # The leaf's center is looked up in the bins of the scaled range; far out, distance is added.
    constant("fan", float(FAN))
    add("Floor", add("Div", "cell", "fan", to="leaf_share"), to="leaf")
    add("Add", add("Mul", "leaf", "fan", to="leaf_start"), constant("half_leaf", FAN / 2),
        to="leaf_center")  # fmt: skip
    middle, half = model.columns.middle, model.columns.half
    assert middle is not None
    assert half is not None
    constant("middle", middle / FINE)
    constant("half", half / FINE)
    constant("one", 1.0)
    constant("unit", ONE / math.asinh(1.0))
    constant("limit", float(LIMIT * ONE))
    leaf_u = _scaled(graph, "leaf_center", "leaf", "leaf", _roundings(model.columns, LEAVES))
    constant("edge", float(RANGE * ONE))
    constant("per_column_bin", 2.0 * RANGE * ONE / BINS)
    shifted = add("Add", leaf_u, "edge", to="leaf_shifted")
    add("Floor", add("Div", shifted, "per_column_bin", to="leaf_place"), to="leaf_floor")
    add("Clip", "leaf_floor", "zero", constant("last_bin", BINS - 1.0), to="leaf_bin")
    add("Where", "missing", constant("bin_of_missing", float(BINS)), "leaf_bin", to="own_bin")
    terms = terms_of(model.columns.p)
    n, bins = terms.shape
    own = _looked_up(graph, "own", terms, "own_bin", np.arange(n) * bins)
    add("Sub", add("Abs", leaf_u, to="leaf_size"), "edge", to="leaf_excess")
    add("Mul", add("Max", "leaf_excess", "zero", to="leaf_beyond"),
        constant("beyond_unit", float(UNIT // ONE)), to="far")  # fmt: skip
    add("Where", "missing", "zero", "far", to="known_far")
    summed = add("Add", own, "known_far", to="own_terms")
    constant("axis", [1], np.int64)
    columns = _summed(graph, summed, "columns", max(layout.n_projections, 1))
    if not layout.n_projections:
        return [columns]
    return [columns, _projections(graph, model)]


def _projections(graph: _Graph, model: PrivateModel) -> str:
    layout, add, constant = model.layout, graph.add, graph.constant
    constant("half_cell", 0.5)
    center = add("Add", "cell", "half_cell", to="center")
    if layout.rounds == 2:
        brought = _scaled(graph, center, "cell", "cell", _roundings(model.columns, CELLS))
    else:  # 2 g + 1 - CELLS
        add("Mul", center, constant("two", 2.0), to="twice")
        brought = add("Sub", "twice", "cells", to="unscaled")
    add("Where", "missing", "zero", brought, to="brought")
    add("MatMul", "brought", constant("W", layout.W), to="v")
    bins = layout.bins
    add("Mul", add("Add", "v", constant("shift", bins.shift + 0.5), to="v_shifted"),
        constant("per_bin", bins.per_bin), to="v_place")  # fmt: skip
    add("Clip", add("Floor", "v_place", to="v_floor"), "zero",
        constant("last_v", bins.n - 1.0), to="v_bin")  # fmt: skip
    terms = model.projections.terms(bins.n)
    found = _looked_up(graph, "projection", terms, "v_bin", np.arange(len(terms)) * bins.n)
    if layout.rounds == 2:
        add("Sub", add("Abs", "v", to="v_size"), constant("v_edge", float(RANGE * UNIT)),
            to="v_excess")  # fmt: skip
        found = add("Add", found, add("Max", "v_excess", "zero", to="v_beyond"), to="v_terms")
    return _summed(graph, found, "projections", len(layout.columns))


def _scaled(graph: _Graph, center: str, name: str, place: str, roundings: _Roundings) -> str:
    """round(ONE asinh((center - middle) / half) / asinh 1), held to the limit, as tables have it.

    `place` is the number of the cell or leaf that `center` is the center of.
    """
    add, constant = graph.add, graph.constant
    add("Div", add("Sub", center, "middle", to=f"{name}_off"), "half", to=f"{name}_x")
    add("Abs", f"{name}_x", to=f"{name}_size_x")
    add("Mul", f"{name}_x", f"{name}_x", to=f"{name}_square")
    add("Sqrt", add("Add", f"{name}_square", "one", to=f"{name}_more"), to=f"{name}_root")
    add("Log", add("Add", f"{name}_size_x", f"{name}_root", to=f"{name}_sum"), to=f"{name}_log")
    add("Round", add("Mul", f"{name}_log", "unit", to=f"{name}_units"), to=f"{name}_rounded")
    add("Min", f"{name}_rounded", "limit", to=f"{name}_held")
    u = add("Mul", f"{name}_held", add("Sign", f"{name}_x", to=f"{name}_sign"), to=f"{name}_u")
    places, differences = roundings
    if not places.size:
        return u
    constant("last_axis", [2], np.int64)
    add("Equal", add("Unsqueeze", place, "last_axis", to=f"{name}_each"),
        constant(f"{name}_otherwise", places), to=f"{name}_is_otherwise")  # fmt: skip
    add("CastDouble", f"{name}_is_otherwise", to=f"{name}_chosen")
    add("Mul", f"{name}_chosen", constant(f"{name}_by", differences), to=f"{name}_changes")
    add("ReduceSum", f"{name}_changes", "last_axis", to=f"{name}_change")
    return add("Add", u, f"{name}_change", to=f"{name}_exact_u")


def _roundings(columns: Densities, n_places: int) -> _Roundings:
    """Where the tables' whole numbers round otherwise than float64 does, and by how much.

    A row for each column, filled up with places that there are none of.
    """
    assert columns.middle is not None
    assert columns.half is not None
    center = (np.arange(n_places) + 0.5) * (CELLS // n_places)
    found = []
    for middle, half in zip(columns.middle.tolist(), columns.half.tolist(), strict=True):
        x = (center - middle / FINE) / (half / FINE)
        units = np.round(np.log(np.abs(x) + np.sqrt(x * x + 1.0)) * (ONE / math.asinh(1.0)))
        u = np.minimum(units, LIMIT * ONE) * np.sign(x)
        change = scaled_leaves(n_places, middle, half) - u
        at = np.flatnonzero(change)
        found.append((at, change[at]))
    most = max(len(at) for at, _ in found)
    places, differences = np.full((len(found), most), -1.0), np.zeros((len(found), most))
    for row, (at, change) in enumerate(found):
        places[row, : len(at)], differences[row, : len(at)] = at, change
    return places, differences


def _log_share(
    graph: _Graph, columns: tuple[NumberColumn, ...], chosen: Any, otherwise: str
) -> str:
    """Where values lie between the bounds of logarithmic columns, from 0 to 1."""
    add, constant = graph.add, graph.constant
    low = np.array([c.low if c.log else 1.0 for c in columns])
    span = [math.log(c.high) - math.log(c.low) if c.log else 1.0 for c in columns]
    add("Max", "record", constant("log_low", low), to="log_record")
    add("Sub", add("Log", "log_record", to="log_value"), constant("log_of_low", np.log(low)),
        to="log_above")  # fmt: skip
    add("Div", "log_above", constant("log_span", span), to="log_share")
    return add("Where", constant("is_log", chosen, np.bool_), "log_share", otherwise, to="shares")


def _looked_up(graph: _Graph, name: str, terms: Any, bins: str, starts: Any) -> str:
    """The terms of bins, each from its own row of a table."""
    graph.add("Add", bins, graph.constant(f"{name}_starts", starts), to=f"{name}_at")
    graph.add("CastInt64", f"{name}_at", to=f"{name}_index")
    return graph.add(
        "Gather", graph.constant(f"{name}_table", terms.ravel()), f"{name}_index", to=f"{name}_term"
    )


def _summed(graph: _Graph, terms: str, name: str, times: int) -> str:
    """Sums of whole numbers below 2**53, which are exact in any order."""
    if "axis" not in graph.constants:
        graph.constant("axis", [1], np.int64)
    graph.add("ReduceSum", terms, "axis", to=f"{name}_sum")
    return graph.add(
        "Mul", f"{name}_sum", graph.constant(f"{name}_times", float(times)), to=f"{name}_whole"
    )


def _categories(graph: _Graph, model: PrivateModel) -> str:
    terms = [terms_of(p) for p in model.categories]
    starts = np.cumsum([0, *(len(t) for t in terms)])[:-1]
    graph.add("CastDouble", "categories", to="category_place")
    found = _looked_up(graph, "category", np.concatenate(terms), "category_place", starts)
    return _summed(graph, found, "category", max(model.layout.n_projections, 1))
