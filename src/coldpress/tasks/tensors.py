"""Named tensors in, named tensors out: any module whatever."""

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.source import LiveModule
from coldpress.samples import varied
from coldpress.tasks import Answer, Carried, Feed, Request, Signature
from coldpress.tasks.graph import GraphModule

SAMPLES = 32
FEW = 8
CALIBRATION = 16
#: what fits a request of 6 MB when it is written as base64
MOST_BYTES = 3_000_000
KINDS = ("float32", "float64", "float16", "int64", "int32", "int16", "int8", "uint8", "bool")


class Flat(nn.Module):
    """A module that takes its inputs by place and gives its outputs as a tuple of plain tensors."""

    def __init__(self, module: nn.Module, inputs: tuple[str, ...]) -> None:
        super().__init__()
        self.module = module
        self.inputs = inputs

    def forward(self, *values: Tensor) -> tuple[Tensor, ...]:
        answer = self.module(**dict(zip(self.inputs, values, strict=True)))
        return tuple(tensor for _, tensor in named_outputs(answer))


class Tensors:
    native: tuple[str, ...] = ()

    def __init__(self, source: LiveModule) -> None:
        self.source = source
        for name, tensor in source.example.items():
            _kind(tensor, f"the input {name!r}")

    def original(self) -> nn.Module:
        if isinstance(self.source.module, torch.jit.ScriptModule):
            return self.source.module  # nothing can be put around compiled code and still be exported
        return Flat(self.source.module, tuple(self.source.example))

    @cached_property
    def _outputs(self) -> dict[str, Tensor]:
        """What the original answers to its example."""
        with torch.inference_mode():
            outputs = dict(named_outputs(self.source.module(**self.source.example)))
        for name, tensor in outputs.items():
            _kind(tensor, f"the output {name!r}")
        return outputs

    def signature(self) -> Signature:
        wide = {name: _widened(tensor, self.source.dynamic[name]) for name, tensor in self.source.example.items()}
        open_axes = tuple(self.source.dynamic[name] for name in wide)
        # A hint, not an order: an axis that the model itself fixes stays fixed.
        hints = tuple(dict.fromkeys(axes, torch.export.Dim.AUTO) for axes in open_axes)
        if isinstance(self.source.module, GraphModule):
            outputs: tuple[str, ...] = self.source.module.outputs
            return Signature(tuple(wide), outputs, tuple(wide.values()), open_axes, (hints,))
        # A graph may not use a name twice, and a model may give back what it calls by an input's name.
        outputs = tuple(f"{name}.out" for name in self._outputs)
        return Signature(tuple(wide), outputs, tuple(wide.values()), open_axes, (hints,))

    def samples(self) -> list[Request]:
        return [_request(inputs) for inputs in self._generated(SAMPLES, seed=1)]

    def calibration(self) -> list[Feed]:
        return [
            {name: tensor.numpy() for name, tensor in inputs.items()}
            for inputs in self._generated(CALIBRATION, seed=2)
        ]

    def truth(self, requests: list[Request]) -> list[Answer]:
        answers: list[Answer] = []
        with torch.inference_mode():
            for request in requests:
                inputs = {
                    name: torch.from_numpy(_array(value, _kind(self.source.example[name], name)))
                    for name, value in _inputs(request, self.source.example).items()
                }
                try:
                    outputs = [tensor for _, tensor in named_outputs(self.source.module(**inputs))]
                except Exception as error:
                    shapes = ", ".join(f"{name} of {list(tensor.shape)}" for name, tensor in inputs.items())
                    raise UsageError(
                        f"{self.source.origin} itself fails on a sample, {shapes}: "
                        f"{type(error).__name__}: {error}. "
                        "Give samples that it takes (samples=…), and name the axes that vary (dynamic=…)"
                    ) from error
                answers.append(tuple(output.double().float().numpy().reshape(-1) for output in outputs))
        return answers

    @classmethod
    def asked(cls, spec: Mapping[str, Any]) -> list[Request]:
        generator = np.random.default_rng(0)
        return [
            {"inputs": {one["name"]: _made_up(one, generator) for one in spec["inputs"]}, "encoding": "base64"}
            for _ in range(FEW)
        ]

    def question(self, request: Request) -> Request:
        return {"encoding": "base64", **request}

    def read(self, answer: Any) -> Answer:
        outputs: dict[str, Any] = answer["outputs"]
        return tuple(_array(value, "float32").reshape(-1) for value in outputs.values())

    def timed(self) -> dict[str, Request]:
        one = {
            name: tensor[:1] if 0 in self.source.dynamic[name] else tensor
            for name, tensor in self.source.example.items()
        }
        requests = {"one": _request(one)}
        four = {
            name: tensor.repeat(4, *[1] * (tensor.dim() - 1)) if 0 in self.source.dynamic[name] else tensor
            for name, tensor in one.items()
        }
        size = sum(tensor.nbytes for tensor in four.values())
        if any(0 in axes for axes in self.source.dynamic.values()) and size <= MOST_BYTES:
            requests["four"] = _request(four)
        return requests

    def probes(self) -> list[Feed]:
        fixed = all(set(axes) <= {0} for axes in self.source.dynamic.values())
        return self.calibration() if fixed else []

    def carry(self, work: Path) -> Carried:
        return Carried((), {})

    def spec(self) -> dict[str, Any]:
        return {
            "inputs": [
                {
                    "name": name,
                    "type": _kind(tensor, name),
                    "shape": _open_shape(tensor, self.source.dynamic[name]),
                    "example": _span(tensor),
                }
                for name, tensor in self.source.example.items()
            ],
            "outputs": [{"name": name, "type": _kind(tensor, name)} for name, tensor in self._outputs.items()],
        }

    def describe(self) -> dict[str, Any]:
        return self.spec()

    def _generated(self, count: int, seed: int) -> Iterator[dict[str, Tensor]]:
        """The example, and others like it: values of the same kind and spread, other sizes where they vary."""
        yield self.source.example
        generator = np.random.default_rng(seed)
        for at in range(1, count):
            yield {
                name: _like(tensor, self.source.dynamic[name], halved=at % 2 == 0, generator=generator)
                for name, tensor in self.source.example.items()
            }


