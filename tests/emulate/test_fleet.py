"""Sandboxes: when they are started, reused, frozen and ended, and what happens when they fail."""

import gc
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from emulate_judges import PATH, place, post
from test_world import lines, served

from coldpress.emulate.sandboxes.settings import Settings

WHO = (
    "import os; answer = [os.environ['AWS_LAMBDA_LOG_STREAM_NAME'], os.environ['AWS_LAMBDA_INITIALIZATION_TYPE']]"
)


def together(run: Any, codes: Sequence[str | bytes]) -> list[Any]:
    with ThreadPoolExecutor(len(codes)) as pool:
        return [*pool.map(run, codes)]


def test_one_after_the_other_is_one_sandbox(tmp_path: Path) -> None:
    with served(tmp_path, Settings()) as (lambda_, run):
        assert len({run(WHO).value[0] for _ in range(20)}) == 1
        assert lambda_.local.fleet.ledger.totals.cold_starts == 1


def test_many_at_once_are_many(tmp_path: Path) -> None:
    busy = f"import time; time.sleep(0.4); {WHO}"
    with served(tmp_path, Settings(concurrency=4)) as (lambda_, run):
        answers = together(run, [busy] * 6)
        assert len({answer.value[0] for answer in answers if answer.status == 200}) == 4
        assert [answer.status for answer in answers].count(429) == 2
        assert lambda_.local.fleet.ledger.totals.throttled == 2


def test_the_warmest_is_used_again(tmp_path: Path) -> None:
    with served(tmp_path, Settings(concurrency=3)) as (_, run):
        together(run, ["import time; time.sleep(0.3)"] * 3)
        time.sleep(0.1)
        last = run(WHO).value
        assert all(run(WHO).value == last for _ in range(5))


def test_idle_ones_are_taken_down(tmp_path: Path) -> None:
    with served(tmp_path, Settings(idle=0.4, provisioned=1)) as (lambda_, run):
        together(run, ["import time; time.sleep(0.2)"] * 3)
        assert len(lambda_.local.fleet.sandboxes) == 3
        time.sleep(1.2)
        (left,) = lambda_.local.fleet.sandboxes.values()
        assert left.kind == "provisioned-concurrency", "what is provisioned stays"


def test_provisioned_ones_are_there_before_and_come_first(tmp_path: Path) -> None:
    busy = f"import time; time.sleep(0.3); {WHO}"
    with served(tmp_path, Settings(provisioned=2, concurrency=3)) as (lambda_, run):
        assert [one.init_ms is not None for one in lambda_.local.fleet.sandboxes.values()] == [True, True]
        kinds = [answer.value[1] for answer in together(run, [busy] * 3)]
        assert sorted(kinds) == ["on-demand", "provisioned-concurrency", "provisioned-concurrency"]
        assert run(WHO).value[1] == "provisioned-concurrency"
        reports = [line for line in lines(lambda_) if line.startswith("REPORT")]
        assert sum("Init Duration" in line for line in reports) == 1, "started ahead is no cold start"
        run("import os; os._exit(1)")
        time.sleep(0.5)
        kinds = [one.kind for one in lambda_.local.fleet.sandboxes.values()]
        assert kinds.count("provisioned-concurrency") == 2, "one that ended is replaced"


def test_a_slow_init_is_killed_and_run_again_in_the_invocation(tmp_path: Path) -> None:
    """Ten seconds on Lambda, here one. The second time the function's own time-out holds, and all is billed."""
    slow = "import time, os; time.sleep(1.5)"
    with served(tmp_path, Settings(init_timeout=1, timeout=10, env={"AT_INIT": slow})) as (lambda_, run):
        began = time.monotonic()
        assert run("answer = 'late'").value == "late"
        assert 2.5 <= time.monotonic() - began < 4
        log = lines(lambda_)
    failed = next(line for line in log if line.startswith("INIT_REPORT"))
    assert 990 <= float(failed.split()[3]) <= 1100 and "Phase: init\tStatus: timeout" in failed
    report = next(line for line in log if line.startswith("REPORT"))
    assert "Init Duration" not in report
    assert 1500 <= float(report.split("Duration: ")[1].split(" ")[0]) < 3000


def test_an_init_slower_than_the_function_may_be(tmp_path: Path) -> None:
    slow = "import time; time.sleep(60)"
    with served(tmp_path, Settings(init_timeout=0.5, timeout=1, env={"AT_INIT": slow})) as (_, run):
        answer = run("answer = 1")
    assert answer.value["errorType"] == "Sandbox.Timedout"
    assert "timed out after 1.00 seconds" in answer.value["errorMessage"]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("import os; os._exit(3)", "Runtime.ExitError"),
        ("import os; os.kill(os.getpid(), 9)", "Runtime.ExitError"),
        ("import time; time.sleep(9)", "Sandbox.Timedout"),
        ("raise ValueError('no')", "ValueError"),
    ],
)
def test_others_never_notice(tmp_path: Path, code: str, kind: str) -> None:
    """One fails while three work: three answers, and a fresh sandbox for the next."""
    with served(tmp_path, Settings(timeout=1, concurrency=4)) as (_, run):
        work = "import time; time.sleep(0.7); answer = 'done'"
        failed, *others = together(run, [code, work, work, work])
        assert failed.value["errorType"] == kind
        assert [answer.value for answer in others] == ["done"] * 3
        assert run("answer = 'next'").value == "next"


