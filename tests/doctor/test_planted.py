"""Problems planted in the real artifact: each is found, and its fix is named. Without any, nothing is found."""

import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from coldpress.artifact import Artifact, folder_bytes
from coldpress.doctor import Finding, Settings, examine
from coldpress.errors import ArtifactError

Found = Callable[..., Finding]
Edit = Callable[[Path, Callable[[dict[str, Any]], object]], None]
Elf = Callable[..., bytes]


def test_nothing_is_found_on_the_demo(measured: Artifact) -> None:
    findings = examine(measured.path, Settings())
    assert [one for one in findings if one.level != "green"] == []
    assert len(findings) >= 16
    assert len({one.name for one in findings}) == len(findings)
    assert all(one.what and not one.fix for one in findings)


def test_a_folder_that_is_no_artifact_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"coldpress build MODEL"):
        examine(tmp_path)


def test_a_function_too_big_for_a_zip(demo: Path, found: Found) -> None:
    weights = demo / "function/models/minilm/more.bin"
    with weights.open("wb") as file:
        file.truncate(240_000_000)
    finding = found(demo, "size, unzipped")
    assert finding.level == "red"
    assert f"{folder_bytes(demo / 'function') / 1e6:.1f} MB of 250.0 MB" in finding.what
    assert "--package image" in finding.fix


def test_a_function_near_the_limit(demo: Path, found: Found) -> None:
    with (demo / "function/models/minilm/more.bin").open("wb") as file:
        file.truncate(215_000_000)
    assert found(demo, "size, unzipped").level == "yellow"


def test_a_zip_that_needs_s3(demo: Path, found: Found) -> None:
    with zipfile.ZipFile(demo / "function.zip", "a") as archive:
        archive.writestr(zipfile.ZipInfo("weights.bin"), bytes(30_000_000))
    finding = found(demo, "size, zip")
    assert finding.level == "yellow"
    assert "S3" in finding.fix


def test_no_package_at_all(demo: Path, found: Found) -> None:
    (demo / "function.zip").unlink()
    finding = found(demo, "package")
    assert finding.level == "red"
    assert "--package zip" in finding.fix
    assert "--package image" in found(demo, "package", Settings(package="image")).fix


@pytest.mark.parametrize(("ms", "level"), [(2_900, "green"), (3_500, "yellow"), (8_200, "red")])
def test_an_init_near_ten_seconds(demo: Path, ms: float, level: str, found: Found, edit: Edit) -> None:
    def slow(bench: dict[str, Any]) -> None:
        bench["cold"]["init_ms"][2] = ms
        bench["sweep"] = []

    edit(demo / "bench.json", slow)
    finding = found(demo, "init", Settings(memory_mb=1769))
    assert finding.level == level
    assert level == "green" or "--memory" in finding.fix


def test_an_init_that_a_smaller_size_makes_slow(demo: Path, found: Found, edit: Edit) -> None:
    """Measured with a whole vCPU, asked for with a fourteenth of one."""

    def slow(bench: dict[str, Any]) -> None:
        bench["cold"]["init_ms"] = [700.0]
        bench["sweep"] = []

    edit(demo / "bench.json", slow)
    assert found(demo, "init", Settings(memory_mb=1769)).level == "green"
    finding = found(demo, "init", Settings(memory_mb=128))
    assert finding.level == "red"
    assert "reckoned for 128" in finding.what


def test_an_init_as_the_build_measured_it(demo: Path, found: Found, edit: Edit) -> None:
    (demo / "bench.json").unlink()

    def slow(measured: dict[str, Any]) -> None:
        measured["candidates"][0]["timing"] = {"cold_ms": 4_000.0}

    edit(demo / "measured.json", slow)
    finding = found(demo, "init")
    assert finding.level == "yellow"
    assert "as the build measured it" in finding.what


@pytest.mark.parametrize(("peak", "level"), [(100.0, "green"), (110.0, "yellow"), (128.0, "red"), (700.0, "red")])
def test_memory_too_small_for_the_peak(demo: Path, peak: float, level: str, found: Found, edit: Edit) -> None:
    def larger(bench: dict[str, Any]) -> None:
        bench["peak_mb"] = peak
        bench["sweep"] = []

    edit(demo / "bench.json", larger)
    finding = found(demo, "memory", Settings(memory_mb=128))
    assert finding.level == level
    if level != "green":
        proposed = int(finding.fix.split()[1].rstrip(","))
        assert found(demo, "memory", Settings(memory_mb=proposed)).level == "green"


