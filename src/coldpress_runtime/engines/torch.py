"""PyTorch itself, for what no other engine can run: large, slow to start, and right.

The model is a TorchScript archive: its code is the model's own, compiled when the function was built, so no
class of anybody's has to be imported here and no pickle is opened.
"""

import sys

from coldpress_runtime.faults import EngineError, LoadError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from coldpress_runtime.engines import Input

PACKAGES = "python"  # below a library folder


class Engine:
    def __init__(self, folders: tuple[str, ...]) -> None:
        sys.path += [f"{folder}/{PACKAGES}" for folder in folders]
        try:
            import torch
        except ImportError as error:
            raise LoadError(
                f"torch cannot be imported from {', '.join(folders)}: {error}; this function was built for "
                "one version of Python, see `python` in its coldpress.json"
            ) from None
        self._torch = torch

    def open(self, folder: str, spec: "dict[str, Any]", threads: int) -> "Session":
        self._torch.set_num_threads(threads)
        path = f"{folder}/{spec['model']}"
        from warnings import catch_warnings, simplefilter

        try:
            with catch_warnings():
                simplefilter("ignore")  # of the format's age
                module = self._torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
        except RuntimeError as error:
            raise LoadError(f"{path} cannot be opened: {error}") from None
        # What is stored in halves is computed in fp32: CPUs gain nothing from half arithmetic.
        return Session(self._torch, module.float() if spec["halves"] else module)


class Session:
    def __init__(self, torch: "Any", module: "Any") -> None:
        self._torch = torch
        self._module = module

    def call(self, inputs: "Sequence[Input]") -> "list[Tensor]":
        torch = self._torch
        tensors = [
            torch.frombuffer(bytearray(buffer), dtype=getattr(torch, kind)).reshape(shape)
            for kind, shape, buffer in inputs
        ]
        try:
            with torch.inference_mode():
                made = self._module(*tensors)
        except RuntimeError as error:
            raise EngineError(str(error)) from None
        return [Tensor(one) for one in (made if isinstance(made, tuple) else (made,))]

    def close(self) -> None:
        self._module = None


class Tensor:
    def __init__(self, tensor: "Any") -> None:
        self._tensor = tensor.contiguous()
        self.address: int = self._tensor.data_ptr()

    def form(self) -> tuple[str, list[int]]:
        return str(self._tensor.dtype).removeprefix("torch."), list(self._tensor.shape)

    def close(self) -> None:
        """Nothing to give back: torch counts who still looks."""
