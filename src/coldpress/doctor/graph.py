"""The model itself: int8 that is right on every CPU, and answers that are close enough to the original's.

Kernels for x86 CPUs without VNNI add pairs of products in 16 bits. With weights of 8 bits such a sum overflows and
is silently cut off; with 7 bits it cannot. Lambda's fleets have such CPUs, and nobody can choose among them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from coldpress.doctor.case import Case
from coldpress.doctor.finding import Finding, few, green, red, yellow

#: 255 × 64, twice, is the most that 16 bits hold
_LARGEST = 64
#: integer products: which of their inputs are weights
_PRODUCTS = {
    "MatMulInteger": (1,),
    "MatMulIntegerToFloat": (1,),
    "DynamicQuantizeMatMul": (1,),
    "ConvInteger": (1,),
    "QLinearMatMul": (3,),
    "QLinearConv": (3,),
    "QGemm": (3,),
    "QAttention": (1,),
    "DynamicQuantizeLSTM": (1, 2),
}
#: float products, which become integer ones when all that they read was quantized just before
_FLOAT_PRODUCTS = ("MatMul", "Gemm", "Conv", "ConvTranspose")
#: rewrites of our own that make integer products, all with 7 bits
_SEVEN_BITS = {"int8-matmul", "int8-conv", "int8-lstm"}
_NEAR = 0.9


def int8_on_avx2(case: Case) -> Finding | None:
    """Only onnxruntime has such kernels: press adds in 32 bits, and gives the same bits on every CPU."""
    models = case.artifact.manifest["models"]
    graphs = [name for name, model in models.items() if model["recipe"]["engine"] == "onnxruntime"]
    if not graphs:
        return None
    name = "int8 on AVX2"
    if case.arch != "x86_64":
        return green(name, f"{case.arch} has no such kernels")
    paths = {graph: case.artifact.model_folder(graph) / str(case.task_of(graph)["model"]) for graph in graphs}
    is_elsewhere = case.artifact.is_many and not all(path.exists() for path in paths.values())  # in S3
    try:
        import onnx as onnx
    except ImportError:
        is_elsewhere = True
    if is_elsewhere:
        return _by_recipe(name, [models[graph]["recipe"] for graph in graphs])
    found = [f"{graph}: {layer}" for graph, path in paths.items() for layer in full_range_weights(path)]
    if found:
        return red(
            name,
            f"weights of 8 bits in {few(found)}",
            why="on x86 CPUs without VNNI, which Lambda has, sums overflow silently and answers are wrong",
            fix="quantize with 7 bits (reduce_range=True), or let coldpress do it from the float model: "
            "coldpress build MODEL --precision int8; coldpress verify DIR --cpu avx2 shows the difference",
        )
    return green(name, "weights have 7 bits, or are floats")


def full_range_weights(path: Path) -> list[str]:
    """Names of weights of integer products that use all 8 bits."""
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    found = []
    for weight in dict.fromkeys(_weights(model)):
        tensor = tensors.get(weight)
        if tensor is None or tensor.data_type != onnx.TensorProto.INT8:
            continue
        values = onnx.numpy_helper.to_array(tensor, str(path.parent))
        if values.size and max(int(values.max()), -int(values.min())) > _LARGEST:
            found.append(weight)
    return found


def drift(case: Case) -> Finding | None:
    models = {name: model["drift"] for name, model in case.artifact.manifest["models"].items()}
    if not models:
        return None
    said = {name: f"{name} {one['total']:g} of {one['limit']:g}" for name, one in models.items()}
    over = [said[name] for name, one in models.items() if not one["total"] <= one["limit"]]
    near = [said[name] for name, one in models.items() if one["total"] > _NEAR * one["limit"]]
    if over:
        return red(
            "drift",
            few(over),
            why="answers are too far from the original model's",
            fix=f"coldpress build MODEL --out {case.artifact.path} --precision fp16",
        )
    if near:
        return yellow(
            "drift",
            few(near),
            why="your own inputs may be over the limit where the samples just keep it",
            fix="check with your own inputs: coldpress build MODEL --samples FILE, or take --precision fp16",
        )
    return green("drift", ", ".join(said.values()))


def _weights(model: Any) -> Iterator[str]:
    made = {output: node for node in model.graph.node for output in node.output}
    for node in model.graph.node:
        for at in _PRODUCTS.get(node.op_type, ()):
            if at < len(node.input):
                yield node.input[at]
        if node.op_type in _FLOAT_PRODUCTS and len(node.input) > 1:
            before = made.get(node.input[1])
            if before is not None and before.op_type == "DequantizeLinear":
                yield before.input[0]


def _by_recipe(name: str, recipes: list[dict[str, Any]]) -> Finding:
    """Without onnx the graph cannot be opened, and its recipe has to do."""
    unknown = [
        " ".join([recipe["precision"], *recipe["rewrites"]])
        for recipe in recipes
        if recipe["precision"] == "int8"
        and not _SEVEN_BITS & {one.partition(":")[0] for one in recipe["rewrites"]}
    ]
    if unknown:
        return yellow(
            name,
            f"the recipe does not tell how many bits weights have: {few(unknown)}",
            why="with 8 bits, answers are wrong on x86 CPUs without VNNI",
            fix="pip install 'coldpress[export]', which brings onnx, and look again",
        )
    return green(name, "7 bits or floats, by the recipe (the graph was not opened: onnx is not installed)")


CHECKS = [int8_on_avx2, drift]
