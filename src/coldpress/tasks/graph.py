"""A ready graph as a module: called like any other, run by onnxruntime as it was given."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from coldpress.errors import UnsupportedModel


class GraphModule(nn.Module):
    def __init__(self, path: Path) -> None:
        super().__init__()
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        try:
            self._session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:
            raise UnsupportedModel(f"onnxruntime cannot open {path}: {str(error).splitlines()[0]}") from error
        self.names: tuple[str, ...] = tuple(one.name for one in self._session.get_inputs())
        self.outputs: tuple[str, ...] = tuple(one.name for one in self._session.get_outputs())

    def forward(self, **inputs: Tensor) -> dict[str, Tensor]:
        feeds = {name: tensor.contiguous().numpy() for name, tensor in inputs.items()}
        values: list[Any] = self._session.run(list(self.outputs), feeds)
        return {name: torch.from_numpy(value) for name, value in zip(self.outputs, values, strict=True)}
