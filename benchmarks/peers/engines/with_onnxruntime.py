"""ONNX Runtime's CPU provider: a model of one operator, weights as initializers, results bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnxruntime
from onnx import helper, numpy_helper

from benchmarks.numpys import Array, aligned
from benchmarks.peers.catalogue import PeerWorkload
from benchmarks.peers.engine import Engine, Ready

#: opset 20 is the first that has Gelu
_OPSET, _IR = 20, 10

#: Nodes of each operator: type, inputs, output, attributes.
_Node = tuple[str, Sequence[str], str, dict[str, Any]]

_NODES: dict[str, Callable[[PeerWorkload], list[_Node]]] = {
    "matmul": lambda work: [("MatMul", ["x0", "x1"], "y", {})],
    "batch_matmul_transposed": lambda work: [
        ("Transpose", ["x1"], "t", {"perm": [0, 2, 1]}),
        ("MatMul", ["x0", "t"], "y", {}),
    ],
    "conv2d": lambda work: [("Conv", ["x0", "x1"], "y", _window(work))],
    "depthwise_conv2d": lambda work: [("Conv", ["x0", "x1"], "y", _window(work))],
    "softmax": lambda work: [("Softmax", ["x0"], "y", {"axis": 1})],
    "layer_norm": lambda work: [
        ("LayerNormalization", ["x0", "x1", "x2"], "y", {"axis": 1, "epsilon": 1e-5})
    ],
    "dense_relu": lambda work: [
        ("Gemm", ["x0", "x1", "x2"], "h", {}),
        ("Relu", ["h"], "y", {}),
    ],
    "transpose": lambda work: [("Transpose", ["x0"], "y", {"perm": [1, 0]})],
    "row_sum": lambda work: [("ReduceSum", ["x0", "axes"], "y", {"keepdims": 0})],
    "gelu": lambda work: [("Gelu", ["x0"], "y", {})],
}


def _window(work: PeerWorkload) -> dict[str, Any]:
    return {"strides": [work.stride] * 2, "pads": [work.pad] * 4, "group": work.groups}


def model(work: PeerWorkload, inputs: list[Array]) -> bytes:
    """The workload as an ONNX model."""
    constants = {f"x{i}": inputs[i] for i in work.constants}
    if work.op == "depthwise_conv2d":
        constants["x1"] = constants["x1"][:, None]
    initializers = [numpy_helper.from_array(a, name) for name, a in constants.items()]
    if work.op == "row_sum":
        initializers.append(helper.make_tensor("axes", onnx.TensorProto.INT64, [1], [1]))
    nodes = [helper.make_node(kind, i, [o], **more) for kind, i, o, more in _NODES[work.op](work)]
    kind = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, work.op,
        [helper.make_tensor_value_info(f"x{i}", kind, shape)
         for i, shape in enumerate(work.inputs) if i not in work.constants],
        [helper.make_tensor_value_info("y", kind, work.output)], initializers,
    )  # fmt: skip
    opset = helper.make_opsetid("", _OPSET)
    made = helper.make_model(graph, opset_imports=[opset], ir_version=_IR)
    text: bytes = made.SerializeToString()
    return text


def start(threads: int, folder: Path) -> Engine:
    """An engine that makes a session for each workload."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1

    def prepare(work: PeerWorkload, inputs: list[Array]) -> Ready:
        session = onnxruntime.InferenceSession(
            model(work, inputs), options, providers=["CPUExecutionProvider"]
        )
        binding, output = session.io_binding(), aligned(work.output)
        bound = {f"x{i}": a for i, a in enumerate(inputs) if i not in work.constants} | {
            "y": output
        }
        for name, array in bound.items():
            bind = binding.bind_output if name == "y" else binding.bind_input
            bind(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)

        def run(_alive: object = (inputs, output)) -> None:  # the pointers are good while they live
            session.run_with_iobinding(binding)

        return Ready(run, lambda: output)

    return Engine(f"onnxruntime {onnxruntime.__version__}", prepare)
