"""What is released: a wheel that presses the demo where there is no compiler."""

import json
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from coldpress.artifact import Artifact

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def test_what_is_in_it(dist: Path) -> None:
    (wheel,) = dist.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for part in ("press-x86_64", "press-arm64", "pictures-x86_64", "sounds-arm64"):
        assert f"coldpress/package/press/lib{part}.so" in names
    assert "coldpress/package/shipped_runtime.zip" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    (source,) = dist.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {"native/run.c", "tests/conftest.py", "Makefile", "hatch_build.py", "SECURITY.md"} <= inside
    assert not [name for name in inside if name.endswith((".so", ".pyc", "shipped_runtime.zip"))]


@pytest.mark.slow
def test_it_presses_the_demo_without_a_compiler(dist: Path, tmp_path: Path, artifact: Artifact) -> None:
    """In an environment of its own, where torch and the like are lent by this one; nothing else is on PATH."""
    home = tmp_path / "home"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = str(home / "bin/python")
    (wheel,) = dist.glob("*.whl")
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--disable-pip-version-check", str(wheel)]
    subprocess.run(install, check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "lent.pth").write_text(sysconfig.get_path("purelib") + "\n")
    environment = {"PATH": str(home / "bin"), "HOME": str(tmp_path), "COLDPRESS_CACHE": str(tmp_path / "cache")}
    build = [str(home / "bin/coldpress"), "build", "demo:minilm", "--quick", "--out", str(tmp_path / "out")]
    done = subprocess.run(build, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "out/coldpress.json").read_text())
    ask = [python, "-c", "import coldpress; print(coldpress.__file__)"]
    where = subprocess.run(ask, env=environment, capture_output=True, text=True, check=True)
    assert where.stdout.startswith(str(home)), "not the sources of this folder"
    # Bytecode for Pythons that are not on that machine's PATH came with the wheel: the very same function.
    assert made["bytecode"] == artifact.manifest["bytecode"]
    assert made["files"] == artifact.manifest["files"]
