"""The chooser on real candidates: it measures, it verifies, and it never ships what is wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import coldpress
from coldpress import cache
from coldpress.artifact import Artifact
from coldpress.errors import DriftError, TooLarge, UnsupportedModel, UsageError


class OneEnormousChannel(nn.Module):
    """int8 with one scale per row cannot see the other channels beside this one."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(64, 256)
        self.second = nn.Linear(256, 8)
        with torch.no_grad():
            self.first.weight[7] *= 30_000
            self.second.weight[:, 7] = 0

    def forward(self, x: Tensor) -> Tensor:
        answer: Tensor = self.second(torch.relu(self.first(x)) ** 2)
        return answer


def candidates(artifact: Artifact) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = artifact.measured()["candidates"]
    return found


def test_encoders_go_to_press(artifact: Artifact) -> None:
    """All candidates are measured and written down, and the fastest of those that are right is taken."""
    chosen, *others = candidates(artifact)
    assert chosen["recipe"] == artifact.manifest["models"]["minilm"]["recipe"]
    assert chosen["recipe"]["engine"] == "press"
    assert {other["recipe"]["precision"] for other in others} == {"int8", "fp32"}
    for one in (chosen, *others):
        assert one["verdict"]["drift"]["total"] <= one["verdict"]["limit"]
        assert set(one["timing"]["warm_ms"]) == {"1 × 16", "1 × 128", "8 × 64"}
        assert one["timing"]["cold_ms"] > 0
    means = [np.exp(np.mean(np.log(list(one["timing"]["warm_ms"].values())))) for one in (chosen, *others)]
    assert means[0] <= 1.03 * min(means)


def test_int8_that_breaks_a_model_is_caught_and_replaced(tmp_path: Path) -> None:
    model, inputs = OneEnormousChannel(), torch.randn(4, 64)
    pressed = coldpress.build(model, out=tmp_path / "out", inputs=inputs, package="none")
    broken = [one for one in candidates(pressed) if one["verdict"]["drift"]["total"] > 0.15]
    assert broken, "int8 was to break this model"
    assert broken[0]["recipe"]["precision"] == "int8"
    chosen = candidates(pressed)[0]
    assert chosen["verdict"]["drift"]["total"] <= chosen["verdict"]["limit"]
    answer = pressed.function()({"inputs": {"x": inputs.tolist()}})
    assert isinstance(answer, dict)
    with torch.inference_mode():
        right = model(inputs).numpy()
    assert np.abs(np.array(answer["outputs"]["output"]) - right).max() <= 0.15 * np.abs(right).max()


def test_a_failing_build_names_what_passes(tmp_path: Path) -> None:
    with pytest.raises(DriftError, match=r"int8.* drifts .* Worst on \{.*--precision fp16 passes|fp32 passes"):
        coldpress.build(
            OneEnormousChannel(),
            out=tmp_path / "out",
            inputs=torch.randn(4, 64),
            engine="onnxruntime",
            precision="int8",
            max_drift=1e-7,
        )
    assert list(tmp_path.iterdir()) == []


def test_a_recipe_is_repeated_without_measuring(tiny_folder: Path, tmp_path: Path) -> None:
    first = coldpress.build(tiny_folder, out=tmp_path / "first", engine="onnxruntime", package="none", max_drift=1)
    again = coldpress.build(
        tiny_folder, out=tmp_path / "again", recipe=first.path / "coldpress.json", package="none", max_drift=1
    )
    assert len(candidates(first)) > 1
    (only,) = candidates(again)
    assert only["timing"] is None
    assert again.manifest["files"] == first.manifest["files"]


def test_quick_takes_press_and_exports_nothing(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))
    pressed = coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, package="none", max_drift=1)
    assert [one["recipe"]["engine"] for one in candidates(pressed)] == ["press"]
    assert not (tmp_path / "cache/export").exists()


