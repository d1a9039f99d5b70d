"""Numbers that cannot rot: what people read is what the benchmark wrote."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import matrix
import publish
from coldpress.demo import classic_figures
from matrix_models import ENTRIES

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def result() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(publish.RESULT.read_text())
    return content


def test_the_readme_says_what_was_measured() -> None:
    assert publish.published(README) == README, "run benchmarks/publish.py"


def test_the_demo_compares_with_what_was_measured(result: dict[str, Any]) -> None:
    assert classic_figures() == publish.classic(result)


def test_the_bars_hold(result: dict[str, Any]) -> None:
    ratios = result["ratios"]
    assert ratios["bare_ours_over_python_pass"] <= 3
    assert ratios["rie_classic_over_ours"] >= 85
    assert ratios["rie_expert_over_ours"] >= 5
    alone = result["one_core"]["python_pass"]["median_ms"]
    assert result["evicted"]["bare_ours_ms"] <= 6 * alone
    assert result["warm"]["ours"]["peak_mb"] <= 45
    assert result["rounds"] >= 7


def test_the_bars_of_the_local_lambda_hold() -> None:
    emulator = json.loads(publish.EMULATOR.read_text())
    assert emulator["p50_ms"]["ours"] <= min(2.0, emulator["p50_ms"]["rie"])
    assert emulator["per_second"]["ours"] >= max(1000, 2 * emulator["per_second"]["rie"])
    assert emulator["alive"] == 200 and emulator["resident_mb"] <= 150
    assert emulator["rounds"] >= 5


def test_the_bars_of_the_simulator_hold() -> None:
    simulator = json.loads(publish.SIMULATOR.read_text())
    month, played = simulator["month"], simulator["emulator"]
    assert month["simulated_a_second_on_one_core"] >= 500_000
    assert month["strategies"] == 6 and month["seconds"] <= 480 and month["peak_mb"] <= 500
    for row in simulator["theory"]:
        assert max(abs(row[name]) for name in ("waits_error", "wait_error", "loss_error")) <= 0.02
    assert played["cold_starts"] >= 200
    assert abs(played["cold_starts_simulated"] / played["cold_starts"] - 1) <= 0.05
    assert abs(played["bill_error"]) <= 0.03


def test_the_bars_of_the_report_hold() -> None:
    report = json.loads(publish.REPORT.read_text())
    costs = report["per_million_at_one_a_second"]
    assert costs["minilm, 16 tokens"] <= 0.35 and costs["minilm, 128 tokens"] <= 0.75


def test_the_bars_of_other_models_hold() -> None:
    """Never slower than torch or onnxruntime as they come, faster on at least half; OpenVINO close."""
    warm = json.loads(publish.WARM.read_text())
    ahead = 0
    for row in warm["models"].values():
        for batch in (1, 4):
            times = row[f"batch of {batch}, ms"]
            others = min(times["torch fp32"], times["onnxruntime"])
            assert times["coldpress"] <= 1.03 * others
            assert times["coldpress"] <= 1.4 * times["openvino"]
            ahead += times["coldpress"] < 0.97 * others
        assert row["drift"] <= 0.15
    assert ahead >= len(warm["models"])
    assert max(warm["onnxruntime_int8"]["onnxruntime int8, its transformer optimizer"].values()) <= 0.92


def test_the_bars_of_vision_hold() -> None:
    """At most 0.7 of the best peer's time, and a cold start at most twice a text encoder's."""
    vision = json.loads(publish.VISION.read_text())
    assert set(vision["models"]) == {"ViT", "DeiT", "DINOv2", "CLIP vision", "CLIP text"}
    for row in vision["models"].values():
        assert row["drift"] <= 0.15
        for batch in (1, 4):
            assert row[f"batch of {batch}, ms"]["press / best"] <= 0.7
    assert vision["cold"]["picture / text"] <= 2
    assert vision["rounds"] >= 7


def test_the_bars_of_packing_hold() -> None:
    packing = json.loads((ROOT / "benchmarks/results/packing.json").read_text())
    assert packing["gigabytes"] >= 3
    assert packing["peak memory, MB"] <= 500
    assert set(packing["coldpress / others"]) == {"gzip", "pigz"}
    assert min(packing["coldpress / others"].values()) >= 0.6


def test_the_matrix_holds() -> None:
    """What docs/models.md says is what was measured, and enough of it passes."""
    result = json.loads(matrix.RESULT.read_text())
    assert matrix.page(result) == matrix.PAGE.read_text(), "run benchmarks/matrix.py"
    rows = result["models"]
    assert set(rows) == {entry.name for entry in ENTRIES}
    drifts = {
        precision: [row[precision]["drift"] for row in rows.values() if "drift" in row.get(precision, {})]
        for precision in ("fp32", "int8")
    }
    assert len(drifts["fp32"]) >= 32
    assert max(drifts["fp32"]) <= 0.001
    assert len(drifts["int8"]) >= 28
    assert max(drifts["int8"]) <= 0.15


def test_the_specification_names_tests_that_exist() -> None:
    for path, _, name in re.findall(
        r"`((?:tests|benchmarks|src)/[\w/.]+)(::(\w+))?`", (ROOT / "SPECIFICATION.md").read_text()
    ):
        assert (ROOT / path).exists(), path
        assert not name or name in (ROOT / path).read_text(), name


@pytest.mark.slow
def test_the_readme_works_as_written(tmp_path: Path) -> None:
    """Every shell and Python block, in order, in an empty folder; the class as the code of a project."""
    blocks = re.findall(r"```(sh|python)\n(.*?)```", README, flags=re.DOTALL)
    assert [kind for kind, _ in blocks] == ["sh", "python", "python", "sh", "sh", "sh"]
    shell, python, code, served, decided, shipped = (block for _, block in blocks)
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"

    def run(command: list[str]) -> str:
        env = {"PATH": path, "COLDPRESS_CACHE": str(tmp_path / "cache")}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(["sh", "-euc", shell])
    assert "2 vectors of 384" in run([sys.executable, "-c", python])
    assert '{"embeddings": [[' in run(["sh", "-euc", served])
    assert "is the cheapest that meets" in run(["sh", "-euc", decided])
    assert (tmp_path / "out/minilm/report.html").stat().st_size > 100_000
    told = run(["sh", "-euc", shipped])
    assert '{"embeddings": [[' in told and re.search(r"live +version 1", told)
    run(["coldpress", "init", "demo:minilm"])
    (tmp_path / "model.py").write_text(code)
    run(["coldpress", "build", "--out", "mine", "--quick", "--package", "none"])
    assert run(["coldpress", "invoke", "mine", "--data", '[{"text": "a"}, {"text": "b"}]']).count("first") == 2


def test_the_readme_names_the_make_targets() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\w+)", README, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_version_is_in_the_changelog() -> None:
    import coldpress

    assert f"## [{coldpress.__version__}]" in (ROOT / "CHANGELOG.md").read_text()