def test_a_size_that_was_tried_and_does_not_fit(demo: Path, found: Found, edit: Edit) -> None:
    def lost(bench: dict[str, Any]) -> None:
        size = {"memory_mb": 256, "cpu_share": 0.1, "fits": False, "why": "it ran out of memory", "cold_ms": []}
        figures = {"peak_mb": 0.0, "billed_ms": 0.0, "cold_billed_ms": 0.0}
        costs = {"cost_per_million": 0.0, "cold_cost_per_million": 0.0}
        bench["sweep"] = [{**size, **figures, **costs, "init_ms": [], "warm": {}, "throughput": {}}]

    edit(demo / "bench.json", lost)
    finding = found(demo, "memory", Settings(memory_mb=256))
    assert finding.level == "red"
    assert "ran out of memory" in finding.what
    assert "--memory 512" in finding.fix


@pytest.mark.parametrize(("ms", "level"), [(2_000.0, "green"), (2_500.0, "yellow"), (3_100.0, "red")])
def test_a_time_out_too_short(demo: Path, ms: float, level: str, found: Found, edit: Edit) -> None:
    def slow(bench: dict[str, Any]) -> None:
        bench["warm"][bench["usual"]]["of"]["p99"] = ms
        bench["sweep"] = []

    edit(demo / "bench.json", slow)
    finding = found(demo, "time-out", Settings(timeout=3, memory_mb=1769))
    assert finding.level == level
    assert level == "green" or "--timeout" in finding.fix


def test_a_library_that_needs_a_newer_glibc(demo: Path, found: Found, elf: Elf) -> None:
    (demo / "function/lib/libnew.so").write_bytes(elf(["GLIBC_2.17", "GLIBC_2.38"]))
    finding = found(demo, "glibc")
    assert finding.level == "red"
    assert "libnew.so needs 2.38; python3.13 has 2.34" in finding.what
    assert "older glibc" in finding.fix


def test_a_library_that_an_older_runtime_cannot_load(demo: Path, found: Found, elf: Elf) -> None:
    (demo / "function/lib/libonnxruntime.so.1").write_bytes(elf(["GLIBC_2.27"]))
    assert found(demo, "glibc").level == "green"
    finding = found(demo, "glibc", Settings(runtime="python3.11"))
    assert finding.level == "red"
    assert "--runtime python3.13" in finding.fix


def test_a_function_for_one_old_python_needs_another_base(demo: Path, found: Found, edit: Edit, elf: Elf) -> None:
    """As torch's wheels for Python 3.11 do: that Python's runtime is on Amazon Linux 2."""
    (demo / "function/lib/libtorch_cpu.so").write_bytes(elf(["GLIBC_2.28"]))
    edit(demo / "coldpress.json", lambda manifest: manifest.update(python="3.11"))
    finding = found(demo, "glibc")
    assert finding.level == "red"
    assert "--base docker.io/library/python:3.11-slim" in finding.fix
    image = {"base": "docker.io/library/python@sha256:0", "unpacked": 1}
    edit(demo / "coldpress.json", lambda manifest: manifest.update(image=image))
    other = found(demo, "glibc", Settings(package="image"))
    assert other.level == "yellow"
    assert "ldd" in other.fix


def test_a_library_for_another_cpu(demo: Path, found: Found, elf: Elf) -> None:
    (demo / "function/lib/libother.so").write_bytes(elf(["GLIBC_2.17"], machine=183))
    finding = found(demo, "architecture")
    assert finding.level == "red"
    assert "libother.so is for arm64" in finding.what
    assert "--arch x86_64" in finding.fix


def test_an_artifact_for_another_cpu(demo: Path, found: Found) -> None:
    finding = found(demo, "architecture", Settings(arch="arm64"))
    assert finding.level == "red"
    assert "--arch arm64" in finding.fix


def test_requirements_for_another_python(demo: Path, found: Found, elf: Elf) -> None:
    module = demo / "function/packages/fast/_speed.cpython-311-x86_64-linux-gnu.so"
    module.parent.mkdir(parents=True)
    module.write_bytes(elf(["GLIBC_2.17"]))
    finding = found(demo, "Python on Lambda")
    assert finding.level == "red"
    assert "is for 3.11; the runtime is python3.13" in finding.what
    assert 'python = "3.13" in coldpress.toml' in finding.fix
    assert found(demo, "Python on Lambda", Settings(runtime="python3.11")).level == "green"


def test_a_function_for_one_python_alone(demo: Path, found: Found, edit: Edit) -> None:
    edit(demo / "coldpress.json", lambda manifest: manifest.update(python="3.11"))
    assert found(demo, "Python on Lambda").level == "green"
    finding = found(demo, "Python on Lambda", Settings(runtime="python3.12"))
    assert finding.level == "red"
    assert finding.fix == "--runtime python3.11"


def test_a_python_without_bytecode_and_one_too_old(demo: Path, found: Found) -> None:
    assert found(demo, "Python on Lambda", Settings(runtime="python3.19")).level == "yellow"
    assert found(demo, "Python on Lambda", Settings(runtime="python3.9")).level == "red"


