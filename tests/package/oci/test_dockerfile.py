"""The Dockerfiles, built by podman from a real registry: the function's own answers, readable, nothing else."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import urllib3
from registries import ASK, digest_by_others, needs, run

from coldpress.artifact import Artifact
from coldpress.errors import TargetError, UsageError
from coldpress.package.dockerfile import write_classic, write_dockerfile
from coldpress.package.oci.base import default_base
from coldpress.package.oci.image import Image

AWS = default_base("any")
#: all that a function has, and something that nobody knows yet
FILES = (
    "lib/libpress.so bootstrap handler.py coldpress_runtime/a.py licenses/x models/m/model.press code/c.py new/n"
)
#: what the sandbox's user finds in the task root: every folder's and file's mode, and that it can be read
LOOK = """
import hashlib, json, os
found = {}
for folder, _, names in os.walk("/var/task"):
    found[folder] = [oct(os.stat(folder).st_mode & 0o7777), None]
    for name in names:
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            found[path] = [oct(os.stat(path).st_mode & 0o7777), hashlib.sha256(file.read()).hexdigest()]
print(json.dumps({"uid": os.getuid(), "found": found}))
"""
#: stands for pip, which the stand-in base has not: what it installs says how it was called
PIP = """
import json, os, sys
folder = os.path.join(sys.argv[sys.argv.index("--target") + 1], "awslambdaric")
os.makedirs(folder)
with open(os.path.join(folder, "__main__.py"), "w") as file:
    file.write(f"import handler, json, sys; print(json.dumps([{sys.argv[1:]!r}, sys.argv[1:], handler.SAID]))")
"""


@dataclass(frozen=True)
class Podman:
    """Podman with a store of its own, so that nobody's images are touched and none are left."""

    folder: Path

    def __call__(self, *command: object) -> str:
        store = ["--root", self.folder / "root", "--runroot", self.folder / "run", "--tmpdir", self.folder / "tmp"]
        return run("podman", *store, "--runtime", "runc", *command)

    def build(self, context: Path, *options: object) -> str:
        """The image's id. No network: only the base comes from somewhere, and podman itself fetches it."""
        fixed = ["--quiet", "--tls-verify=false", "--network", "none", "--timestamp", "0"]
        return self("build", *fixed, *options, context).strip()

    def layers(self, image: str) -> list[str]:
        layers: list[str] = self.inspect(image)["RootFS"]["Layers"]
        return layers

    def inspect(self, image: str) -> dict[str, Any]:
        (found,) = json.loads(self("inspect", image))
        assert isinstance(found, dict)
        return found

    def run(self, image: str, *command: object, options: tuple[str, ...] = ()) -> Any:
        """What it says in its last line, as somebody, read-only, in 256 MB, without a network."""
        box = ["--read-only", "--network", "none", "--user", "993", "--memory", "256m", "--tmpfs", "/tmp"]
        box += ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--timeout", "60"]
        return json.loads(self("run", "--rm", *box, *options, image, *command).splitlines()[-1])


@pytest.fixture(scope="session")
def podman() -> Iterator[Podman]:
    needs("podman", "runc")
    folder = Path(tempfile.mkdtemp(prefix="pod-"))  # its sockets' names must be short
    tool = Podman(folder)
    yield tool
    tool("rm", "--all", "--force")
    tool("rmi", "--all", "--force")
    # Podman keeps its store mounted on itself.
    for line in reversed(Path("/proc/mounts").read_text().splitlines()):
        if (place := line.split()[1]).startswith(f"{folder}/"):
            run("umount", place)
    shutil.rmtree(folder)


