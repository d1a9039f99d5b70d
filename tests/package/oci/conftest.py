"""A real registry on this machine, and in it a stand-in for AWS's base image, which cannot be fetched here."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from registries import needs, run, serve, silent

from coldpress.artifact import Artifact
from coldpress.emulate.debian import debian_root
from coldpress.package.oci.base import open_base
from coldpress.package.oci.image import Image, make_image

RIE = Path(__file__).parents[3] / ".cache" / "aws-lambda-rie"


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    yield from serve(tmp_path_factory.mktemp("registry"))


@pytest.fixture(scope="session")
def base(registry: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Debian's Python and the official Runtime Interface Emulator, made by umoci and pushed by skopeo."""
    needs("umoci", "skopeo", "apt-get")
    folder = tmp_path_factory.mktemp("base")
    root = folder / "root"
    shutil.copytree(debian_root("amd64", ("python3", "libstdc++6", "dash", "coreutils")), root, symlinks=True)
    for unneeded in ("usr/share", "usr/lib/x86_64-linux-gnu/perl-base"):
        shutil.rmtree(root / unneeded, ignore_errors=True)
    for name in ("tmp", "var/task", "proc", "sys", "dev"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "usr/local/bin").mkdir(parents=True, exist_ok=True)
    shutil.copy(RIE, root / "usr/local/bin/aws-lambda-rie")
    layout = folder / "layout"
    run("umoci", "init", "--layout", layout)
    run("umoci", "new", "--image", f"{layout}:base")
    run("umoci", "insert", "--image", f"{layout}:base", root, "/")
    settings = ("--config.cmd", "handler.none", "--config.env", "LAMBDA_TASK_ROOT=/var/task", "--author", "a test")
    run("umoci", "config", "--image", f"{layout}:base", "--architecture", "amd64", "--os", "linux", *settings)
    name = f"{registry}/lambda/python:3.11"
    run("skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"oci:{layout}:base", f"docker://{name}")
    return name


@pytest.fixture(scope="session")
def image(artifact: Artifact, base: str, tmp_path_factory: pytest.TempPathFactory) -> Image:
    """MiniLM's image on the stand-in base."""
    layout = tmp_path_factory.mktemp("image") / "image"
    return make_image(artifact.function_folder, artifact.name, open_base(base, "x86_64", silent), layout, silent)
