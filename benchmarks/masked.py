"""The embedded model as people export it: token ids and an attention mask in, mean pooling, a unit vector out."""

import logging
import warnings
from pathlib import Path

import torch
from torch import Tensor, nn

from coldpress.intake.demo import demo_folder


class MaskedEncoder(nn.Module):
    def __init__(self) -> None:
        from transformers import AutoModel

        super().__init__()
        self.model = AutoModel.from_pretrained(demo_folder("demo:minilm"), attn_implementation="eager")

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        mask = attention_mask.unsqueeze(-1).to(hidden.dtype)
        pooled = (hidden * mask).sum(1) / mask.sum(1).clamp(min=1e-9)
        return nn.functional.normalize(pooled, dim=-1)


def export_masked(path: Path, *, dynamo: bool = True) -> Path:
    """The graph by PyTorch's exporter, or by the older one, which onnxruntime's transformer optimizer knows."""
    ids = torch.arange(1, 15).view(2, 7)
    mask = torch.ones_like(ids)
    mask[1, -2:] = 0
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    axes = {0: "batch", 1: "tokens"}
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=256)}
    more = {"dynamic_shapes": (sizes, sizes)} if dynamo else {"dynamic_axes": dict.fromkeys(_INPUTS, axes)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            MaskedEncoder().eval(),
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


_INPUTS = ["input_ids", "attention_mask"]


def quantize_dynamic(graph: Path, target: Path) -> Path:
    """onnxruntime's own quantizer, with a scale per channel and weights that no CPU saturates."""
    from onnxruntime import quantization

    logging.getLogger().setLevel(logging.ERROR)
    quantization.quantize_dynamic(
        graph,
        target,
        per_channel=True,
        reduce_range=True,
        weight_type=quantization.QuantType.QInt8,
        extra_options={"DefaultTensorType": 1},  # floats, where a fused node's type cannot be inferred
    )
    return target


def optimized_by_onnxruntime(graph: Path, target: Path) -> Path:
    """onnxruntime's transformer optimizer, told what it asks for."""
    from onnxruntime.transformers.optimizer import optimize_model

    logging.getLogger("onnxruntime").setLevel(logging.ERROR)
    optimize_model(str(graph), "bert", num_heads=12, hidden_size=384).save_model_to_file(str(target))
    return target
