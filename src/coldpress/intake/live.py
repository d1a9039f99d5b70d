"""A model that lives in this process: a sentence-transformers object, a transformers model, or any nn.Module.

The first two are written to a temporary folder in their own library's format and read back from
there, so that a model in a notebook and the same model on disk go through one door.
"""

import copy
import inspect
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from coldpress.errors import UnsupportedModel, UsageError
from coldpress.intake.folder import describe_folder, function_name
from coldpress.intake.source import LiveModule, Options, Source


@contextmanager
def describe_live(model: Any, options: Options) -> Iterator[Source]:
    if _is_a(model, "Module") and options.inputs is not None:
        yield describe_module(model, options, options.inputs, type(model).__name__, "module")
        return
    with tempfile.TemporaryDirectory(prefix="coldpress-live-") as folder:
        _save(model, options.tokenizer, folder)
        yield describe_folder(Path(folder), type(model).__name__, options)


def _save(model: Any, tokenizer: Any, folder: str) -> None:
    kind = type(model).__name__
    if _is_a(model, "SentenceTransformer"):
        model.save(folder, create_model_card=False)
    elif _is_a(model, "PreTrainedModel"):
        if tokenizer is None:
            raise UsageError(f"a {kind} does not know its tokenizer: build(model, tokenizer=…)")
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
    elif _is_a(model, "Module"):
        raise UsageError(
            f"{kind} is a plain nn.Module: say what it is called with, build(model, inputs=…), a tensor, "
            "or a tuple or dict of them"
        )
    else:
        raise UsageError(f"build() takes a path, a hub id or a model, not a {kind}")


def _is_a(model: object, name: str) -> bool:
    """Whether a class of that name is among the model's; asked by name, so that nothing is imported."""
    return any(base.__name__ == name for base in type(model).__mro__)


def describe_module(model: Any, options: Options, inputs: Any, origin: str, kind: str) -> LiveModule:
    example = _example(model, inputs)
    module = _prepared(model, kind)
    return LiveModule(
        name=function_name(options.name, type(model).__name__ if kind == "module" else Path(origin).stem),
        origin=origin,
        kind=kind,
        task="tensors",
        architecture=type(model).__name__,
        weights_bytes=sum(tensor.nbytes for tensor in model.state_dict().values()),
        files={},
        module=module,
        example=example,
        dynamic=dynamic_axes(example, options.dynamic),
    )


def _prepared(model: Any, kind: str) -> Any:
    """Ready to be asked, in fp32."""
    if kind == "torchscript":  # ours alone, and a copy of it could not be traced
        return model.eval()
    # A copy: the caller's own keeps its mode and precision.
    module = copy.deepcopy(model).float().requires_grad_(False)
    # A program has no modes: it was exported in one.
    return module if kind == "torch.export program" else module.eval()


def _example(model: Any, inputs: Any) -> dict[str, Any]:
    """The example inputs by the names of forward's arguments."""
    import torch

    given = inputs if isinstance(inputs, dict | tuple | list) else (inputs,)
    arguments = _signature(model)
    try:
        bound = arguments.bind(**given) if isinstance(given, dict) else arguments.bind(*given)
    except TypeError as error:
        raise UsageError(f"inputs do not fit {type(model).__name__}.forward{arguments}: {error}") from None
    example: dict[str, Any] = {}
    for name, value in bound.arguments.items():
        if not isinstance(value, torch.Tensor):
            raise UnsupportedModel(
                f"the input {name!r} is a {type(value).__name__}; what can be pressed is called with tensors, "
                "each as an argument of its own"
            )
        tensor = value.detach().cpu()
        example[name] = tensor.float() if tensor.is_floating_point() else tensor
    return example


def _signature(model: Any) -> inspect.Signature:
    """Forward's arguments; of TorchScript, which Python cannot look into, by its own schema."""
    try:
        return inspect.signature(model.forward)
    except ValueError:
        names = [argument.name for argument in model.forward.schema.arguments][1:]
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature([inspect.Parameter(name, kind) for name in names])


def dynamic_axes(example: dict[str, Any], asked: dict[str, tuple[int, ...]] | None) -> dict[str, tuple[int, ...]]:
    """Axes that vary: those asked for, else the first of every input, if it is the same for all of them."""
    if asked is not None:
        for name, axes in asked.items():
            rank = example[name].dim() if name in example else None
            if rank is None:
                raise UsageError(f"dynamic names the input {name!r}; this model has: {', '.join(example)}")
            if not all(0 <= axis < rank for axis in axes):
                raise UsageError(f"dynamic names the axes {list(axes)} of {name!r}, which has {rank} axes")
        return {name: tuple(asked.get(name, ())) for name in example}
    sizes = {tensor.shape[0] if tensor.dim() else None for tensor in example.values()}
    return dict.fromkeys(example, (0,) if len(sizes) == 1 and None not in sizes else ())
