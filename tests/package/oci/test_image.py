"""The image, judged by others: skopeo, umoci, podman and runc, from a real registry."""

import json
import os
import shutil
import sys
import tarfile
import time
import zlib
from pathlib import Path

import pytest
import urllib3
from registries import ASK, digest_by_others, needs, run, silent

import coldpress
from coldpress.artifact import Artifact
from coldpress.errors import TargetError, UsageError
from coldpress.package.oci.base import open_base
from coldpress.package.oci.image import Image, make_image, open_image
from coldpress.package.oci.push import push, send
from coldpress.package.oci.reference import Reference
from coldpress.package.oci.wire import Wire


def own_layers(image: Image) -> dict[str, int]:
    titles = "org.opencontainers.image.title"
    layers = [entry for entry in image.manifest["layers"] if "annotations" in entry]
    return {entry["annotations"][titles]: entry["size"] for entry in layers}


def test_it_is_no_larger_than_the_zip_may_be(image: Image) -> None:
    own = own_layers(image)
    assert list(own) == ["engine", "runtime", "model"]
    assert sum(own.values()) <= 22_500_000


def test_skopeo_and_umoci_read_it_back(image: Image, registry: str, tmp_path: Path) -> None:
    name = push(image, Reference.parse(f"{registry}/minilm:1"), silent)
    assert name == f"{registry}/minilm@{image.digest}"
    raw = run("skopeo", "inspect", "--raw", "--tls-verify=false", f"docker://{name}")
    manifest = json.loads(raw)
    assert len(raw) < 25_400
    assert manifest["mediaType"] == "application/vnd.oci.image.manifest.v1+json"
    assert {layer["mediaType"] for layer in manifest["layers"]} == {"application/vnd.oci.image.layer.v1.tar+gzip"}
    run("skopeo", "copy", "--quiet", "--src-tls-verify=false", f"docker://{name}", f"oci:{tmp_path}/back:1")
    stat = json.loads(run("umoci", "stat", "--image", f"{tmp_path}/back:1", "--json"))
    assert [entry.get("comment") for entry in stat["history"]][-3:] == ["engine", "runtime", "model"]
    run("umoci", "unpack", "--rootless", "--image", f"{tmp_path}/back:1", tmp_path / "bundle")
    task = tmp_path / "bundle/rootfs/var/task"
    assert (task / "bootstrap").stat().st_mode & 0o777 == 0o755
    config = json.loads((tmp_path / "bundle/config.json").read_text())
    assert config["process"]["args"] == ["/var/task/bootstrap"]
    assert config["process"]["cwd"] == "/var/task"


@pytest.mark.slow
def test_it_answers_in_a_container(image: Image, artifact: Artifact, registry: str) -> None:
    """From the registry, read-only, without a network, as somebody, in 256 MB: the zip's own answers."""
    needs("podman", "runc")
    name = push(image, Reference.parse(f"{registry}/minilm:run"), silent)
    event = '{"text": ["hello", "a second text"]}'
    box = ["--read-only", "--network", "none", "--user", "993", "--memory", "256m", "--tmpfs", "/tmp"]
    box += ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--tls-verify=false"]
    box += ["--timeout", "60", "--entrypoint", "python3", name, "-c", ASK, event]
    run("podman", "pull", "--quiet", "--tls-verify=false", name)
    said = json.loads(
        run("podman", "--runtime", "runc", "run", "--rm", *box, name, "-c", ASK, event).splitlines()[-1]
    )
    run("podman", "rmi", "--force", name)
    assert json.loads(said["answer"]) == artifact.function()(json.loads(event))
    assert said["ms"] < 1000
    print(f"cold start in a container, by its own clock: {said['ms']:.0f} ms")  # noqa: T201


