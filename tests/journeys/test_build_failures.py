"""A build that fails or is killed: one clear message, an exit code, and no artifact."""

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import ColdpressError, TargetError

COLDPRESS = str(Path(sys.executable).parent / "coldpress")


def run_build(model: str | Path, out: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COLDPRESS, "build", str(model), "--out", str(out), *flags], capture_output=True, text=True, check=False
    )


def test_a_missing_model(tmp_path: Path) -> None:
    done = run_build(tmp_path / "nowhere", tmp_path / "out")
    assert done.returncode == 1
    assert "nowhere" in done.stderr
    assert "demo:minilm" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_weights(tiny_folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    (model / "model.safetensors").unlink()
    done = run_build(model, tmp_path / "out")
    assert done.returncode == 1
    assert "no weights" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_pickle_is_refused_and_never_opened(tiny_folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    (model / "model.safetensors").unlink()
    (model / "pytorch_model.bin").write_bytes(b"cos\nsystem\n(S'touch opened'\ntR.")
    done = run_build(model, tmp_path / "out")
    assert done.returncode == 1
    assert "is a pickle that needs code" in " ".join(done.stderr.split())
    assert not Path("opened").exists()


def test_weights_that_are_no_weights(tiny_folder: Path, tmp_path: Path) -> None:
    model = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    (model / "model.safetensors").write_bytes(b"not a tensor in here")
    with pytest.raises(ColdpressError, match="cannot open"):
        coldpress.build(model, out=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_foreign_folder_is_left_alone(tiny_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "thesis.txt").write_text("years of work")
    done = run_build(tiny_folder, out)
    assert done.returncode == 1
    assert "left alone" in done.stderr
    assert (out / "thesis.txt").read_text() == "years of work"
    assert list(tmp_path.iterdir()) == [out]


def test_a_target_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    done = run_build("demo:minilm", tmp_path / "out")
    assert done.returncode == 1
    assert "is not a folder" in done.stderr


def test_a_target_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("a file")
    done = run_build("demo:minilm", tmp_path / "file" / "out")
    assert done.returncode == 1
    assert "choose another --out" in done.stderr


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 40 MB; needs root to be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting a small disk takes root")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_an_unwritable_target(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    done = run_build("demo:minilm", small_disk / "out")
    assert done.returncode == 1
    assert "Read-only file system" in done.stderr
    assert "choose another --out" in done.stderr


@pytest.mark.slow
def test_a_full_disk(small_disk: Path) -> None:
    done = run_build("demo:minilm", small_disk / "out")
    assert done.returncode == 1
    assert "is full" in done.stderr
    assert done.stderr.count("Error:") == 1
    assert "Traceback" not in done.stderr
    assert list(small_disk.iterdir()) == []


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda how: how.name)
def test_killed_at_any_moment(how: signal.Signals, tiny_folder: Path, tmp_path: Path) -> None:
    """Killed at moments spread over a whole build: there is never an artifact folder."""
    began = time.monotonic()
    assert run_build(tiny_folder, tmp_path / "whole").returncode == 0
    whole = time.monotonic() - began
    out = tmp_path / "out"
    for step in range(1, 8):
        process = subprocess.Popen(
            [COLDPRESS, "build", str(tiny_folder), "--out", str(out)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        time.sleep(whole * step / 9)
        process.send_signal(how)
        _, errors = process.communicate()
        if out.exists():  # it was faster than the first one, or was done but for its last words
            assert Artifact.open(out).changed_files() == []
            shutil.rmtree(out)
            continue
        assert process.returncode != 0
        if how is not signal.SIGKILL:
            assert "Traceback" not in errors or process.returncode == -how
            assert not list(tmp_path.glob(".out.*"))
    coldpress.build(tiny_folder, out=out, precision="fp32")
    assert not list(tmp_path.glob(".out.*")), "what killed builds left is removed by the next one"
    assert Artifact.open(out).changed_files() == []


def test_what_a_killed_build_left_goes_though_its_number_is_taken(tiny_folder: Path, tmp_path: Path) -> None:
    """Numbers of processes are given again; who still builds holds a lock."""
    ours = os.getpid()
    left, held = tmp_path / f".out.{ours}.old.partial", tmp_path / f".out.{os.getppid()}.partial"
    for folder in (left, held):
        folder.mkdir()
        os.utime(folder, (1, 1))
    handle = os.open(held, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    coldpress.build(tiny_folder, out=tmp_path / "out", quick=True, package="none")
    assert not left.exists()
    assert held.exists()
    os.close(handle)


def test_an_artifact_is_replaced_and_a_failed_build_keeps_the_old_one(tiny_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    coldpress.build(tiny_folder, out=out, precision="fp32", name="first", package="none")
    with pytest.raises(ColdpressError):
        coldpress.build(tmp_path / "nowhere", out=out)
    assert Artifact.open(out).name == "first"
    coldpress.build(tiny_folder, out=out, precision="fp32", name="second", package="none")
    assert Artifact.open(out).name == "second"
    assert sorted(path.name for path in (out / "function/models").iterdir()) == ["second"]
    assert list(tmp_path.iterdir()) == [out]


def test_a_link_is_not_followed(tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TargetError, match="not a folder"):
        coldpress.build(tiny_folder, out=tmp_path / "out")
    assert list((tmp_path / "elsewhere").iterdir()) == []