@pytest.fixture(scope="session")
def staging(artifact: Artifact, base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact as somebody with a strict umask has it, and with what must not leave the machine."""
    folder = tmp_path_factory.mktemp("dockerfile") / "artifact"
    before = os.umask(0o077)
    try:
        shutil.copytree(artifact.function_folder, folder / "function", copy_function=shutil.copyfile)
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o700 if path.is_dir() else 0o600)  # copytree itself brings the modes of folders along
        for name in (".env", "function.zip", "image/index.json", "coldpress.json", ".aws/credentials"):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text("TOKEN=secret")
        write_dockerfile(folder, artifact.name, "press", "x86_64", "any", base)
    finally:
        os.umask(before)
    return folder


@pytest.fixture(scope="session")
def built(podman: Podman, staging: Path) -> str:
    return podman.build(staging, "--format", "oci")


@pytest.mark.slow
class TestBuilt:
    def test_it_answers_in_a_container(self, podman: Podman, built: str, artifact: Artifact) -> None:
        event = '{"text": ["hello", "a second text"]}'
        said = podman.run(built, "-c", ASK, event, options=("--entrypoint", "python3"))
        assert json.loads(said["answer"]) == artifact.function()(json.loads(event))

    def test_the_sandbox_user_can_read_all_of_it(self, podman: Podman, built: str, artifact: Artifact) -> None:
        """Though nobody but root could when it was built."""
        said = podman.run(built, "-c", LOOK, options=("--entrypoint", "python3"))
        assert said["uid"] == 993
        expected = {"/var/task": ["0o755", None]}
        for path in artifact.function_folder.rglob("*"):
            name = f"/var/task/{path.relative_to(artifact.function_folder)}"
            digest = digest_by_others(path.read_bytes()).removeprefix("sha256:") if path.is_file() else None
            expected[name] = ["0o644" if path.is_file() and path.name != "bootstrap" else "0o755", digest]
        assert said["found"] == expected

    def test_it_is_configured_as_our_own_image(self, podman: Podman, built: str, image: Image) -> None:
        own = json.loads(image.blob(image.config.name).read_text())
        found = podman.inspect(built)
        assert found["Architecture"] == own["architecture"]
        for key in ("Entrypoint", "WorkingDir", "Cmd"):
            assert (found["Config"].get(key) or None) == own["config"].get(key), key
        assert own["config"]["Labels"].items() <= found["Config"]["Labels"].items()
        assert len(found["RootFS"]["Layers"]) == len(own["rootfs"]["diff_ids"])

    def test_another_model_changes_one_layer(
        self, podman: Podman, built: str, staging: Path, tmp_path: Path
    ) -> None:
        """Also where nothing is cached: times of files and folders are not in it."""
        shutil.copytree(staging, tmp_path / "other")
        model = next((tmp_path / "other/function/models").rglob("model.press"))
        model.write_bytes(model.read_bytes()[:-64] + bytes(64))
        other = podman.layers(podman.build(tmp_path / "other", "--no-cache"))
        assert other[:-1] == podman.layers(built)[:-1]
        assert other[-1] != podman.layers(built)[-1]

    def test_nothing_else_is_in_the_context(
        self, podman: Podman, staging: Path, base: str, tmp_path: Path
    ) -> None:
        """A Dockerfile that takes all that there is gets the function."""
        (tmp_path / "all").write_text(f"FROM {base}\nCOPY . /all/\n")
        image = podman.build(staging, "--file", tmp_path / "all")
        listing = "import json, os; print(json.dumps(os.listdir('/all')))"
        options = ("--entrypoint", "python3", "--user", "0")
        assert podman.run(image, "-c", listing, options=options) == ["function"]

    def test_nothing_of_another_platform_is_run(
        self, podman: Podman, staging: Path, base: str, registry: str, tmp_path: Path
    ) -> None:
        """The other platform's base has no program at all, and is built on all the same."""
        needs("umoci", "skopeo")
        (tmp_path / "root/var/task").mkdir(parents=True)
        layout = tmp_path / "layout"
        run("umoci", "init", "--layout", layout)
        run("umoci", "new", "--image", f"{layout}:arm64")
        run("umoci", "insert", "--image", f"{layout}:arm64", tmp_path / "root", "/")
        run("umoci", "config", "--image", f"{layout}:arm64", "--architecture", "arm64", "--os", "linux")
        name = base.rpartition(":")[0]
        run(
            "skopeo", "copy", "--quiet", "--dest-tls-verify=false", f"oci:{layout}:arm64", f"docker://{name}:arm64"
        )
        push_index(f"http://{registry}/v2/lambda/python", {"amd64": "3.11", "arm64": "arm64"}, "both")
        shutil.copytree(staging / "function", tmp_path / "there/function")
        write_dockerfile(tmp_path / "there", "minilm", "press", "arm64", "any", f"{name}:both")
        image = podman.build(tmp_path / "there")
        assert podman.inspect(image)["Architecture"] == "arm64"
        (empty,) = json.loads(run("skopeo", "inspect", "--config", f"oci:{layout}:arm64"))["rootfs"]["diff_ids"]
        assert podman.layers(image)[0] == empty

    @pytest.mark.parametrize("index", ["", "https://cpu.example/whl"])
    def test_the_classic_one(self, podman: Podman, base: str, tmp_path: Path, index: str) -> None:
        """With something that stands for pip: what it is told, where its packages go, what is started."""
        pip = tmp_path / "pip"
        pip.mkdir()
        (pip / "__main__.py").write_text(PIP)
        (pip / "Dockerfile").write_text(f"FROM {base}\nCOPY __main__.py /usr/lib/python3/dist-packages/pip/\n")
        with_pip = podman.build(pip)
        folder = tmp_path / "classic"
        folder.mkdir()
        write_classic(folder, "3.11")
        (folder / "handler.py").write_text("SAID = open('/var/task/model.pt').read()")
        (folder / "model.pt").write_text("a model")
        (folder / "model.pt").chmod(0o600)
        settings = ("--build-arg", f"BASE={with_pip}", "--build-arg", f"TORCH_INDEX={index}")
        image = podman.build(folder, "--file", folder / "Dockerfile.classic", *settings)
        told = ["install", "--no-cache-dir", "--target", "/asset/packages"]
        told += ["--extra-index-url", index] if index else []
        assert podman.run(image) == [[*told, "awslambdaric", "torch"], ["handler.handler"], "a model"]


def push_index(repository: str, tags: dict[str, str], name: str) -> None:
    """One name for images of several architectures."""
    pool = urllib3.PoolManager()
    kind, entries = "application/vnd.oci.image.manifest.v1+json", []
    for arch, tag in tags.items():
        raw = pool.request("GET", f"{repository}/manifests/{tag}", headers={"accept": kind}).data
        platform = {"os": "linux", "architecture": arch}
        entries.append(
            {"mediaType": kind, "digest": digest_by_others(raw), "size": len(raw), "platform": platform}
        )
    index = {"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": entries}
    headers = {"content-type": str(index["mediaType"])}
    done = pool.request("PUT", f"{repository}/manifests/{name}", body=json.dumps(index), headers=headers)
    assert done.status == 201


def written(folder: Path, files: str = FILES, **changes: Any) -> str:
    for name in files.split():
        path = folder / "function" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    settings = {"name": "m", "engine": "press", "arch": "x86_64", "python": "any", "base": AWS}
    write_dockerfile(folder, **(settings | changes))
    return (folder / "Dockerfile").read_text()


class TestText:
    def test_every_file_is_in_one_layer(self, tmp_path: Path) -> None:
        text = written(tmp_path)
        for name in {file.partition("/")[0] for file in FILES.split()}:
            assert len(re.findall(rf"^COPY function/{name} /asset/\w+/{name}$", text, re.MULTILINE)) == 1
        copied = re.findall(r"^COPY --from=builder (\S+) (\S+)$", text, re.MULTILINE)
        assert copied == [(f"/asset/{title}/", "/var/task/") for title in ("engine", "runtime", "model")]
        assert "COPY function/new /asset/model/new" in text

    def test_a_function_without_an_engine_has_no_layer_for_it(self, tmp_path: Path) -> None:
        (tmp_path / "function/lib").mkdir(parents=True)
        text = written(tmp_path, "bootstrap code/c.py", engine=None)
        assert "engine/" not in text
        assert text.count("COPY --from=builder") == 2

    def test_it_is_the_same_everywhere(self, tmp_path: Path) -> None:
        before = os.umask(0o077)
        try:
            one = written(tmp_path / "one")
        finally:
            os.umask(before)
        assert one == written(tmp_path / "two", " ".join(reversed(FILES.split())))
        assert (tmp_path / "one/.dockerignore").read_text() == "*\n!function\n"

    def test_it_says_how_to_build_it(self, tmp_path: Path) -> None:
        text = written(tmp_path, name="all-MiniLM L6\nRUN evil", arch="arm64", python="3.11")
        assert (
            "#   docker buildx build --platform linux/arm64 --provenance=false --sbom=false "
            "-t all-minilm-l6-run-evil .\n" in text
        )
        assert "#   podman build --format oci --timestamp 0 -t all-minilm-l6-run-evil .\n" in text
        assert "any image with Python 3.11." in text
        assert not re.search("^RUN evil", text, re.MULTILINE)
        assert text.index("\nARG BASE=") < text.index("\nFROM ")

    def test_nothing_runs_on_scratch(self, tmp_path: Path) -> None:
        assert f"ARG BASE=scratch\nARG BUILDER={AWS}\n" in written(tmp_path, base="scratch")

    def test_a_base_that_is_none(self, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="is no image's name"):
            written(tmp_path, base="docker.io/python\nRUN evil")


class TestClassic:
    def test_it_is_complete(self, tmp_path: Path) -> None:
        write_classic(tmp_path, "3.12")
        text = (tmp_path / "Dockerfile.classic").read_text()
        assert f"\nARG BASE={default_base('3.12')}\n" in text
        assert [line for line in text.splitlines() if line.startswith("FROM")] == [
            "FROM ${BASE} AS builder",
            "FROM ${BASE} AS classic",
        ]
        assert "{" not in re.sub(r"\$\{[^}]*\}", "", text)
        compile((tmp_path / "handler.py").read_text(), "handler.py", "exec")

    def test_a_dockerfile_is_not_overwritten(self, tmp_path: Path) -> None:
        (tmp_path / "Dockerfile.classic").write_text("mine")
        with pytest.raises(TargetError, match=re.escape(str(tmp_path / "Dockerfile.classic"))):
            write_classic(tmp_path, "any")
        assert [path.name for path in tmp_path.iterdir()] == ["Dockerfile.classic"]
        assert (tmp_path / "Dockerfile.classic").read_text() == "mine"

    def test_a_handler_is_kept(self, tmp_path: Path) -> None:
        (tmp_path / "handler.py").write_text("mine")
        write_classic(tmp_path, "any")
        assert (tmp_path / "handler.py").read_text() == "mine"

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(TargetError, match=r"Dockerfile\.classic cannot be written: No such file"):
            write_classic(tmp_path / "nowhere", "any")

    def test_its_handler_answers(self, tmp_path: Path) -> None:
        write_classic(tmp_path, "any")
        events = [
            {"inputs": [[1, 2]]},
            {"requestContext": {}, "body": '{"inputs": [[1.5, 2]]}'},
            {"requestContext": {}, "body": "eyJpbnB1dHMiOiBbWzEsIDJdXX0=", "isBase64Encoded": True},
            {"requestContext": {}, "body": '{"inputs": [["x"]]}'},
            {"requestContext": {}, "body": "{"},
            {"requestContext": {}},
        ]
        code = (
            "import json, sys, torch\n"
            "class Twice(torch.nn.Module):\n"
            "    def forward(self, x):\n"
            "        return x * 2\n"
            "torch.jit.trace(Twice(), torch.ones(1, 2)).save('model.pt')\n"
            "sys.path.insert(0, '.')\n"
            "from handler import handler\n"
            "print(json.dumps([handler(event, None) for event in json.loads(sys.argv[1])]))\n"
        )
        command = [sys.executable, "-W", "ignore", "-c", code, json.dumps(events)]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
        direct, *http = json.loads(done.stdout)
        assert direct == {"outputs": [[2.0, 4.0]]}
        assert [answer["statusCode"] for answer in http] == [200, 200, 400, 400, 400]
        assert json.loads(http[0]["body"]) == {"outputs": [[3.0, 4.0]]}
        assert json.loads(http[1]["body"]) == direct