def test_a_second_build_makes_nothing_again(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))
    first = coldpress.build(tiny_folder, out=tmp_path / "first", package="none", max_drift=1)
    kept = sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file())
    times = {path: path.stat().st_mtime_ns for path in kept}
    again = coldpress.build(tiny_folder, out=tmp_path / "again", package="none", max_drift=1)
    assert sorted(path for path in (tmp_path / "cache").rglob("*") if path.is_file()) == kept
    assert {path: path.stat().st_mtime_ns for path in kept} == times
    assert candidates(again) == candidates(first)
    assert cache.clean() > 0
    assert not (tmp_path / "cache").exists()
    assert cache.clean() == 0


def test_own_samples_judge(tiny_folder: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text('{"text": "one of mine"}\n\n{"text": "another, \\u2028 odd one"}\n')
    pressed = coldpress.build(
        tiny_folder, out=tmp_path / "out", samples=samples, quick=True, max_drift=1, package="none"
    )
    assert candidates(pressed)[0]["verdict"]["drift"]["samples"] == 2
    assert [one["request"]["text"] for one in pressed.manifest["models"]["tiny-bert"]["samples"]] == [
        "one of mine",
        "another, \u2028 odd one",
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "holds 0 samples"),
        ('{"text": "a"}\nnope', "line 2: not JSON"),
        ('["a"]', "line 1: a sample is a JSON object"),
        ('{"words": "a"}', "a sample of this task is"),
    ],
)
def test_bad_samples_are_named(content: str, said: str, tiny_folder: Path, tmp_path: Path) -> None:
    samples = tmp_path / "samples.jsonl"
    samples.write_text(content)
    with pytest.raises(UsageError, match=said):
        coldpress.build(tiny_folder, out=tmp_path / "out", samples=samples)
    assert not (tmp_path / "out").exists()


class NoGraph(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        values: Tensor = torch.linalg.eigvalsh(x @ x.T)
        return values


def test_what_cannot_be_exported_says_why_and_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedModel, match=r"could not export NoGraph .*eig.*nor by tracing.*--engine torch"):
        coldpress.build(NoGraph(), out=tmp_path / "out", inputs=torch.randn(3, 3), dynamic={})
    assert list(tmp_path.iterdir()) == []


class BakedIn(nn.Module):
    """The exporter refuses this; tracing takes what numpy says of the example for a constant."""

    def forward(self, x: Tensor) -> Tensor:
        return x * float(x.detach().numpy().max())


def test_a_trace_that_is_wrong_is_caught(tmp_path: Path) -> None:
    with pytest.raises(DriftError, match=r"fp32 drifts .* decides by the values that it sees: --engine torch"):
        coldpress.build(BakedIn(), out=tmp_path / "out", inputs=torch.randn(2, 3))


def test_samples_that_the_original_refuses(tmp_path: Path) -> None:
    class Picky(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if x.shape[0] != 2:
                raise ValueError("two rows, please")
            return x

    with pytest.raises(UsageError, match=r"Picky itself fails on a sample, x of \[1, 3\]: .*two rows"):
        coldpress.build(Picky(), out=tmp_path / "out", inputs=torch.randn(2, 3))


def test_a_function_too_large_for_a_zip(tmp_path: Path) -> None:
    table = nn.Embedding(70_000, 1024)
    wishes: dict[str, Any] = {"inputs": torch.arange(4), "engine": "onnxruntime", "precision": "fp32"}
    with pytest.raises(TooLarge, match=r"MB unzipped; a zip may have 250.* --package image"):
        coldpress.build(table, out=tmp_path / "out", package="zip", **wishes)
    made = coldpress.build(table, out=tmp_path / "out", base="scratch", **wishes)
    assert made.zip is None
    assert made.image is not None


def test_the_manifest_can_be_read_by_programs(artifact: Artifact) -> None:
    json.dumps(artifact.manifest, allow_nan=False)
    json.dumps(artifact.measured(), allow_nan=False)