def test_what_a_function_leaves_running_ends_with_it(tmp_path: Path) -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '4711'], start_new_session=True); answer = 1"
    with served(tmp_path, Settings()) as (_, run):
        assert run(code).value == 1
        assert _running("sleep 4711")
        run("import os; os._exit(1)")
        time.sleep(0.3)
        assert not _running("sleep 4711")


def test_work_after_the_answer_delays_nobody(tmp_path: Path) -> None:
    """The runtime answers and then does not ask again for a while: the next request gets a sandbox of its own."""
    with served(tmp_path, Settings()) as (lambda_, run):
        assert run("after = 'import time; time.sleep(1)'; answer = 1").value == 1
        answer = run("answer = 2")
        assert answer.value == 2 and answer.seconds < 0.9
        assert len(lambda_.local.fleet.sandboxes) == 2


def test_one_that_never_asks_again_is_taken_down(tmp_path: Path) -> None:
    with served(tmp_path, Settings(idle=0.5)) as (lambda_, run):
        for _ in range(3):
            run("after = 'import time; time.sleep(60)'; answer = 1")
        assert len(lambda_.local.fleet.sandboxes) == 3
        time.sleep(1.5)
        assert len(lambda_.local.fleet.sandboxes) == 0


@pytest.fixture
def small_process() -> Iterator[None]:
    """What is served here shares a process with all that tests have loaded. Going through those millions of things
    takes Python's collector a third of a second; in a server's own process there are few."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("small_process")
def test_who_prints_for_ever_harms_nobody(tmp_path: Path) -> None:
    with served(tmp_path, Settings(timeout=1, concurrency=2)) as (lambda_, run):
        noisy, quiet = together(run, ["while True: print('x')", "import time; time.sleep(0.5); answer = 'heard'"])
        assert noisy.value["errorType"] == "Sandbox.Timedout" and noisy.seconds < 3
        assert quiet.value == "heard" and quiet.seconds < 2
        urllib.request.urlopen(f"{lambda_.url}/_/status", timeout=5).close()


def test_last_words_without_an_end_are_kept(tmp_path: Path) -> None:
    with served(tmp_path, Settings()) as (lambda_, run):
        run("import os; os.write(2, b'no newline'); os._exit(1)")
    assert "no newline" in [entry.line for entry in lambda_.log]


def test_scaling_up_has_a_rate(tmp_path: Path) -> None:
    with served(tmp_path, Settings(concurrency=10, scale_up=2)) as (_, run):
        statuses = [answer.status for answer in together(run, ["import time; time.sleep(0.4)"] * 4)]
    assert sorted(statuses) == [200, 200, 429, 429]


def test_several_invocations_in_one_sandbox(tmp_path: Path) -> None:
    """As on Managed Instances: a runtime that asks in several threads is given several."""
    folder = place("threads", tmp_path)
    from coldpress.emulate.serving import running

    with running(folder, Settings(at_once=4, concurrency=1)) as lambda_:
        url = lambda_.url + PATH
        began = time.monotonic()
        answers = together(lambda body: post(url, body), [b'{"seconds": 0.5}'] * 4)
        assert time.monotonic() - began < 1.4, "side by side, the start of the sandbox included"
        assert {answer.value["process"] for answer in answers} == {answers[0].value["process"]}
        assert {answer.value["concurrency"] for answer in answers} == {"4"}


def test_a_sandbox_with_room_is_shared_from_its_start(tmp_path: Path) -> None:
    from coldpress.emulate.serving import running

    with running(place("threads", tmp_path), Settings(at_once=4, concurrency=1)) as lambda_:
        url = lambda_.url + PATH
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(post, url, b'{"seconds": 1}')
            time.sleep(0.5)
            assert pool.submit(post, url, b'{"seconds": 0}').result().status == 200
            assert first.result().status == 200
        assert len(lambda_.local.fleet.sandboxes) == 1


def test_snapstart_restores_before_the_first_invocation(tmp_path: Path) -> None:
    with served(tmp_path, Settings(snap_start=True)) as (lambda_, run):
        assert run("answer = kept['restored']").value == 200
        assert run(WHO).value[1] == "snap-start"
        log = lines(lambda_)
    assert any(line.startswith("RESTORE_START") for line in log)
    first, second = [line for line in log if line.startswith("REPORT")]
    assert "Restore Duration: " in first and "Init Duration" not in first and "Restore" not in second


def test_extensions_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = tmp_path / "layers"
    (layers / "extensions").mkdir(parents=True)
    extension = layers / "extensions" / "watcher"
    extension.write_text(EXTENSION)
    extension.chmod(0o755)
    (layers / "extensions" / "folder").mkdir()
    monkeypatch.chdir(tmp_path)
    with served(tmp_path, Settings(), layers=Path("layers")) as (lambda_, run):
        assert run("answer = 1").value == 1
        assert run("answer = 2").value == 2
    said = [entry.line for entry in lambda_.log if entry.line.startswith("watcher")]
    assert [line.split()[1] for line in said] == ["INVOKE", "INVOKE", "SHUTDOWN"]
    assert said[-1].endswith("spindown")


def test_the_log_as_json(tmp_path: Path) -> None:
    with served(tmp_path, Settings(json_log=True)) as (lambda_, run):
        run("print('own line', flush=True); answer = 1")
        run("import os; os._exit(2)")
    log = lines(lambda_)
    events = [json.loads(line) for line in log if line.startswith("{")]
    assert [event["type"] for event in events][:3] == ["platform.initStart", "platform.start", "platform.report"]
    first, second = [event["record"] for event in events if event["type"] == "platform.report"]
    assert first["metrics"]["initDurationMs"] > 0 and first["status"] == "success"
    assert second["status"] == "error" and second["errorType"] == "Runtime.ExitError"
    assert "own line" in log


def test_a_report_is_true(tmp_path: Path) -> None:
    with served(tmp_path, Settings(memory_mb=1024)) as (lambda_, run):
        run("import time; time.sleep(0.25)")
    report = next(entry.line for entry in lambda_.log if entry.line.startswith("REPORT"))
    parts = dict(part.split(": ") for part in report.split("\t")[1:] if part)
    duration, billed = float(parts["Duration"].split()[0]), int(parts["Billed Duration"].split()[0])
    init = float(parts["Init Duration"].split()[0])
    assert 250 <= duration < 300
    assert billed == -int(-(duration + init) // 1) or abs(billed - duration - init) <= 1
    assert parts["Memory Size"] == "1024 MB"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains(tmp_path: Path, number: signal.Signals) -> None:
    """What is under way ends; nothing new is taken; nothing is left."""
    command = [str(Path(sys.executable).parent / "coldpress"), "serve", str(place("any", tmp_path)), "--port", "0"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    url = next(line.split()[-1] for line in process.stderr if "Function URL" in line).rstrip("/")
    with ThreadPoolExecutor(1) as pool:
        event = json.dumps({"code": "import time; time.sleep(1); answer = 'whole'"}).encode()
        working = pool.submit(post, url + PATH, event)
        time.sleep(0.5)
        launched = _children(process.pid)
        process.send_signal(number)
        time.sleep(0.1)
        with pytest.raises(OSError, match="refused"):
            urllib.request.urlopen(url + "/_/status")
        assert working.result().value == "whole"
    assert process.wait(5) == 0
    process.stderr.close()
    assert launched and not _alive(launched) and not _groups(process.pid)


def test_an_emulator_that_is_killed_leaves_no_process(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).parent / "coldpress"), "serve", str(place("any", tmp_path)), "--port", "0"]
    process = subprocess.Popen([*command, "--provisioned", "3"], stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    assert process.stderr is not None
    next(line for line in process.stderr if "Function URL" in line)
    launched = _children(process.pid)
    assert len(launched) == 3
    process.kill()
    process.wait()
    process.stderr.close()
    deadline = time.monotonic() + 3
    while _alive(launched):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _running(command: str) -> bool:
    return subprocess.run(["pgrep", "-xf", command], capture_output=True, check=False).returncode == 0


def _children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _alive(pids: list[int]) -> list[int]:
    return [pid for pid in pids if Path(f"/proc/{pid}").exists()]


def _groups(pid: int) -> list[Path]:
    roots = [Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/cpu"), Path("/sys/fs/cgroup")]
    return [path for root in roots if root.is_dir() for path in root.rglob(f"coldpress-{pid}-*") if path.exists()]


EXTENSION = """#!/var/lang/bin/python3
import http.client, json, os, sys
connection = http.client.HTTPConnection(os.environ["AWS_LAMBDA_RUNTIME_API"])
name = {"Lambda-Extension-Name": "watcher"}
connection.request("POST", "/2020-01-01/extension/register", '{"events": ["INVOKE", "SHUTDOWN"]}', name)
response = connection.getresponse()
response.read()
own = {"Lambda-Extension-Identifier": response.headers["Lambda-Extension-Identifier"]}
while True:
    connection.request("GET", "/2020-01-01/extension/event/next", headers=own)
    event = json.loads(connection.getresponse().read())
    print("watcher", event["eventType"], event.get("shutdownReason", ""), flush=True)
    if event["eventType"] == "SHUTDOWN":
        sys.exit()
"""
