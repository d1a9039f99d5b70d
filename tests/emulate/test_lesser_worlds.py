"""Machines that hold less: no root, no namespaces, the other version of control groups."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from emulate_judges import ECHO, PATH, place, post

from coldpress.emulate.sandbox import base_python
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import running
from coldpress.emulate.world.cgroups import Groups, vcpus
from coldpress.emulate.world.namespaces import World

AS_NOBODY = """
import json, sys, urllib.request
sys.path[:0] = {path!r}
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import running
with running({folder!r}, Settings()) as served:
    event = urllib.request.Request(served.url + {invoke!r}, data=b'{{"a": 1}}')
    answer = urllib.request.urlopen(event).read().decode()
    world = json.load(urllib.request.urlopen(served.url + "/_/status"))["world"]
print(json.dumps([answer, world]))
"""


def test_without_root() -> None:
    """A user namespace does nearly all of it; what it cannot do is said."""
    system = Path(f"/usr/bin/python3.{sys.version_info.minor}")
    packages = str(Path(json.__file__).parent), *(one for one in sys.path if one.endswith("site-packages"))
    source = str(Path(__file__).parents[2] / "src")
    if os.geteuid() != 0 or not system.exists() or shutil.which("setpriv") is None:
        pytest.skip("needs root to become somebody else, and the system's own Python of this version")
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        shutil.copytree(ECHO, folder / "echo")
        script = AS_NOBODY.format(path=[source, *packages[1:]], folder=str(folder / "echo"), invoke=PATH)
        nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", str(system), "-c"]
        reaches = subprocess.run(
            [*nobody, f"open({source + '/coldpress/version.py'!r})"], check=False, capture_output=True
        )
        if reaches.returncode:
            pytest.skip("this checkout is not readable for others")
        env = {"PATH": "/usr/bin:/bin", "HOME": str(folder)}
        done = subprocess.run([*nobody, script], capture_output=True, text=True, env=env, cwd=folder, check=False)
        assert done.returncode == 0, done.stderr
    finally:
        shutil.rmtree(folder)
    answer, world = json.loads(done.stdout)
    held = {one["what"]: one for one in world}
    assert answer == '{"a": 1}'
    if not held["file system"]["enforced"]:
        pytest.skip(f"no user namespaces here: {held['file system']['how']}")
    assert held["user"]["enforced"] and held["network"]["enforced"]
    assert "in memory" in held["temporary files"]["how"]
    assert not held["memory"]["enforced"] and "control groups may not be made" in held["memory"]["how"]


def test_without_namespaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(World, "_probe", lambda self: "cannot make namespaces: Operation not permitted")
    settings = Settings(env={"PYTHON": base_python()}, timeout=1)
    with running(place("any", tmp_path), settings) as served:
        url = served.url + PATH
        assert post(url, b'{"code": "import os; answer = os.getcwd()"}').value == str(tmp_path / "any")
        assert post(url, b'{"code": "import os; os._exit(4)"}').value["errorType"] == "Runtime.ExitError"
        assert post(url, b'{"code": "import time; time.sleep(5)"}').value["errorType"] == "Sandbox.Timedout"
        assert post(url, b'{"code": "answer = 1"}').value == 1
        held = {one.what: one for one in served.local.fleet.starter.held}
    assert not held["file system"].enforced and "Operation not permitted" in held["file system"].how
    assert not held["network"].enforced and held["descriptors"].enforced


def test_version_two_of_control_groups(tmp_path: Path) -> None:
    """A plain folder stands in for the kernel's: what is written where, and what is read from it."""
    group = Groups(2, {"unified": tmp_path}).make("0001", 885)
    folder = tmp_path / "0001"
    assert (folder / "memory.max").read_text() == str(885 * 1024 * 1024)
    assert (folder / "memory.swap.max").read_text() == "0"
    assert (folder / "cpu.max").read_text() == "10005 20000"
    assert group.doors == (folder / "cgroup.procs",)
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 0\n")
    assert not group.ran_out()
    (folder / "memory.events").write_text("low 0\nhigh 0\nmax 4\noom 1\noom_kill 1\n")
    assert group.ran_out()


@pytest.mark.parametrize(
    ("memory", "share"), [(128, 0.0724), (1769, 1.0), (3538, 2.0), (10240, 5.788), (20000, 6.0)]
)
def test_what_memory_buys(memory: int, share: float) -> None:
    assert vcpus(memory) == pytest.approx(share, abs=0.001)
