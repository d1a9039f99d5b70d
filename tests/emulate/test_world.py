"""What a function finds around it, and what it may use of it."""

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from emulate_judges import PATH, Answer, place, post

from coldpress.emulate.front.server import Address
from coldpress.emulate.sandboxes.settings import Settings
from coldpress.emulate.serving import Options, Running, running
from coldpress.emulate.world.cgroups import find_groups

ROOT = os.geteuid() == 0


def _no_groups() -> str:
    """Why there are none here, if there are none."""
    groups, why = find_groups()
    if groups is None:
        return why
    groups.close()
    return ""


needs_groups = pytest.mark.skipif(bool(_no_groups()), reason=_no_groups())
Run = Callable[[str], Answer]


@contextmanager
def served(folder: Path, settings: Settings, **options: Any) -> Iterator[tuple[Running, Run]]:
    """A function that runs code, and a way to have it run some."""
    with running(place("any", folder), settings, Options(Address(port=0), **options)) as lambda_:
        yield lambda_, lambda code: post(lambda_.url + PATH, json.dumps({"code": code}).encode())


def lines(lambda_: Running) -> list[str]:
    """The log so far; its last lines come a moment after the answer."""
    time.sleep(0.1)
    return [entry.line for entry in lambda_.log]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    with served(tmp_path_factory.mktemp("world"), Settings(env={"OWN": "value"})) as (_, ask):
        yield ask


