"""Tasks that look at pictures, against transformers itself."""

import base64
import io
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from lambda_events import api_gateway_v1, function_url, load_balancer
from PIL import Image

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import UnsupportedModel
from coldpress.pictures import made_up, png
from coldpress_runtime.batch import ask_many
from coldpress_runtime.function import Function

SMALL = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128}
MODELS: dict[str, tuple[str, str, dict[str, Any], str, dict[str, Any]]] = {
    "vit": (
        "ViTConfig",
        "ViTForImageClassification",
        SMALL | {"image_size": 64, "patch_size": 16, "num_labels": 7},
        "ViTImageProcessor",
        {"size": {"height": 64, "width": 64}},
    ),
    "deit": (
        "DeiTConfig",
        "DeiTForImageClassification",
        SMALL | {"image_size": 64, "patch_size": 16, "num_labels": 5},
        "DeiTImageProcessor",
        {"size": {"height": 72, "width": 72}, "crop_size": {"height": 64, "width": 64}},
    ),
    "resnet": (
        "ResNetConfig",
        "ResNetForImageClassification",
        {"embedding_size": 16, "hidden_sizes": [16, 32], "depths": [1, 1], "layer_type": "basic", "num_labels": 4},
        "ConvNextImageProcessor",
        {"size": {"shortest_edge": 64}},
    ),
    "clip": (
        "CLIPConfig",
        "CLIPModel",
        {
            "projection_dim": 48,
            "vision_config": SMALL | {"image_size": 64, "patch_size": 16},
            "text_config": SMALL
            | {"vocab_size": 30522, "eos_token_id": 102, "bos_token_id": 101, "pad_token_id": 0},
        },
        "CLIPImageProcessor",
        {"size": {"shortest_edge": 64}, "crop_size": {"height": 64, "width": 64}},
    ),
    "dinov2": (
        "Dinov2Config",
        "Dinov2Model",
        SMALL | {"image_size": 56, "patch_size": 14, "mlp_ratio": 2},
        "BitImageProcessor",
        {"size": {"shortest_edge": 64}, "crop_size": {"height": 56, "width": 56}},
    ),
}


#: where a folder could be for more than one
TASKS = {"clip": "image-embeddings"}