def named_outputs(answer: Any) -> Iterator[tuple[str, Tensor]]:
    """The tensors in whatever a module returned, each with a name."""
    if isinstance(answer, Tensor):
        yield "output", answer
    elif isinstance(answer, Mapping):
        for key, value in answer.items():
            for name, tensor in named_outputs(value):
                yield (str(key) if name == "output" else f"{key}.{name}"), tensor
    elif isinstance(answer, Sequence) and not isinstance(answer, str):
        for at, value in enumerate(answer):
            for name, tensor in named_outputs(value):
                yield (f"output_{at}" if name == "output" else f"output_{at}.{name}"), tensor
    elif answer is not None:
        raise UnsupportedModel(
            f"the model returns a {type(answer).__name__}; what can be pressed returns tensors, "
            "or tuples, lists and dicts of them"
        )


def _kind(tensor: Tensor, what: str) -> str:
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind not in KINDS:
        raise UnsupportedModel(f"{what} is a tensor of {kind}; a function takes and gives {', '.join(KINDS)}")
    return kind


def _open_shape(tensor: Tensor, dynamic: tuple[int, ...]) -> list[int | None]:
    return [None if axis in dynamic else size for axis, size in enumerate(tensor.shape)]


def _span(tensor: Tensor) -> dict[str, Any]:
    """What the example was like: enough to make others of its kind, for whoever has the artifact alone."""
    return {"shape": list(tensor.shape), "low": tensor.min().item(), "high": tensor.max().item()}


def _widened(tensor: Tensor, dynamic: tuple[int, ...]) -> Tensor:
    """The example with no dynamic axis of size one: the exporter would take that for a constant."""
    times = [2 if axis in dynamic and size == 1 else 1 for axis, size in enumerate(tensor.shape)]
    return tensor.repeat(times) if times else tensor


def _like(tensor: Tensor, dynamic: tuple[int, ...], *, halved: bool, generator: np.random.Generator) -> Tensor:
    shape = list(tensor.shape)
    for axis in dynamic:
        shape[axis] = 1 if axis == 0 else max(2, shape[axis] // 2) if halved else shape[axis]
    if tensor.is_floating_point():
        spread, middle = (tensor.std(), tensor.mean()) if tensor.numel() > 1 else (0.0, 0.0)
        if not spread:  # zeros or ones, as people write them to show a shape
            spread, middle = 1.0, 0.0
        return torch.from_numpy(varied(shape, generator)) * spread + middle
    places = torch.from_numpy(generator.integers(0, tensor.numel(), shape))
    return tensor.reshape(-1)[places]


def _request(inputs: dict[str, Tensor]) -> Request:
    return {"inputs": {name: _written(tensor) for name, tensor in inputs.items()}, "encoding": "base64"}


def _written(tensor: Tensor) -> dict[str, Any]:
    data = b64encode(tensor.contiguous().numpy().tobytes()).decode()
    return {"type": _kind(tensor, "an input"), "shape": list(tensor.shape), "data": data}


def _made_up(described: dict[str, Any], generator: np.random.Generator) -> dict[str, Any]:
    """A tensor like the one that task.json shows as an example."""
    example, kind = described["example"], described["type"]
    low, high = example["low"], example["high"]
    if kind.startswith("float"):
        values = (low + high) / 2 + max(high - low, 1) / 6 * varied(example["shape"], generator)
    else:
        values = generator.integers(int(low), int(high) + 1, example["shape"])
    data = b64encode(values.astype(kind).tobytes()).decode()
    return {"type": kind, "shape": example["shape"], "data": data}


def _inputs(request: Request, example: dict[str, Tensor]) -> dict[str, Any]:
    inputs = request.get("inputs")
    if not isinstance(inputs, dict) or inputs.keys() != example.keys():
        form = ", ".join(f'"{name}": …' for name in example)
        raise UsageError(f'a sample of this model is {{"inputs": {{{form}}}}}, not {str(request)[:80]}')
    return inputs


def _array(value: Any, kind: str) -> NDArray[Any]:
    """A tensor as a request or an answer writes it, as numbers of `kind`."""
    if isinstance(value, dict):
        flat = np.frombuffer(b64decode(value["data"]), value["type"])
        return flat.reshape(value["shape"]).astype(kind)
    return np.array(value, kind)
