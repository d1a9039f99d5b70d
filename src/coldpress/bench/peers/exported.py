"""The expert's model: exported with its mask and its pooling, then int8 by onnxruntime's own quantizer."""

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from coldpress.intake.source import TextEncoder
from coldpress.tasks.original import load_pretrained
from coldpress.tasks.tokenizer import prepare_tokenizer

_INPUTS = ["input_ids", "attention_mask"]


class MaskedEncoder(nn.Module):
    def __init__(self, source: TextEncoder) -> None:
        super().__init__()
        self.model = load_pretrained(source, "AutoModel", ("pooler",))
        self.first = source.pooling == ("cls",)
        self.normalize = source.normalize

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden: Tensor = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        if self.first:
            pooled = hidden[:, 0]
        else:
            mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
            pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(pooled, dim=-1) if self.normalize else pooled


def write_expert(source: TextEncoder, folder: Path) -> None:
    """model.onnx and tokenizer.json, as the expert's handler reads them."""
    prepare_tokenizer(source).write(folder / "tokenizer.json")
    exported = export_masked(source, folder / "exported.onnx")
    quantize_dynamic(exported, folder / "model.onnx")
    exported.unlink()


def export_masked(source: TextEncoder, path: Path, *, dynamo: bool = True) -> Path:
    """The graph by PyTorch's exporter, or by the older one, which onnxruntime's transformer optimizer knows."""
    ids = torch.arange(1, 15).view(2, 7)  # dimensions of one would be taken for constants
    mask = torch.ones_like(ids)
    mask[1, -2:] = 0
    sizes: Any = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=source.max_tokens)}
    axes = {0: "batch", 1: "tokens"}
    more = {"dynamic_shapes": (sizes, sizes)} if dynamo else {"dynamic_axes": dict.fromkeys(_INPUTS, axes)}
    with _quiet():
        torch.onnx.export(
            MaskedEncoder(source).eval(),
            (ids, mask),
            str(path),
            dynamo=dynamo,
            input_names=_INPUTS,
            output_names=["embeddings"],
            external_data=False,
            verbose=False,
            **more,
        )
    return path


def quantize_dynamic(graph: Path, target: Path) -> Path:
    """onnxruntime's own quantizer, with a scale per channel, and weights that no CPU saturates."""
    from onnxruntime import quantization

    with _quiet():
        quantization.quantize_dynamic(
            graph,
            target,
            per_channel=True,
            reduce_range=True,
            weight_type=quantization.QuantType.QInt8,
            extra_options={"DefaultTensorType": 1},  # floats, where a fused node's type cannot be inferred
        )
    return target


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters say much that is of no use here."""
    loggers = [logging.getLogger(), logging.getLogger("torch.onnx")]
    levels = [logger.level for logger in loggers]
    try:
        for logger in loggers:
            logger.setLevel(logging.ERROR)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
