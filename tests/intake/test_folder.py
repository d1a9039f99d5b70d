"""What a folder says of its model, and what is refused."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from coldpress.errors import ColdpressError, IntakeError, ModelNotFound, UnsupportedModel, UsageError
from coldpress.intake import Options, find
from coldpress.intake.source import TextEncoder

CONFIG = {"model_type": "bert", "hidden_size": 64, "max_position_embeddings": 128}


def describe(folder: Path | str, **options: Any) -> TextEncoder:
    with find(folder, Options(**options)) as source:
        assert isinstance(source, TextEncoder)
        return source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The least that intake looks at; nothing here opens the weights."""
    model = tmp_path / "My Model v1.5"
    model.mkdir()
    write(model / "config.json", CONFIG)
    (model / "model.safetensors").write_bytes(b"0" * 100)
    return model


def write(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def sentence_transformers(folder: Path, pooling: dict[str, Any], *more: str) -> None:
    modules = ["Transformer", "Pooling", *more]
    write(
        folder / "modules.json",
        [
            {"idx": at, "path": f"{at}_{kind}" if at else "", "type": f"sentence_transformers.models.{kind}"}
            for at, kind in enumerate(modules)
        ],
    )
    write(folder / "1_Pooling/config.json", pooling)


def test_the_demo() -> None:
    source = describe("demo:minilm")
    assert (source.kind, source.task, source.architecture) == ("sentence-transformers", "embeddings", "bert")
    assert (source.pooling, source.normalize, source.max_tokens, source.dimensions) == (("mean",), True, 256, 384)
    assert source.name == "minilm"
    assert len(source.files["model.safetensors"]) == 64


def test_a_plain_folder_pools_by_mean(folder: Path) -> None:
    source = describe(folder)
    assert (source.kind, source.pooling, source.normalize) == ("transformers", ("mean",), False)
    assert source.name == "my-model-v1-5"
    assert source.weights_bytes == 100
    assert source.max_tokens == 128


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        ({"pooling_mode_cls_token": True}, ("cls",)),
        ({"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True}, ("max", "mean")),
        ({"pooling_mode_lasttoken": True}, ("lasttoken",)),
        ({"pooling_mode": "weightedmean"}, ("weightedmean",)),
    ],
)
def test_modules_decide_pooling_and_normalization(
    config: dict[str, Any], expected: tuple[str, ...], folder: Path
) -> None:
    sentence_transformers(folder, config, "Normalize")
    source = describe(folder)
    assert (source.pooling, source.normalize) == (expected, True)
    assert source.dimensions == 64 * len(expected)


def test_wishes_win_over_modules(folder: Path) -> None:
    sentence_transformers(folder, {"pooling_mode_mean_tokens": True}, "Normalize")
    assert describe(folder, pooling="cls").pooling == ("cls",)
    assert describe(folder, pooling="none").pooling == ()
    assert describe(folder, pooling="none").normalize is False
    assert describe(folder, max_tokens=50).max_tokens == 50
    assert describe(folder, name="Other_1").name == "Other_1"


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"pooling": "median"}, "median"),
        ({"max_tokens": 4000}, "128"),
        ({"max_tokens": 0}, "from 3"),
        ({"name": "../../etc"}, "letters"),
        ({"name": ""}, "letters"),
    ],
)
def test_wishes_that_cannot_be(options: dict[str, Any], named: str, folder: Path) -> None:
    with pytest.raises(UsageError, match=named):
        describe(folder, **options)


def test_a_roberta_has_two_positions_less(folder: Path) -> None:
    write(folder / "config.json", CONFIG | {"model_type": "roberta", "max_position_embeddings": 514})
    assert describe(folder).max_tokens == 512


@pytest.mark.parametrize(
    ("break_it", "error", "named"),
    [
        (lambda folder: (folder / "config.json").unlink(), ModelNotFound, "config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), IntakeError, "cannot be read as JSON"),
        (lambda folder: write(folder / "config.json", []), IntakeError, "JSON object"),
        (lambda folder: write(folder / "config.json", {"model_type": "resnet"}), UnsupportedModel, "resnet"),
        (lambda folder: (folder / "model.safetensors").unlink(), ModelNotFound, "no weights"),
        (
            lambda folder: sentence_transformers(folder, {"pooling_mode_mean_tokens": True}, "LSTM"),
            UnsupportedModel,
            "LSTM",
        ),
        (
            lambda folder: sentence_transformers(folder, {"pooling_mode_mean_tokens": True}, "Dense"),
            ModelNotFound,
            "config.json is missing",
        ),
        (lambda folder: sentence_transformers(folder, {}), UnsupportedModel, "pooling"),
        (lambda folder: write(folder / "modules.json", {"a": 1}), IntakeError, "list"),
        (
            lambda folder: write(folder / "modules.json", [{"idx": 0, "path": "../..", "type": "x.Pooling"}]),
            IntakeError,
            "outside",
        ),
    ],
)
def test_what_is_wrong_is_named(break_it: Any, error: type[ColdpressError], named: str, folder: Path) -> None:
    break_it(folder)
    with pytest.raises(error, match=named):
        describe(folder)


@pytest.mark.parametrize("model", ["demo:nothing", "/no/such/folder", "./nor/here", "a b c"])
def test_what_is_not_there(model: str) -> None:
    with pytest.raises(ModelNotFound):
        describe(model)


def test_a_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(IntakeError, match="cannot be read as tensors"):
        describe(tmp_path / "model.bin")


class TestHub:
    """The real huggingface_hub code, on a cache that was filled before: no hub is reachable from tests."""

    COMMIT = "0123456789abcdef0123456789abcdef01234567"

    @pytest.fixture
    def cache(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tiny_folder: Path) -> Path:
        repo = tmp_path / "hub/models--someone--tiny-bert"
        (repo / "refs").mkdir(parents=True)
        (repo / "refs/main").write_text(self.COMMIT)
        shutil.copytree(tiny_folder, repo / "snapshots" / self.COMMIT)
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        return repo

    def test_the_cache_is_honoured_offline(self, cache: Path) -> None:
        source = describe("someone/tiny-bert")
        assert source.origin == f"someone/tiny-bert@{self.COMMIT}"
        assert source.name == "tiny-bert"

    def test_a_revision_is_asked_for(self, cache: Path) -> None:
        assert describe("someone/tiny-bert", revision=self.COMMIT).origin.endswith(self.COMMIT)
        with pytest.raises(ModelNotFound, match="someone/tiny-bert@v9"):
            describe("someone/tiny-bert", revision="v9")

    def test_what_is_not_cached_says_so(self, cache: Path) -> None:
        with pytest.raises(ModelNotFound, match="not in the hub's cache"):
            describe("someone/else")