def test_files_that_lambda_cannot_read(demo: Path, found: Found) -> None:
    (demo / "function/models/minilm/task.json").chmod(0o600)
    (demo / "function/lib").chmod(0o700)
    finding = found(demo, "file modes")
    assert finding.level == "yellow"  # the zip was made before
    assert "function/lib" in finding.what
    assert "function/models/minilm/task.json" in finding.what
    assert finding.fix.startswith("chmod -R a+rX")
    (demo / "function.zip").unlink()
    assert found(demo, "file modes").level == "red"


def test_a_zip_with_modes_that_lambda_cannot_read(demo: Path, found: Found) -> None:
    with zipfile.ZipFile(demo / "function.zip", "a") as archive:
        entry = zipfile.ZipInfo("secret.txt")
        entry.external_attr = 0o100600 << 16
        archive.writestr(entry, b"")
    finding = found(demo, "file modes")
    assert finding.level == "red"
    assert "secret.txt" in finding.what


def test_changed_missing_and_added_files(demo: Path, found: Found) -> None:
    (demo / "function/handler.py").write_text("changed")
    (demo / "function/models/minilm/task.json").unlink()
    (demo / "function/new.py").write_text("")
    finding = found(demo, "files")
    assert finding.level == "red"
    for words in ("handler.py (changed)", "task.json (missing)", "new.py (added)"):
        assert words in finding.what
    assert "coldpress build" in finding.fix


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        (".env", "DEBUG=1", "by its name"),
        ("code/settings.py", f"KEY = '{'AKIA' + 'QX7' * 5 + 'Z'}'", "an AWS access key"),
        ("code/deploy.pem", "-----BEGIN RSA PRIVATE " + "KEY-----\nMII", "a private key"),
        ("code/hub.py", f"token = 'hf_{'abcdefghij' * 3}abcd'", "a Hugging Face token"),
        ("code/.aws/credentials", "", "by its name"),
    ],
)
def test_secrets_in_the_function(demo: Path, name: str, content: str, kind: str, found: Found) -> None:
    path = demo / "function" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    finding = found(demo, "secrets")
    assert finding.level == "red"
    assert f"function/{name} ({kind})" in finding.what
    assert content == "" or content not in finding.what + finding.fix
    assert "replace the secret" in finding.fix


def test_what_looks_like_a_secret_and_is_none(demo: Path, found: Found) -> None:
    code = demo / "function/code"
    code.mkdir()
    (code / ".env.example").write_text("KEY=AKIAIOSFODNN7EXAMPLE")
    (code / "words.py").write_text("AKIA = 'not a key'")
    assert found(demo, "secrets").level == "green"


@pytest.mark.parametrize(("total", "level"), [(0.13, "green"), (0.14, "yellow"), (0.16, "red")])
def test_drift_close_to_its_limit(demo: Path, total: float, level: str, found: Found, edit: Edit) -> None:
    edit(demo / "coldpress.json", lambda manifest: manifest["models"]["minilm"]["drift"].update(total=total))
    finding = found(demo, "drift")
    assert finding.level == level
    assert level == "green" or "--precision fp16" in finding.fix


def test_an_artifact_that_was_not_measured(demo: Path, found: Found) -> None:
    (demo / "bench.json").unlink()
    finding = found(demo, "measured")
    assert finding.level == "yellow"
    assert finding.fix == f"coldpress bench {demo} --sweep"


def test_figures_of_another_build(demo: Path, found: Found, edit: Edit) -> None:
    edit(demo / "bench.json", lambda bench: bench.update(function_bytes=1))
    finding = found(demo, "measured")
    assert finding.level == "yellow"
    assert "function's bytes 1 then" in finding.what


def test_figures_that_cannot_be_read(demo: Path, found: Found) -> None:
    (demo / "bench.json").write_text("{}")
    assert found(demo, "measured").level == "yellow"
    names = {one.name for one in examine(demo)}
    assert "memory" not in names
    assert "glibc" in names


def test_a_damaged_manifest_hides_nothing_else(demo: Path, found: Found, edit: Edit) -> None:
    edit(demo / "coldpress.json", lambda manifest: manifest.pop("models"))
    finding = found(demo, "drift")
    assert finding.level == "yellow"
    assert "could not be looked at" in finding.what
    assert "build the artifact again" in finding.fix
    assert found(demo, "secrets").level == "green"


def test_a_copy_is_as_good(demo: Path, tmp_path: Path) -> None:
    """Copies have other times and other places."""
    again = tmp_path / "again"
    shutil.copytree(demo, again, copy_function=shutil.copyfile)
    (again / "function/bootstrap").chmod(0o755)
    assert {one.level for one in examine(again)} == {"green"}