def _words(folder: Path) -> None:
    """MiniLM's tokenizer, under a class that says nothing of a family."""
    from coldpress.intake.demo import demo_folder

    names = {"cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "unk_token": "[UNK]"}
    file = str(demo_folder("demo:minilm") / "tokenizer.json")
    transformers.PreTrainedTokenizerFast(tokenizer_file=file, model_max_length=77, **names).save_pretrained(folder)


@pytest.fixture(scope="session")
def pictured(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(kind: str) -> Path:
        if kind not in made:
            made[kind] = tmp_path_factory.mktemp("pictured") / f"tiny-{kind}"
            config, model, settings, processor, sizes = MODELS[kind]
            torch.manual_seed(5)
            if kind == "clip":
                _words(made[kind])
            getattr(transformers, model)(getattr(transformers, config)(**settings)).eval().save_pretrained(
                made[kind]
            )
            getattr(transformers, f"{processor}Pil")(**sizes).save_pretrained(made[kind])
        return made[kind]

    return folder


@pytest.fixture(scope="session")
def seeing(tmp_path_factory: pytest.TempPathFactory, pictured: Callable[[str], Path]) -> Callable[[str], Artifact]:
    made: dict[str, Artifact] = {}

    def build(kind: str) -> Artifact:
        if kind not in made:
            out = tmp_path_factory.mktemp(kind) / "out"
            made[kind] = coldpress.build(pictured(kind), out=out, precision="fp32", quick=True)
        return made[kind]

    return build


Seeing = Callable[[str], Artifact]


def ask(artifact: Artifact, event: Any) -> Any:
    return json.loads(Function(str(artifact.function_folder)).handle(event))


def jpeg() -> bytes:
    file = io.BytesIO()
    Image.fromarray(made_up(2, seed=11)[1]).save(file, "JPEG")
    return file.getvalue()


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("kind", ["vit", "resnet"])
def test_pictures_are_classified_as_by_transformers(
    kind: str, seeing: Seeing, pictured: Callable[[str], Path]
) -> None:
    artifact = seeing(kind)
    (model,) = artifact.manifest["models"].values()
    assert (model["task"], model["drift"]["total"] <= 0.001) == ("image-classification", True)
    theirs: Any = transformers.pipeline(
        "image-classification",
        model=str(pictured(kind)),
        image_processor=transformers.AutoImageProcessor.from_pretrained(pictured(kind), backend="pil"),
    )
    for data in (jpeg(), png(made_up(1, seed=12)[0])):
        wanted = theirs(Image.open(io.BytesIO(data)), top_k=3)
        found = ask(artifact, {"image": encoded(data), "top_k": 3})
        assert [one["label"] for one in found] == [one["label"] for one in wanted]
        assert [one["score"] for one in found] == pytest.approx([one["score"] for one in wanted], abs=2e-5)
    many = ask(artifact, {"image": [encoded(jpeg())] * 6})
    assert len(many) == 6
    assert all(one == many[0] for one in many)


def test_pictures_are_embedded(seeing: Seeing, pictured: Callable[[str], Path]) -> None:
    artifact = seeing("dinov2")
    (model,) = artifact.manifest["models"].values()
    assert (model["task"], model["drift"]["total"] <= 0.001) == ("image-embeddings", True)
    original = transformers.AutoModel.from_pretrained(pictured("dinov2"))
    processor = transformers.AutoImageProcessor.from_pretrained(pictured("dinov2"), backend="pil")
    with torch.inference_mode():
        values = processor(images=Image.open(io.BytesIO(jpeg())), return_tensors="pt")
        wanted = original(**values).pooler_output[0].numpy()
    (found,) = ask(artifact, {"image": f"data:image/jpeg;base64,{encoded(jpeg())}"})["embeddings"]
    assert np.abs(np.array(found) - wanted).max() <= 1e-4


@pytest.mark.parametrize("kind", ["vit", "deit", "dinov2", "clip"])
def test_vision_transformers_go_to_press(kind: str, pictured: Callable[[str], Path], tmp_path: Path) -> None:
    pressed = coldpress.build(pictured(kind), out=tmp_path / "out", quick=True, task=TASKS.get(kind))
    (model,) = pressed.manifest["models"].values()
    assert pressed.manifest["engine"] == "press"
    assert model["drift"]["total"] <= 0.06
    many = ask(pressed, {"image": [encoded(png(picture)) for picture in made_up(9, seed=4)]})
    alone = ask(pressed, {"image": encoded(png(made_up(9, seed=4)[8]))})
    if "classification" in model["task"]:
        assert many[8] == alone
    else:
        assert many["embeddings"][8] == alone["embeddings"][0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "task"),
    [("vit", None), ("deit", None), ("dinov2", None), ("clip", "image-embeddings"), ("clip", "embeddings")],
)
def test_vision_transformers_give_the_same_bits_everywhere(
    kind: str, task: str | None, pictured: Callable[[str], Path], tmp_path: Path
) -> None:
    from coldpress.emulate.cpus import CPUS
    from coldpress.progress import Silent
    from coldpress.verify.recheck import recheck

    missing = [program for _, program, _ in CPUS.values() if shutil.which(program) is None]
    if missing or shutil.which("apt-get") is None:
        pytest.skip(f"not installed: {', '.join(missing) or 'apt-get'}")
    pressed = coldpress.build(pictured(kind), out=tmp_path / "out", quick=True, task=task)
    assert pressed.manifest["engine"] == "press"
    checks = recheck(pressed, ["native", "avx2", "arm64"], None, Silent())
    assert all(check.passed for check in checks)
    assert [check.identical for check in checks if "against native" in check.what] == [True, True]


def test_both_towers_of_clip(pictured: Callable[[str], Path], tmp_path: Path) -> None:
    """Texts and pictures land beside each other, as transformers puts them."""
    folder = pictured("clip")
    model = transformers.CLIPModel.from_pretrained(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    words = "a photo of a cat"
    with torch.inference_mode():
        wanted = model.get_text_features(**tokenizer(words, return_tensors="pt"))
    wanted = getattr(wanted, "pooler_output", wanted)[0].numpy()
    for precision, limit in (("fp32", 1e-4), ("auto", 0.1)):
        out = tmp_path / precision
        wishes: dict[str, Any] = {"task": "embeddings", "precision": precision}
        pressed = coldpress.build(folder, out=out, quick=True, package="none", **wishes)
        assert pressed.manifest["engine"] == ("press" if precision == "auto" else "onnxruntime")
        (found,) = ask(pressed, {"text": words})["embeddings"]
        assert np.linalg.norm(np.array(found) - wanted) <= limit * np.linalg.norm(wanted)


@pytest.mark.parametrize("source", [function_url, api_gateway_v1, load_balancer])
def test_bytes_over_http(source: Any, seeing: Seeing) -> None:
    artifact = seeing("vit")
    event = source("POST", "/", "", headers={"content-type": "image/jpeg"})
    event |= {"body": encoded(jpeg()), "isBase64Encoded": True}
    reply = ask(artifact, event)
    assert reply["statusCode"] == 200
    assert json.loads(reply["body"]) == ask(artifact, {"image": encoded(jpeg())})


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({}, "image[0] must be base64 in a text, not None"),
        ({"image": []}, "'image' is an empty list"),
        ({"image": [7]}, "image[0] must be base64 in a text, not 7"),
        ({"image": "%%%"}, "image[0] is empty"),
        ({"image": "abc"}, "image[0] is not base64"),
        ({"image": encoded(b"GIF89a and so on")}, "neither a JPEG nor a PNG"),
        ({"image": encoded(jpeg()[:200])}, "its JPEG data ends too early"),
        ({"image": [encoded(jpeg())] * 65}, "'image' holds 65 pictures; the limit is 64"),
    ],
)
def test_what_is_wrong_is_said(event: dict[str, Any], message: str, seeing: Seeing) -> None:
    assert message in ask(seeing("vit"), event)["error"]["message"]


