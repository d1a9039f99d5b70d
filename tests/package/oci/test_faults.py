"""What breaks on the way: it ends well, or in one clear sentence with nothing half-made."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from faulty import Fault, Faulty, changed, cut_answer, cut_request, expire, faulty_registry, stall, status
from registries import silent

from coldpress import cache
from coldpress.artifact import Artifact
from coldpress.errors import RegistryError
from coldpress.package.oci.base import Base, open_base
from coldpress.package.oci.image import Image, make_image
from coldpress.package.oci.push import push
from coldpress.package.oci.reference import Reference


@pytest.fixture
def faulty(registry: str, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Faulty]:
    """A misbehaving registry with the base in it, and a cache that knows nothing yet."""
    monkeypatch.setenv("COLDPRESS_CACHE", str(tmp_path / "cache"))
    with faulty_registry(registry) as made:
        yield made


@pytest.fixture
def function(tmp_path: Path) -> Path:
    """A function small enough to be sent often."""
    folder = tmp_path / "function"
    for name in (
        "bootstrap",
        "handler.py",
        "coldpress_runtime/loop.py",
        "lib/libpress.so",
        "models/m/model.press",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode() * 20_000)
    return folder


waits: list[float] = []


def opened(faulty: Faulty) -> Base:
    return open_base(f"{faulty.address}/lambda/python:3.11", "x86_64", silent, pause=waits.append)


def pushed(image: Image, faulty: Faulty, name: str) -> str:
    return push(image, Reference.parse(f"{faulty.address}/{name}:1"), silent, pause=waits.append)


@pytest.fixture
def image(function: Path, tmp_path: Path) -> Image:
    return make_image(function, "small", open_base("scratch", "x86_64", silent), tmp_path / "image", silent)


def large(base: Base) -> str:
    return max(base.layers, key=lambda layer: layer.size).digest


def test_a_download_that_breaks_off_goes_on(faulty: Faulty, function: Path, tmp_path: Path) -> None:
    found = opened(faulty)
    faulty.faults = [Fault("GET", large(found), cut_answer(after), 1) for after in (3_000_000, 1_000_000)]
    make_image(function, "x", found, tmp_path / "image", silent)
    assert [line for line in faulty.seen if large(found) in line] == [
        f"GET /v2/lambda/python/blobs/{large(found)}"
    ] * 3


def test_a_download_that_always_breaks_off(faulty: Faulty, function: Path, tmp_path: Path) -> None:
    found = opened(faulty)
    faulty.faults = [Fault("GET", large(found), cut_answer(1000), 99)]
    with pytest.raises(RegistryError, match=r"gave 5000 of \d+ bytes .* what came is kept: try again"):
        make_image(function, "x", found, tmp_path / "image", silent)
    faulty.faults = []
    make_image(function, "x", found, tmp_path / "other", silent)


@pytest.mark.parametrize(
    "change", [lambda body: body[:-7] + b"changed", lambda body: body + b"more", lambda body: body[:-9]]
)
def test_a_layer_that_is_another(
    change: Callable[[bytes], bytes], faulty: Faulty, function: Path, tmp_path: Path
) -> None:
    found = opened(faulty)
    faulty.faults = [Fault("GET", large(found), changed(change), 99)]
    with pytest.raises(RegistryError, match=r"damaged, or changed|sends more|try again"):
        make_image(function, "x", found, tmp_path / "image", silent)
    assert not list((cache.root() / "blob").glob(large(found).removeprefix("sha256:")))


def test_a_manifest_that_is_another(faulty: Faulty) -> None:
    digest = opened(faulty).origin.digest  # type: ignore[union-attr]
    faulty.faults = [Fault("GET", "/manifests/", changed(lambda body: body + b" "))]
    with pytest.raises(RegistryError, match="when asked for the manifest"):
        open_base(f"{faulty.address}/lambda/python@{digest}", "x86_64", silent)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_registry_is_asked_again_when_it_says(code: int, faulty: Faulty) -> None:
    waits.clear()
    faulty.faults = [Fault("GET", "/manifests/", status(code, retry_after="7"), 2)]
    opened(faulty)
    assert waits[:3] == [0, 7, 7]


def test_a_registry_that_stays_busy(faulty: Faulty) -> None:
    faulty.faults = [Fault("GET", "/manifests/", status(503, retry_after="100000"), 99)]
    waits.clear()
    with pytest.raises(RegistryError, match="failed 5 times: 503"):
        opened(faulty)
    assert max(waits) <= 60


def test_a_token_that_runs_out_in_the_middle_of_a_push(faulty: Faulty, image: Image) -> None:
    faulty.token = "first"
    faulty.faults = [Fault("PATCH", "/uploads/", expire), Fault("PUT", "/manifests/", expire)]
    assert pushed(image, faulty, "expiring") == f"{faulty.address}/expiring@{image.digest}"
    assert faulty.tokens_given == 3


def test_a_door_that_stays_shut(faulty: Faulty, image: Image) -> None:
    faulty.token = "secret-token"
    faulty.faults = [Fault("HEAD", "/blobs/", status(401, www_authenticate='Bearer realm="http://x/t"'), 99)]
    with pytest.raises(RegistryError, match="not https"):
        pushed(image, faulty, "shut")
    faulty.faults = [Fault("HEAD", "/blobs/", status(403), 99)]
    with pytest.raises(RegistryError) as refused:
        pushed(image, faulty, "shut")
    assert "403" in str(refused.value)
    assert "secret-token" not in str(refused.value)


def test_a_push_that_breaks_off_begins_again(
    faulty: Faulty, image: Image, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("coldpress.package.oci.wire.PATIENCE", 4.0)  # it hears nothing, and waits for as long
    faulty.faults = [Fault("PATCH", "/uploads/", cut_request, 2)]
    assert pushed(image, faulty, "broken") == f"{faulty.address}/broken@{image.digest}"


def test_an_upload_is_not_led_astray(faulty: Faulty, image: Image) -> None:
    faulty.faults = [Fault("POST", "/uploads/", status(202, location="http://elsewhere.example/upload"), 99)]
    with pytest.raises(RegistryError, match=r"elsewhere\.example, which is not https"):
        pushed(image, faulty, "astray")


@pytest.mark.parametrize("part", ["/uploads/", "/manifests/"])
def test_a_registry_that_stored_something_else(part: str, faulty: Faulty, image: Image) -> None:
    wrong = f"sha256:{'0' * 64}"
    faulty.faults = [Fault("PUT", part, changed(lambda body: body, docker_content_digest=wrong), 99)]
    with pytest.raises(RegistryError, match="says that it stored sha256:0000"):
        pushed(image, faulty, f"liar{len(part)}")


def test_the_manifest_comes_last_or_not_at_all(faulty: Faulty, image: Image) -> None:
    faulty.faults = [Fault("PATCH", "/uploads/", status(403), 99)]
    with pytest.raises(RegistryError, match="403"):
        pushed(image, faulty, "refused")
    assert not [line for line in faulty.seen if "manifests" in line]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "no JSON object"),
        (b"{" * 100_000, "no JSON object"),
        (json.dumps({"layers": 5}).encode(), "is no list"),
        (json.dumps({"layers": [{"mediaType": "x", "digest": "md5:1", "size": 1}]}).encode(), "only sha256"),
        (
            json.dumps({"layers": [{"mediaType": "x", "digest": f"sha256:{'1' * 64}", "size": -1}]}).encode(),
            "-1 bytes",
        ),
        (
            json.dumps({"layers": [{"mediaType": "zstd", "digest": f"sha256:{'1' * 64}", "size": 1}]}).encode(),
            "gzip",
        ),
    ],
)
def test_a_manifest_that_is_none(content: bytes, message: str, faulty: Faulty) -> None:
    faulty.faults = [Fault("GET", "/manifests/", changed(lambda body: content))]
    with pytest.raises(Exception, match=message) as refused:
        opened(faulty)
    assert type(refused.value).__module__ == "coldpress.errors"


def build(faulty: Faulty, model: Path, out: Path) -> subprocess.Popen[str]:
    command = [str(Path(sys.executable).parent / "coldpress"), "build", str(model), "--out", str(out), "--quick"]
    command += ["--package", "image", "--base", f"{faulty.address}/lambda/python:3.11"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_killed_in_the_middle_of_a_download(faulty: Faulty, tiny_folder: Path, tmp_path: Path) -> None:
    """No artifact; and the next build takes up what had come."""
    layer = large(opened(faulty))
    faulty.faults = [Fault("GET", layer, stall)]
    process = build(faulty, tiny_folder, tmp_path / "out")
    assert faulty.stalled.wait(120)
    partial = cache.root() / "blob" / f".partial-{layer.removeprefix('sha256:')}" / "data"
    for _ in range(600):  # until something of it has come through
        if partial.exists() and partial.stat().st_size:
            break
        time.sleep(0.05)
    process.kill()
    process.communicate()
    assert not (tmp_path / "out").exists()
    assert 0 < partial.stat().st_size <= 1_000_000
    process = build(faulty, tiny_folder, tmp_path / "out")
    _, errors = process.communicate()
    assert process.returncode == 0, errors
    assert Artifact.open(tmp_path / "out").changed_files() == []
    assert not list(tmp_path.glob(".out.*"))


@pytest.mark.slow
def test_a_disk_that_runs_full(faulty: Faulty, tiny_folder: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", str(disk)], check=False).returncode:
        pytest.skip("mounting a small disk takes root")
    try:
        process = build(faulty, tiny_folder, disk / "out")
        _, errors = process.communicate()
        assert process.returncode == 1
        assert "is full" in errors
        assert "Traceback" not in errors
        assert list(disk.iterdir()) == []
    finally:
        subprocess.run(["umount", str(disk)], check=True)
