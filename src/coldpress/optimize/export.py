"""PyTorch → ONNX, with the batch and the length of texts left open."""

import logging
import warnings
from pathlib import Path

import onnx
import torch

from coldpress.errors import ExportError
from coldpress.intake.source import Source
from coldpress.optimize.encoder import load_encoder

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "embeddings"

# Dimensions of one would be taken for constants; the second text is padded so that masks are traced.
_EXAMPLE_BATCH, _EXAMPLE_TOKENS, _EXAMPLE_PADDING = 2, 7, 2


def export(source: Source, work: Path) -> onnx.ModelProto:
    encoder = load_encoder(source)
    ids = torch.arange(1, 1 + _EXAMPLE_BATCH * _EXAMPLE_TOKENS).view(_EXAMPLE_BATCH, _EXAMPLE_TOKENS)
    mask = torch.ones_like(ids)
    mask[1, -_EXAMPLE_PADDING:] = 0
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=source.max_tokens)}
    path = work / "exported.onnx"
    quiet = logging.getLogger("torch.onnx")
    level = quiet.level
    quiet.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own, meant for its developers
            torch.onnx.export(
                encoder,
                (ids, mask),
                path,
                dynamo=True,
                input_names=INPUTS,
                output_names=(OUTPUT,),
                dynamic_shapes=(axes, axes),
                external_data=False,
                verbose=False,
            )
    except Exception as error:
        raise ExportError(
            f"PyTorch could not export {source.origin} ({source.architecture}): {_first_line(error)}"
        ) from error
    finally:
        quiet.setLevel(level)
    return onnx.load(path)


def _first_line(error: BaseException) -> str:
    text = str(error.__cause__ or error).strip()
    return text.splitlines()[0] if text else type(error).__name__
