"""The encoder of all-MiniLM-L6-v2 as an ONNX graph whose matrix products use 8-bit integers.

An encoder spends its time on matrix products, and ONNX Runtime computes them two to three times as fast with integers
as with floating point numbers. Weights are rounded here, once, each column on a scale of its own; the rows they are
multiplied with are rounded while the graph runs, each text on a scale of its own. Everything else is not rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

DIMENSION = 384
LAYERS, HEADS = 6, 12
_INTERMEDIATE = 1536  # columns between the two matrices of a feed-forward block
_MAX_WEIGHT = 63  # with 8-bit weights, processors without instructions for this overflow where they add two products
_EPSILON = 1e-12
_MICROSOFT = "com.microsoft"  # the operators of ONNX Runtime beside the standard ones
_OPERATORS, _FORMAT = 18, 9  # versions: of the standard operators, and of the file format

Array = NDArray[np.float32]
ReadWeights = Callable[..., Array]  # (name, *shape): the array of that name, checked to have that shape


def build_encoder(read: ReadWeights) -> bytes:
    """The graph in the ONNX format: from `rows`, texts × tokens × numbers, to rows of the same shape."""
    graph = _EncoderGraph(read)
    rows = graph.normalise("rows", "embeddings.LayerNorm")
    for number in range(LAYERS):
        rows = graph.add_layer(rows, f"encoder.layer.{number}")
    return graph.serialise(rows)


class _EncoderGraph:
    """A graph to which nodes are added; each method returns the name of the node's output."""

    def __init__(self, read: ReadWeights) -> None:
        self._read = read
        self._nodes: list[Any] = []
        self._constants: list[Any] = []

    def add_layer(self, rows: str, name: str) -> str:
        attended = self._project(self._attend(rows, f"{name}.attention.self"), f"{name}.attention.output.dense")
        rows = self.normalise(self._add("Add", rows, attended), f"{name}.attention.output.LayerNorm")
        hidden = self._project(rows, f"{name}.intermediate.dense", outputs=_INTERMEDIATE)
        hidden = self._add("Gelu", hidden, domain=_MICROSOFT)
        hidden = self._project(hidden, f"{name}.output.dense", inputs=_INTERMEDIATE)
        return self.normalise(self._add("Add", rows, hidden), f"{name}.output.LayerNorm")

    def normalise(self, rows: str, name: str) -> str:
        """Layer normalisation."""
        weight, bias = self._read(f"{name}.weight", DIMENSION), self._read(f"{name}.bias", DIMENSION)
        return self._add("LayerNormalization", rows, weight, bias, epsilon=_EPSILON)

    def serialise(self, output: str) -> bytes:
        from onnx import TensorProto, helper

        shape: list[str | int | None] = ["texts", "tokens", DIMENSION]
        begin, end = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("rows", output))
        graph = helper.make_graph(self._nodes, "encoder", [begin], [end], self._constants)
        versions = [helper.make_opsetid("", _OPERATORS), helper.make_opsetid(_MICROSOFT, 1)]
        model: bytes = helper.make_model(graph, opset_imports=versions, ir_version=_FORMAT).SerializeToString()
        return model

    def _attend(self, rows: str, name: str) -> str:
        """Self-attention; the query, key and value matrices are joined into one."""
        parts = [f"{name}.{part}" for part in ("query", "key", "value")]
        weight = np.concatenate([self._read(f"{part}.weight", DIMENSION, DIMENSION) for part in parts])
        bias = np.concatenate([self._read(f"{part}.bias", DIMENSION) for part in parts])
        joined = self._multiply(rows, weight, bias)
        self._add("Split", joined, names=parts, axis=-1, num_outputs=len(parts))
        return self._add("MultiHeadAttention", *parts, domain=_MICROSOFT, num_heads=HEADS)

    def _project(self, rows: str, name: str, outputs: int = DIMENSION, inputs: int = DIMENSION) -> str:
        """A linear layer."""
        return self._multiply(rows, self._read(f"{name}.weight", outputs, inputs), self._read(f"{name}.bias", outputs))

    def _multiply(self, rows: str, weight: Array, bias: Array) -> str:
        """Rows times a matrix of integers, plus a bias."""
        scale = np.maximum(np.abs(weight).max(axis=1) / np.float32(_MAX_WEIGHT), np.finfo(np.float32).tiny)
        integers = np.rint(weight / scale[:, None]).astype(np.int8).T
        zeros = np.zeros(len(weight), np.int8)
        return self._add("DynamicQuantizeMatMul", rows, integers, scale, zeros, bias, domain=_MICROSOFT)

    def _add(self, operator: str, *inputs: str | NDArray[Any], names: list[str] | None = None, **options: Any) -> str:
        """Add a node; arrays become constants."""
        from onnx import helper

        outputs = names or [f"{operator}.{len(self._nodes)}"]
        known = [value if isinstance(value, str) else self._add_constant(value) for value in inputs]
        self._nodes.append(helper.make_node(operator, known, outputs, **options))
        return outputs[0]

    def _add_constant(self, array: NDArray[Any]) -> str:
        from onnx import numpy_helper

        name = f"constant.{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name
