"""Vision transformers on press beside their peers, and what a picture's function costs at its first request.

Generated weights in the size that papers call small (22 million), 224 × 224 pixels, one thread, everything taking
turns. Peers get pixel values that are ready; press gets bytes, as they are decoded. CLIP's other tower reads texts
of its 77 tokens. Cold starts are whole functions', from process start to first answer, of MiniLM and of a
classifier of the size called tiny.

    python benchmarks/vision.py [--rounds 15] [--only "CLIP text"]
"""

import argparse
import json
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
import transformers
from numpy.typing import NDArray
from torch import nn

import coldpress
from coldpress.emulate.sandbox import Sandbox
from coldpress.intake.demo import demo_folder
from coldpress.machine import cpu_name
from coldpress.pictures import made_up, png
from coldpress.tasks.image import ImageTask
from coldpress_runtime.model import open_model
from models import Only, Run, onnxruntime_int8, peers
from warm import alternate

RESULT = Path(__file__).parent / "results" / "vision.json"
SMALL = {"hidden_size": 384, "num_hidden_layers": 12, "num_attention_heads": 6, "intermediate_size": 1536}
TINY = {"hidden_size": 192, "num_hidden_layers": 12, "num_attention_heads": 3, "intermediate_size": 768}
CROPPED = {"size": {"shortest_edge": 256}, "crop_size": {"height": 224, "width": 224}}
#: config, class, settings, what it answers with, processor and its settings
MODELS: dict[str, tuple[str, str, dict[str, Any], str, str, dict[str, Any]]] = {
    "ViT": ("ViT", "ViTForImageClassification", SMALL | {"num_labels": 100}, "logits", "ViT", {}),
    "DeiT": ("DeiT", "DeiTForImageClassification", SMALL | {"num_labels": 100}, "logits", "DeiT", {}),
    "DINOv2": (
        "Dinov2",
        "Dinov2Model",
        SMALL | {"image_size": 224, "patch_size": 14, "mlp_ratio": 4},
        "pooler_output",
        "Bit",
        CROPPED,
    ),
    "CLIP vision": ("CLIPVision", "CLIPVisionModel", SMALL | {"patch_size": 16}, "pooler_output", "CLIP", CROPPED),
}
TEXT = "CLIP text"
BATCHES = (1, 4)


def make(name: str, folder: Path, dimensions: dict[str, Any] = SMALL) -> nn.Module:
    config, model, settings, gives, processor, sizes = MODELS[name]
    settings = settings | dimensions
    torch.manual_seed(0)
    made: Any = getattr(transformers, model)(getattr(transformers, f"{config}Config")(**settings)).eval()
    made.save_pretrained(folder)
    getattr(transformers, f"{processor}ImageProcessorPil")(**sizes).save_pretrained(folder)
    return Only(made, "pixel_values", gives).eval()


def words(folder: Path) -> nn.Module:
    """CLIP's text tower, with a tokenizer in its folder."""
    torch.manual_seed(0)
    ends = {"bos_token_id": 101, "eos_token_id": 102, "pad_token_id": 0, "vocab_size": 30522}
    made = transformers.CLIPTextModel(transformers.CLIPTextConfig(**SMALL, **ends)).eval()
    made.save_pretrained(folder)
    marks = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    file = str(demo_folder("demo:minilm") / "tokenizer.json")
    transformers.PreTrainedTokenizerFast(tokenizer_file=file, model_max_length=77, **marks).save_pretrained(folder)
    return Only(made, "input_ids", "pooler_output").eval()


def ours(name: str, folder: Path, row: dict[str, Any]) -> Run:
    pressed = coldpress.build(folder, out=Path(f"{folder}.out"), engine="press", quick=True, package="none")
    (described,) = pressed.manifest["models"].values()
    row["drift"] = described["drift"]["total"]
    function = pressed.function_folder
    (model,) = (function / "models").iterdir()
    session = open_model(str(model), (str(function / "lib"),), 1).session
    if name == TEXT:
        return lambda ids: session.run(ids.tolist())
    return lambda pixels: session.see(pixels.tobytes())


def asked(name: str, batch: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """What a peer gets, and what press gets."""
    generator = np.random.default_rng(batch)
    if name == TEXT:
        ids = generator.integers(1000, 30000, (batch, 77))
        ids[:, 0], ids[:, -1] = 101, 102
        return ids, ids
    pixels = generator.integers(0, 256, (batch, 224, 224, 3), dtype=np.uint8)
    return generator.standard_normal((batch, 3, 224, 224)).astype(np.float32), pixels


def warm(name: str, work: Path, rounds: int) -> dict[str, Any]:
    model = words(work / name) if name == TEXT else make(name, work / name)
    row: dict[str, Any] = {}
    press = ours(name, work / name, row)
    contestants = peers(name, model, torch.from_numpy(asked(name, 1)[0]), work)
    try:
        contestants["onnxruntime int8"] = onnxruntime_int8(work / f"{name}.onnx")
    except Exception as error:  # noqa: BLE001 - its quantizer does not take every graph that its exporter makes
        row["onnxruntime int8"] = f"not quantized: {str(error).splitlines()[0]}"
    for batch in BATCHES:
        theirs, given = asked(name, batch)
        runs: dict[str, Callable[[], object]] = {peer: partial(run, theirs) for peer, run in contestants.items()}
        runs["press"] = partial(press, given)
        times = alternate(runs, rounds)
        best = min(took for peer, took in times.items() if peer != "press")
        row[f"batch of {batch}, ms"] = times | {"press / best": round(times["press"] / best, 3)}
    return row


def cold(work: Path, rounds: int) -> dict[str, float]:
    """Process start to first answer: a text encoder, and a picture's classifier, on the same engine."""
    picture = png(made_up(1, seed=2)[0])
    text = coldpress.build("demo:minilm", out=work / "text", quick=True, package="none").function_folder
    make("DeiT", work / "tiny", TINY)
    looks = coldpress.build(work / "tiny", out=work / "looks", quick=True, package="none").function_folder
    events = {text: b'{"text": "hello, world"}', looks: json.dumps(ImageTask.request(picture)).encode()}
    took: dict[Path, list[float]] = {text: [], looks: []}
    for _ in range(rounds):
        for function, event in events.items():
            with Sandbox(function, cpus={max(os.sched_getaffinity(0))}) as sandbox:
                took[function].append((sandbox.invoke(event).done - sandbox.started) * 1000)
    medians = {"text, ms": median(took[text]), "picture, ms": median(took[looks])}
    return {name: round(value, 1) for name, value in medians.items()} | {
        "picture / text": round(medians["picture, ms"] / medians["text, ms"], 2)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", choices=[*MODELS, TEXT, "cold"], help="measure this, and keep the rest")
    wishes = parser.parse_args()
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    result: dict[str, Any] = json.loads(RESULT.read_text()) if wishes.only else {"models": {}}
    result |= {"machine": {"cpu": cpu_name(), "cores": os.cpu_count()}, "rounds": wishes.rounds}
    with tempfile.TemporaryDirectory() as folder:
        for name in [*MODELS, TEXT]:
            if wishes.only in (None, name):
                result["models"][name] = warm(name, Path(folder), wishes.rounds)
        if wishes.only in (None, "cold"):
            result["cold"] = cold(Path(folder), wishes.rounds)
    RESULT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
