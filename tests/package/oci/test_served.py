"""Images in the local Lambda: a container for every sandbox, the same answers, the same errors."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from emulate_judges import PATH, post
from registries import needs, run

from coldpress.artifact import Artifact
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import running
from coldpress.package.oci.image import Image

pytestmark = pytest.mark.slow
EVENT = json.dumps({"text": "from an image"}).encode()
HUNGRY = """FROM {base}
COPY bootstrap run.py /var/task/
ENTRYPOINT ["/var/task/bootstrap"]
"""


@pytest.fixture(scope="module")
def store() -> Iterator[Path]:
    """podman's images and containers in a folder of their own, and what it knows of those that run: another podman
    that takes this machine for a fresh one would have it wait for ever for a container that has ended."""
    needs("podman", "runc")
    folder = Path(tempfile.mkdtemp(prefix="pod-"))  # its sockets' names must be short
    settings = folder / "storage.conf"
    settings.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n')
    (folder / "containers.conf").write_text(f'[engine]\ntmp_dir = "{folder}/tmp"\n')
    own = {"CONTAINERS_STORAGE_CONF": str(settings), "CONTAINERS_CONF": str(folder / "containers.conf")}
    os.environ.update(own)
    yield folder
    subprocess.run(["podman", "--runtime", "runc", "system", "reset", "--force"], check=False, capture_output=True)
    for name in own:
        del os.environ[name]
    shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.usefixtures("store")
def test_an_image_answers(artifact: Artifact, image: Image) -> None:
    with running(image.layout, Settings(concurrency=2, memory_mb=512)) as served:
        with ThreadPoolExecutor(2) as pool:
            answers = [*pool.map(lambda _: post(served.url + PATH, EVENT), range(8))]
        assert all(answer.value == artifact.function()({"text": "from an image"}) for answer in answers)
        assert served.local.fleet.ledger.totals.cold_starts <= 2
    reports = [entry.line for entry in served.log if entry.line.startswith("REPORT")]
    cold = next(line for line in reports if "Init Duration" in line)
    assert float(cold.split("Init Duration: ")[1].split()[0]) < 500, "podman's own time is not the function's"
    assert 15 <= int(cold.split("Max Memory Used: ")[1].split()[0]) <= 100
    left = run("podman", "--runtime", "runc", "ps", "--all", "--quiet")
    assert left.strip() == ""


def test_its_limits_and_its_end(store: Path, base: str, tmp_path: Path) -> None:
    """A container that runs whatever it is told, by name: out of memory, exit, user, network, files."""
    functions = Path(__file__).parents[2] / "emulate" / "functions" / "any"
    for name in ("bootstrap", "run.py"):
        (tmp_path / name).write_bytes((functions / name).read_bytes())
        (tmp_path / name).chmod(0o755)
    (tmp_path / "Dockerfile").write_text(HUNGRY.format(base=base))
    build = ["podman", "--runtime", "runc", "build", "--quiet", "--tls-verify=false", "--network", "none"]
    name = run(*build, "--tag", "localhost/any:1", str(tmp_path)) and "localhost/any:1"
    settings = Settings(memory_mb=128, timeout=20, env={"PYTHON": "/usr/bin/python3"})
    with running(f"image:{name}", settings) as served:

        def ask(code: str) -> object:
            return post(served.url + PATH, json.dumps({"code": code}).encode()).value

        assert ask("import os; answer = [os.getuid(), os.path.exists('/dev/shm')]") == [993, False]
        assert ask("answer = [line.split(':')[0].strip() for line in open('/proc/net/dev')][2:]") == ["lo"]
        assert "Read-only" in str(ask("open('/x', 'w')"))
        assert "exit status 3" in str(ask("import os; os._exit(3)"))
        grown = ask("block = bytearray(300 * 1048576); block[::4096] = b'x' * len(block[::4096])")
        assert "Runtime.OutOfMemory" in str(grown)
        assert ask("answer = 'alive'") == "alive"