def test_only_such_functions_carry_a_decoder(seeing: Seeing, tiny_artifact: Artifact) -> None:
    def libraries(artifact: Artifact) -> set[str]:
        return {path.name for path in (artifact.function_folder / "lib").iterdir()}

    assert {"libpictures.so", "libjpeg.so", "libpng.so"} <= libraries(seeing("vit"))
    assert not {"libpictures.so", "libjpeg.so"} & libraries(tiny_artifact)


def test_a_model_without_its_processor(pictured: Callable[[str], Path], tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    for name in ("config.json", "model.safetensors"):
        (folder / name).write_bytes((pictured("vit") / name).read_bytes())
    with pytest.raises(UnsupportedModel, match=r"has no preprocessor_config\.json"):
        coldpress.build(folder, out=tmp_path / "out")


@pytest.mark.parametrize("kind", ["vit", "dinov2"])
def test_a_batch_is_one_pass_with_the_same_answers(kind: str, seeing: Seeing) -> None:
    """Also where pictures come as bytes, as from a bucket."""
    function = Function(str(seeing(kind).function_folder))
    task: Any = function.task()
    pictures = [jpeg(), png(made_up(1, seed=12)[0])]
    alone = [json.loads(function.handle({"image": encoded(data)})) for data in pictures]
    passes: list[int] = []
    call = task._images._session.call

    def counted(inputs: Any) -> Any:
        passes.append(inputs[0][1][0])
        return call(inputs)

    task._images._session.call = counted
    answers = ask_many(task, [{"image": data} for data in pictures] + [{"image": encoded(pictures[0])}])
    found = [json.loads(str(one)) for one in answers]
    assert found[0] == found[2] and passes == [3]
    for one, expected in zip(found, alone, strict=False):
        assert np.allclose(numbers_in(one), numbers_in(expected), atol=1e-5)


def numbers_in(answer: Any) -> list[float]:
    return answer["embeddings"][0] if "embeddings" in answer else [one["score"] for one in answer]