class TestPushing:
    def test_again_moves_nothing(self, image: Image, registry: str, monkeypatch: pytest.MonkeyPatch) -> None:
        push(image, Reference.parse(f"{registry}/again:1"), silent)
        sent = count_sent(monkeypatch)
        push(image, Reference.parse(f"{registry}/again:2"), silent)
        assert sum(sent) == len(image.encoded), "the manifest alone"

    def test_the_base_is_mounted_and_not_sent(
        self, image: Image, registry: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        sent = count_sent(monkeypatch)
        push(image, Reference.parse(f"{registry}/mounted:1"), silent)
        assert sum(sent) == sum(own_layers(image).values()) + image.config.size + len(image.encoded)

    def test_another_model_moves_its_layer_only(
        self,
        image: Image,
        artifact: Artifact,
        base: str,
        registry: str,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        push(image, Reference.parse(f"{registry}/models:1"), silent)
        shutil.copytree(artifact.function_folder, tmp_path / "function")
        model = next((tmp_path / "function/models").rglob("model.press"))
        model.write_bytes(model.read_bytes()[:-64] + bytes(64))
        other = make_image(
            tmp_path / "function", artifact.name, open_base(base, "x86_64", silent), tmp_path / "image", silent
        )
        sent = count_sent(monkeypatch)
        push(other, Reference.parse(f"{registry}/models:2"), silent)
        assert sum(sent) == own_layers(other)["model"] + other.config.size + len(other.encoded)

    def test_by_command(self, base: str, registry: str, tiny_folder: Path, tmp_path: Path) -> None:
        out = tmp_path / "out"
        made = coldpress.build(tiny_folder, out=out, package="image", base=base, quick=True)
        assert made.manifest["image"]["base"].startswith(base.rpartition(":")[0])
        assert made.zip is None
        assert made.changed_files() == []
        done = run(Path(sys.executable).parent / "coldpress", "push", out, f"{registry}/tiny:1")
        assert done == f"{registry}/tiny@{made.manifest['image']['digest']}\n"


def count_sent(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Bytes of all bodies that are sent from now on."""
    sent: list[int] = []
    send_one = Wire._send

    def counting(self: Wire, method: str, url: str, headers: dict[str, str], body: object, stream: bool) -> object:
        sent.append(body.size if body is not None else 0)  # type: ignore[attr-defined]
        return send_one(self, method, url, headers, body, stream)  # type: ignore[arg-type]

    monkeypatch.setattr(Wire, "_send", counting)
    return sent


def test_the_same_bytes_elsewhere(
    image: Image, artifact: Artifact, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder, umask, time, owner and modes, no tools on PATH, a zlib of no use: the same digest."""

    def no_zlib(*arguments: object, **named: object) -> None:
        raise AssertionError("the system's zlib was asked to compress")

    before = os.umask(0o077)
    try:
        function = tmp_path / "elsewhere" / "f"
        shutil.copytree(artifact.function_folder, function, copy_function=shutil.copyfile)
        (function / "bootstrap").chmod(0o755)
        for path in function.rglob("*"):
            os.utime(path, (1, time.time()))
            if os.getuid() == 0:
                os.chown(path, 993, 990)
        for name in ("compress", "compressobj"):
            monkeypatch.setattr(zlib, name, no_zlib)
        monkeypatch.setenv("PATH", "")
        made = make_image(function, artifact.name, open_base(base, "x86_64", silent), tmp_path / "image", silent)
    finally:
        os.umask(before)
    assert made.digest == image.digest


def test_who_owns_what(image: Image) -> None:
    """Sorted, nobody's but root's, readable to all, and of no day."""
    for layer in image.layers[-3:]:
        with tarfile.open(image.blob(layer.name)) as archive:
            entries = archive.getmembers()
        assert [entry.name for entry in entries] == sorted(entry.name for entry in entries)
        assert {(entry.uid, entry.gid, entry.uname, entry.gname) for entry in entries} == {(0, 0, "", "")}
        assert {entry.mtime for entry in entries} == {315_532_800}
        modes = {entry.name: entry.mode for entry in entries}
        executable = {name for name, mode in modes.items() if mode == 0o755}
        assert executable == {
            entry.name for entry in entries if entry.isdir() or entry.name.endswith("/bootstrap")
        }
        assert set(modes.values()) <= {0o755, 0o644}


def test_a_layer_of_many_pieces(artifact: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As large ones are: others read all of them."""
    needs("umoci", "skopeo")
    monkeypatch.setattr("coldpress.package.oci.layer.PIECE", 1 << 20)
    nothing = open_base("scratch", "x86_64", silent)
    made = make_image(artifact.function_folder, "pieces", nothing, tmp_path / "image", silent)
    run("skopeo", "copy", "--quiet", f"oci:{tmp_path}/image:latest", f"docker-archive:{tmp_path}/a.tar")
    run("umoci", "unpack", "--rootless", "--image", f"{tmp_path}/image:latest", tmp_path / "bundle")
    for path in artifact.function_folder.rglob("*"):
        if path.is_file():
            there = tmp_path / "bundle/rootfs/var/task" / path.relative_to(artifact.function_folder)
            assert there.read_bytes() == path.read_bytes()
    assert made.layers[-1].size > 20 * (1 << 20) - 1_000_000


def test_one_manifest_out_of_an_index(base: str, registry: str, tmp_path: Path) -> None:
    """As buildx makes them: two platforms, and attestations that are for none."""
    pool = urllib3.PoolManager()
    repository = f"http://{registry}/v2/lambda/python"
    kind = "application/vnd.oci.image.manifest.v1+json"
    raw = pool.request("GET", f"{repository}/manifests/3.11", headers={"accept": kind}).data
    entry = {"mediaType": kind, "digest": digest_by_others(raw), "size": len(raw)}
    platforms = [("unknown", "unknown"), ("linux", "arm64"), ("linux", "amd64")]
    index = {
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [entry | {"platform": {"os": system, "architecture": arch}} for system, arch in platforms],
    }
    headers = {"content-type": str(index["mediaType"])}
    assert (
        pool.request("PUT", f"{repository}/manifests/all", body=json.dumps(index), headers=headers).status == 201
    )
    found = open_base(f"{registry}/lambda/python:all", "x86_64", silent)
    assert found.origin is not None
    assert found.origin.digest == entry["digest"]
    with pytest.raises(UsageError, match="is for linux/amd64, not linux/arm64"):
        open_base(f"{registry}/lambda/python:all", "arm64", silent)


def test_without_a_base(artifact: Artifact, tmp_path: Path) -> None:
    made = make_image(
        artifact.function_folder, "alone", open_base("scratch", "arm64", silent), tmp_path / "i", silent
    )
    assert made.origin is None
    needs("umoci")
    run("umoci", "unpack", "--rootless", "--image", f"{tmp_path}/i:latest", tmp_path / "bundle")
    assert (tmp_path / "bundle/rootfs/var/task/bootstrap").is_file()


def test_as_a_file_and_as_a_folder(image: Image, tmp_path: Path) -> None:
    needs("skopeo")
    assert (
        send(image, f"docker-archive:{tmp_path}/a.tar", silent)
        == f"docker-archive:{tmp_path}/a.tar@{image.digest}"
    )
    seen = json.loads(run("skopeo", "inspect", "--config", f"docker-archive:{tmp_path}/a.tar"))
    assert seen["config"]["Entrypoint"] == ["/var/task/bootstrap"]
    assert seen["config"]["Labels"]["com.amazonaws.lambda.feature.snapstart"] == "Allow"
    send(image, f"oci:{tmp_path}/copy", silent)
    assert open_image(tmp_path / "copy").digest == image.digest
    with pytest.raises(TargetError, match="not empty"):
        send(image, f"oci:{tmp_path}/copy", silent)


def test_a_changed_manifest_is_refused(image: Image, tmp_path: Path) -> None:
    shutil.copytree(image.layout, tmp_path / "image")
    path = tmp_path / "image/blobs/sha256" / image.digest.removeprefix("sha256:")
    path.write_bytes(path.read_bytes().replace(b"bootstrap", b"somewhere") + b" ")
    with pytest.raises(coldpress.ColdpressError, match="was changed"):
        open_image(tmp_path / "image")