def test_environment(run: Run) -> None:
    found = run("import os; answer = dict(os.environ)").value
    assert found["LAMBDA_TASK_ROOT"] == "/var/task"
    assert found["LAMBDA_RUNTIME_DIR"] == "/var/runtime"
    assert found["AWS_LAMBDA_RUNTIME_API"] == "127.0.0.1:9001"
    assert found["AWS_LAMBDA_FUNCTION_NAME"] == "function"
    assert found["AWS_LAMBDA_FUNCTION_VERSION"] == "$LATEST"
    assert found["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] == "1769"
    assert found["AWS_LAMBDA_INITIALIZATION_TYPE"] == "on-demand"
    assert found["AWS_LAMBDA_LOG_GROUP_NAME"] == "/aws/lambda/function"
    assert found["AWS_REGION"] == "us-east-1" and found["TZ"] == ":UTC"
    assert found["OWN"] == "value"
    assert "HOME" not in found and "VIRTUAL_ENV" not in found, "nothing of this shell reaches it"


def test_the_user_is_nobody(run: Run) -> None:
    assert run("import os; answer = [os.getuid(), os.getgid(), os.getgroups(), os.getcwd()]").value[0:2] == [
        993,
        990,
    ]
    assert run("import os; os.setuid(0)").value["errorType"] == "PermissionError"


def test_files_are_read_only_but_tmp(run: Run) -> None:
    for path in ("/var/task/x", "/x", "/usr/x", "/etc/x", "/var/lang/x", "/opt/x", "/dev/x"):
        failed = run(f"open({path!r}, 'w')").value
        assert failed["errorType"] in ("OSError", "PermissionError"), path
    assert run("open('/tmp/x', 'w').write('y'); answer = open('/tmp/x').read()").value == "y"


def test_nothing_of_this_machine_is_there(run: Run) -> None:
    assert run("import os; answer = sorted(os.listdir('/'))").value == sorted(
        {"dev", "etc", "opt", "proc", "tmp", "usr", "var"}
        | {name for name in ("bin", "lib", "lib32", "lib64", "sbin") if os.path.lexists(f"/{name}")}
    )
    assert run("import os; answer = os.path.exists('/dev/shm')").value is False
    assert run("import os; answer = sorted(int(one) for one in os.listdir('/proc') if one.isdigit())").value == [
        1,
        2,
    ]
    assert run("answer = open('/etc/passwd').read().count(':x:')").value == 2


def test_a_function_does_not_push_the_emulator_aside(run: Run) -> None:
    assert run("import os; answer = os.sched_getscheduler(0)").value == os.SCHED_BATCH


def test_descriptors_and_threads_have_a_limit(run: Run) -> None:
    assert run("import resource; answer = resource.getrlimit(resource.RLIMIT_NOFILE)[1]").value == 1024
    assert run("kept['f'] = [open('/dev/null') for _ in range(1100)]").value["errorType"] == "OSError"
    run("kept.clear()")


def test_it_holds_nothing_of_ours(run: Run) -> None:
    """Its input and output, its connection, and the folder that it is looking into."""
    code = "import os; answer = [os.readlink('/proc/self/fd/' + one) for one in os.listdir('/proc/self/fd')[:-1]]"
    found = run(code).value
    assert all(one.startswith(("/dev/null", "pipe:", "socket:", "/proc/")) for one in found), found
    assert sum(one.startswith("socket:") for one in found) == 1


def test_there_is_no_network(run: Run) -> None:
    code = "import socket; socket.create_connection(('127.0.0.1', {port}), 1)"
    assert run(code.format(port=9)).value["errorType"] in ("ConnectionRefusedError", "OSError")
    assert run("answer = [line.split(':')[0].strip() for line in open('/proc/net/dev')][2:]").value == ["lo"]


def test_the_network_when_asked_for(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as here:
        port = here.getsockname()[1]
        with served(tmp_path, Settings(), network=True) as (_, run):
            reached = run(f"import socket; socket.create_connection(('127.0.0.1', {port}), 1); answer = 'there'")
    assert reached.value == "there"


def test_tmp_has_its_size_and_is_private(tmp_path: Path) -> None:
    with served(tmp_path, Settings(concurrency=2), tmp_mb=512) as (_, run):
        fill = "f = open('/tmp/big', 'wb'); [f.write(b'x' * 1048576) for _ in range({mb})]; f.close(); answer = 1"
        assert run(fill.format(mb=400)).value == 1
        failed = run(fill.format(mb=600)).value
        assert failed["errorType"] == "OSError" and "No space left" in failed["errorMessage"]
        run("import os; os._exit(1)")
        assert run("import os; answer = os.listdir('/tmp')").value == [], "a fresh sandbox has a fresh one"


@needs_groups
@pytest.mark.skipif(not ROOT, reason="a disk needs root")
def test_files_in_tmp_are_not_memory(tmp_path: Path) -> None:
    with served(tmp_path, Settings(memory_mb=128)) as (_, run):
        code = "f = open('/tmp/big', 'wb'); [f.write(b'x' * 1048576) for _ in range(400)]; f.close(); answer = 1"
        assert run(code).value == 1


TOUCH = "block = bytearray({mb} * 1048576); block[::4096] = b'x' * len(block[::4096]); answer = len(block)"


@needs_groups
def test_memory_is_held(tmp_path: Path) -> None:
    """300 MB in a sandbox of 256: killed, said so, and the next request is served."""
    with served(tmp_path, Settings(memory_mb=256)) as (lambda_, run):
        answer = run(TOUCH.format(mb=300))
        assert answer.value["errorType"] == "Runtime.OutOfMemory"
        assert answer.value["errorMessage"].endswith("Runtime exited with error: signal: killed")
        assert answer.function_error == "Unhandled"
        assert run("answer = 'alive'").value == "alive"
        report = _reports(lambda_)[0]
    assert "Memory Size: 256 MB" in report and "Max Memory Used: 256 MB" in report
    assert "Status: error\tError Type: Runtime.OutOfMemory" in report


@needs_groups
def test_memory_is_told(tmp_path: Path) -> None:
    with served(tmp_path, Settings(memory_mb=512)) as (lambda_, run):
        assert run(TOUCH.format(mb=300)).value == 300 * 1048576
        report = _reports(lambda_)[0]
    used = int(report.split("Max Memory Used: ")[1].split(" ")[0])
    assert 300 <= used <= 360


@needs_groups
def test_memory_of_children_counts(tmp_path: Path) -> None:
    code = f"""
import subprocess, sys
child = subprocess.Popen([sys.executable, '-I', '-S', '-c', {TOUCH.format(mb=100)!r} + '; input()'], stdin=-1)
import time; time.sleep(0.5)
kept['child'] = child; answer = 1"""
    with served(tmp_path, Settings(memory_mb=512)) as (lambda_, run):
        assert run(code).value == 1
        report = _reports(lambda_)[0]
    assert 100 <= int(report.split("Max Memory Used: ")[1].split(" ")[0]) <= 150


@needs_groups
@pytest.mark.slow
def test_cpu_is_held(tmp_path: Path) -> None:
    """Half the memory that buys a vCPU: the same work takes twice as long. It is measured in CPU time, since this
    machine's speed may change from one second to the next."""
    work = """
import time
began, used = time.monotonic(), time.process_time()
while time.process_time() - used < 0.4:
    [n * n for n in range(10_000)]
answer = time.monotonic() - began"""
    with (
        served(tmp_path / "half", Settings(memory_mb=885)) as (_, half),
        served(tmp_path / "whole", Settings(memory_mb=1769)) as (_, whole),
    ):
        half(work), whole(work)
        pairs = [(half(work).value, whole(work).value) for _ in range(5)]
    ratio = sorted(one[0] for one in pairs)[2] / sorted(one[1] for one in pairs)[2]
    assert 1.8 <= ratio <= 2.3


def test_a_frozen_sandbox_does_nothing(tmp_path: Path) -> None:
    """Work left behind stands still between invocations, as on Lambda."""
    begin = """
import threading, time
kept['n'] = 0
def count():
    while True:
        kept['n'] += 1
        time.sleep(0.001)
threading.Thread(target=count, daemon=True).start()
answer = 1"""
    with served(tmp_path, Settings()) as (lambda_, run):
        run(begin)
        time.sleep(0.3)
        before = run("answer = kept['n']").value
        time.sleep(1)
        (sandbox,) = lambda_.local.fleet.sandboxes.values()
        assert sandbox.state == "frozen"
        assert run("answer = kept['n']").value - before < 150, "a second would have been a thousand"


def test_what_cannot_be_held_is_said(run: Run, tmp_path: Path) -> None:
    import urllib.request

    with served(tmp_path, Settings(), network=True) as (lambda_, _):
        status = json.load(urllib.request.urlopen(f"{lambda_.url}/_/status"))
    network = next(one for one in status["world"] if one["what"] == "network")
    assert network["enforced"] is False and "--network" in network["how"]
    assert {one["what"] for one in status["world"]} >= {
        "memory",
        "CPU share",
        "file system",
        "user",
        "descriptors",
    }


def _reports(lambda_: Running) -> list[str]:
    return [line for line in lines(lambda_) if line.startswith("REPORT")]
